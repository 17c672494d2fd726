"""What a study promises its people, in plain words: for the page, and in its statement."""

from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.odds import best_guess, in_hundred
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.find_trust import find_trust_words
from maskedbandit.statement.outcomes import name_outcomes, say_both, say_further_sums
from maskedbandit.statement.population import list_relied_on, list_revealed
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count, say_decimal, say_duration, say_things


def say_odds(loss: Loss) -> str:
    """How well somebody can guess."""
    return (
        "If someone tried to guess from everything that this study publishes which of two outcomes one participant "
        f"had, starting from 50–50, they could be right at most {in_hundred(best_guess(loss))} times in 100."
    )


def say_unit(protocol: Protocol) -> str:
    """What is protected."""
    if protocol.outcomes[1:]:
        both = f"are {say_both(protocol)} outcomes of one person together, {name_outcomes(protocol)}"
        them, this = "those outcomes were these", "others"
    elif protocol.reward.cap > 1:
        both, them, this = "is one person over the whole study", "that person's outcomes were these", "others"
    else:
        both, them, this = "is the outcome of one person", "that one outcome was this", "another"
    return (
        f"What is protected {both}: all that is reported of that person in this study. Whoever sees all that is "
        f"published can hardly tell whether {them} or {this}.{of_each(protocol)}"
    )


def of_each(protocol: Protocol) -> str:
    """How many rewards of a person count, if a person can have several."""
    reward = protocol.reward
    if reward.cap == 1:
        return ""
    return (
        f" A person can have several outcomes, which are added up. Of each person at most {reward.cap} rewards of "
        f"{say_decimal(reward.most)} count: a sum above {say_decimal(reward.highest)} counts as "
        f"{say_decimal(reward.highest)}."
    )


def say_where(protocol: Protocol) -> str:
    """For how long, and in which studies, a budget is."""
    period = "for ever" if protocol.period is None else f"in {say_duration(protocol.period)}"
    own = protocol.project == protocol.name
    return f"{period}, {'in this study' if own else f'in all studies of project {protocol.project}'}"


def say_so_far(protocol: Protocol) -> str:
    """What has been seen of a person until now, and by whom."""
    return "by what was reported or published so far" if protocol.on_devices else "by what was published so far"


def say_budget(protocol: Protocol, facts: Facts) -> str:
    """What a person may lose at most, anywhere."""
    times = in_hundred(best_guess(protocol.budget))
    return (
        f"The budget of each person is {protocol.budget} {say_where(protocol)}, which allows a guess to be right "
        f"{times} times in 100. A place in this study costs at most {facts.at_most}. Whoever has too little left "
        "is given no place."
    )


def say_composition(protocol: Protocol, facts: Facts) -> str:
    """What several releases cost together."""
    if not facts.releases:
        text = "Nothing was released so far. A person's outcome will be in one release at most."
    else:
        releases = "one release" if facts.releases == 1 else f"{say_count(facts.releases)} releases"
        text = (
            f"There {'was' if facts.releases == 1 else 'were'} {releases} so far. A person's outcome is in one of "
            "them at most, so all of them together cost nobody more than one."
        )
    if protocol.outcomes[1:]:
        text += say_further_sums(protocol)
    if facts.gaps:
        text += (
            f" Besides, {say_things(facts.gaps, 'time')} an old copy of the database was restored. Whoever was in a "
            "release that is missing from it may have taken part again, so one more is counted for each time."
        )
    return text


def say_control(protocol: Protocol) -> str:
    """How many people get the control arm; nothing, if there is none."""
    if protocol.control is None:
        return ""
    name, share = protocol.arms[protocol.control.arm][0], protocol.control.share
    few, many = share.numerator, share.denominator
    people = f"One in {say_count(many)} people" if few == 1 else f"{say_count(few)} in {say_count(many)} people"
    return (
        f"{people} who take part {'is' if few == 1 else 'are'} given the control arm, {name}, whatever the policy does."
    )


def list_unprotected(protocol: Protocol) -> list[str]:
    """What nobody should expect."""
    found = [
        "That a person took part, when, and which arm it was. The application that uses the study knows it anyway.",
        "What follows from the outcomes of all: if an arm is often successful, that is published, and is likely to be "
        "true of you too, whether or not you took part.",
        "What the application itself keeps, or sends elsewhere, of the same people.",
        *list_revealed(protocol),
    ]
    found += find_trust_words(protocol).list_unprotected()
    found.append("Several people together: the outcomes of a group of k people are protected k times less.")
    return found


def list_assumptions(protocol: Protocol) -> list[str]:
    """On what the statement rests."""
    found = [
        "The application names each person by one name, and nobody has two.",
        "Random numbers of the operating system cannot be guessed.",
        "A database that is restored from an older copy is reconciled with its ledger before it is used.",
        *list_relied_on(protocol),
    ]
    return found + find_trust_words(protocol).list_assumptions()

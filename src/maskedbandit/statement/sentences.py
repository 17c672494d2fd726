"""What a study promises its people, in plain words: for the page, and in its statement."""

from fractions import Fraction
from typing import Any

from maskedbandit.channels.channel import find_backend
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.odds import best_guess, in_hundred
from maskedbandit.statement.coalitions import say_coalitions
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.outcomes import name_outcomes, say_both, say_further_sums
from maskedbandit.statement.population import list_relied_on, list_revealed
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count, say_decimal, say_duration, say_things


def one_line(text: str) -> str:
    """A text as it can be read: on one line, and what is not seen, such as marks that turn it around, spelled out.

    >>> one_line("which is best?\\n\\nthe\\u202e first")
    'which is best? the\\\\u202e first'
    """
    line = " ".join(text.split())
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


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


def say_trust(protocol: Protocol, state: str = "") -> str:
    """Who sees what; and who saw it, once a study is archived."""
    backend: Any = find_backend(protocol.channel)
    if protocol.sites is not None:
        return (
            f"{say_things(len(protocol.sites.sites), 'site')} keep the outcomes of their own people: "
            f"{', '.join(one_line(each.name) for each in protocol.sites.sites)}. What leaves a site is one masked sum "
            "with its share of the privacy noise, and whoever runs the study sees the noisy sum of all sites alone. "
            f"{say_coalitions(protocol)} Each person has to trust the own site, which sees the outcome anyway."
        )
    if protocol.operators is not None and protocol.shuffled:
        return (
            f"Two operators run the servers of this study: {one_line(protocol.operators.leader.name)}, which leads it, "
            f"and {one_line(protocol.operators.helper.name)}, its shuffler. Each person's device sends its report to "
            "the shuffler, in messages that the leader alone can read, and the shuffler hands on the messages of all "
            "people of a cohort in random order. So neither knows whose outcome is whose unless they work together. "
            "The shuffler has to be honest: it mixes what came, and adds no messages of its own. The leader must not "
            "invent people, nor report in their place. And enough of the people of a cohort have to be honest, and "
            "the device and its application."
        )
    if protocol.rounds is not None:
        return (
            "The outcomes stay on people's devices, which add up by themselves: each sends one masked number, with its "
            "share of the privacy noise, and whoever runs the study sees the noisy sum of a cohort alone. "
            f"{say_corrupted(backend.rules.corrupted)} The server has to keep to the rules of the rounds: it must not "
            "invent devices, nor tell devices different things. The own device and its application have to be honest."
        )
    if protocol.operators is not None:
        return (
            f"Two operators run the servers of this study: {one_line(protocol.operators.leader.name)}, which leads it, "
            f"and {one_line(protocol.operators.helper.name)}, its helper. Each person's device seals its report for "
            "both, so that neither sees an outcome unless they work together, and each adds privacy noise of its own. "
            "One of the two has to be honest, and so have the device and its application."
        )
    if protocol.on_devices:
        return (
            "Nobody has to be trusted with outcomes. Each person's device adds the noise before it reports, so that "
            "not even the server of the study sees an outcome. The device and its application have to be honest."
        )
    if state == "archived":
        return (
            "The server of the study was trusted: it kept every outcome until the study was archived, which erased "
            "them, and added the privacy noise before anything left it. Whoever could read both its database and its "
            "keys, or has old copies of both, can have seen outcomes."
        )
    return (
        "The server of the study is trusted: it keeps every outcome until the study is archived, and adds the privacy "
        "noise before anything leaves it. Whoever can read both its database and its keys can see outcomes."
    )


def say_corrupted(part: Fraction) -> str:
    """What holds if devices tell whoever runs the study what they know."""
    if not part:
        return "All devices of a cohort have to be honest: one that tells its noise share takes noise away."
    few, many = part.numerator, part.denominator
    told = "told it all that they know"
    return f"That holds even if up to {say_count(few)} in {say_count(many)} devices of a cohort {told}."


def list_unprotected(protocol: Protocol) -> list[str]:
    """What nobody should expect."""
    found = [
        "That a person took part, when, and which arm it was. The application that uses the study knows it anyway.",
        "What follows from the outcomes of all: if an arm is often successful, that is published, and is likely to be "
        "true of you too, whether or not you took part.",
        "What the application itself keeps, or sends elsewhere, of the same people.",
        *list_revealed(protocol),
    ]
    if protocol.on_devices:
        found.append("A person whose device is not honest; and how many people send wrong reports on purpose.")
        found.append("Who has reported, which outcomes if there are several, and when: the server sees that.")
    elif protocol.shuffled:
        found.append("Outcomes from leader and shuffler together: they see almost every one, and whose it is.")
        found.append("A person whose device is not honest; and how many people send wrong reports on purpose.")
        found.append("Whose device reported, and when: the shuffler sees that, and to which place it belongs.")
        found.append("Outcomes of others, from people of the cohort who work with the leader, if they are too many.")
        found.append("Outcomes from a leader that invents the other people of a cohort, or reports in their place.")
    elif protocol.rounds is not None:
        found.append(
            "Outcomes from a server that breaks the rules of the rounds, or that more devices of a cohort tell all."
        )
        found.append("A person whose device is not honest; and how many people send wrong numbers on purpose.")
        found.append("Whose device was in contact, and when: the server sees that.")
    elif protocol.operators is not None:
        found.append("Outcomes from whoever has the keys of both operators: together they can open every report.")
        found.append("A person whose device is not honest; and how many people send wrong reports on purpose.")
        found.append("Whose device was in contact, and when: the leader sees that.")
    elif protocol.sites is not None:
        found.append("Outcomes from whoever can read what the person's own site keeps.")
        found.append("How many people of each site are in a cohort, and who of them saw which arm, and when.")
    else:
        found.append("Outcomes from whoever has both the database and the keys of its witness.")
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
    if protocol.on_devices:
        found.append("A device keeps its report and sends the same one again if it has to.")
        if protocol.outcomes[1:]:
            found.append(
                f"A device reports {say_both(protocol)} outcomes, whatever they are, at times that depend on none of "
                "them: otherwise the server sees who did, when, and why."
            )
        elif protocol.reward.cap > 1:
            found.append(
                "A device reports once, also of a person without any outcome, at a time that depends on no outcome: "
                "otherwise the server sees who did, when, and why."
            )
        else:
            found.append("A device reports whatever the outcome is: otherwise the server sees who did, and why.")
    elif protocol.sites is not None:
        found.append("The sites know each other's keys, which they compared by other means than the coordinator.")
        found.append("A site answers rounds at times that depend on no outcome, and adds its noise.")
    elif protocol.shuffled:
        found.append("The shuffler is honest: it mixes what came, adds nothing, and tells the leader no senders.")
        found.append("At least as many people of a cohort are honest, and report, as its channel counts on.")
        found.append("The leader gives its places to people, and sends the shuffler no report itself.")
        found.append(
            "A device reports once its window is over, at a time that depends on no outcome, whatever the outcome is: "
            "otherwise the shuffler sees who had one. It makes its report once."
        )
    elif protocol.rounds is not None:
        found.append("The devices that are counted on are those of people: nobody runs many of them.")
        found.append(
            "A device is in contact at times that depend on no outcome, whatever the outcome is: otherwise the server "
            "sees who had one. It joins each attempt at a sum once."
        )
    elif protocol.operators is not None:
        found.append("One operator is honest: it adds its noise, and gives the other neither its keys nor its shares.")
        found.append(
            "A device is in contact at times that depend on no outcome, whatever the outcome is: otherwise the leader "
            "sees who had one. It makes each report once."
        )
    else:
        found.append("Nobody measures how long the server takes to make a release, to find outcomes in that.")
    return found

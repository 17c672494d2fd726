"""The points by which a guarantee of differential privacy is judged [NDLH25], answered for a study."""

from maskedbandit.noise_bounds import deviation
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import INF
from maskedbandit.statement.content import Points
from maskedbandit.statement.facts import Facts
from maskedbandit.statement.find_trust import find_trust_words
from maskedbandit.statement.outcomes import compute_deviation, name_outcomes, say_both, say_defaults, say_further_noise
from maskedbandit.statement.population import say_population
from maskedbandit.statement.promises import describe_channel, name_variant
from maskedbandit.statement.sentences import say_composition, say_control, say_so_far, say_unit, say_where
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import Reward
from maskedbandit.words import say_count, say_decimal, say_duration, say_things

WIDE_DEVIATIONS = 1.96  # standard deviations on either side: 95 in 100


def answer_points(protocol: Protocol, facts: Facts) -> Points:
    """Answer all points for a study."""
    return Points(
        definition=definition(protocol, facts.at_most),
        parameters=say_parameters(protocol, facts),
        unit=say_unit(protocol),
        neighbours=say_neighbours(protocol),
        contribution=say_contribution(protocol),
        mechanism=say_mechanism(protocol),
        composition=say_composition(protocol, facts),
        budget=say_budget_rules(protocol),
        post_processing=(
            "The policy sees released sums alone, so its decisions, the estimates and the page cost nothing more. "
            "Released numbers are shown as they are, also where noise made them negative."
        ),
        query_model=(
            "Nobody asks questions of the outcomes: a cohort's sum is released once, when the window of its last "
            f"person is over, and never because reports came. Which cohorts there are follows from {sources(facts)}."
        ),
        trust_model=find_trust_words(protocol).say_trust(facts.state),
        data_collection=data_collection(protocol, facts.state),
        access=(
            "Applications, owners and officers have keys, stored as hashes. Neither the page nor logs nor metrics say "
            "anything that depends on reports before their release. Traffic and the database are encrypted only if "
            "whoever runs them does that."
        ),
        numerics=(
            "Noise is whole numbers, drawn without floating point before the outcome is looked at. Losses are "
            "fractions, rounded upwards."
        ),
        randomness=(
            "Noise is made from the operating system's random bytes, once for a "
            f"{'report' if protocol.on_devices else 'release'}{find_trust_words(protocol).by_whom}, and "
            "not from a seed."
        ),
        timing=(
            "Not protected: Python does not compute in constant time. When a release is made depends on who came and "
            "when, and on no outcome that was not released."
        ),
        utility=say_utility(protocol, facts),
        bias=" ".join(filter(None, (say_bias(protocol), say_control(protocol)))),
        choices=say_choices(protocol, facts),
        testing=(
            "Exact comparison of neighbouring inputs where it can be computed, else samples with a stated probability "
            "of a false alarm; every check rejects a broken twin. See the evidence."
        ),
    )


def say_neighbours(protocol: Protocol) -> str:
    """Say which data sets are neighbours."""
    replaced = "the outcome is"
    if protocol.outcomes[1:]:
        both = say_both(protocol)
        differ, replaced = f"{both} outcomes of one person, {name_outcomes(protocol)}, differ", f"{both} are"
    elif protocol.reward.cap > 1:
        differ, replaced = "all outcomes of one person, however many, differ", "they are"
    else:
        differ = "one person's outcome differs"
    return (
        f"Compared are two worlds in which {differ} in any way, and all else is the same: {replaced} replaced, so the "
        "number of people is public (bounded neighbours)."
    )


def sources(facts: Facts) -> str:
    """Say from what the cohorts follow."""
    found = ["earlier releases"]
    if facts.harmful:
        found.append(f"from the arms that the rule found harmful by them ({', '.join(facts.harmful)})")
    if facts.changes:
        found.append(f"from {say_things(facts.changes, 'change')} of arms, by people who may have seen releases")
    if facts.lists:
        found.append(f"from {say_things(facts.lists, 'change')} of sites, by people who may have seen releases")
    return " and ".join(found) if len(found) < 3 else f"{', '.join(found[:-1])}, and {found[-1]}"


def say_choices(protocol: Protocol, facts: Facts) -> str:
    """Say when the parameters were chosen, and by whom."""
    if not facts.entries:
        return "The protocol is a draft; its hash will be the first entry of the ledger, before anybody comes."
    begins = f"its ledger begins with their hash, {protocol.digest[:16]}."
    if facts.approved_by:
        begins += f" An officer of privacy had approved the protocol before it was started (key {facts.approved_by})."
    if not facts.changes and not facts.harmful and not facts.lists:
        return (
            "ε, the budget and all else were frozen with the protocol before the first person came, so they follow "
            f"from no outcome of this study: {begins}"
        )
    but = ["which arms are in play"] if facts.changes or facts.harmful else []
    but += ["which sites take part"] if facts.lists else []
    text = (
        f"ε, the budget and all else but {' and '.join(but)} were frozen with the protocol before the first person "
        f"came, so they follow from no outcome of this study: {begins}"
    )
    if facts.changes:
        text += (
            f" There {'was' if facts.changes == 1 else 'were'} {say_things(facts.changes, 'change')} of arms since "
            "(paused, resumed or added), by people who may have seen releases."
        )
    if facts.lists:
        text += (
            f" There {'was' if facts.lists == 1 else 'were'} {say_things(facts.lists, 'change')} of the list of sites "
            "since, by people who may have seen releases; in a sum are sites that agreed to its list, by signature."
        )
    if facts.harmful:
        text += f" Found harmful by the rule of the protocol, from released sums alone: {', '.join(facts.harmful)}."
    return text


def definition(protocol: Protocol, loss: Loss) -> str:
    """Say which kind of privacy it is."""
    one, other = ("all outcomes", "any others") if protocol.reward.cap > 1 else ("one outcome", "any other")
    kinds = {
        "Pure DP": "Pure ε-differential privacy",
        "Approximate DP": "(ε, δ)-differential privacy",
        "Zero-concentrated DP": "Zero-concentrated differential privacy (zCDP)",
        "Renyi DP": "Rényi differential privacy",
    }
    but = f", but for a probability of {float(loss.delta):.4g}" if loss.delta else ""
    return (
        f"{kinds[name_variant(loss)]}: whatever is published is nearly as likely with {one} of a person as with "
        f"{other}{but}, whatever else the observer knows."
    )


def say_parameters(protocol: Protocol, facts: Facts) -> str:
    """ε and δ."""
    text = f"At most {facts.at_most} for each person by this study, {facts.so_far} {say_so_far(protocol)}."
    if facts.at_most.pure_epsilon == INF:
        text += " There is no pure ε; at another δ there is another ε, by the same Rényi curve."
    return text if facts.at_most.delta or facts.at_most.pure_epsilon == INF else f"{text} δ is 0."


def say_contribution(protocol: Protocol) -> str:
    """Say how much one person can change."""
    reward = protocol.reward
    text = f"A person has one place in the study, in one cohort. An outcome is {say_bounds(reward)}"
    for other in protocol.outcomes[1:]:
        text += f"; another one, {other.metric}, is {say_bounds(other.reward)}"
    return (
        f"{text}; others are refused. Who reports nothing within {say_duration(reward.taken_for)} counts "
        f"{say_defaults(protocol)}, {find_trust_words(protocol).say_seen()}."
    )


def say_bounds(outcome: Reward) -> str:
    """Say between which bounds an outcome is, and which report counts."""
    rules = {"first": "the first report counts", "last": "the last report counts", "sum": "reports are added and cut"}
    rule = (
        rules[outcome.rule] if outcome.cap == 1 else f"all of a person are added, and cut at {outcome.cap} times that"
    )
    return f"a number from {say_decimal(outcome.least)} to {say_decimal(outcome.most)} ({rule})"


def say_mechanism(protocol: Protocol) -> str:
    """The noise."""
    per, reward = "each report" if protocol.on_devices else "the sum of a cohort", protocol.reward
    text = (
        f"{describe_channel(protocol.channel)}. The noise in {per} has a standard deviation of "
        f"{say_decimal(compute_deviation(protocol.channel))} outcomes (scaled to 0 to 1), and mean 0; it is drawn once."
    )
    text = f"{text} {find_trust_words(protocol).shares}".rstrip()
    if reward.cap > 1:
        text += (
            f" An outcome of 1 on that scale is a sum of {say_decimal(reward.highest)}, the most that counts of a "
            "person: so the noise hides all rewards of a person together."
        )
    return text + say_further_noise(protocol) if protocol.outcomes[1:] else text


def say_budget_rules(protocol: Protocol) -> str:
    """Say who keeps count of the budget, and when it begins anew."""
    text = (
        f"{protocol.budget} for each person {say_where(protocol)}. A person is charged before an arm is shown; a place "
        "that the budget does not allow is not given, and no charge is ever given back."
    )
    if protocol.period is not None:
        text += (
            f" After {say_duration(protocol.period)} the budget begins anew, so what a person loses over several "
            "periods adds up."
        )
    return text


def data_collection(protocol: Protocol, state: str) -> str:
    """Say what is kept, and until when."""
    reports = f"the reports, of {say_both(protocol)} outcomes," if protocol.outcomes[1:] else "the report"
    outcome = find_trust_words(protocol).say_kept(reports)
    said = " What the application says of a person, by which it is decided who takes part, is not kept."
    ended = state == "archived"
    until = (
        "until the study was archived, when that was erased"
        if ended
        else "until the person is erased or the study is archived"
    )
    return (
        f"Kept {'were' if ended else 'are'} a pseudonym of each person (a keyed hash, whose key is elsewhere), the "
        f"arm, the times at which it was assigned and seen, {outcome}, {until}; what a person was charged stays. "
        f"No context {'was' if ended else 'is'} collected.{said * bool(protocol.enrolment.eligible)}"
    )


def say_utility(protocol: Protocol, facts: Facts) -> str:
    """Say how much accuracy the noise costs."""
    cohorts, people = facts.noisiest
    if not people:
        return "Nothing was released yet. The distribution of the noise is known, so estimates say how wide they are."
    scale = protocol.reward.width
    half = scale * WIDE_DEVIATIONS * deviation(protocol.channel.law(), cohorts, people) / people
    return (
        f"Of the arm with most people, {say_count(people)} in {say_things(cohorts, 'release')}, the noise moves "
        f"the mean by at most ±{say_decimal(half, 2)} in 95 of 100 studies. Estimates say how much of their "
        "width is noise."
    )


def say_bias(protocol: Protocol) -> str:
    """Say what is wrong on average, and for whom."""
    reward, cut = protocol.reward, f" {find_trust_words(protocol).lost}".rstrip()
    of_both = f", of {say_both(protocol)} outcomes" if protocol.outcomes[1:] else ""
    if reward.cap > 1:
        most = say_decimal(reward.highest)
        cut += f" Sums above {most} are cut, so an arm whose people have more looks worse than it is."
    about = f" {say_population(protocol)}".rstrip()
    return (
        f"The noise is 0 on average{of_both}. People who do not report count as {say_defaults(protocol)}, so "
        f"an arm whose people report less often looks different.{cut} Who is given which arm depends on earlier "
        "releases. Accuracy is not broken down by groups of people: a small group may be served badly without anybody "
        f"seeing it.{about}"
    )

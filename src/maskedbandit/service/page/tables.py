"""The rows of the tables that stand under the pictures."""

from typing import Any

from maskedbandit.service.views.tally import DELAYS
from maskedbandit.service.views.view import StudyView
from maskedbandit.words import say_count, say_decimal, say_duration, say_percent, say_time

PageTable = list[list[Any]]
LAST_LISTED = 100  # releases, and cohorts, that a table lists
MOST_GROUPS = 8  # arms that are told apart over time


def tabulate_estimates(view: StudyView) -> PageTable:
    """The estimates of the arms."""
    scale, found = view.protocol.reward.in_units, PageTable()
    for arm in view.arms:
        if (each := arm.estimate) is None:
            found.append([arm.name, "0", "0", *["–"] * 6])
            continue
        numbers = [say_decimal(scale(end)) for end in (each.mean, *each.inner, *each.outer)]
        found.append([arm.name, say_count(each.n), say_count(each.cohorts), *numbers, f"×{each.widening:.2f}"])
    return found


def tabulate_differences(view: StudyView) -> PageTable:
    """What arms have more than the first one."""
    units = view.protocol.reward.width
    return [
        [arm.name, *(say_decimal(units * each) for each in (arm.more.mean, *arm.more.interval))]
        for arm in view.arms
        if arm.more
    ]


def tabulate_confidences(view: StudyView) -> PageTable:
    """How surely another arm is better than each, and how surely it is the best."""
    return [
        [arm.name, say_percent(arm.confidence.beaten), say_percent(arm.confidence.best)]
        for arm in view.arms
        if arm.confidence
    ]


def group_arms(view: StudyView) -> list[tuple[str, tuple[int, ...]]]:
    """The arms that are told apart over time, by name: those with most people, and all others together."""
    arms = range(len(view.arms))
    if len(view.arms) <= MOST_GROUPS:
        return [(view.arms[arm].name, (arm,)) for arm in arms]
    first = sorted(sorted(arms, key=lambda arm: -view.counts.dealt[arm])[: MOST_GROUPS - 1])
    rest = tuple(arm for arm in arms if arm not in first)
    return [*((view.arms[arm].name, (arm,)) for arm in first), (f"{len(rest)} other arms", rest)]


def head_allocation(view: StudyView) -> list[str]:
    """The names of the columns of `tabulate_allocation`."""
    return ["From", *(name for name, _ in group_arms(view))]


def tabulate_allocation(view: StudyView) -> PageTable:
    """People of each arm over time."""
    parts = group_arms(view)
    return [
        [say_time(each.at), *(say_count(sum(each.arms[arm] for arm in arms)) for _, arms in parts)]
        for each in view.counts.columns
    ]


def tabulate_releases(view: StudyView) -> PageTable:
    """When something was released, the last times."""
    return [[say_time(each.at), each.cohort, view.arms[each.arm].name] for each in view.releases[-LAST_LISTED:]]


def tabulate_arrivals(view: StudyView) -> PageTable:
    """People over time."""
    return [[say_time(each.at), say_count(sum(each.arms))] for each in view.counts.columns]


def name_delays() -> list[str]:
    """What each of the delays means."""
    return [*(f"up to {say_duration(1000 * each)}" for each in DELAYS), "longer"]


def tabulate_delays(view: StudyView) -> PageTable:
    """How long it took until the arm was seen."""
    return [[name, say_count(people)] for name, people in zip(name_delays(), view.counts.delays, strict=True)]


def tabulate_exposures(view: StudyView) -> PageTable:
    """Who saw the arm."""
    found = PageTable()
    for arm, dealt, seen, back in zip(
        view.arms, view.counts.dealt, view.counts.seen, view.counts.returned, strict=True
    ):
        share = say_percent(seen / (seen + back)) if seen + back else "–"
        found.append(
            [arm.name, say_count(dealt + back), say_count(seen), say_count(dealt - seen), say_count(back), share]
        )
    return found


def tabulate_protocol(view: StudyView) -> list[tuple[str, str]]:
    """What was decided before the study."""
    protocol, reward = view.protocol, view.protocol.reward
    people = "until the answer is certain" if protocol.people is None else say_count(protocol.people)
    if protocol.people is None:
        people += f", but for a chance of {say_decimal(protocol.aim)}"
    rules = {"first": "the first report", "last": "the last report", "sum": "the sum of all reports"}
    outcome = f"{rules[reward.rule]} of a person, from {say_decimal(reward.least)} to {say_decimal(reward.highest)}"
    evaluated = f"an evaluated flag {'counts' if reward.evaluating == 'exposes' else 'does not count'}"
    period = "for ever" if protocol.period is None else f"in {say_duration(protocol.period)}"
    grace = f"; reports are taken for {say_duration(reward.grace)} more" if reward.grace else ""
    return [
        ("Project", protocol.project),
        ("People", people),
        ("Policy", type(protocol.policy).__name__),
        ("Budget", f"{protocol.budget} of each person {period}, in all studies of the project"),
        ("Noise", f"{type(protocol.channel).__name__}, {protocol.channel.trust} trust"),
        ("Outcome", f"{outcome}; {say_decimal(reward.default)} if nothing is reported"),
        ("Window", f"{say_duration(reward.window)} after the arm was seen{grace}"),
        ("Time to see it", f"{say_duration(reward.exposure)}; {evaluated} as seen"),
        *([] if protocol.guardrail is None else [("Guardrail", f"{protocol.guardrail.name}, by which harm is seen")]),
        *([("Metrics", ", ".join(each.name for each in protocol.metrics))] if protocol.metrics else []),
        ("Protocol (SHA-256)", protocol.digest),
    ]

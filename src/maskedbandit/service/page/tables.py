"""The rows of the tables that stand under the pictures."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from maskedbandit.service.page.arm_order import OUT_OF_PLAY, say_arm
from maskedbandit.service.page.trust_models import OFFERED_CHANNELS
from maskedbandit.service.views.counted_places import DELAYS
from maskedbandit.service.views.view import ArmView, StudyView
from maskedbandit.statement.population import say_eligibility, say_ramp
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count, say_decimal, say_duration, say_percent, say_time

PageTable = list[list[Any]]
LAST_LISTED = 100  # releases, and cohorts, that a table lists
MOST_GROUPS = 8  # arms that are told apart over time


def mark_arm(arm: ArmView) -> Markup:
    """The name of an arm, and that it is out of play."""
    mark = Markup(' <span class="stands {0}">{0}</span>').format(arm.stands) if arm.stands in OUT_OF_PLAY else ""
    return Markup('<span class="arm">{}{}</span>').format(arm.name, mark)


def tabulate_estimates(view: StudyView, order: Sequence[int]) -> PageTable:
    """The estimates of the arms."""
    scale, found = view.protocol.reward.in_units, PageTable()
    for arm in (view.arms[each] for each in order):
        if (each := arm.estimate) is None:
            found.append([mark_arm(arm), "0", "0", *["–"] * 6])
            continue
        numbers = [say_decimal(scale(end)) for end in (each.mean, *each.inner, *each.outer)]
        found.append([mark_arm(arm), say_count(each.n), say_count(each.cohorts), *numbers, f"×{each.widening:.2f}"])
    return found


def tabulate_differences(view: StudyView, order: Sequence[int]) -> PageTable:
    """What arms have more than the control, or the first one."""
    units = view.protocol.reward.width
    return [
        [mark_arm(arm), *(say_decimal(units * each) for each in (arm.more.mean, *arm.more.interval))]
        for arm in (view.arms[each] for each in order)
        if arm.more
    ]


def tabulate_confidences(view: StudyView, order: Sequence[int]) -> PageTable:
    """How surely another arm is better than each, and how surely it is the best."""
    return [
        [mark_arm(arm), say_percent(arm.confidence.beaten), say_percent(arm.confidence.best)]
        for arm in (view.arms[each] for each in order)
        if arm.confidence
    ]


def group_arms(view: StudyView) -> list[tuple[str, tuple[int, ...]]]:
    """The arms that are told apart over time, by name: those with most people, and all others together."""
    arms = range(len(view.arms))
    if len(view.arms) <= MOST_GROUPS:
        return [(say_arm(view.arms[arm]), (arm,)) for arm in arms]
    first = sorted(sorted(arms, key=lambda arm: -view.counts.dealt[arm])[: MOST_GROUPS - 1])
    rest = tuple(arm for arm in arms if arm not in first)
    return [*((say_arm(view.arms[arm]), (arm,)) for arm in first), (f"{len(rest)} other arms", rest)]


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


def tabulate_exposures(view: StudyView, order: Sequence[int]) -> PageTable:
    """Who saw the arm."""
    found, counts = PageTable(), view.counts
    for arm in order:
        dealt, seen, back = counts.dealt[arm], counts.seen[arm], counts.returned[arm]
        share = say_percent(seen / (seen + back)) if seen + back else "–"
        numbers = map(say_count, (dealt + back, seen, dealt - seen, back))
        found.append([mark_arm(view.arms[arm]), *numbers, share])
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
        ("Policy", say_policy(protocol)),
        ("Budget", f"{protocol.budget} of each person {period}, in all studies of the project"),
        ("Noise", say_channel(protocol)),
        ("Outcome", f"{outcome}; {say_decimal(reward.default)} if nothing is reported"),
        ("Window", f"{say_duration(reward.window)} after the arm was seen{grace}"),
        ("Time to see it", f"{say_duration(reward.exposure)}; {evaluated} as seen"),
        *tabulate_enrolment(protocol),
        *([] if protocol.guardrail is None else [("Guardrail", f"{protocol.guardrail.name}, by which harm is seen")]),
        *([("Metrics", ", ".join(each.name for each in protocol.metrics))] if protocol.metrics else []),
        ("Protocol (SHA-256)", protocol.digest),
    ]


def read_part_name(part: Any) -> str:
    """The name of a part of a protocol, which is a text or in a table."""
    return str(part["name"] if isinstance(part, dict) else part)


def say_policy(protocol: Protocol) -> str:
    """What the policy is for, if it is the one for live studies, and its name."""
    purpose, name = protocol.policy.purpose, read_part_name(protocol.table.get("policy", "contemporaneous_klucb"))
    return f"{purpose.choice} ({name})" if name == purpose.live else name


def say_channel(protocol: Protocol) -> str:
    """Who adds the noise, and the name of the channel."""
    name = read_part_name(protocol.table["channel"])
    if protocol.sites is not None:
        return f"Each site, for its people ({name})"
    if protocol.shuffled:
        return f"Each device, and a shuffler mixes what they send ({name})"
    return (
        f"{OFFERED_CHANNELS[name]} ({name})" if name in OFFERED_CHANNELS else f"{name}, {protocol.channel.trust} trust"
    )


def tabulate_enrolment(protocol: Protocol) -> list[tuple[str, str]]:
    """Who may be enrolled, if not everybody."""
    rules, found = protocol.enrolment, list[tuple[str, str]]()
    if rules.eligible:
        found.append(("Who is eligible", f"a person of whom the application says that {say_eligibility(protocol)}"))
    if (group := rules.group) is not None:
        part = f"the part from {group.least} to {group.below} of the project's people, drawn by chance"
        found.append(
            ("Group", f"{group.name}: {part}; no other study of the group has any of them while this one runs")
        )
    if rules.ramp is not None:
        found.append(("Ramp", say_ramp(rules.ramp)))
    others = ("All others get", f"{protocol.arms[rules.default][0]}, and nobody asks for their outcomes")
    return [*found, others] if found else []

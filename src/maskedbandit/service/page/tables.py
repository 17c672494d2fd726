"""The rows of the tables that stand under the pictures."""

from __future__ import annotations

from typing import Any

from maskedbandit.service.page.words import clock, count, decimal, duration, percent
from maskedbandit.service.tally import DELAYS
from maskedbandit.service.view import View

Rows = list[list[Any]]


def estimates(view: View) -> Rows:
    """The estimates of the arms."""
    scale, found = view.protocol.reward.in_units, Rows()
    for arm in view.arms:
        if (each := arm.estimate) is None:
            found.append([arm.name, "0", "0", *["–"] * 6])
            continue
        ends = [each.mean + side for side in (-each.people, each.people, -each.both, each.both)]
        numbers = [decimal(scale(end)) for end in (each.mean, *ends)]
        found.append([arm.name, count(each.n), count(each.cohorts), *numbers, f"×{each.widening:.2f}"])
    return found


def chances(view: View) -> Rows:
    """The chance of each arm to be the best."""
    return [[arm.name, percent(arm.chance)] for arm in view.arms]


def arm_names(view: View) -> list[str]:
    """The names of the arms."""
    return [arm.name for arm in view.arms]


def allocation(view: View) -> Rows:
    """People of each arm over time."""
    return [[clock(each.at), *map(count, each.arms)] for each in view.counts.columns]


def release_times(view: View) -> Rows:
    """When something was released."""
    return [[clock(line.at), line.cohort, view.arms[line.arm or 0].name] for line in view.releases]


def arrivals(view: View) -> Rows:
    """People over time."""
    return [[clock(each.at), count(sum(each.arms))] for each in view.counts.columns]


def delay_names() -> list[str]:
    """What each of the delays means."""
    return [*(f"up to {duration(1000 * each)}" for each in DELAYS), "longer"]


def delays(view: View) -> Rows:
    """How long it took until the arm was seen."""
    return [[name, count(people)] for name, people in zip(delay_names(), view.counts.delays, strict=True)]


def exposures(view: View) -> Rows:
    """Who saw the arm."""
    found = Rows()
    for arm, dealt, seen, back in zip(
        view.arms, view.counts.dealt, view.counts.seen, view.counts.returned, strict=True
    ):
        share = percent(seen / (seen + back)) if seen + back else "–"
        found.append([arm.name, count(dealt + back), count(seen), count(dealt - seen), count(back), share])
    return found

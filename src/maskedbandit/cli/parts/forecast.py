"""What a study would probably bring, simulated by the lab with the delay that its window makes.

    python -m maskedbandit.cli.parts.forecast < {"protocol": ..., "baseline": 0.3, "difference": 0.05, "per_day": 1000}

is a process of its own, so that a server goes on while it computes. The best arm, or the m best ones, have the baseline
and the difference, and all others have the baseline.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from maskedbandit.channels.channel import make_ideal
from maskedbandit.cli.parts.own_process import answer_on_stdin, compute_apart
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.plans import Forecast
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.reports.plan.forecast import count_waits, find_planned, forecast_study
from maskedbandit.reports.plan.means import find_hardest_means
from maskedbandit.reports.plan.windows import Spread, find_spread, say_spread
from maskedbandit.statement.population import say_population
from maskedbandit.statement.sentences import say_control
from maskedbandit.study.control import share_left
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import MILLISECONDS
from maskedbandit.words import say_decimal, say_duration

CENTURY = 36_525  # days


def foreseen(protocol: Protocol, baseline: float, difference: float, per_day: float) -> Forecast:
    """Forecast a protocol, for the people whom its policy places."""
    means = expected_means(protocol, baseline, difference)
    return forecast_study(
        protocol.policy, make_ideal(protocol.channel), means, protocol.aim, count_late(protocol, per_day)
    )


def count_late(protocol: Protocol, per_day: float) -> int:
    """Count the people of the policy who come before the first outcome is there."""
    return round(protocol.reward.taken_for / MILLISECONDS["day"] * per_day * share_left(protocol.control))


def spread_out(
    protocol: Protocol, found: Forecast, baseline: float, difference: float, per_day: float
) -> Spread | None:
    """Find over how many windows to spread the people, if most come within one."""
    given = protocol.policy, make_ideal(protocol.channel), expected_means(protocol, baseline, difference), protocol.aim
    return find_spread(*given, count_late(protocol, per_day), found)


def expected_means(protocol: Protocol, baseline: float, difference: float) -> list[float]:
    """The means of the policy's arms, or raise `InvalidValue`: with some of them there is no selection to be found."""
    means = find_hardest_means(protocol.policy, protocol.choices, baseline, difference)
    if isinstance(protocol.policy, Selection) and (lacks := protocol.policy.question.lacks(np.array(means))):
        raise InvalidValue("baseline and difference", (baseline, difference), lacks)
    return means


def day(now: datetime, days: float) -> str:
    """The day that is so many days away; calendars end, and so do studies.

    >>> day(datetime(2026, 1, 30, tzinfo=UTC), 2.5), day(datetime(2026, 1, 30, tzinfo=UTC), 1e300)
    ('1 February 2026', 'the year 2126 or later')
    """
    if days > CENTURY:
        return f"the year {now.year + 100} or later"
    return (now + timedelta(days=days)).strftime("%-d %B %Y")


def in_words(
    protocol: Protocol, found: Forecast, per_day: float, now: datetime, spread: Spread | None = None
) -> list[tuple[str, str]]:
    """Write a forecast in words, for a page: terms, and a sentence for each."""
    window, planned = protocol.reward.taken_for / MILLISECONDS["day"], find_planned(protocol.policy.goal)
    people = 0 if protocol.people is None else int(protocol.aim)
    phases = count_waits(protocol.policy, make_ideal(protocol.channel), protocol.choices, people)
    rate = per_day * share_left(protocol.control)
    ends, late = (
        day(now, protocol.enrolment.count_days(people, rate) + phases * window)
        for people in (found.people, found.people_most)
    )
    finish = f"about {ends}, at {per_day:,.0f} people a day{planned.finish.format(late=late)}"
    search = list[tuple[str, str]]()
    if protocol.people is None:
        needs = f"{found.people:,.0f} ± {found.people_error:,.0f} on average"
        search.append(("People it needs", f"{needs}; in nine of ten studies at most {found.people_most:,.0f}"))
    if protocol.control is not None:
        search.append(("Control arm", f"{say_control(protocol)} All else here is of the others."))
    if population := say_population(protocol):
        search.append(("Who takes part", population))
    name = planned.wrong or "Ends with another arm than the best"
    proved = "" if found.at_most is None else f"; proved: at most {found.at_most:.1%}, if everybody is seen"
    scaled = (
        "" if protocol.reward.width == 1 else f" (outcomes of {say_decimal(protocol.reward.width)} count as 1 here)"
    )
    window_said = say_duration(protocol.reward.taken_for)
    alone = [] if spread is None else [("Before you begin", say_spread(spread, protocol.policy.goal, window_said))]
    return [
        *alone,
        *search,
        ("Finish", f"{finish}; the last outcomes count for {say_duration(protocol.reward.window)} after that"),
        (
            "Outcomes lost by exploring",
            f"{found.regret:,.1f} ± {found.regret_error:,.1f}; an equal split would lose {found.equal:,.0f}{scaled}",
        ),
        (name, f"{found.wrong:.1%} of studies{proved}"),
        ("How this was found", f"{planned.runs} simulated studies with this policy, noise and delay"),
    ]


async def forecast_in_words(
    protocol: Protocol, baseline: float, difference: float, per_day: float
) -> list[tuple[str, str]]:
    """The same, computed in a process of its own."""
    expected_means(protocol, baseline, difference)
    module = "maskedbandit.cli.parts.forecast"
    numbers = {"baseline": baseline, "difference": difference, "per_day": per_day}
    said, spread = await compute_apart(module, protocol, **numbers)
    spread_said = None if spread is None else Spread(*spread)
    return in_words(protocol, Forecast(*said), per_day, datetime.now(UTC), spread_said)


def main(given: Any) -> tuple[Forecast, Spread | None]:
    """Make the forecast that is asked for."""
    numbers = given["baseline"], given["difference"], given["per_day"]
    protocol = Protocol.from_text(given["protocol"])
    found = foreseen(protocol, *numbers)
    return found, spread_out(protocol, found, *numbers)


if __name__ == "__main__":
    answer_on_stdin(main)

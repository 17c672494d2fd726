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
from maskedbandit.statement.population import say_population
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import MILLISECONDS
from maskedbandit.words import say_decimal, say_duration

CENTURY = 36_525  # days


def foreseen(protocol: Protocol, baseline: float, difference: float, per_day: float) -> Forecast:
    """The forecast of a protocol."""
    means = expected_means(protocol, baseline, difference)
    late = round(protocol.reward.taken_for / MILLISECONDS["day"] * per_day)
    return forecast_study(protocol.policy, make_ideal(protocol.channel), means, protocol.aim, late)


def expected_means(protocol: Protocol, baseline: float, difference: float) -> list[float]:
    """The means of a study's arms, or raise `InvalidValue`: with some of them there is no selection to be found."""
    means = find_hardest_means(protocol.policy, protocol.k, baseline, difference)
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


def in_words(protocol: Protocol, found: Forecast, per_day: float, now: datetime) -> list[tuple[str, str]]:
    """A forecast for a page: terms, and what is said of each."""
    window, planned = protocol.reward.taken_for / MILLISECONDS["day"], find_planned(protocol.policy.goal)
    phases = count_waits(protocol.policy, make_ideal(protocol.channel), protocol.k, int(protocol.people or 0))
    ends, late = (
        day(now, protocol.enrolment.count_days(people, per_day) + phases * window)
        for people in (found.people, found.people_most)
    )
    finish, search = f"about {ends}{planned.finish.format(late=late)}", list[tuple[str, str]]()
    if protocol.people is None:
        people = f"{found.people:,.0f} ± {found.people_error:,.0f} on average"
        search.append(("People it needs", f"{people}; in nine of ten studies at most {found.people_most:,.0f}"))
    if population := say_population(protocol):
        search.append(("Who takes part", population))
    name = planned.wrong or "Ends with another arm than the best"
    proved = "" if found.at_most is None else f"; proved: at most {found.at_most:.1%}, if everybody is seen"
    scaled = (
        "" if protocol.reward.width == 1 else f" (outcomes of {say_decimal(protocol.reward.width)} count as 1 here)"
    )
    return [
        *search,
        (
            "Finish",
            f"{finish}, at {per_day:,.0f} people a day; the last outcomes count for "
            f"{say_duration(protocol.reward.window)} after that",
        ),
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
    said = await compute_apart(module, protocol, baseline=baseline, difference=difference, per_day=per_day)
    return in_words(protocol, Forecast(*said), per_day, datetime.now(UTC))


def main(given: Any) -> list[float | None]:
    """What is printed."""
    return [*foreseen(Protocol.from_text(given["protocol"]), given["baseline"], given["difference"], given["per_day"])]


if __name__ == "__main__":
    answer_on_stdin(main)

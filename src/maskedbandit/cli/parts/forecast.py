"""What a study would probably bring, simulated by the lab with the delay that its window makes.

    python -m maskedbandit.cli.parts.forecast < {"protocol": ..., "baseline": 0.3, "difference": 0.05, "per_day": 1000}

is a process of its own, so that a server goes on while it computes. The best arm has the baseline and the difference,
and all others have the baseline.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from maskedbandit.cli.parts.computed import answer, computed
from maskedbandit.reports.forecast import RUNS, Forecast, forecast
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import UNITS

CENTURY = 36_525  # days


def foreseen(protocol: Protocol, baseline: float, difference: float, per_day: float) -> Forecast:
    """The forecast of a protocol."""
    means = [baseline + difference] + [baseline] * (protocol.k - 1)
    late = round(protocol.reward.window / UNITS["day"] * per_day)
    aim = float(protocol.aim) if protocol.people is None else protocol.people
    return forecast(protocol.policy, protocol.channel, means, aim, late)


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
    window = protocol.reward.window / UNITS["day"]
    ends, late = (day(now, people / per_day + window) for people in (found.people, found.people_most))
    finish, search = f"about {ends}", list[tuple[str, str]]()
    if protocol.people is not None:
        finish += ", later if people come while the policy waits, as they have no place"
    else:
        people = f"{found.people:,.0f} ± {found.people_error:,.0f} on average"
        search.append(("People it needs", f"{people}; in nine of ten studies at most {found.people_most:,.0f}"))
        finish += f"; in nine of ten studies by {late}"
    return [
        *search,
        (
            "Finish",
            f"{finish}, at {per_day:,.0f} people a day; the last outcomes count until {window:g} days after that",
        ),
        (
            "Outcomes lost by exploring",
            f"{found.regret:,.1f} ± {found.regret_error:,.1f}; an equal split would lose {found.equal:,.0f}",
        ),
        ("Ends with another arm than the best", f"{found.wrong:.1%} of studies"),
        ("How this was found", f"{RUNS} simulated studies with this policy, noise and delay"),
    ]


async def forecast_in_words(
    protocol: Protocol, baseline: float, difference: float, per_day: float
) -> list[tuple[str, str]]:
    """The same, computed in a process of its own."""
    module = "maskedbandit.cli.parts.forecast"
    said = await computed(module, protocol, baseline=baseline, difference=difference, per_day=per_day)
    return in_words(protocol, Forecast(*said), per_day, datetime.now(UTC))


def main(given: Any) -> list[float]:
    """What is printed."""
    return [*foreseen(Protocol.from_text(given["protocol"]), given["baseline"], given["difference"], given["per_day"])]


if __name__ == "__main__":
    answer(main)

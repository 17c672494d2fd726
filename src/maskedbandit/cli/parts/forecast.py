"""What a study would probably bring, simulated by the lab with the delay that its window makes.

    python -m maskedbandit.cli.parts.forecast < {"protocol": ..., "baseline": 0.3, "difference": 0.05, "per_day": 1000}

is a process of its own, so that a server goes on while it computes. The best arm has the baseline and the difference,
and all others have the baseline.
"""

from __future__ import annotations

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

from maskedbandit.errors import InvalidValue, StorageFailed
from maskedbandit.reports.forecast import RUNS, Forecast, forecast
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.reward import UNITS

PATIENCE = 90  # seconds


def foreseen(protocol: Protocol, baseline: float, difference: float, per_day: float) -> Forecast:
    """The forecast of a protocol."""
    means = [baseline + difference] + [baseline] * (protocol.k - 1)
    late = round(protocol.reward.window / UNITS["day"] * per_day)
    aim = float(protocol.aim) if protocol.people is None else protocol.people
    return forecast(protocol.policy, protocol.channel, means, aim, late)


def in_words(protocol: Protocol, found: Forecast, per_day: float, now: datetime) -> list[tuple[str, str]]:
    """A forecast for a page: terms, and what is said of each."""
    window = protocol.reward.window / UNITS["day"]
    ends = now + timedelta(days=found.people / per_day + window)
    late = now + timedelta(days=found.people_most / per_day + window)
    day = "%-d %B %Y"
    finish, search = f"about {ends.strftime(day)}", list[tuple[str, str]]()
    if protocol.people is None:
        people = f"{found.people:,.0f} ± {found.people_error:,.0f} on average"
        search.append(("People it needs", f"{people}; in nine of ten studies at most {found.people_most:,.0f}"))
        finish += f"; in nine of ten studies by {late.strftime(day)}"
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
    if not 0 <= baseline < 1:
        raise InvalidValue("baseline", baseline, "a mean from 0 to below 1")
    if not 0 < difference <= 1 - baseline:
        raise InvalidValue("difference", difference, f"above 0, and at most {1 - baseline:g}")
    if not 0 < per_day <= 1e9:
        raise InvalidValue("people on a day", per_day, "above 0, and at most 10^9")
    given = json.dumps({"protocol": protocol.text, "baseline": baseline, "difference": difference, "per_day": per_day})
    command = sys.executable, "-m", "maskedbandit.cli.parts.forecast"
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe)
    try:
        said, _ = await asyncio.wait_for(process.communicate(given.encode()), PATIENCE)
    except TimeoutError:
        raise InvalidValue("protocol", protocol.name, f"one that can be simulated in {PATIENCE} seconds") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise StorageFailed("the forecast failed: the server's log has more")
    return in_words(protocol, Forecast(*json.loads(said)), per_day, datetime.now(UTC))


def main(given: Any) -> list[float]:
    """What is printed."""
    return [*foreseen(Protocol.from_text(given["protocol"]), given["baseline"], given["difference"], given["per_day"])]


if __name__ == "__main__":
    print(json.dumps(main(json.load(sys.stdin))))

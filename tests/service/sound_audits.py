"""Audits of a sound service, one after the other: how many find it broken. It takes some seconds for each.

python -m tests.service.sound_audits 200
"""

import asyncio
import sys
from pathlib import Path

from maskedbandit.reports.audit.audit import ERROR
from maskedbandit.reports.audit.audit_study import SERVICE_COHORT, throw_away
from maskedbandit.reports.audit.over_http import start_own_service
from maskedbandit.reports.audit.parties import SEEN
from maskedbandit.reports.audit.samples import promise_to_samples, sampled_part
from maskedbandit.reports.audit.services import views_of
from maskedbandit.study.protocol import Protocol

NEWSLETTER = Path(__file__).parents[2] / "experiments" / "studies" / "newsletter.toml"
SAMPLES = 2000


def shown(protocol: Protocol, seed: int, error: float = ERROR) -> float:
    """The epsilon that an audit shows of a service of its own, over its API."""

    async def play() -> float:
        async with start_own_service() as service:
            views = await views_of(service, throw_away(protocol, f"audit-{seed}"), SAMPLES, seed, lambda n: None)
        promise = promise_to_samples(protocol.price(SERVICE_COHORT))
        return sampled_part("sound", promise, views, [], SEEN[:3], error).lower_bound

    return asyncio.run(play())


def main(runs: int, first: int = 0) -> None:
    """Print every audit, and how many are false alarms."""
    protocol, alarms = Protocol.from_file(NEWSLETTER), 0
    for seed in range(first, runs):
        found = shown(protocol, seed)
        alarms += found > protocol.price(SERVICE_COHORT).epsilon()
        print(f"{seed + 1} audits, {alarms} false alarms; the last shows {found:.3f}", flush=True)
    print(f"the chance of any is at most {runs * ERROR:.2g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

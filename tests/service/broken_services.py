"""Services that promise more privacy than they give, in one way each: what an audit through the API must notice.

It runs `python -m tests.service.broken_services NAME serve ...`.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from os import urandom
from random import Random
from typing import Any

import pytest

import maskedbandit.store.release as release_module
from maskedbandit.channels.central import Central
from maskedbandit.cli import main
from maskedbandit.device import local_reports
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study.deck import CohortDeck, Places
from maskedbandit.study.outcomes import MeasuredOutcome

ANALYZE, DEAL = Central.analyze, CohortDeck.deal
Set = Callable[[Any, str, Any], None]


def half_of_the_noise(put: Set) -> None:
    """The mean of the noisy sum and of the sum."""

    def half(self: Central, total: float, *given: Any, **more: Any) -> float:
        return (ANALYZE(self, total, *given, **more) + total) / 2

    put(Central, "analyze", half)


def noise_from_a_seed(put: Set) -> None:
    """Every release has the same noise."""
    put(release_module, "Bits", lambda: Bits(Random(7).randbytes))


def no_noise_in_every_other_release(put: Set) -> None:
    """As a cache might have it."""
    count = [0]

    def every_other(self: Central, total: float, *given: Any, **more: Any) -> float:
        count[0] += 1
        return ANALYZE(self, total, *given, **more) if count[0] % 2 else total

    put(Central, "analyze", every_other)


def rewards_that_stay(put: Set) -> None:
    """The sum of a cohort is in the arm's next release as well, twice."""
    before: dict[tuple[int, int], float] = {}

    def kept(self: Central, total: float, offer: Any, bits: Any, memory: Any, stream: int, **more: Any) -> float:
        old = before.get((id(memory), stream), 0)
        before[id(memory), stream] = total
        return ANALYZE(self, total + 2 * old, offer, bits, memory, stream, **more)

    put(Central, "analyze", kept)


def arms_by_rewards(put: Set) -> None:
    """Arms whose last cohort had a reward are dealt first; releases are as they should be."""
    rich: dict[int, float] = {}

    def note(self: Central, total: float, offer: Any, bits: Any, memory: Any, stream: int, **more: Any) -> float:
        rich[stream] = total
        return ANALYZE(self, total, offer, bits, memory, stream, **more)

    def deal(self: CohortDeck, bits: Bits, full: Any = ()) -> tuple[Places, int, Fraction]:
        first = [places for places in self.dealing if rich.get(places.arm, 0) > 0]
        if not first:
            return DEAL(self, bits)
        chosen = first[bits.below(len(first))]
        place = chosen.deal()
        self.sort(chosen)
        return chosen, place, Fraction(1, len(first))

    put(Central, "analyze", note)
    put(CohortDeck, "deal", deal)


BROKEN: dict[str, Callable[[Set], None]] = {
    "half of the noise": half_of_the_noise,
    "noise from a seed": noise_from_a_seed,
    "no noise in every other release": no_noise_in_every_other_release,
    "rewards that stay": rewards_that_stay,
    "arms by rewards": arms_by_rewards,
}


def lazy_device(put: Set) -> None:
    """A device that leaves every other flip away: with local trust, what it sends is what an adversary sees."""
    draw, count = local_reports.draw_local_value, [0]

    def lazy(offer: Any, scaled: Fraction, bits: Bits) -> int:
        count[0] += 1
        return draw(offer, scaled, bits) if count[0] % 2 else int(scaled)

    put(local_reports, "draw_local_value", lazy)


def silent_guardrail(put: Set) -> None:
    """The second sum of a release has hardly any noise."""
    released = MeasuredOutcome.released

    def silent(self: MeasuredOutcome, reports: Any, offer: Any, *given: Any) -> float:
        if self.metric:
            self = self._replace(channel=Central(epsilon=20))
            offer = self.offer(offer.n)
        return released(self, reports, offer, *given)

    put(MeasuredOutcome, "released", silent)


def share_noise(put: Set) -> None:
    """All sums of a release have the same draw of noise."""
    released, seed = MeasuredOutcome.released, [b""]

    def shared(self: MeasuredOutcome, reports: Any, offer: Any, bits: Bits, *given: Any) -> float:
        if not self.metric:
            seed[0] = urandom(16)
        return released(self, reports, offer, Bits(Random(seed[0]).randbytes), *given)

    put(MeasuredOutcome, "released", shared)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        BROKEN[sys.argv[1]](patch.setattr)
        del sys.argv[1]
        sys.exit(main())

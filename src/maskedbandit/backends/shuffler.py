"""A shuffler between the devices and the analyzer: messages arrive without their senders.

The parties are those of a real study: devices that seal, a shuffler that mixes, an analyzer that opens. What it adds to
the ideal one is trust in the shuffler, which must not collude with the analyzer, and in X25519 and AES-GCM.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from maskedbandit.backends.backend import Aggregate, Mixer, Phase, share
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.shuffle import shuffler


@dataclass(frozen=True)
class Shuffler(Mixer):
    """A rehearsal in one process. A device is lost with probability `dropout`, before it sends.

    Of the n users of a cohort floor(`corrupted` n) may work for the server, so none of what they send is counted on:
    the shuffler waits for `least` devices and so many more, or for as much more weight as so many can have.

    >>> mixed, aggregate = Shuffler().mix([[1, 0], [1, 1]], below=2, least=2, cohort=b"example", bits=Bits())
    >>> sorted(mixed), aggregate.total, aggregate.survivors
    ([0, 1, 1, 1], 3, [0, 1])
    """

    corrupted: Number = 0
    dropout: Number = 0
    attempts = 1

    def __post_init__(self) -> None:
        for name in ("corrupted", "dropout"):
            object.__setattr__(self, name, share(name, getattr(self, name)))

    def awaited(self, weights: Sequence[int], least: int) -> int:
        """Weight of the devices that the shuffler waits for."""
        lost = sum(sorted(weights, reverse=True)[: int(Fraction(self.corrupted) * len(weights))])
        if not 1 <= least <= sum(weights) - lost:
            allowed = f"from 1 to {sum(weights) - lost}, as {lost} may be corrupted: lower `honest` of the channel"
            raise InvalidValue(f"what is counted on in a cohort of {len(weights)}", least, allowed)
        return least + lost

    def mix(
        self,
        bundles: Sequence[Sequence[int]],
        below: int,
        least: int,
        cohort: bytes,
        bits: Bits,
        weights: Sequence[int] | None = None,
    ) -> tuple[list[int], Aggregate]:
        n, weights = len(bundles), weights or [1] * len(bundles)
        awaited = self.awaited(weights, least)
        here = [device for device in range(n) if not bernoulli(Fraction(self.dropout), bits)]
        analyzer = shuffler.Analyzer(below, cohort)
        middle = shuffler.Shuffler([len(bundle) for bundle in bundles], below, awaited, bits, weights)
        began = time.process_time()
        sealed = {device: shuffler.seal(bundles[device], below, analyzer.key, cohort) for device in here}
        sent = time.process_time()
        for device, bundle in sealed.items():
            middle.receive(device, bundle)
        batch, came = middle.release()
        mixed = time.process_time()
        opened = analyzer.open(batch, sum(len(bundles[device]) for device in came))
        phases = (
            Phase("seal", sum(map(len, sealed.values())), len(here) * len(analyzer.key), sent - began),
            Phase("shuffle", 0, 0, mixed - sent),
            Phase("open", 0, 0, time.process_time() - mixed),
        )
        return opened, Aggregate(sum(opened), came, phases)

"""A shuffler between the devices and the analyzer: messages arrive without their senders.

The parties are those of a real study: devices encrypt messages for the analyzer, the shuffler mixes them, the analyzer
decrypts them. The shuffler must be trusted not to collude with the analyzer; encryption rests on X25519 and AES-GCM.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from maskedbandit.backends.backend import Aggregate, Mixer, Phase, parse_fraction
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.shuffle import sealed_messages


@dataclass(frozen=True)
class Shuffler(Mixer):
    """A rehearsal in one process. A device drops out with probability `dropout`, before it sends anything.

    Up to floor(`corrupted` n) of the n users of a cohort may work for the analyzer, and the messages of any of them may
    be missing. So the shuffler waits for that many users more than the `least` honest ones; if users have weights, for
    the largest weight that so many users can have more than `least`.

    >>> mixed, aggregate = Shuffler().mix([[1, 0], [1, 1]], below=2, least=2, cohort=b"example", bits=Bits())
    >>> sorted(mixed), aggregate.total, aggregate.survivors
    ([0, 1, 1, 1], 3, [0, 1])
    """

    corrupted: Number = 0
    dropout: Number = 0
    attempts = 1

    def __post_init__(self) -> None:
        for name in ("corrupted", "dropout"):
            object.__setattr__(self, name, parse_fraction(name, getattr(self, name)))

    def awaited(self, weights: Sequence[int], least: int) -> int:
        """Total weight of the devices that the shuffler waits for."""
        lost = sum(sorted(weights, reverse=True)[: int(Fraction(self.corrupted) * len(weights))])
        if not 1 <= least <= sum(weights) - lost:
            allowed = f"from 1 to {sum(weights) - lost}, as {lost} may be corrupted: lower `honest` of the channel"
            raise InvalidValue(f"the number of users counted on in a cohort of {len(weights)}", least, allowed)
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
        analyzer = sealed_messages.Analyzer(below, cohort)
        mixer = sealed_messages.BundleShuffler([len(bundle) for bundle in bundles], below, awaited, bits, weights)
        began = time.process_time()
        sealed = {device: sealed_messages.seal_bundle(bundles[device], below, analyzer.key, cohort) for device in here}
        sent = time.process_time()
        for device, bundle in sealed.items():
            mixer.receive(device, bundle)
        batch, came = mixer.release()
        mixed = time.process_time()
        opened = analyzer.open(batch, sum(len(bundles[device]) for device in came))
        phases = (
            Phase("seal", sum(map(len, sealed.values())), len(here) * len(analyzer.key), sent - began),
            Phase("shuffle", 0, 0, mixed - sent),
            Phase("open", 0, 0, time.process_time() - mixed),
        )
        return opened, Aggregate(sum(opened), came, phases)

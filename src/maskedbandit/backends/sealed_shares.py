"""Two servers that do not collude: each receives an additive value share of every value, and adds its own noise [CB17].

A device sends one message to each server and is done. Each server adds a complete draw of noise, so the privacy of a
release rests on one honest server and on no other device. The cost is twice the variance.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from maskedbandit.backends.backend import Aggregate, NoisyAdder, Phase, parse_fraction
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.secagg.server_pair import HASH_BYTES, PairServer, PairTerms, collect_sum, server_keys, share_value


@dataclass(frozen=True)
class SealedShares(NoisyAdder):
    """A rehearsal in one process: devices, both servers and the collector exchange bytes.

    A device drops out with probability `dropout`, before its first message or between the two. Its value is then not in
    the sum.

    >>> SealedShares().noisy_sum([3, 4, 6], 100, 7, noise=lambda: 1, cohort=b"example", bits=Bits())[:2]
    (15, (0, 1, 2))
    """

    dropout: Number = 0
    attempts = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "dropout", parse_fraction("dropout", self.dropout))

    def noisy_sum(
        self, values: Sequence[int], modulus: int, largest: int, noise: Callable[[], int], cohort: bytes, bits: Bits
    ) -> Aggregate:
        n, clock = len(values), [time.process_time()]
        private, public = zip(*(server_keys(bits) for _ in range(2)), strict=True)
        terms = PairTerms(cohort, modulus, 1, (public[0], public[1]))
        servers = [PairServer(terms, role, private[role], noise) for role in range(2)]
        clock.append(time.process_time())
        up = 0
        for user, value in enumerate(values):
            reached = bits.below(2) if bernoulli(Fraction(self.dropout), bits) else 2
            for server, message in zip(servers[:reached], share_value(terms, user, value, bits), strict=False):
                server.receive(user, message)
                up += len(message)
        clock.append(time.process_time())
        first, second = servers
        to_second, to_first = first.close(), second.close()
        total, _ = collect_sum(terms, first.publish(to_first), second.publish(to_second))
        clock.append(time.process_time())
        seconds = [end - start for start, end in pairwise(clock)]
        phases = Phase("keys", 0, 2 * HASH_BYTES * n, seconds[0]), Phase("value shares", up, 0, seconds[1])
        return Aggregate(total, first.survivors, (*phases, Phase("totals", 0, 0, seconds[2])))

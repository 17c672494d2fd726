"""Two operators that do not collude, as they serve a study over a network: value shares with a proof of their range.

A device sends one report, to the operator that runs the study. No report can move a sum by more than one reward, as
both operators check its proof together. Each of them adds a whole draw of noise, so the privacy of a release rests on
one honest operator and on no other device; the cost is twice the variance.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import ClassVar

from maskedbandit.backends.backend import Aggregate, NoisyAdder, Phase, parse_fraction
from maskedbandit.errors import ProtocolError, TooFew
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.secagg.prio3 import FIELD, HELPER, LEADER, NONCE, SEED
from maskedbandit.secagg.server_pair import HASH_BYTES, server_keys
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, Upload, seal_report


@dataclass(frozen=True)
class Prio3(NoisyAdder):
    """A rehearsal in one process: devices seal their reports, both operators open and check them, and add noise.

    A device drops out with probability `dropout`, before its report. Its value is then not in the sum, as is that of a
    device whose proof does not hold.

    >>> Prio3().noisy_sum([3, 4, 6], FIELD, 7, noise=lambda: 1, cohort=b"example", bits=Bits())[:2]
    (15, (0, 1, 2))
    """

    modulus: ClassVar[int] = FIELD

    dropout: Number = 0
    attempts = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "dropout", parse_fraction("dropout", self.dropout))

    def noisy_sum(
        self, values: Sequence[int], modulus: int, largest: int, noise: Callable[[], int], cohort: bytes, bits: Bits
    ) -> Aggregate:
        def draw(count: int) -> bytes:
            return bits.below(1 << 8 * count).to_bytes(count)

        clock = [time.process_time()]
        private, public = zip(*(server_keys(bits) for _ in range(2)), strict=True)
        key, name = draw(SEED), sha256(cohort).digest()
        readers = [ShareReader(role, each, key) for role, each in enumerate(private)]
        totals = [noise(), noise()]  # before any report is looked at
        clock.append(time.process_time())
        sent: dict[int, tuple[ReportTerms, Upload]] = {}
        for user, value in enumerate(values):
            if not bernoulli(Fraction(self.dropout), bits):
                terms = ReportTerms(name, 0, name, largest, user)
                sent[user] = terms, seal_report(terms, value, (public[0], public[1]), 0, draw)
        clock.append(time.process_time())
        survivors = []
        for user, (terms, upload) in sent.items():
            try:
                shares = [
                    readers[role].read(terms, upload.report, upload.turn, sealed)
                    for role, sealed in ((LEADER, upload.leader), (HELPER, upload.helper))
                ]
                terms.range.check(*(share.verifier for share in shares))
            except ProtocolError:
                continue
            survivors.append(user)
            totals = [(total + share.value) % FIELD for total, share in zip(totals, shares, strict=True)]
        if not survivors:
            raise TooFew("both operators have reports of 0 users: 1 is needed")
        clock.append(time.process_time())
        seconds = [end - start for start, end in pairwise(clock)]
        up = sum(NONCE + 8 + len(upload.leader) + len(upload.helper) for _, upload in sent.values())
        phases = Phase("keys", 0, 2 * HASH_BYTES * len(values), seconds[0]), Phase("reports", up, 0, seconds[1])
        return Aggregate(sum(totals) % FIELD, tuple(survivors), (*phases, Phase("totals", 0, 0, seconds[2])))

"""No privacy: the server receives every reward, and the policy receives plain sums. A baseline for comparisons."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from maskedbandit.channels.channel import Carrier, check_answers, check_cohort_size, no_draw
from maskedbandit.channels.codec import check_contribution
from maskedbandit.channels.offers import Offer
from maskedbandit.core import kernel
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class Raw(Carrier):
    """Sums as they are.

    **Guarantee**: none.

    >>> Raw().analyze(3.5, Raw().offer(7), bits=Bits(), answers=7)
    3.5
    """

    trust = "none"
    sees = "server and policy: every reward"

    draws = no_draw

    def law(self) -> Law:
        return Law(NO_NOISE)

    def loss(self, n: int) -> Loss:
        return Loss.unbounded()

    def offer(self, n: int, modulus: int = 0) -> Offer:
        check_cohort_size(n)
        return Offer(type(self).__name__, int(n), steps=0).also(**self.terms_of_statistics())

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> float:
        return float(check_contribution(reward, self.statistics))

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, offer.n)
        return float(total)

    @staticmethod
    @kernel
    def perturb(
        parameters: Any, memory: Any, law: Law, stream: int, total: float, n: int, noise: int, rng: np.random.Generator
    ) -> float:
        return total

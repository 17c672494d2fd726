"""Distributed trust: every device adds a noise share, and the server sees only the sum.

The sum of a whole cohort carries the noise that a trusted server would have added, though there is no such server
[CZ23, Thm. 1]. Devices work modulo m, so that masks can be uniform. If users drop out or add no noise, their noise
shares are missing. So noise shares are calibrated to `ceil(honest * n)` users, the least number that must add noise,
and a cohort that ends with fewer is discarded. The secure aggregation is an ideal sum, or the real protocol that
`backend` names.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from maskedbandit.channels.channel import check_answers, whole_steps
from maskedbandit.channels.codec import (
    ModulusRule,
    check_failure,
    choose_modulus,
    decode_sum,
    fit_margin,
    least_modulus,
    noise_margin,
    unwrap_residue,
    worst_shift,
)
from maskedbandit.channels.offers import NoiseShare, Offer
from maskedbandit.channels.secure_sum import SummedChannel
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, count_steps
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class Distributed(SummedChannel):
    """Noise shares from the devices, and a sum that hides its terms.

    **Guarantee**: if the server sees nothing but the sum modulo m, and at least ceil(honest * n) of the n users of a
    cohort add their noise share, the release costs a user at most `loss(n)`; with discrete Laplace noise that is the
    pure loss `epsilon`. With a real protocol behind the sum the statement is computational.

    `failure` is the chance that a sum of a cohort wraps around its modulus, `tail` says how the margin for noise is
    computed ("chernoff", or "paper": the formulas of [CZ23]), `modulus` is the "power of two" above the least one, the
    least one ("tight"), or a number. The server computes it and announces it in the offer.

    >>> Distributed(epsilon=0.5).loss(n=1000).epsilon()
    0.5
    """

    trust = "distributed"
    sees = "server: noisy sums alone"

    modulus: int | Literal["power of two", "tight"] = "power of two"
    tail: Literal["chernoff", "paper"] = "chernoff"
    failure: float = 1e-12

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "failure", check_failure(self.failure))
        if self.tail not in ("chernoff", "paper"):
            raise InvalidValue("tail", self.tail, "'chernoff' or 'paper'")
        if self.modulus not in ("power of two", "tight") and not (
            isinstance(self.modulus, int) and 1 < self.modulus < 2**62
        ):
            raise InvalidValue(
                "modulus", self.modulus, "'power of two', 'tight' or a whole number above 1 and below 2^62"
            )

    def parameters(self) -> ModulusRule:
        fixed = self.modulus if isinstance(self.modulus, int) else 0
        return ModulusRule(
            self.failure, fixed, int(self.modulus == "tight"), int(self.tail == "paper"), self.statistics.low
        )

    def law(self) -> Law:
        return self.noise_law(per_release=1.0, honest=float(self.honest))

    def loss(self, n: int) -> Loss:
        return self.release_noise(n).loss(self.steps(n), self.counted_on(n), self.statistics) * self.backend.attempts

    def loss_left(self, n: int, people: int) -> Loss:
        """Loss by a sum in which so many people's noise shares are left, of whom nobody else knows them.

        From `counted_on(n)` people on that is at most `loss(n)`; with fewer it is more.

        >>> [str(Distributed(honest=0.8).loss_left(100, people)) for people in (90, 80, 72, 40)]
        ['ε = 1', 'ε = 1', 'ε = 1.099', 'ε = 1.675']
        """
        if type(people) is not int or not 1 <= people <= n:
            raise InvalidValue("people", people, f"a whole number from 1 to {n}, the size of the cohort")
        noise = self.release_noise(n)
        left = noise.loss_of_shares(self.steps(n), people, self.counted_on(n), self.statistics)
        return left * self.backend.attempts

    def residues(self, n: int) -> tuple[int, int]:
        return fit_margin(self.parameters(), self.law(), n, self.steps(n), n / self.counted_on(n))

    def offer(self, n: int, modulus: int = 0) -> Offer:
        noise = NoiseShare(type(self.noise).__name__, self.release_noise(n).scale, self.counted_on(n))
        return replace(super().offer(n, modulus), noise=noise)

    def draw_own_noise(self, size: int, n: int, bits: Bits) -> list[int]:
        return self.release_noise(n).noise_shares(size, self.counted_on(n), bits)

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        n, least = offer.n, self.counted_on(offer.n)
        check_answers(answers, n, least)
        total = whole_steps(total)
        return decode_sum(total, offer.modulus, self.parameters(), self.law(), n, self.steps(n), n / least)

    def poisoning(self, n: int) -> float:
        """The largest change of the sum of a cohort of n that a single device can cause without being noticed.

        It is n + 2 tau / g for rewards in steps of 1/g with margin tau for the noise: more than all rewards together,
        and many times more where epsilon n is small. It spoils the estimate, and the privacy of nobody.

        >>> [round(Distributed(epsilon).poisoning(n) / n, 1) for epsilon, n in ((1, 1000), (1, 64), ("0.1", 64))]
        [1.1, 1.9, 9.7]
        """
        return worst_shift(self.parameters(), self.law(), n, self.steps(n), n / self.counted_on(n))

    @staticmethod
    @kernel
    def perturb(
        parameters: ModulusRule,
        memory: NamedTuple,
        law: Law,
        stream: int,
        total: float,
        n: int,
        noise: int,
        rng: np.random.Generator,
    ) -> float:
        g, margin = count_steps(law, n), noise_margin(parameters, law, n)
        m = choose_modulus(parameters, law, n, margin)
        if m < least_modulus(parameters, n, g, margin):
            return math.nan  # the cohort does not fit
        return unwrap_residue((int(total) + noise) % m, m, n * g + margin) / g

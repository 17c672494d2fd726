"""Local trust by randomized response: every device sends one bit, which may be false [War65].

A reward x becomes a bit of mean x, and the bit is flipped with probability 1 / (1 + e^ε); so a bit's mean is flip + (1
− 2 flip) x, and the sum of n bits is turned into an unbiased estimate of the sum of rewards [War65; RZLS20].
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maskedbandit.channels.channel import Carrier, check_answers, check_cohort_size, check_epsilon, no_draw, whole_steps
from maskedbandit.channels.codec import encode_reward
from maskedbandit.channels.offers import Offer
from maskedbandit.core import kernel
from maskedbandit.law import RESPONSE, Law
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits, bernoulli_exp


@dataclass(frozen=True)
class Response(Carrier):
    """One randomized bit per user.

    **Guarantee**: the message of a device has the pure loss `epsilon` for its user, whoever sees it.

    >>> Response(epsilon=2).loss(n=1).epsilon()
    2.0
    """

    trust = "local"
    sees = "server: one randomized bit per user"

    epsilon: Number = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_single()
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))

    draws = no_draw  # `perturb` flips the bits

    def law(self) -> Law:
        return Law(RESPONSE, grid=1.0, flip=1 / (1 + math.exp(min(Fraction(self.epsilon), Fraction(700)))))

    def loss(self, n: int) -> Loss:
        return Loss.pure(self.epsilon)

    def offer(self, n: int, modulus: int = 0) -> Offer:
        check_cohort_size(n)
        return Offer(type(self).__name__, int(n), steps=1).also(epsilon=self.epsilon, **self.terms_of_statistics())

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        flip, epsilon = 0, Fraction(self.epsilon)
        while not flip and bits.below(2):  # e^-epsilon / (1 + e^-epsilon): a fair coin, then one of e^-epsilon
            flip = int(bernoulli_exp(epsilon, bits))
        return encode_reward(reward, 1, bits) ^ flip

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        check_answers(answers, offer.n)
        flip = self.law().flip
        return (whole_steps(total) - answers * flip) / (1 - 2 * flip)

    @staticmethod
    @kernel
    def perturb(
        parameters: Any, memory: Any, law: Law, stream: int, total: float, n: int, noise: int, rng: np.random.Generator
    ) -> float:
        ones = rng.binomial(int(total), 1 - law.flip) + rng.binomial(n - int(total), law.flip)
        return (ones - n * law.flip) / (1 - 2 * law.flip)

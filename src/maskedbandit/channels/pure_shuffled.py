"""Shuffled trust without δ: Pólya noise inside a relaxed secure sum that a shuffler can compute [CZ23, Thm. 3].

From enough anonymous bits a shuffler can make a sum modulo m that is nearly ideal [CY21]. It is (ε′, q)-relaxed: its
view has a log-likelihood ratio of at most ε′ to something made of the true sum alone, and except with probability q
the true sum can be read from it. Then, for cohorts that differ in one reward,

    loss ≤ ε′ + (loss of the true sum) + ε′ = ε,     ε′ = ε / 4,

if the noise in the sum is calibrated to ε / 2. The three terms are the steps from the view of one cohort to the view
made of its sum, from there to that of the other cohort's sum, and back to the other view [CZ23, App. C.2]. An error of
the sum harms the estimate and never the privacy.

The relaxed sum is taken as given: this channel does not split values into bits, and the lab draws correct sums. The
theorem asks for ε below 1. The privacy holds for any ε, if the relaxed sum exists, which is known for ε′ < 1.

For bits there is a protocol of some hundred messages whose releases have the same distribution and the same loss; it is
no relaxed sum (shuffle/pair_flooding.py).

The numbers of a vector have relaxed sums of their own, whose ratios multiply: each must have ε′ = ε / (4s), with s
numbers in which two users may differ, of one model or of two.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

from maskedbandit.channels.channel import Carrier, check_epsilon
from maskedbandit.channels.codec import Grid, ModulusRule
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.offers import Offer
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits


@dataclass(frozen=True)
class PureShuffled(Carrier):
    """Twice the noise of distributed trust, for pure privacy from a shuffler.

    **Guarantee**: if the server sees the sum of a cohort by an (ε/4, q)-relaxed secure sum in which every user adds a
    noise share, a release has the pure loss `epsilon`, whatever q is; ε/(4s), if users may differ in s numbers.

    `failure` bounds the chance that noise exceeds the margin in the modulus; the relaxed sum should have a q no larger.
    The theorem has `grid="paper"` and both at 1 / 2T; one step for each reward gives the same privacy.

    >>> PureShuffled(epsilon=0.5).loss(n=1000).epsilon()
    0.5
    """

    trust = "shuffled"
    sees = "server: an unordered multiset of bits, worth little more than a noisy sum"

    epsilon: Number = Fraction(1, 2)
    failure: float = 1e-12
    grid: Grid | int | Literal["paper"] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if not Fraction(2, 10**6) <= Fraction(self.epsilon) < 1:  # half of it is the noise's
            raise InvalidValue("epsilon", self.epsilon, "at least 0.000002 and below 1, as relaxed sums demand")
        object.__setattr__(self, "failure", self.summed.failure)
        object.__setattr__(self, "grid", self.summed.grid)

    @cached_property
    def summed(self) -> Distributed:
        """The noisy sum inside."""
        return Distributed(Fraction(self.epsilon) / 2, grid=self.grid, failure=self.failure, statistics=self.statistics)

    @property
    def draws(self) -> Any:
        return DiscreteLaplace.draws

    def parameters(self) -> ModulusRule:
        return self.summed.parameters()

    def law(self) -> Law:
        return self.summed.law()

    def loss(self, n: int) -> Loss:
        return Loss.pure(self.epsilon)

    def offer(self, n: int, modulus: int = 0) -> Offer:
        return replace(self.summed.offer(n, modulus), channel=type(self).__name__).also(epsilon=self.epsilon)

    def randomize(self, reward: float, offer: Offer, bits: Bits) -> int:
        return self.summed.randomize(reward, offer, bits)

    def analyze(
        self, total: float, offer: Offer, bits: Bits, memory: Any = None, stream: int = 0, *, answers: int
    ) -> float:
        return self.summed.analyze(total, offer, bits, answers=answers)

    def check_size(self, n: int, memory: Any = None, stream: int | None = None) -> None:
        self.summed.check_size(n)

    perturb = Distributed.perturb

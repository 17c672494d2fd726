"""CentredUCB: LinUCB for rewards that are bits, on residuals r − 1/2, which are hidden by half the noise.

    E[r] = 1/2 + wᵀz,     arm = argmax  w_aᵀz + α width_a(z)

A user adds (c z zᵀ, (r − 1/2) z), c = `products`. A residual is at most 1/2 from 0, so two users are about half as far
apart as with r z (see privacy/statistics.py). And what is not known is taken for 1/2, and not for 0: with r z, an arm
that was shown to more people looks better while noise hides both. The weights make three steps of iterated ridge
regression (see parts/linear.py).

Contexts should have a number that is the same for all, if arms are liked by more or less than half of all people.

It is this project's own, and has nothing else to prove: what is charged and the widths are those of lin_ucb.py.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.contextual.lin_ucb import LinUCB
from maskedbandit.policies.parts.linear import LinearPolicy, Models, learn, repeat_fit
from maskedbandit.privacy.exact import Number
from maskedbandit.privacy.statistics import Factors, Statistics, clip_factors, weighted_sums


@dataclass(frozen=True)
class CentredUCB(LinearPolicy):
    """Optimism in a linear model of residuals; for the parameters see `LinearPolicy`.

    >>> from maskedbandit.law import NO_NOISE
    >>> from maskedbandit.policies.contextual_policy import Aim
    >>> s, law, z = CentredUCB(products=1).init(k=2, aim=Aim(d=1, horizon=1000)), Law(NO_NOISE), np.array([1.0])
    >>> CentredUCB.factors(s, 1, z, 1.0)
    Factors(products=1.0, reward=0.5)
    >>> CentredUCB.tell(s, law, model=1, n=9, sums=np.array([9.0, 4.5]))  # nine users with this z and a reward of 1
    >>> s.weights[:, 0].round(2).tolist()
    [0.0, 0.45]
    """

    products: Number = Fraction(1, 2)

    ask = LinUCB.ask

    def statistics(self, d: int, signed: bool) -> Statistics:
        return weighted_sums(d, Fraction(self.products))

    @staticmethod
    @kernel
    def factors(s: Models, model: int, z: np.ndarray, reward: float) -> Factors:
        return clip_factors(1.0, reward - 0.5)

    @staticmethod
    @kernel
    def tell(s: Models, law: Law, model: int, n: int, sums: np.ndarray) -> None:
        learn(s, law, model, n, sums)
        repeat_fit(s, model)

"""LinUCB: the arm with the highest upper confidence bound of a linear model, on any channel [LCLS10; MT15, App. D.2].

    arm = argmax  w_aᵀz + α width_a(z)          w and width as in policies/parts/linear.py

On the raw channel that is LinUCB with ridge regression. On a tree it is the private algorithm of [MT15], which keeps
running sums of every entry of z zᵀ and r z in noisy trees; with Gaussian noise on one vector of all entries it is that
of [SS18]. On central, distributed and shuffled channels cohorts grow, so that a sum holds few draws of noise; on the
local channel it is that of [ZCHLW20].

Departures: the appendix of [MT15] is not public, so the rest of its algorithms is not known. This project's are the
shift of A, cohorts of more than one user, and that the sums of all arms are released whenever one is (see
contextual_policy.py): the number of users of an arm would reveal something about their contexts.
"""

from dataclasses import dataclass

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.linear import LinearPolicy, Models, highest_bound


@dataclass(frozen=True)
class LinUCB(LinearPolicy):
    """Optimism in a linear model; for the parameters see `LinearPolicy`.

    >>> from maskedbandit.law import NO_NOISE
    >>> from maskedbandit.policies.contextual_policy import Aim
    >>> s, law = LinUCB().init(k=3, aim=Aim(d=2, horizon=1000)), Law(NO_NOISE)
    >>> LinUCB.tell(s, law, model=1, n=1, sums=np.array([0.5, 0.5, 0.5, 0.7, 0.7]))
    >>> LinUCB.ask(s, np.array([[0.7, 0.7]]), np.array([0, 1, 2]), law, np.random.default_rng(1))
    1
    """

    @staticmethod
    @kernel
    def ask(s: Models, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        return highest_bound(s, x, pool, rng)

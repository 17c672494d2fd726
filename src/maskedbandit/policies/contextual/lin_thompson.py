"""Linear Thompson sampling: the arm that is best for weights drawn from their posterior [AGlin13; MT15, App. D.3].

    u_a ~ N(w_a, α² V_a⁻¹),    arm = argmax  u_aᵀz,      w and V as in policies/parts/linear.py

If every arm has its own weights, the numbers u_aᵀz are independent, so they are drawn directly. If all arms share one
model, its weights are drawn once.

Departures: those of lin_ucb.py.
"""

from dataclasses import dataclass

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.parts.linear import LinearPolicy, Models, interval_width, predict_value, write_products


@dataclass(frozen=True)
class LinThompson(LinearPolicy):
    """Thompson sampling with a linear model; for the parameters see `LinearPolicy`.

    >>> from maskedbandit.law import NO_NOISE
    >>> from maskedbandit.policies.contextual_policy import Aim
    >>> s, law = LinThompson(alpha=0.1).init(k=2, aim=Aim(d=1, horizon=1000)), Law(NO_NOISE)
    >>> LinThompson.tell(s, law, model=1, n=9, sums=np.array([9.0, 9.0]))
    >>> LinThompson.ask(s, np.array([[1.0]]), np.array([0, 1]), law, np.random.default_rng(1))
    1
    """

    @staticmethod
    @kernel
    def ask(s: Models, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        squares, best, highest = np.empty(s.spread.shape[1]), -1, 0.0
        drawn, shared = np.zeros(x.shape[1]), s.weights.shape[0] == 1
        if shared:
            for a in range(drawn.size):
                drawn[a] += s.weights[0, a]
                z = s.scale * rng.standard_normal()
                for b in range(a + 1):
                    drawn[b] += s.root[0, b, a] * z
        for i in range(pool.size):
            arm = pool[i]
            row = arm if x.shape[0] > 1 else 0
            seen = 0.0
            if shared:
                for a in range(drawn.size):
                    seen += drawn[a] * x[row, a]
            else:
                if i == 0 or x.shape[0] > 1:
                    write_products(x[row], squares)
                seen = predict_value(s, arm, x[row]) + s.scale * interval_width(s, arm, squares) * rng.standard_normal()
            if best < 0 or seen > highest:
                best, highest = arm, seen
        return int(best)

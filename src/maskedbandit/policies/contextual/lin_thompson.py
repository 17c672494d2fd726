"""Linear Thompson sampling: the arm that is best for weights drawn from their posterior [AG13; MT15, App. D.3].

    u_a ~ N(w_a, alpha^2 V_a^-1),    arm = argmax  u_a' z,      w and V as in policies/linear.py

If every arm has weights of its own, the draws u_a' z are independent, so they are drawn themselves; one model for all
arms takes one draw of its weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import Law
from maskedbandit.policies.linear import Models
from maskedbandit.policies.linear_policy import LinearPolicy


@dataclass(frozen=True)
class LinThompson(LinearPolicy):
    """Thompson sampling with a linear model; for the parameters see `LinearPolicy`.

    >>> from maskedbandit.law import NO_NOISE
    >>> from maskedbandit.policies.contextual_policy import Aim
    >>> s, law = LinThompson(alpha=0.1).init(k=2, aim=Aim(d=1, horizon=1000)), Law(NO_NOISE)
    >>> LinThompson.tell(s, law, model=1, n=9, sums=np.array([9.0, 9.0]))
    >>> int(LinThompson.ask(s, np.array([[1.0]]), np.array([0, 1]), law, np.random.default_rng(1)))
    1
    """

    @staticmethod
    @kernel
    def ask(s: Models, x: np.ndarray, pool: np.ndarray, law: Law, rng: np.random.Generator) -> int:
        d, best, highest, shared = x.shape[1], -1, 0.0, s.weights.shape[0] == 1
        if shared:
            drawn = np.zeros(d)
            for a in range(d):
                z = s.scale * rng.standard_normal()
                drawn[a] += s.weights[0, a]
                for b in range(a + 1):
                    drawn[b] += s.root[0, b, a] * z
        for i in range(pool.size):
            arm = pool[i]
            row = arm if x.shape[0] > 1 else 0
            value = 0.0
            if shared:
                for a in range(d):
                    value += drawn[a] * x[row, a]
            else:
                square, place = 0.0, 0
                for a in range(d):
                    z, inner = x[row, a], 0.0
                    value += s.weights[arm, a] * z
                    for b in range(a, d):
                        inner += s.spread[arm, place] * x[row, b]
                        place += 1
                    square += inner * z
                value += s.scale * math.sqrt(max(square, 0.0)) * rng.standard_normal()
            if best < 0 or value > highest:
                best, highest = arm, value
        return best

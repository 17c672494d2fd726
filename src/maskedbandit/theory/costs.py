"""Transportation costs of all rivals of the best arm at once: the kernels of transport.py over arrays.

A `Parts` maps v_a = w_a / w_best of each rival to two parts, d(m_best, x_a) and d(m_a, x_a), at the x_a where the arms
meet. The cost over w_best is C_a(v) = d(m_best, x_a) + v d(m_a, x_a); it grows with v, and part two is its slope.
`at` says which rivals the v belong to, if not to all.
"""

from typing import Protocol

import numpy as np
import numpy.typing as npt

from maskedbandit.theory import transport

Floats = npt.NDArray[np.float64]
Arms = slice | npt.NDArray[np.intp]
ALL = slice(None)


class Parts(Protocol):
    """See the top of the file."""

    def __call__(self, v: Floats, at: Arms = ALL) -> tuple[Floats, Floats]: ...


def quadratic_parts(cost: Floats) -> Parts:
    """d(m, x) = cost ((m - x) / gap)^2."""
    return lambda v, at=ALL: (cost[at] * np.square(v / (1 + v)), cost[at] / np.square(1 + v))


def kl_parts(top: float, rivals: Floats) -> Parts:
    """d = kl: arms meet at the pooled mean."""
    each = np.vectorize(transport.kl_parts, otypes=[float, float])
    return lambda v, at=ALL: each(top, rivals[at], v)


def private_parts(top: float, rivals: Floats, epsilon: float) -> Parts:
    """d = d_eps: transport.py says where arms meet."""
    each = np.vectorize(transport.private_parts, otypes=[float, float])
    return lambda v, at=ALL: each(top, rivals[at], v, epsilon)

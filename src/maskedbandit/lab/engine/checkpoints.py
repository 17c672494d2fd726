"""Checkpoints: the numbers of users at which a run records its results."""

from typing import Any

import numpy as np

from maskedbandit.core import Floats, Integers, Kernel


def list_checkpoints(horizon: int) -> Integers:
    """Sixteen a decade, the same for every horizon, and the horizon itself.

    >>> list_checkpoints(10).tolist()
    [1, 2, 3, 4, 5, 6, 7, 9, 10]
    """
    grid = np.round(10 ** (np.arange(16 * len(str(horizon)) + 1) / 16)).astype(np.int64)
    return np.append(np.unique(grid[grid < horizon]), horizon)


def at_mark(marks: Integers, mark: int, t: int, regret: float, value: float, regrets: Floats, values: Floats) -> int:
    """Write down both numbers if t users are the next mark; which mark is next then."""
    if t == marks[mark]:
        regrets[mark] = regret
        values[mark] = value
        return mark + 1
    return mark


marked: Kernel[Any, int] = Kernel(at_mark)

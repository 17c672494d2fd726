"""What a run writes down at its checkpoints."""

from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit.core import Kernel

Floats = npt.NDArray[np.float64]


def at_mark(
    marks: npt.NDArray[np.int64], mark: int, t: int, regret: float, value: float, regrets: Floats, values: Floats
) -> int:
    """Write down both numbers if t users are the next mark; which mark is next then."""
    if t == marks[mark]:
        regrets[mark] = regret
        values[mark] = value
        return mark + 1
    return mark


marked: Kernel[Any, int] = Kernel(at_mark)

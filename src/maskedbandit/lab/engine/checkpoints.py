"""Checkpoints: the numbers of users at which a run is looked at."""

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    pass


def checkpoints(horizon: int) -> npt.NDArray[np.int64]:
    """Sixteen a decade, the same for every horizon, and the horizon itself.

    >>> checkpoints(10).tolist()
    [1, 2, 3, 4, 5, 6, 7, 9, 10]
    """
    grid = np.round(10 ** (np.arange(16 * len(str(horizon)) + 1) / 16)).astype(np.int64)
    return np.append(np.unique(grid[grid < horizon]), horizon)

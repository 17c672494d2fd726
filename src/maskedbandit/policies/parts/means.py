"""Means of rewards, from sums and numbers of users."""

import numpy as np
import numpy.typing as npt


def means_of(total: np.ndarray, n: np.ndarray) -> npt.NDArray[np.float64]:
    """total / n; nan where there is no user.

    >>> means_of(np.array([3.0, 0.0]), np.array([4, 0]))
    array([0.75,  nan])
    """
    return np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0)

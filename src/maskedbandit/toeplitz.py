"""Toeplitz factorizations of running sums: A = B C, with which one draw of noise a release serves all sums.

A is the matrix of running sums, ones on and below its diagonal. Of x, the sums of an arm's cohorts, y = C x + z is
released, row by row, and B y = A x + B z is the running sum. All three matrices are Toeplitz and lower triangular, so
each is a power series: of A it is 1 / (1 − s), and B(s) C(s) = 1 / (1 − s). The noise of the m-th sum has the squares
of the first m weights of B, and z has to hide a column of C. With f_k = C(2k, k) / 4^k, the series of 1 / √(1 − s):

* `root`: B(s) = C(s) = 1 / √(1 − s), within a constant of the best for streams of known length [FHU23; HUU23]. With
  b bands, 1 / C(s) is the first b terms of √(1 − s) [KMUL26]. B has the weights f_0, ..., f_{b−1}, f_{b−1}, and so on:
  variances grow linearly once there are more than b releases. C falls off geometrically, so that its column has a norm
  that hardly depends on the length.
* `endless`: C(s) = (1 − s)^{−1/2} h(s)^{−2} q(s)^{12/5}, h = −ln(1 − s) / s, q = 2 ln(h) / s. The column of C is square
  summable, so that the noise of a sum depends on the releases until then alone, and not on how many will follow [JF25].
  The squares of the whole column add up to 2.51. A stream here has `MOST_RELEASES` and no more; of these it is 2.2212,
  with 12 % less variance. Exponents in the ratio −5 : 6 leave the first two terms those of the square root. Larger ones
  have less noise in long streams and more in short ones: with these its variance is at most 1.63 times that of `root`
  for just as many releases, for 4 to 2^14 of them.

C has whole weights, in units of 1 / `WHOLE_WEIGHT`, so that y is an integer with an integer noise. Weights are cut
towards zero, which makes no column longer. B then is that of the weights that were cut, so that running sums have no
bias; its own weights differ from those above by less than 1e-3, `ROUNDED`.
"""

import math
from functools import cache

import numpy as np

from maskedbandit.core import Floats, Integers, lean_kernel

WHOLE_WEIGHT = 2**20
MOST_RELEASES = 2**14  # of one stream: the m-th costs m multiplications
ROUNDED = 1.001
LOG_POWER, LOG_LOG_POWER = -2.0, 2.4
ENDLESS_SQUARE = 2.2212  # at least the sum of the squares of the endless C's `MOST_RELEASES` whole weights
# squares of the weights of the endless B added up, of the first 2^i: from one to the next they are convex in i
ENDLESS_NODES = (
    *(1.0, 1.25, 1.53166, 1.85941, 2.24757, 2.71012, 3.26096, 3.91425),
    *(4.68456, 5.58699, 6.63733, 7.85209, 9.24854, 10.8448, 12.6597),
)


@lean_kernel
def root_nodes(m: int) -> float:
    """Σ_{k<m} f_k² from above, to 6e-3 at m = 1 and to 3e-4 from m = 2 on: a Landau constant.

    With n = m − 1/4 it is (ln(n + 11 / (192 n)) + γ + 4 ln 2) / π but for O(n^{−4}), γ Euler's constant.

    >>> [round(root_nodes(m), 4) for m in (1, 2, 3)], 1 + 1 / 4, 1 + 1 / 4 + 9 / 64
    ([1.0056, 1.2503, 1.3907], 1.25, 1.390625)
    """
    n = m - 0.25
    return (math.log(n + 11 / (192 * n)) + 0.5772156649015329 + 4 * math.log(2.0)) / math.pi


@lean_kernel
def banded_nodes(m: int, bands: int) -> float:
    """Draws in the sum of m releases of a root counter, from above."""
    within = min(m, bands)
    last = 1 / (math.pi * (bands - 0.75))  # at least the square of f_{bands - 1}
    return ROUNDED * (root_nodes(within) + (m - within) * last)


@lean_kernel
def endless_nodes(m: int) -> float:
    """Draws in the sum of m releases of an endless counter, from above."""
    i = min(int(math.log2(m)), len(ENDLESS_NODES) - 2)
    step = ENDLESS_NODES[i + 1] - ENDLESS_NODES[i]
    return ROUNDED * (ENDLESS_NODES[i] + (math.log2(m) - i) * step)


def multiply(one: Floats, other: Floats) -> float:
    """The scalar product, by one thread: those of a library of linear algebra spin for longer than they compute."""
    return float(np.einsum("i,i", one, other))


def find_rates(series: Floats) -> Floats:
    """s d/ds of the logarithm of a series that begins with 1."""
    size, back = series.size, series[::-1].copy()
    rates = np.zeros(size)
    for n in range(1, size):
        rates[n] = n * series[n] - multiply(rates[1:n], back[size - n : size - 1])
    return rates


def series_of_rates(rates: Floats) -> Floats:
    """The series that begins with 1 and has these rates: sums of rates are those of products."""
    size, back = rates.size, rates[::-1].copy()
    series = np.ones(size)
    for n in range(1, size):
        series[n] = multiply(back[size - 1 - n : size - 1], series[:n]) / n
    return series


def root_series(size: int) -> Floats:
    """f_0, ..., f_{size − 1}, the series of 1 / √(1 − s)."""
    k = np.arange(1, size)
    return np.concatenate([[1.0], np.cumprod((2 * k - 1) / (2 * k))])


def endless_series(size: int, sign: int) -> Floats:
    """The first terms of C (sign 1) or of B (sign −1) of an endless counter."""
    k = np.arange(1.0, size + 2)
    h = find_rates(1 / k)
    q = find_rates(2 * h[1:] / k[:-1])
    return series_of_rates(0.5 + sign * (LOG_POWER * h[:-1] + LOG_LOG_POWER * q))


def banded_series(size: int, bands: int) -> Floats:
    """The first terms of C if 1 / C(s) is the first `bands` terms of √(1 − s)."""
    f = root_series(size)
    if bands >= size:
        return f
    back = -np.diff(f[:bands])[::-1]  # the terms of √(1 − s) are differences of f
    series = np.ones(size)
    for n in range(1, size):
        past = series[max(0, n - back.size) : n]
        series[n] = multiply(back[back.size - past.size :], past)
    return series


@cache
def count_weights(length: int, bands: int) -> Integers:
    """The weights of C, for so many releases, in units of 1 / `WHOLE_WEIGHT`; no bands: of an endless counter.

    >>> (count_weights(4, 4) / WHOLE_WEIGHT).tolist(), (count_weights(4, 2) / WHOLE_WEIGHT).tolist()
    ([1.0, 0.5, 0.375, 0.3125], [1.0, 0.5, 0.25, 0.125])
    """
    found = banded_series(length, bands) if bands > 0 else endless_series(length, 1)
    return np.trunc(WHOLE_WEIGHT * found).astype(np.int64)

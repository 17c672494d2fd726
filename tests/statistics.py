"""The only home of randomized assertions: each fails a correct subject with probability at most ALPHA.

With fixed seeds a test either passes for ever or fails for ever; ALPHA is the chance that a new seed, or a
changed order of draws, makes a correct subject fail. `test_statistics.py` holds the negative control of each:
a broken subject that it must reject.
"""

import math
from collections.abc import Callable
from random import Random

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binom, chi2, norm

from maskedbandit.privacy.sampling import Bits

ALPHA = 1e-9  # per assertion: 1000 assertions a night make one false alarm in 2700 years
LEAST_EXPECTED = 5  # per cell of a chi-square statistic

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


def seeded(seed: int) -> Bits:
    """Bits that repeat: the source is injected, as the package itself cannot be seeded."""
    return Bits(Random(seed).randbytes)


def same_distribution(sample: ArrayLike, pmf: Callable[[Integers], ArrayLike]) -> None:
    """The integers of the sample have the distribution `pmf`: Pearson's chi-square on merged cells.

    A cell is a run of integers with an expected count of at least 5; the mass that `pmf` leaves outside a
    window three times as wide as the sample counts in the last one. Far in its tail the statistic is not
    quite chi-square (a Poisson count of mean 5 exceeds its mean by 6 deviations with probability 1e-6, not
    1e-9), so a rejection must also pass `entropy_bound`, which holds for every distribution and size of sample.
    """
    sample = _integers(sample)
    low, high = int(sample.min()), int(sample.max())
    width = high - low + 10
    values = np.arange(low - width, high + width + 1)
    mass = np.asarray(pmf(values), dtype=np.float64)
    rest = 1 - math.fsum(mass)
    if not (np.all(mass >= 0) and rest > -1e-9):
        raise AssertionError(f"not a distribution: the least mass is {mass.min()}, and all add up to {1 - rest}")
    counts = np.bincount(sample - values[0], minlength=values.size)
    impossible = values[(counts > 0) & (mass == 0)]
    if impossible.size:
        raise AssertionError(f"values of probability 0 in the sample: {impossible[:5].tolist()}")
    mass[-1] += max(rest, 0.0)
    first = _cells(sample.size * mass)
    observed = np.add.reduceat(counts, first)
    expected = sample.size * np.add.reduceat(mass, first)
    d = observed.size - 1
    statistic = float(np.sum((observed - expected) ** 2 / expected))
    hit = observed > 0
    x = float(np.sum(observed[hit] * np.log(observed[hit] / expected[hit])))
    p = max(float(chi2.sf(statistic, d)), entropy_bound(x, d))
    if p < ALPHA:
        raise AssertionError(
            f"another distribution: chi-square is {statistic:.1f} for {d} degrees of freedom, p = {p:.1e}"
        )


def entropy_bound(x: float, d: int) -> float:
    """At least the chance that N draws in d + 1 cells have N KL(observed | law) >= x: (e x / d)^d e^-x.

    Agrawal (2020), "Finite-sample concentration of the multinomial in relative entropy".
    """
    return math.exp(d * (1 + math.log(x / d)) - x) if x > d else 1.0


def same_distribution_of_two(a: ArrayLike, b: ArrayLike) -> None:
    """Two samples of integers come from one law: chi-square of the 2 x cells table, with pooled cells.

    Meant for samples of about the same size: given the pooled counts, those of one sample are then symmetric
    around their means, with tails no heavier than normal ones, so the tail of chi-square can be trusted.
    """
    a, b = _integers(a), _integers(b)
    values, which = np.unique(np.concatenate([a, b]), return_inverse=True)
    counts = np.stack([np.bincount(part, minlength=values.size) for part in (which[: a.size], which[a.size :])])
    fraction = np.array([[a.size], [b.size]]) / which.size
    first = _cells(counts.sum(axis=0) * fraction.min())
    observed = np.add.reduceat(counts, first, axis=1)
    expected = observed.sum(axis=0) * fraction
    d = first.size - 1
    statistic = float(np.sum((observed - expected) ** 2 / expected))
    p = float(chi2.sf(statistic, d))
    if p < ALPHA:
        raise AssertionError(
            f"two distributions: chi-square is {statistic:.1f} for {d} degrees of freedom, p = {p:.1e}"
        )


def at_most(count: int, trials: int, p: float) -> None:
    """An event seen `count` times in `trials` has probability at most p (Clopper-Pearson; exact)."""
    chance = float(binom.sf(count - 1, trials, p))
    if chance < ALPHA:
        raise AssertionError(f"{count} of {trials} is more than {p}: a chance of {chance:.1e}")


def shows_no_other(law: ArrayLike, other: ArrayLike) -> None:
    """Independent draws do not show another law, by their probabilities by their own law and by the other one.

    It needs fewer draws than `same_distribution` to reject that one. The likelihood ratio has mean 1 if their own law
    holds, so it is 1/ALPHA or more with a chance of at most ALPHA (Markov's inequality; exact).
    """
    law, other = np.asarray(law, dtype=np.float64), np.asarray(other, dtype=np.float64)
    log_ratio = float(np.sum(np.log(other) - np.log(law)))
    if log_ratio >= -math.log(ALPHA):
        raise AssertionError(f"another distribution: it is exp({log_ratio:.1f}) times as likely")


def mean_is(sample: ArrayLike, mean: float, sd: float | None = None) -> None:
    """The mean of the distribution is `mean`: |z| <= 6.11, with its standard deviation or else that of the sample.

    The sample must be large enough for a normal mean, 6 deviations away from its centre.
    """
    sample = np.asarray(sample, dtype=np.float64)
    spread = float(np.std(sample, ddof=1)) if sd is None else sd
    z = (float(np.mean(sample)) - mean) / (spread / math.sqrt(sample.size))
    if not abs(z) <= norm.isf(ALPHA / 2):
        raise AssertionError(f"the mean is {np.mean(sample)}, not {mean}: z = {z:.2f}")


def _integers(sample: ArrayLike) -> Integers:
    sample = np.asarray(sample)
    if sample.ndim != 1 or not np.issubdtype(sample.dtype, np.integer):
        raise TypeError("a sample is a one-dimensional array of integers: draws, not frequencies")
    return sample.astype(np.int64)


def _cells(expected: Reals) -> NDArray[np.intp]:
    """Where each cell begins, so that every cell is expected to hold at least 5 draws."""
    first, held = [0], 0.0
    for i, count in enumerate(expected.tolist()):
        if held >= LEAST_EXPECTED:
            first.append(i)
            held = 0.0
        held += count
    if held < LEAST_EXPECTED:  # the last cell joins the one before it
        first.pop()
    if len(first) < 2:
        raise AssertionError("too few draws to test anything: all values are in one cell")
    return np.array(first)

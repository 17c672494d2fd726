"""Whether the arms are seen equally often: a study is biased if an application shows some arms less often.

The arms of the places are dealt at random, so each should be seen by the same share of those who were given it. The
chance of a difference as large as the one that there is comes from Pearson's chi-squared statistic. The exposures are
operational numbers: no outcome is in them.
"""

from collections.abc import Sequence

from scipy.special import chdtrc

RARE = 0.001  # a chance below which the difference is taken to be real
LEAST = 5  # people who are expected in each part of the table


def exposure_chance(seen: Sequence[int], not_seen: Sequence[int]) -> float | None:
    """The chance of a difference at least as large if all arms are seen equally often; None if it is too early to say.

    >>> exposure_chance([90, 90], [10, 10]), round(exposure_chance([90, 60], [10, 40]), 6)
    (1.0, 1e-06)
    """
    arms = [(a, b) for a, b in zip(seen, not_seen, strict=True) if a + b]
    whole = sum(a + b for a, b in arms)
    missed = sum(b for _, b in arms)
    if len(arms) < 2 or min(a + b for a, b in arms) * min(missed, whole - missed) < LEAST * whole:
        return None
    statistic = 0.0
    for a, b in arms:
        expected = (a + b) * missed / whole
        statistic += (b - expected) ** 2 / expected + (b - expected) ** 2 / (a + b - expected)
    return float(chdtrc(len(arms) - 1, statistic))

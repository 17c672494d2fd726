"""A single release with one noise: its smallest ε is summed exactly, without Rényi divergences."""

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import is_exact
from maskedbandit.privacy.renyi_divergences import INF, skellam_log_pmf

LARGEST_SUPPORT = 2**18  # values on either side of 0 that are summed
EPSILON_MARGIN = 1e-9  # absolute and relative, above the error of the logarithms
TAIL_SLACK = 1e-10  # above the error of 1 - delta / S(k), which matters where the two are close


class SingleRelease(NamedTuple):
    """One sum of integer `sensitivity`, released once with `noise` of this variance parameter, and nothing else.

    >>> round(SingleRelease("discrete_gaussian", Fraction(100), 1).epsilon(1e-6), 4)
    0.3968
    """

    noise: str
    variance: Fraction
    sensitivity: int

    def check(self) -> None:
        """Raise `InvalidValue` unless such a release is possible."""
        if self.noise not in ("skellam", "discrete_gaussian"):
            raise InvalidValue("noise of a single release", self.noise, "'skellam' or 'discrete_gaussian'")
        if not is_exact(self.variance) or self.variance <= 0:
            raise InvalidValue("variance of a single release", self.variance, "a Fraction above 0")
        if type(self.sensitivity) is not int or self.sensitivity < 1:
            raise InvalidValue("sensitivity of a single release", self.sensitivity, "an int of at least 1")

    def epsilon(self, delta: float) -> float:
        """The smallest ε for a delta above 0, rounded upwards; infinite where summing would take too long."""
        return self.epsilons((delta,))[0]

    def epsilons(self, deltas: tuple[float, ...]) -> tuple[float, ...]:
        """The same for several deltas, or infinite at 0; the tails are summed once."""
        return _epsilons(self, deltas)


@lru_cache(maxsize=1024)
def _epsilons(release: SingleRelease, deltas: tuple[float, ...]) -> tuple[float, ...]:
    """max over k of ln((S(k) - delta) / S(k + shift)), with S(k) = P(Z >= k), summed as logarithms.

    Both distributions are log-concave, so P/Q is monotone and P(A) - e^ε Q(A) is largest for a half-line A: z >= k of
    the one distribution, or z <= -k of the other. So the release is (ε, delta)-private exactly if S(k) - e^ε S(k +
    shift) <= delta for every k [BW18, Thm. 5]. A tail S(k + shift) may be far too small for a float, its logarithm is
    not.
    """
    import numpy as np

    variance, shift = release.variance, release.sensitivity
    if not Fraction(1, 1000) <= variance <= LARGEST_SUPPORT**2 or shift > LARGEST_SUPPORT:
        return (INF,) * len(deltas)
    v, nats = float(variance), [-math.log(delta) if delta > 0 else INF for delta in deltas]
    sizes = [math.ceil(4 * math.sqrt(2 * v * x) + 4 * x) + 2 * shift + 100 if x <= 500 else math.inf for x in nats]
    possible = [size for size in sizes if size <= LARGEST_SUPPORT]
    if not possible:
        return (INF,) * len(deltas)
    size = int(max(possible))
    if release.noise == "skellam":
        half = skellam_log_pmf(v, size)
    else:
        half = -(np.arange(size + 1.0) ** 2) / (2 * v)
        half -= np.log1p(2 * np.exp(half[1:]).sum())
    law = np.concatenate((half[:0:-1], half))
    tail = np.logaddexp.accumulate(law[::-1])[::-1]  # ln S(k) for k = -size, ..., size
    found = [INF] * len(deltas)
    for i, x in enumerate(nats):
        if sizes[i] <= size:
            seen = tail[:-shift] > -x - TAIL_SLACK / 2  # elsewhere nothing is left of S(k) - delta
            near, far = tail[:-shift][seen], tail[shift:][seen]
            left = -np.expm1(-x - near) + TAIL_SLACK  # 1 - delta / S(k)
            largest = float((np.log(left) + near - far).max())
            found[i] = max(0.0, largest + EPSILON_MARGIN * (1 + abs(largest)))
    return tuple(found)

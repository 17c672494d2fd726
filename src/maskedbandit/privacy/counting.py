"""Counting queries under the Laplace mechanism: how many questions a data set can answer [LN11, Sec. 11.2].

Neighbours are data sets of the same public size n that differ in one element. A query asks for the fraction
of the elements that satisfy a predicate, so one element moves it by 1/n, and noise of scale σ on the fraction
costs ε = 1/(nσ); k queries cost k/(nσ) and err by σ ln(k/β) with probability at most β [LN11, Thm. 11.12].

The released noise is an exact integer added to the count: discrete Laplace of scale t = nσ. It costs the same ε, as one
step of the count multiplies the probability of an answer by at most e^(1/t). Its tail is heavier than the continuous
one by a factor below 2: with B = e^(−1/t), for every integer a ≥ 1,

    P(|Z| ≥ a) = 2 B^a / (1 + B),      while the continuous noise has  P(|Z| ≥ a) = B^a.

So over k queries an error of `a` steps or more has probability at most β once a ≥ t ln(2k / ((1+B) β)): that is at most
half a step above the theorem's t ln(k/β), before it is rounded up to a whole one. All guarantees below are of this
kind, about the noise that is released. Floats appear in the guarantees, never in the noise.

[LN11, Thm. 11.9] calls β negligible, neg(n), and prints β < n^k for it; the meaning is that for every k, β < n^−k as
soon as n is large enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.sampling import Bits, discrete_laplace

Element = TypeVar("Element")

COUNTING_MARGIN = 1e-12  # relative; far more than the rounding errors of a logarithm and three products


@dataclass(frozen=True)
class CountingQuery(Generic[Element]):
    """The fraction of the elements that satisfy a predicate [LN11, Def. 11.3].

    **Guarantee**: replacing one element moves `count` by at most 1, whatever the predicate returns.

    >>> smokers = CountingQuery(lambda person: person == "smoker")
    >>> smokers.value(["smoker", "other", "other"])
    Fraction(1, 3)
    """

    predicate: Callable[[Element], object]

    def count(self, data: Collection[Element]) -> int:
        return sum(1 for element in data if self.predicate(element))

    def value(self, data: Collection[Element]) -> Fraction:
        return Fraction(self.count(data), _whole("n", len(data)))


@dataclass(frozen=True, init=False)
class LaplaceMechanism:
    """Answers counting queries with Laplace noise of scale `sigma` on the fraction [LN11, Def. 11.8].

    >>> mechanism = LaplaceMechanism("0.01")
    >>> mechanism.epsilon(n=1000), mechanism.epsilon(n=1000, queries=5)
    (Fraction(1, 10), Fraction(1, 2))
    """

    sigma: Fraction

    def __init__(self, sigma: Number) -> None:
        object.__setattr__(self, "sigma", to_fraction("sigma", sigma))

    @classmethod
    def for_accuracy(cls, alpha: Number, beta: Number, n: int, queries: int = 1) -> LaplaceMechanism:
        """The noise with which all k errors are below `alpha`, except with probability `beta`.

        With a = ceil(n alpha) steps: σ = (a - 1/2) / (n ln(k/β)), where the theorem has σ = α / ln(k/β). The half step
        allows for rounding to whole steps; it is all that is needed when the scale nσ is large.

        **Guarantee**: `failure(alpha, n, queries) <= beta`.

        >>> float(round(LaplaceMechanism.for_accuracy("0.1", "0.05", n=1000).sigma, 6))
        0.033214
        """
        steps = math.ceil(to_fraction("alpha", alpha) * _whole("n", n))
        chance = _chance("beta", beta) / _whole("queries", queries)
        scale = Fraction((steps - 0.5) / -_log(chance) * (1 - 3 * COUNTING_MARGIN))
        return cls(scale / n)

    @classmethod
    def for_epsilon(cls, epsilon: Number, n: int, queries: int = 1) -> LaplaceMechanism:
        """The noise with which k queries cost `epsilon` in all: σ = k / (nε)  [LN11, Thm. 11.12].

        **Guarantee**: `epsilon(n, queries)` is this ε, exactly.

        >>> LaplaceMechanism.for_epsilon(1, n=1000, queries=5).sigma
        Fraction(1, 200)
        """
        return cls(_whole("queries", queries) / (_whole("n", n) * to_fraction("epsilon", epsilon)))

    def epsilon(self, n: int, queries: int = 1) -> Fraction:
        """ε = k / (nσ) [LN11, Thm. 11.12].

        **Guarantee**: the answers to `queries` queries on the same `n` people, each chosen after the earlier answers,
        are ε-differentially private.
        """
        return _whole("queries", queries) / (_whole("n", n) * self.sigma)

    def release(self, query: CountingQuery[Element], data: Collection[Element], bits: Bits) -> Fraction:
        """The value of the query plus exact noise; it may lie outside [0, 1].

        **Guarantee**: `epsilon(len(data))` for each release.

        >>> from random import Random
        >>> even = CountingQuery(lambda number: number % 2 == 0)
        >>> LaplaceMechanism("0.01").release(even, range(1000), Bits(Random(7).randbytes))
        Fraction(481, 1000)
        """
        n = _whole("n", len(data))
        return Fraction(query.count(data) + discrete_laplace(n * self.sigma, bits), n)

    def failure(self, alpha: Number, n: int, queries: int = 1) -> float:
        """The probability that one of the errors is `alpha` or more: k 2 B^a / (1+B), where a = ceil(n alpha).

        **Guarantee**: exact for one query, an upper bound for more (union bound).

        >>> mechanism = LaplaceMechanism("0.01")
        >>> round(mechanism.failure("0.03", n=100), 6), round(math.exp(-0.03 / 0.01), 6)
        (0.072795, 0.049787)
        """
        scale = _whole("n", n) * self.sigma
        steps = math.ceil(to_fraction("alpha", alpha) * n)
        once = 2 * math.exp(-steps / scale) / (1 + math.exp(-1 / scale))
        return min(1.0, _whole("queries", queries) * once)

    def accuracy(self, beta: Number, n: int, queries: int = 1) -> Fraction:
        """The smallest multiple of 1/n that is guaranteed: α = ceil(nσ ln(2k / ((1+B) β))) / n.

        **Guarantee**: every error is below α, except with probability `beta` [LN11, Def. 11.10].

        >>> mechanism = LaplaceMechanism("0.01")
        >>> mechanism.accuracy("0.05", n=1000), round(mechanism.continuous_accuracy("0.05"), 6)
        (Fraction(31, 1000), 0.029957)
        """
        scale = _whole("n", n) * self.sigma
        return Fraction(_steps(scale, _chance("beta", beta) / _whole("queries", queries)), n)

    def continuous_accuracy(self, beta: Number, queries: int = 1) -> float:
        """α = σ ln(k/β), for idealized continuous noise [LN11, Thm. 11.12]."""
        return -float(self.sigma) * _log(_chance("beta", beta) / _whole("queries", queries))


def users_needed(epsilon: Number, alpha: Number, beta: Number, queries: int = 1) -> int:
    """The smallest n at which k queries cost `epsilon` and err by less than `alpha`: about k ln(k/β) / (εα).

    **Guarantee**: true of the mechanism of scale σ = k/(nε) from this n on; the union bound proves no less.

    >>> users_needed(epsilon=1, alpha="0.05", beta="0.05", queries=10)
    1061
    """
    k = _whole("queries", queries)
    steps = _steps(k / to_fraction("epsilon", epsilon), _chance("beta", beta) / k)
    return math.floor((steps - 1) / to_fraction("alpha", alpha)) + 1  # the first n with ceil(n alpha) >= steps


def queries_affordable(n: int, epsilon: Number, alpha: Number, beta: Number) -> int:
    """The largest k with k queries at a total of `epsilon` and errors below `alpha`; 0 if there is none.

    **Guarantee**: true of the mechanism of scale σ = k/(nε); the union bound proves no more.

    >>> queries_affordable(n=1061, epsilon=1, alpha="0.05", beta="0.05")
    10
    """
    budget, chance = to_fraction("epsilon", epsilon), _chance("beta", beta)
    steps = math.ceil(to_fraction("alpha", alpha) * _whole("n", n))
    too_many = 1
    while _steps(too_many / budget, chance / too_many) <= steps:
        too_many *= 2
    most = too_many // 2
    while too_many - most > 1:
        middle = (most + too_many) // 2
        if _steps(middle / budget, chance / middle) <= steps:
            most = middle
        else:
            too_many = middle
    return most


class Affordable(NamedTuple):
    """One row of `queries_limit`: for n users, the number of queries, and that number over n / ln n."""

    n: int
    queries: int
    ratio: float


def queries_limit(ns: Iterable[int], epsilon: Number, alpha: Callable[[int], Number], beta: Number) -> list[Affordable]:
    """How the affordable queries k(n) grow, when the accuracy wanted at n users is `alpha(n)`.

    As k ln(k/β) = nεα, the ratio k(n) ln(n) / n tends to εα for a fixed α, though no faster than
    ln ln n / ln n; for α(n) that tends to 0, so does the ratio: k = o(n / ln n) [LN11, Thm. 11.13]. That is
    a limit of adding up the ε of queries on the same people; batches of new people do not meet it.

    >>> for row in queries_limit([10**3, 10**6, 10**9], 1, lambda n: "0.05", "0.05"):
    ...     print(row.n, row.queries, round(row.ratio, 4))
    1000 9 0.0622
    1000000 4392 0.0607
    1000000000 2802419 0.0581
    """
    rows = []
    for n in ns:
        k = queries_affordable(n, epsilon, alpha(n), beta)
        rows.append(Affordable(n, k, float(Fraction(k, n)) * math.log(n)))
    return rows


def _steps(scale: Fraction, chance: Fraction) -> int:
    """The least a >= 1 with P(|Z| >= a) <= chance, for discrete Laplace noise of this scale."""
    excess = -math.log1p(math.expm1(-1 / scale) / 2)  # ln(2 / (1+B)), also when B is nearly 1
    return max(1, math.ceil(float(scale) * (excess - _log(chance)) * (1 + COUNTING_MARGIN)))


def _log(ratio: Fraction) -> float:
    if 2 * ratio > 1:
        return math.log1p(ratio - 1)  # no cancellation near 1
    return math.log(ratio.numerator) - math.log(ratio.denominator)  # no underflow near 0


def _whole(name: str, value: int) -> int:
    if type(value) is not int or value < 1:
        raise InvalidValue(name, value, "an integer of at least 1")
    return value


def _chance(name: str, value: Number) -> Fraction:
    chance = to_fraction(name, value)
    if chance >= 1:
        raise InvalidValue(name, value, "a number above 0 and below 1")
    return chance

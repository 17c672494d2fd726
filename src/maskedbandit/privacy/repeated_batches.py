"""The noise that each of B batches needs if users come back: three rules of composition.

A user who takes part in at most B batches, once in each, must be (ε, δ)-private in the end [CZ23, App. H]. For sums of
sensitivity 1 the standard deviation of the noise in one batch is then

    concentrated   s, with B batches of 1/(2 s²)-zCDP: the curves add up to B/(2 s²)-zCDP, and are converted once;
    advanced       that of Gaussian noise which is (e, d)-private, the exact one [BW18], with
                       e = ε / (2 √(2B ln(2/δ))),     d = δ / 2B                 [DR14, Cor. 3.21];
    basic          √2 B / ε: Laplace noise of pure ε / B, and δ is not used;
    ledger         as concentrated, but as a `Ledger` adds up: it accepts B such charges on a budget of (ε, δ).

The first two grow as √(B ln(1/δ)) / ε, but advanced composition includes the tail δ twice, in every batch and in their
sum: squared, it is larger by a factor of order ln(B/δ) [CZ23, (14), (15)]. Pure noise grows with B, and is the least
for the first few batches. A ledger does not know that all charges will be alike: it keeps half of δ for the conversion
and fixes the order beforehand (`filters`), and so takes some 4 % more noise than `concentrated`.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.budget import filters
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.gaussian import gaussian_epsilon
from maskedbandit.privacy.loss import Loss

BATCHES_MARGIN = 1e-12  # relative, above the error of the few float operations of a formula


class Returning(NamedTuple):
    """Standard deviations of the noise in each batch, rounded upwards."""

    batches: int
    concentrated: float
    advanced: float
    basic: float
    ledger: float


def returning_users(batches: int, epsilon: Number, delta: Number) -> Returning:
    """The noise for a user who takes part in this many batches, in units of one reward.

    **Guarantee**: with Gaussian or discrete Gaussian noise of standard deviation parameter `concentrated` in each
    batch, with noise that is as private in each batch as a Gaussian of `advanced`, or with Laplace noise of `basic`,
    everything released about the user is (epsilon, delta)-private, also if batches are chosen adaptively. With discrete
    Gaussian noise of `ledger` that holds too, and `Ledger(Loss.approximate(epsilon, delta))` accepts all batches.

    >>> for each in (1, 10, 100):
    ...     print(each, *(round(deviation, 1) for deviation in returning_users(each, "1/2", 1e-6)[1:]))
    1 8.7 77.7 2.8 9.0
    10 27.4 263.1 28.3 28.5
    100 86.8 885.0 282.8 90.0
    """
    concentrated = concentrated_deviation(batches, epsilon, delta)
    budget, chance = to_fraction("epsilon", epsilon), to_fraction("delta", delta)
    if budget > 1:
        raise InvalidValue("epsilon", epsilon, "at most 1, as advanced composition demands")
    epsilon_of_one = float(budget) / (2 * math.sqrt(2 * batches * math.log(2 / chance))) * (1 - BATCHES_MARGIN)
    return Returning(
        batches,
        concentrated=concentrated,
        advanced=least_deviation(
            lambda deviation: gaussian_epsilon(1 / deviation, chance / (2 * batches)) <= epsilon_of_one
        ),
        basic=math.sqrt(2) * float(batches / budget) * (1 + BATCHES_MARGIN),
        ledger=ledger_deviation(batches, epsilon, delta),
    )


def concentrated_deviation(batches: int, epsilon: Number, delta: Number) -> float:
    """The noise in each batch if Rényi curves are added up; an epsilon above 1 is fine."""
    check_batches(batches, epsilon, delta)
    budget, chance = to_fraction("epsilon", epsilon), to_fraction("delta", delta)
    return least_deviation(
        lambda deviation: (batches * Loss.gaussian(Fraction(deviation) ** 2)).epsilon(chance) <= budget
    )


def ledger_deviation(batches: int, epsilon: Number, delta: Number) -> float:
    """The noise with which a ledger of this budget accepts so many charges; an epsilon above 1 is fine.

    >>> round(ledger_deviation(100, 2, 1e-6), 2)
    24.5
    """
    check_batches(batches, epsilon, delta)
    rules = filters(Loss.approximate(epsilon, delta))
    if len(rules) == 1:
        raise InvalidValue("epsilon", epsilon, "larger at this delta, as half of it is kept for the conversion")
    return least_deviation(lambda deviation: rules[0].times(Loss.gaussian(Fraction(deviation) ** 2)) >= batches)


def check_batches(batches: int, epsilon: Number, delta: Number) -> None:
    """Raise unless there is noise for so many batches."""
    budget, chance = to_fraction("epsilon", epsilon), to_fraction("delta", delta)
    if type(batches) is not int or not 1 <= batches <= 10**9:
        raise InvalidValue("batches", batches, "a whole number from 1 to 1000000000")
    if not Fraction(1, 10**100) <= chance < 1:
        raise InvalidValue("delta", delta, "a probability of at least 1e-100 and below 1")
    if Loss.zcdp(Fraction(1, 10**30)).epsilon(chance) > budget:
        raise InvalidValue(
            "epsilon", epsilon, "larger at this delta, as the largest order of a Loss is too small for it"
        )


def by_batches(counts: Iterable[int], epsilon: Number, delta: Number) -> list[Returning]:
    """One row for each number of batches: the curves of a figure.

    >>> [row.batches for row in by_batches([1, 10, 100], "1/2", 1e-6)]
    [1, 10, 100]
    """
    return [returning_users(count, epsilon, delta) for count in counts]


def least_deviation(private: Callable[[float], bool]) -> float:
    """The least standard deviation that is private, to one part in a million, from above."""
    low = high = 1.0
    while private(low):
        low /= 2
    while not private(high):
        low, high = high, high * 2
    while high > low * (1 + 1e-6):
        middle = (low + high) / 2
        if private(middle):
            high = middle
        else:
            low = middle
    return high

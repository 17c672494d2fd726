"""What papers print and does not hold as printed: the numbers of docs/misprints.md."""

import math
from fractions import Fraction

import numpy as np

from maskedbandit.channels.distributed import Distributed
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.policies.regret.successive_elimination import published_radius
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from tests.for_each import for_each


def remainder_of_lemma(order: float, grid: float, variance: float) -> tuple[float, float]:
    """Both branches of [CZ23, Lem. 3], at a sensitivity of one reward: `grid` steps."""
    return ((2 * order - 1) * grid**2 + 6 * grid) / (4 * variance**2), 3 * grid / (2 * variance)


def printed_remainder(order: float, s: float, epsilon: float) -> tuple[float, float]:
    """Both branches of [CZ23, Thm. 2]."""
    first = (2 * order - 1) * epsilon**2 / (4 * s**2) + 3 * epsilon / (2 * s**3)
    return first, 3 * epsilon**2 / (2 * s)


@for_each("s", [1, 2, 10])
@for_each("epsilon", [0.01, 0.1, 0.5, 0.9, 2.0])
@for_each("order", [2, 3, 100])
def test_the_second_branch_of_the_theorem_is_not_that_of_the_lemma(s, epsilon, order) -> None:
    """With g = s eps, as for a batch of one: the first branches agree, and the second is 3 eps / 2s."""
    grid = s * epsilon
    lemma, printed = remainder_of_lemma(order, grid, (grid / epsilon) ** 2), printed_remainder(order, s, epsilon)
    assert math.isclose(lemma[0], printed[0])
    assert math.isclose(lemma[1], 3 * epsilon / (2 * s))
    assert (printed[1] < lemma[1]) == (epsilon < 1)


def test_the_printed_remainder_is_less_than_the_lemma_proves_with_the_real_grid() -> None:
    """s = 10, eps = 1/2, n = 2, order 100, and all from 77 on; and up to order 76 it is not."""
    grid = math.ceil(10 * 0.5 * math.sqrt(2))
    assert grid == 8
    proved = min(remainder_of_lemma(100, grid, (grid / 0.5) ** 2))
    assert round(min(printed_remainder(100, 10, 0.5)), 4) == 0.0375
    assert round(proved, 4) == 0.0469
    for order in range(2, 200):
        proved = min(remainder_of_lemma(order, grid, (grid / 0.5) ** 2))
        assert (min(printed_remainder(order, 10, 0.5)) < proved) == (order >= 77)


@for_each("s", [1, 2, 5, 10])
@for_each("epsilon", [Fraction(1, 20), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
@for_each("n", [2, 4, 64])
def test_the_exact_divergence_needs_no_remainder(s, epsilon, n) -> None:
    """Summed from probabilities: below alpha eps^2 / 2 at every whole order, so the misprint hides no loss here."""
    grid = math.ceil(s * epsilon * math.sqrt(n))
    curve = Loss.skellam((grid / epsilon) ** 2, grid).curve
    whole = [(order, loss) for order, loss in zip(ORDERS, curve, strict=True) if order.denominator == 1 and order > 1]
    assert len(whole) == 28
    assert all(loss < order * epsilon**2 / 2 for order, loss in whole)


def test_the_lecture_needs_slack_of_at_most_three() -> None:
    """(1 + y)^2 <= 1 + 3y, of the proof of [LN11, Thm. 11.1], for y in (0, 1] alone."""
    assert all((1 + y) ** 2 <= 1 + 3 * y for y in (Fraction(k, 100) for k in range(1, 101)))
    assert not any((1 + y) ** 2 <= 1 + 3 * y for y in (Fraction(101, 100), Fraction(2)))


def test_failures_of_batches_add_up_to_more_than_the_lemma_says() -> None:
    """[CZ23, Lem. 2] says 3 p. Of A arms in batch b the rewards have ln(4 A b^2 / p) = ln(2 / q), q = p / (2 A b^2).

    They fail with q. The noise has ln(2 / 2q), at which Assumption 1 allows a failure of 4q, a bound of noise alone 2q.
    """
    in_all = sum(1 / b**2 for b in range(1, 10**6))
    assert round(in_all, 3) == 1.645
    assumed, alone = (in_all * (1 + noise) / 2 for noise in (4, 2))  # q is 1/2 of p / (A b^2)
    assert (round(assumed, 2), round(alone, 2)) == (4.11, 2.47)
    assert alone < 3 < assumed
    assert sum(Fraction(1, b * (b + 1)) for b in range(1, 1000)) == 1 - Fraction(1, 1000)


@for_each("noise", [DiscreteLaplace(), Skellam(), DiscreteGaussian()])
@for_each("n", [16, 4096])
def test_noise_alone_leaves_the_published_radius_as_rarely_as_is_said(noise, n) -> None:
    """With probability of at most 2 e^-z, which is the 2q of the test before."""
    channel = Distributed(Fraction(1, 2), noise, grid="paper")
    mass, g = channel.release_noise(n), channel.steps(n)
    for z in (0.7, 3.0, 10.0):
        beyond = math.floor(published_radius(channel.law(), n, z) * g) + 1
        assert 2 * mass.pmf(np.arange(beyond, beyond + 80 * g)).sum() <= 2 * math.exp(-z)


def test_the_program_of_the_paper_draws_hardly_any_noise() -> None:
    """Poisson of Gamma(r, scale): variance r scale (1 + scale), of 2n draws; eps = 0.1, n = 1024 [CZ23, Thm. 1]."""
    n, epsilon = 1024, 0.1
    grid = math.ceil(epsilon * math.sqrt(n))
    p = math.exp(-epsilon / grid)
    drawn, meant = (math.sqrt(2 * scale * (1 + scale)) for scale in ((1 - p) / p, p / (1 - p)))
    assert grid == 4
    assert (round(drawn, 2), round(meant)) == (0.23, 57)
    assert math.isclose(meant**2, 2 * p / (1 - p) ** 2)  # of discrete Laplace noise of scale g / eps

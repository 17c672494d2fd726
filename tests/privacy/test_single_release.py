"""The exact ε of a single release, against sums of 60 digits: wide and narrow noise, far beyond what a float holds."""

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from maskedbandit.channels.central import Central
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.single_release import SingleRelease
from tests.for_each import for_each


def skellam_law(v, width):
    """P(0), ..., P(width), with the ratio of Bessel functions carried from far out, where its error fades."""
    ratio, ratios = mpmath.mpf(0), []
    for n in range(2 * width + 100, 0, -1):
        ratio = 1 / (2 * n / v + ratio)
        ratios.append(ratio)
    half = [mpmath.mpf(1)]
    for ratio in ratios[::-1][:width]:
        half.append(half[-1] * ratio)
    return half


def truth(noise, variance, shift, delta):
    """The least ε with P(A) - e^ε Q(A) <= δ for every half-line A, by definition."""
    with mpmath.workdps(60):
        v, x = mpmath.mpf(variance.numerator) / variance.denominator, -math.log(delta)
        reach = math.ceil(2 * math.sqrt(2 * float(v) * x) + 3 * x) + 20  # S(reach) < δ
        width = 2 * reach + shift
        if noise == "skellam":
            half = skellam_law(v, width)
        else:
            half = [mpmath.exp(-(mpmath.mpf(z) ** 2) / (2 * v)) for z in range(width + 1)]
        total = half[0] + 2 * mpmath.fsum(half[1:])
        tails, tail = {}, mpmath.mpf(0)
        for z in range(width, -reach - 1, -1):
            tail += half[abs(z)] / total
            tails[z] = tail
        excess = ((tails[k] - mpmath.mpf(delta), tails[k + shift]) for k in range(-reach, reach + 1))
        return max([mpmath.mpf(0), *(mpmath.log(near / far) for near, far in excess if near > 0)])


NOISES = ("discrete_gaussian", "skellam")
SETTINGS = [  # variance, sensitivity: from noise that hides everything to noise that hides nothing
    *[(Fraction(v), s) for v in ("1/1000", "1/50", "1/3", 1, 3, 20, 300) for s in (1, 2, 7, 40)],
    (Fraction(1, 8), 200),
    (Fraction(1), 500),
    (Fraction(4), 1000),
    (Fraction(25000), 1),
    (Fraction(1, 625), 352),  # without a margin, rounding would make it too small
]


@pytest.mark.slow
@for_each("noise", NOISES)
@for_each(("variance", "sensitivity"), SETTINGS)
def test_epsilon_is_exact_and_rounded_upwards(noise, variance, sensitivity):
    for delta in (0.3, 1e-6) if variance < 1000 else (1e-6,):
        exact = truth(noise, variance, sensitivity, delta)
        found = SingleRelease(noise, variance, sensitivity).epsilon(delta)
        assert exact <= found <= exact * (1 + mpmath.mpf("1e-7")) + mpmath.mpf("1e-7")


def test_the_half_lines_of_an_underflowing_tail_count():
    """They were left out: at ε = 37 the loss said 171.1."""
    assert Central(epsilon=37, noise=DiscreteGaussian(), grid=2).loss(1).epsilon(1e-6) == pytest.approx(684.5, abs=1e-3)
    assert Central(epsilon=36, noise=DiscreteGaussian(), grid=2).loss(1).epsilon(1e-6) == pytest.approx(648, abs=1e-3)
    for noise in NOISES:
        found = [SingleRelease(noise, Fraction(1), shift).epsilon(1e-6) for shift in range(1, 200)]
        assert all(low < high for low, high in pairwise(found))


@pytest.mark.slow
@for_each("k", range(4))
def test_a_delta_at_the_very_edge_of_a_half_line(k):
    """Where δ is P(Z >= k) but for a rounding, the difference of the two is nothing a float can tell."""
    variance = Fraction(1, 50)
    with mpmath.workdps(60):
        half = [mpmath.exp(-25 * mpmath.mpf(z) ** 2) for z in range(40)]
        tail = mpmath.fsum(half[k:]) / (half[0] + 2 * mpmath.fsum(half[1:]))
        if k == 0:
            tail = (half[0] + mpmath.fsum(half[1:])) / (half[0] + 2 * mpmath.fsum(half[1:]))
    for delta in (math.nextafter(float(tail), 0), float(tail), math.nextafter(float(tail), 1)):
        if delta > 1e-200:
            found = SingleRelease("discrete_gaussian", variance, 1).epsilon(delta)
            assert found >= truth("discrete_gaussian", variance, 1, delta)


def test_where_a_sum_would_take_too_long_the_curve_speaks():
    for variance, sensitivity in ((Fraction(10) ** 400, 1), (Fraction(1, 10**400), 1), (Fraction(1), 10**30)):
        assert SingleRelease("skellam", variance, sensitivity).epsilon(1e-6) == math.inf
        loss = Loss.discrete_gaussian(variance, sensitivity)
        assert loss.epsilon(1e-6) == loss.without_single().epsilon(1e-6)


@for_each(
    "wrong",
    [
        SingleRelease("laplace", Fraction(1), 1),
        SingleRelease("skellam", Fraction(0), 1),
        SingleRelease("skellam", Fraction(-1), 1),
        SingleRelease("skellam", 1.0, 1),
        SingleRelease("skellam", Fraction(np.int64(3)), 1),
        SingleRelease("skellam", math.inf, 1),
        SingleRelease("skellam", Fraction(1), 0),
        SingleRelease("skellam", Fraction(1), True),
        SingleRelease("skellam", Fraction(1), 1.0),
    ],
)
def test_what_is_no_release_is_none_of_a_loss(wrong):
    with pytest.raises(InvalidValue, match="of a single release"):
        wrong.check()
    with pytest.raises(InvalidValue, match="of a single release"):
        Loss(Loss.zcdp(1).curve, math.inf, Fraction(0), frozenset({wrong}))


@for_each("noise", NOISES)
def test_several_deltas_at_once_are_bounded_as_each_alone(noise: str) -> None:
    """Also beside one that is too small for a sum, or none at all; an ε of another δ is far from it."""
    release, deltas = SingleRelease(noise, Fraction(40), 3), (1e-3, 0.0, 1e-9, 1e-250, 1e-30)
    found = release.epsilons(deltas)
    assert found[1] == math.inf
    alone = [release.epsilon(delta) for delta in deltas]
    assert found == pytest.approx(alone, rel=1e-9)
    assert min(abs(one - other) for one, other in pairwise(sorted(alone))) > 0.1


def test_a_loss_of_several_deltas_is_as_each_alone() -> None:
    loss, deltas = Loss.skellam(40), (1e-3, 0, 1e-6, 1e-12)
    assert loss.epsilons(deltas) == pytest.approx([loss.epsilon(delta) for delta in deltas], rel=1e-9)

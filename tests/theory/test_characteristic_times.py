"""Characteristic times and fractions against reference values, brute force, fifty digits, and what they must be."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar

from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.theory import (
    KINDS,
    characteristic_time,
    characteristic_times,
    kl,
    private_divergence,
    proportions,
    transport,
)
from maskedbandit.theory.transport import entropy_excess
from tests.for_each import for_each
from tests.thrift import thrifty

MU1, MU2, SS19B = (0.95, 0.9, 0.9, 0.9, 0.5), (0.75, 0.7, 0.7, 0.7, 0.7), (0.75, 0.625, 0.5, 0.375, 0.25)
INSTANCES = (MU1, MU2, SS19B)

# of an independent program, to the digits that it gave
REFERENCE = [
    ({}, "395.542 1424.747 122.843"),
    ({"beta": 0.5}, "414.442 1574.895 123.827"),
    ({"kind": "gaussian"}, "5981.203 7200.000 571.868"),
    ({"kind": "gaussian", "beta": 0.5}, "6414.872 8000.000 577.921"),
    ({"kind": "gaussian", "variance": 0.25}, "1495.301 1800.000 142.967"),
    ({"kind": "TV"}, "82.2222 100.0000 24.6667"),
    ({"kind": "TV2"}, "2990.601 3600.000 285.934"),
    ({"epsilon": 1e-3}, "82316 100386 24698"),
    ({"epsilon": 4.6416e-3}, "17809 21936 5345.6"),
    ({"epsilon": 0.021544}, "3913.3 5062.7 1177.1"),
    ({"epsilon": 0.1}, "931.15 1620.4 283.58"),
    ({"epsilon": 0.46416}, "399.25 1424.75 132.11"),
    ({"epsilon": 1}, "396.71 1424.75 123.98"),
    ({"epsilon": 2.9445}, "395.542 1424.747 122.843"),
]


def agrees(found: float, digits: str) -> bool:
    """Within 0.51 units of the last digit."""
    unit = 10.0 ** -len(digits.partition(".")[2])
    return abs(found - float(digits)) <= 0.51 * unit


@for_each(("setting", "numbers"), REFERENCE, ids=[str(setting) for setting, _ in REFERENCE])
def test_times_have_the_numbers_of_an_independent_program(setting, numbers) -> None:
    for means, number in zip(INSTANCES, numbers.split(), strict=True):
        assert agrees(characteristic_time(means, **setting), number)


@for_each(
    ("means", "time", "fractions"),
    [
        ((0.5, 0.45, 0.43, 0.4), 989.79, (0.4165, 0.3903, 0.1362, 0.0570)),
        ((0.3, 0.21, 0.2, 0.19, 0.18), 326.64, (0.3359, 0.2515, 0.1766, 0.1324, 0.1036)),
        (MU1, 395.542, (0.3904, 0.2021, 0.2021, 0.2021, 0.0031)),
        (MU2, 1424.747, (0.3376, 0.1656, 0.1656, 0.1656, 0.1656)),
        (SS19B, 122.843, (0.4569, 0.4338, 0.0660, 0.0279, 0.0154)),
    ],
)
def test_fractions_are_the_published_ones(means, time, fractions) -> None:
    assert characteristic_time(means) == pytest.approx(time, abs=0.0051)
    assert proportions(means).round(4).tolist() == list(fractions)


def test_a_wrong_formula_fails_the_table(monkeypatch) -> None:
    """The variance left out, the roles of two arms swapped, a d_eps without its line."""
    assert not agrees(characteristic_time(MU1, "gaussian", variance=1 / 2), "5981.203")

    def swapped(x, y, gap):
        """kl(x, p) for kl(p, x)."""
        return (x - gap) * entropy_excess(gap / (x - gap)) + (y + gap) * entropy_excess(-gap / (y + gap))

    monkeypatch.setattr(transport, "near", swapped)
    assert not agrees(characteristic_time(MU1), "395.542")
    monkeypatch.undo()
    monkeypatch.setattr(transport, "raised", lambda m, x, y, gap, epsilon, q, odds: transport.near(x, y, gap))
    assert not agrees(characteristic_time(MU1, epsilon=0.1), "931.15")


# --- by brute force -----------------------------------------------------------------------------------------


def squares(scale):
    return lambda x, y: scale * (x - y) ** 2


DIVERGENCES = [
    ({}, kl),
    ({"epsilon": 0.05}, lambda x, y: private_divergence(x, y, 0.05)),
    ({"epsilon": 1.0}, lambda x, y: private_divergence(x, y, 1.0)),
    ({"kind": "gaussian", "variance": 0.3}, squares(1 / 0.6)),
    ({"kind": "TV2"}, squares(1)),
    ({"kind": "TV"}, lambda x, y: abs(x - y)),
]


def least(d, m_a, m_b, w_a, w_b):
    """The cost of two arms by its definition."""

    def price(x):
        return w_a * d(m_a, x) + w_b * d(m_b, x)

    found = minimize_scalar(price, bounds=(m_b, m_a), method="bounded", options={"xatol": 1e-10})
    return min(found.fun, price(m_a) if w_b < w_a else price(m_b))


def brute(d, means, beta=None):
    """T* of three arms: over fractions of the best, for each of which the rest is split for equal costs."""

    def value(w):
        def difference(part):
            first = least(d, means[0], means[1], w, part * (1 - w))
            return first - least(d, means[0], means[2], w, (1 - part) * (1 - w))

        part = brentq(difference, 1e-9, 1 - 1e-9, xtol=1e-10)
        return least(d, means[0], means[1], w, part * (1 - w))

    if beta is not None:
        return 1 / value(beta)
    return -1 / minimize_scalar(lambda w: -value(w), bounds=(0.02, 0.98), method="bounded").fun


@pytest.mark.slow
@for_each(("setting", "d"), DIVERGENCES, ids=[str(setting) for setting, _ in DIVERGENCES])
def test_times_of_three_arms_are_those_of_brute_force(setting, d) -> None:
    for means in ((0.8, 0.6, 0.3), (1.0, 0.9, 0.0)):
        assert characteristic_time(means, **setting) == pytest.approx(brute(d, means), rel=1e-5)
        assert characteristic_time(means, beta=0.3, **setting) == pytest.approx(brute(d, means, 0.3), rel=1e-5)


def test_the_time_of_adaptt_star_is_that_of_its_costs() -> None:
    means, epsilon, beta = np.array([0.9, 0.7, 0.2]), 0.1, 0.4
    w = proportions(means, "gaussian", beta, epsilon, 0.25)
    gap = means[0] - means[1:]
    cost = gap * np.minimum(3 * epsilon, gap) / (2 * 0.25 * (1 / beta + 1 / w[1:]))
    assert w[0] == pytest.approx(beta)
    assert 1 / cost == pytest.approx(characteristic_time(means, "gaussian", beta, epsilon, 0.25))
    assert characteristic_time(means, "gaussian", epsilon=1) == pytest.approx(characteristic_time(means, "gaussian"))


# --- at the extremes ----------------------------------------------------------------------------------------


@pytest.mark.slow
@for_each("epsilon", [None, 1e-6, 1e-3, 0.3, 5.0, 1e3])
@for_each("means", [(0.5, 0.499999), (1.0, 0.0), (1.0, 0.999999), (1e-6, 0.0), (0.9, 0.2), (0.5, 0.0), (1 - 1e-9, 0.5)])
def test_two_arms_to_ten_digits(means, epsilon) -> None:
    """Then 1 / T* = d(a, x) = d(b, x), found here with fifty digits."""

    def d(x, y):
        """d_eps(x, y) for x < y."""
        if epsilon is not None and (x == 0 or y / (1 - y) > x / (1 - x) * mpmath.exp(epsilon)):
            return -mpmath.log(1 - y + y * mpmath.exp(-epsilon)) - epsilon * x
        return (x * mpmath.log(x / y) if x else 0) + (1 - x) * mpmath.log((1 - x) / (1 - y))

    with mpmath.workdps(50):
        a, b = map(mpmath.mpf, means)
        low, high = b, a
        for _ in range(120):
            x = (low + high) / 2
            low, high = (x, high) if d(1 - a, 1 - x) > d(b, x) else (low, x)
        exact = float(1 / d(b, x))
    assert characteristic_time(means, epsilon=epsilon) == pytest.approx(exact, rel=1e-10)


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    "epsilon", thrifty([None, 1e-6, 0.01, 0.3, 5.0, 1e3], lambda epsilon: epsilon in (1e-6, 0.01, 5.0))
)
def test_hundreds_of_arms(epsilon) -> None:
    for means in (np.linspace(0, 1, 200), np.random.default_rng(1).random(200), np.r_[0.6, np.full(199, 0.5)]):
        w = proportions(means, epsilon=epsilon)
        assert w.sum() == pytest.approx(1)
        assert (w > 0).all()
        best = int(means.argmax())
        rivals = np.delete(means, best)
        v = np.delete(w, best) / w[best]
        top = float(means[best])
        if epsilon is None:
            parts = characteristic_times.parts_under_kl(top, rivals)
        else:
            parts = characteristic_times.parts_under_privacy(top, rivals, min(epsilon, 200))
        with np.errstate(all="ignore"):
            lost, kept = parts(v)
        cost = w[best] * (lost + v * kept)
        assert cost == pytest.approx(np.full(199, cost[0]), rel=1e-10)
        assert characteristic_time(means, epsilon=epsilon) == pytest.approx(1 / cost[0])
        if epsilon is None or epsilon > 0.1:  # below, the sum is steep where two arms change order
            assert (lost / kept).sum() == pytest.approx(1, rel=1e-6)


# --- properties ---------------------------------------------------------------------------------------------

mean = st.floats(0.01, 0.99) | st.sampled_from([0.0, 1.0])
instance = st.lists(mean, min_size=2, max_size=6).filter(lambda m: sorted(m)[-1] - sorted(m)[-2] > 1e-3)
losses = st.floats(1e-3, 30)
LIMIT = 1 + 1e-9


@pytest.mark.slow
@given(instance, losses)
@example([1.0, 0.0], 1e-6)
@settings(max_examples=40)
def test_privacy_costs_between_what_it_must_and_may(means, epsilon) -> None:
    """max{T*_KL, T*_TV / eps} <= T*_eps, which falls with eps, down to T*_KL."""
    private, free = characteristic_time(means, epsilon=epsilon), characteristic_time(means)
    assert max(free, characteristic_time(means, "TV") / epsilon) <= private * LIMIT
    assert characteristic_time(means, epsilon=2 * epsilon) <= private * LIMIT
    assert characteristic_time(means, epsilon=800) == pytest.approx(free)
    assert characteristic_time(means, epsilon=math.inf) == pytest.approx(free)


@pytest.mark.slow
@given(instance)
@settings(max_examples=40)
def test_times_keep_their_order(means) -> None:
    """H <= T*_gauss <= 2H; T*_TV >= sqrt(2 T*_KL); 1/gap <= T*_TV <= K/gap; coins tell more than their Gaussians."""
    gap = max(means) - np.sort(means)[:-1]
    h = 2 * float((1 / gap**2).sum() + 1 / gap.min() ** 2)
    gaussian, tv, free = (characteristic_time(means, kind) for kind in ("gaussian", "TV", "KL"))
    assert h <= gaussian * LIMIT
    assert gaussian <= 2 * h * LIMIT
    assert math.sqrt(2 * free) <= tv * LIMIT
    assert 1 / gap.min() <= tv * LIMIT
    assert tv <= len(means) / gap.min() * LIMIT
    assert free <= gaussian / 4 * LIMIT
    assert characteristic_time(means, "TV2") == pytest.approx(gaussian / 2)
    assert tv == pytest.approx(1 / gap.min() + float((1 / gap).sum()))


@pytest.mark.slow
@given(instance, st.sampled_from(KINDS), st.floats(0.01, 0.99), st.none() | losses, st.randoms())
@settings(max_examples=40)
def test_fractions(means, kind, beta, epsilon, random) -> None:
    """They are fractions; a given beta is kept and cannot be better; order does not matter; better rivals get more."""
    if kind in ("TV", "TV2"):
        epsilon = None
    free, w = (f(means, kind, epsilon=epsilon) for f in (characteristic_time, proportions))
    bound, w_beta = (f(means, kind, beta, epsilon) for f in (characteristic_time, proportions))
    best = int(np.argmax(means))
    assert free <= bound * LIMIT
    assert characteristic_time(means, kind, 0.5, epsilon) <= 2 * free * LIMIT
    assert characteristic_time(means, kind, float(w[best]), epsilon) == pytest.approx(free, rel=1e-6)
    for fractions in (w, w_beta):
        assert (fractions >= 0).all()
        assert fractions.sum() == pytest.approx(1)
        rivals = [fraction for _, fraction in sorted(zip(means, fractions, strict=True))][:-1]
        assert all(a <= b * LIMIT for a, b in pairwise(rivals))
    assert w_beta[best] == pytest.approx(beta)
    order = random.sample(range(len(means)), len(means))
    shuffled = [means[i] for i in order]
    assert characteristic_time(shuffled, kind, epsilon=epsilon) == free
    assert proportions(shuffled, kind, epsilon=epsilon).tolist() == w[order].tolist()


# --- what is wrong is named ---------------------------------------------------------------------------------


@for_each("f", [characteristic_time, proportions])
@for_each(
    ("arguments", "error", "said"),
    [
        (([0.5],), InvalidValue, "means"),
        (([],), InvalidValue, "means"),
        (([0.5, 1.1],), InvalidValue, "means"),
        (([0.5, -0.1],), InvalidValue, "means"),
        (([0.5, math.nan],), InvalidValue, "means"),
        (([[0.5, 0.1]],), InvalidValue, "means"),
        (([0.5, 0.1, 0.5],), InvalidValue, "a single largest one"),
        (([0.5, 0.1], "kl"), UnknownName, "kind is 'kl'"),
        (("ab",), InvalidValue, "means is 'ab'"),
        (([0.5, None],), InvalidValue, "means"),
        (([0.5, 0.1], "KL", "a"), InvalidValue, "beta is 'a'"),
        (([0.5, 0.1], "KL", 0), InvalidValue, "beta is 0"),
        (([0.5, 0.1], "KL", 1), InvalidValue, "beta is 1"),
        (([0.5, 0.1], "KL", math.nan), InvalidValue, "beta is nan"),
        (([0.5, 0.1], "KL", None, 0), InvalidValue, "epsilon is 0"),
        (([0.5, 0.1], "KL", None, math.nan), InvalidValue, "epsilon is nan"),
        (([0.5, 0.1], "TV", None, 1), InvalidValue, "epsilon is 1: it must be None"),
        (([0.5, 0.1], "TV2", None, 1), InvalidValue, "epsilon is 1: it must be None"),
        (([0.5, 0.1], "KL", None, None, 0.25), InvalidValue, 'variance is 0.25: it must be 1 for kind "KL"'),
        (([0.5, 0.1], "gaussian", None, None, 0), InvalidValue, "variance is 0"),
    ],
)
def test_what_is_wrong_is_named(f, arguments, error, said) -> None:
    with pytest.raises(error, match=said):
        f(*arguments)

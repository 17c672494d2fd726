"""Lower bounds on numbers of pulls, and from which epsilon on they are those without privacy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.theory import SAMPLES, characteristic_time, critical_epsilon, kl, least_samples
from maskedbandit.theory.samples import contraction
from tests.for_each import for_each

MU1, MU2, SS19B = (0.95, 0.9, 0.9, 0.9, 0.5), (0.75, 0.7, 0.7, 0.7, 0.7), (0.75, 0.625, 0.5, 0.375, 0.25)
INSTANCES = (MU1, MU2, SS19B)

instance = st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5).filter(
    lambda m: sorted(m)[-1] - sorted(m)[-2] > 0.005
)
losses = st.floats(1e-3, 20)
LIMIT = 1 + 1e-9


@for_each(("delta", "factor"), [(0.1, 1.7578), (0.01, 4.5032), (0.001, 6.8929)])
def test_the_factor_of_delta(delta, factor) -> None:
    assert least_samples("no_privacy", MU1, delta) / characteristic_time(MU1) == pytest.approx(factor, abs=6e-5)
    assert factor > math.log(1 / (2.4 * delta)) > math.log(1 / (3 * delta))
    assert round(least_samples("no_privacy", MU2, 0.01)) == 6416


def test_an_error_below_the_rounding_of_floats() -> None:
    for exponent in (16, 17, 100, 300):
        factor = least_samples("no_privacy", MU1, 10.0**-exponent) / characteristic_time(MU1)
        assert factor == pytest.approx(exponent * math.log(10), rel=1e-12)


@for_each(("means", "numbers"), [(MU1, (11485, 1333, 395.5, 395.5)), (MU2, (13825, 1604, 1425, 1425))])
def test_local_times_have_the_numbers_of_an_independent_program(means, numbers) -> None:
    for epsilon, number in zip((10**-0.5, 0.6, 10 ** (1 / 18), 10), numbers, strict=True):
        found = least_samples("local_tv2", means, 0.01, epsilon) / kl(0.01, 0.99)
        assert found == pytest.approx(number, rel=4e-4)


@pytest.mark.slow
@given(instance, losses, st.floats(1e-6, 0.49))
@settings(max_examples=25)
def test_bounds_keep_their_order(means, epsilon, delta) -> None:
    found = {name: least_samples(name, means, delta, epsilon) for name in SAMPLES}
    assert found["no_privacy"] <= found["central_tv"] * LIMIT
    assert found["central_tv"] <= found["central"] * LIMIT
    assert found["no_privacy"] <= found["local_tv2"] * LIMIT
    assert found["local_tv2"] <= found["local"] * LIMIT
    assert found["central"] <= found["local"] * LIMIT
    for name in SAMPLES:
        assert least_samples(name, means, delta, 2 * epsilon) <= found[name] * LIMIT
        assert least_samples(name, means, delta / 2, epsilon) >= found[name] / LIMIT
        assert least_samples(name, means, delta) == pytest.approx(found["no_privacy"])


def test_extreme_losses() -> None:
    for name in SAMPLES:
        free = least_samples("no_privacy", SS19B, 0.01)
        assert least_samples(name, SS19B, 0.01, 1e3) == pytest.approx(free)
        assert least_samples(name, SS19B, 0.5, 1) == 0.0
        if name != "no_privacy":
            power = 2 if name.startswith("local") else 1
            ratio = least_samples(name, SS19B, 0.01, 1e-8) / least_samples(name, SS19B, 0.01, 1e-6)
            assert ratio == pytest.approx(100**power, rel=1e-4)
    around = [least_samples("local", SS19B, 0.01, epsilon) * epsilon**2 for epsilon in (1.9e-5, 2.1e-5)]
    assert around[0] == pytest.approx(around[1], rel=1e-8)  # where its formula changes


def test_randomized_bits_tell_half_of_what_contraction_allows_in_the_limit() -> None:
    """kl(b, b') is eps^2 (x - y)^2 / 2 to first order, c(eps) is eps^2: the sharp bound is twice the published one."""
    ratio = least_samples("local", SS19B, 0.01, 1e-4) / least_samples("local_tv2", SS19B, 0.01, 1e-4)
    assert ratio == pytest.approx(2, rel=1e-3)


# --- regimes ------------------------------------------------------------------------------------------------


@for_each(("name", "numbers"), [("central_tv", (0.2079, 0.0702, 0.2008)), ("local_tv2", (0.865, 0.619, 0.606))])
def test_regimes_have_the_numbers_of_an_independent_program(name, numbers) -> None:
    for means, number in zip(INSTANCES, numbers, strict=True):
        assert round(critical_epsilon(name, means), 4 if name == "central_tv" else 3) == number


def test_published_regimes_with_a_factor_of_six() -> None:
    found = [critical_epsilon("central_tv", means) / 6 for means in INSTANCES]
    assert [round(each, 4) for each in found] == [0.0346, 0.0117, 0.0335]


@pytest.mark.slow
@given(instance)
@settings(max_examples=25)
def test_above_the_critical_epsilon_privacy_costs_nothing_and_below_it_something(means) -> None:
    """The larger term is the one of privacy below it: the sign that is easily mistaken."""
    free = least_samples("no_privacy", means, 0.01)
    for name in ("central", "central_tv", "local_tv2"):
        epsilon = critical_epsilon(name, means)
        assert least_samples(name, means, 0.01, epsilon * 1.001) == pytest.approx(free, rel=1e-12)
        assert least_samples(name, means, 0.01, epsilon * 0.5) > free * (1 + 1e-9)
    assert critical_epsilon("local", means) == math.inf


@given(instance)
@settings(max_examples=25)
def test_the_published_condition_of_central_is_enough_and_not_needed(means) -> None:
    """That the best arm is within eps of all others, in logits; arms meet somewhere between."""
    top = max(means)
    widest = max(math.log(top / (1 - top)) - math.log(m / (1 - m)) for m in means)
    assert critical_epsilon("central", means) < widest


def test_the_published_condition_has_its_published_numbers() -> None:
    for means, number, sharp in zip(INSTANCES, (2.9444, 0.2513, 2.1972), (2.8721, 0.1654, 2.1120), strict=True):
        logits = np.log(means) - np.log1p(-np.array(means))
        assert round(float(logits.max() - logits.min()), 4) == number
        assert round(critical_epsilon("central", means), 4) == sharp


def test_means_of_0_or_1_are_never_without_cost() -> None:
    assert critical_epsilon("central", [1.0, 0.5]) == math.inf
    assert critical_epsilon("central", [0.5, 0.0]) == math.inf


def test_contraction_covers_randomized_bits() -> None:
    for epsilon in (0.01, 0.3, math.log(2), 1, 3):
        flip = 1 / (1 + math.exp(epsilon))
        assert kl(1 - flip, flip) <= contraction(epsilon)


@for_each(
    ("call", "error", "said"),
    [
        (lambda: least_samples("centrall", MU1, 0.1), UnknownName, "did you mean 'central'"),
        (lambda: least_samples("central", MU1, 0), InvalidValue, "delta is 0"),
        (lambda: least_samples("central", MU1, "a"), InvalidValue, "delta is 'a'"),
        (lambda: least_samples("central", "ab", 0.1), InvalidValue, "means is 'ab'"),
        (lambda: least_samples("central", MU1, 1), InvalidValue, "delta is 1"),
        (lambda: least_samples("local", MU1, 0.1, 0), InvalidValue, "epsilon is 0"),
        (lambda: least_samples("local", [0.5, 0.5], 0.1, 1), InvalidValue, "a single largest one"),
        (lambda: critical_epsilon("globl", MU1), UnknownName, "regime is 'globl'"),
        (lambda: critical_epsilon("local", [0.5, 0.5]), InvalidValue, "a single largest one"),
    ],
)
def test_what_is_wrong_is_named(call, error, said) -> None:
    with pytest.raises(error, match=said):
        call()

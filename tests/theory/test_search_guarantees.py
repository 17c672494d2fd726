"""Upper bounds on numbers of pulls: their formulas, and that no lower bound is above them."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.goals.identify.rows import tabulate_curve
from maskedbandit.lab.goals.setting import TheoryCurve
from maskedbandit.lab.worlds.bernoulli import Bernoulli
from maskedbandit.theory import UPPER_SAMPLES, characteristic_time, least_samples, most_samples
from maskedbandit.theory.search_guarantees import RATES, largest_inflation
from tests.for_each import for_each
from tests.theory.test_samples import MU1, MU2, SS19B, losses

distinct = st.lists(st.floats(0.01, 0.99), min_size=2, max_size=5).filter(
    lambda m: min((abs(a - b) for i, a in enumerate(m) for b in m[:i]), default=1) > 0.005
)


@for_each(("means", "numbers"), [(MU1, (121623, 35240, 11317, 2991)), (MU2, (146406, 42421, 13623, 3851))])
def test_local_rates_have_the_numbers_of_an_independent_program(means, numbers) -> None:
    for epsilon, number in zip((10**-0.5, 0.6, 10 ** (1 / 18), 10 if means == MU1 else 4.084), numbers, strict=True):
        assert RATES["ctb_tt"](means, epsilon) == pytest.approx(number, rel=7e-3 if epsilon == 0.6 else 4e-4)


def test_the_rate_of_ada_p_tt_solves_its_equation() -> None:
    """The pulls x (in 4 T*_β) that a test needs whose noise costs A / x beside 2 for rewards: x = 2 + A / x."""
    time = characteristic_time(SS19B, "gaussian", 0.5, variance=0.25)
    for epsilon in (0.01, 0.3, 5.0):
        x = RATES["ada_p_tt"](SS19B, epsilon) / (4 * time)
        assert x == pytest.approx(2 + 8 * (0.5 / epsilon) ** 2 / x)
    assert RATES["ada_p_tt"](SS19B, 1e6) == pytest.approx(8 * time)


@given(distinct, losses)
@settings(max_examples=40)
def test_the_rate_of_ada_p_tt_is_within_a_constant_of_the_larger_time(means, epsilon) -> None:
    """(8 + 16 √2) max{T*_β, C T*_TV / ε}, C the largest gap over the smallest: "for most instances" [AJMB24]."""
    time = characteristic_time(means, "gaussian", 0.5, variance=0.25)
    larger = max(time, ratio_of_gaps(means) * characteristic_time(means, "TV") / epsilon)
    assert RATES["ada_p_tt"](means, epsilon) <= (8 + 16 * math.sqrt(2)) * larger * (1 + 1e-9)


def test_where_gaps_differ_the_rate_of_ada_p_tt_is_far_above_the_larger_time() -> None:
    """The control: without C no constant would do."""
    means, epsilon = [0.9, 0.89, 0.0], 1e-3
    time = characteristic_time(means, "gaussian", 0.5, variance=0.25)
    larger = max(time, characteristic_time(means, "TV") / epsilon)
    assert round(ratio_of_gaps(means)) == 90
    assert RATES["ada_p_tt"](means, epsilon) > 100 * larger


def ratio_of_gaps(means) -> float:
    """The largest gap over the smallest."""
    gaps = sorted(max(means) - mean for mean in means)[1:]
    return gaps[-1] / gaps[0]


@for_each("y", [0.0, 1e-3, 1.0, 12.0, 1e4])
def test_the_inflation_of_ada_p_tt_star_is_the_largest_root(y) -> None:
    x = largest_inflation(y)
    assert x * x == pytest.approx(x + y * math.sqrt(2 * x) + y * y / 4)
    more = 1.001 * x
    assert more * more > more + y * math.sqrt(2 * more) + y * y / 4


@pytest.mark.slow
@given(distinct, losses)
@settings(max_examples=25)
def test_no_lower_bound_is_above(means, epsilon) -> None:
    for name in UPPER_SAMPLES:
        lower = "local" if name == "ctb_tt" else "central"
        assert least_samples(lower, means, 1e-9, epsilon) <= most_samples(name, means, 1e-9, epsilon)


def test_nothing_is_claimed_where_two_means_are_equal() -> None:
    for name in UPPER_SAMPLES:
        assert most_samples(name, MU1, 0.01, 1.0) == math.inf
        assert most_samples(name, SS19B, 0.01, 1.0) < math.inf


def test_they_are_rows_of_a_table_of_searches() -> None:
    for means, known in ((SS19B, True), (MU1, False)):
        task = {"delta": 0.01, "max_pulls": 100}
        curve = TheoryCurve("1", "upper", "ada_p_tt", 1.0, Bernoulli(means), task, values={})
        row = tabulate_curve(curve).row(0, named=True)
        assert row["sees"] == "upper bound as δ → 0"
        assert row["samples"] == (most_samples("ada_p_tt", means, 0.01, 1.0) if known else None)
        assert row["critical"] is None


@for_each(
    ("name", "delta", "epsilon", "error"),
    [("ttucb", 0.1, 1, UnknownName), ("ctb_tt", 0, 1, InvalidValue), ("ctb_tt", 0.1, 0, InvalidValue)],
)
def test_questions_that_mean_nothing_are_refused(name, delta, epsilon, error) -> None:
    with pytest.raises(error):
        most_samples(name, SS19B, delta, epsilon)

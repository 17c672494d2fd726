"""The published points of best-arm identification, as far as our own simulators reproduce them."""

import math

import numpy as np
import pytest

from tools.published_points import (
    ADA_P_TT,
    CTB_TT,
    DP_SE,
    MU1,
    WEIGHTS,
    on_grid,
    play_ada_p_tt,
    run_ada_p_tt,
    run_dp_se,
    run_ttucb,
)


def test_rounded_epsilons_are_those_of_a_grid():
    assert on_grid(0.00464) == pytest.approx(10 ** (-3 + 2 / 3), rel=1e-12)
    assert on_grid(0.464) == pytest.approx(10 ** (-1 / 3), rel=1e-12)
    assert on_grid(10) == pytest.approx(10)


def test_two_numbers_of_users_with_weights_of_four_seeds_give_the_printed_mean_and_deviation():
    """Both are numbers that our DP-SE takes; the weights are those of one large and the small seed."""
    printed, spread = DP_SE[0.00464]
    low, high, weight = 2_020_450, 3_112_876, WEIGHTS[2] + WEIGHTS[3]
    assert sum(WEIGHTS) == pytest.approx(1)
    assert low + weight * (high - low) == pytest.approx(printed, abs=2)
    assert math.sqrt(weight * (1 - weight)) * (high - low) == pytest.approx(spread, abs=2)
    assert 0.5 * (high - low) != pytest.approx(spread, rel=0.03)  # equal weights would not


@pytest.mark.slow
def test_our_dp_se_takes_the_printed_numbers():
    found = run_dp_se(0.00464, runs=1000)
    assert set(found) == {2_020_450, 3_112_876}
    assert run_dp_se(0.464, runs=100)[108_802] > 0.9


@pytest.mark.slow
def test_twice_the_cost_reproduces_the_published_points_and_the_public_program_does_not():
    """Within four standard errors of ours, and the spread of a mean of four runs; seeds are fixed."""
    for epsilon in (0.464, 10):
        twice, once = (run_ada_p_tt(MU1, epsilon, c, c == 1.0, runs=40)[1] for c in (1.0, 0.5))
        spread = math.hypot(twice.error, twice.error * math.sqrt(40 / 3.24))
        assert abs(twice.mean - ADA_P_TT[epsilon]) < 4 * spread
        assert once.mean - 4 * once.error > 1.7 * ADA_P_TT[epsilon]
    free, public = (run_ttucb(MU1, math.inf, c, runs=40) for c in (1.0, 0.5))
    assert abs(free.mean - CTB_TT[math.inf]) < 4 * math.hypot(free.error, free.error * math.sqrt(40 / 3.24))
    assert public.mean > 1.5 * CTB_TT[math.inf]


def test_the_port_counts_all_users_and_those_of_closed_phases():
    rng = np.random.Generator(np.random.PCG64(1))
    everyone, closed = play_ada_p_tt(np.array([1.0, 0.0]), 10.0, 0.1, 1.0, True, rng)
    assert closed <= everyone < 2 * closed

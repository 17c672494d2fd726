"""DP-IMED: its decisions recomputed from what was told, and the distribution of its regret against a plain program."""

import math
from fractions import Fraction

import numba
import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from tests.for_each import for_each
from tests.golden import Trail, interpreted
from tests.policies.mutants import mutant
from tests.policies.regret.test_dp_klucb import divergence
from tests.policies.replays import (
    C1,
    C2,
    C3,
    C4,
    check_choice,
    check_distribution,
    check_number,
    check_overlaps,
    check_prefix,
    moments,
    plain,
    regrets,
)

DPIMED, Central = mb.policies.DPIMED, mb.channels.Central


def check_decisions(found: Trail, epsilon: float, ratio: float = 2) -> None:
    """Each batch goes to the lowest index and brings the arm's count to its multiple."""
    for at in moments(found):
        means = [min(max(total / n, 0.0), 1.0) for n, total in at.whole]
        index = [
            n * divergence(x, max(means), epsilon) + math.log(n) for x, (n, _) in zip(means, at.whole, strict=True)
        ]
        check_choice([-i for i in index], at.arm)
        n = at.whole[at.arm][0]
        assert (at.n, at.close) == (math.ceil(Fraction(str(ratio)) * n) - n, 1)


@for_each("epsilon", [0.1, 1, 10])
@for_each("ratio", [2, 1.1])
def test_decisions_are_those_of_the_paper(epsilon, ratio):
    for seed in range(3):
        found = interpreted(DPIMED(ratio), Central(epsilon=epsilon), mb.Bernoulli(C2), 20_000, seed)
        check_decisions(found, epsilon, ratio)


def test_without_noise_it_is_imed_in_batches():
    check_decisions(interpreted(DPIMED(), mb.channels.Raw(), mb.Bernoulli(C2), 20_000), math.inf)


@for_each(
    ("old", "new"), [("+ math.log(s.asked[a])", ""), ("s.asked[a] * far", "far"), ("1 / law.scale", "9 / law.scale")]
)
def test_another_index_is_rejected(old, new):
    class Broken(DPIMED):
        ask = mutant(DPIMED.ask, old, new)

    with pytest.raises(AssertionError):
        check_decisions(interpreted(Broken(), Central(epsilon=1), mb.Bernoulli(C2), 20_000), 1)


def test_only_one_draw_of_laplace_noise_will_do():
    with pytest.raises(InvalidValue, match="one draw of Laplace noise"):
        mb.simulate(DPIMED(), mb.channels.Local(), mb.Bernoulli(C2), 100)


def test_it_counts_what_is_in_flight():
    check_overlaps(DPIMED(), Central(epsilon=1).law())


def test_the_horizon_only_cuts():
    check_prefix(DPIMED(), Central(epsilon=1))


# --- regret: rare runs dominate its mean, so tables of means say little, and distributions are compared
# ------------------

far = numba.vectorize(divergence)


def reference(epsilon: float, means: tuple[float, ...], horizon: float, runs: int) -> np.ndarray:
    """Regret of a program of its own."""

    def index(m: np.ndarray, n: np.ndarray, t: np.ndarray) -> np.ndarray:
        return -n * far(m, m.max(axis=1, keepdims=True), epsilon) - np.log(n)

    return plain(index, epsilon, means, horizon, runs)


@pytest.mark.parametrize("epsilon", [1, 0.25])
@pytest.mark.slow
def test_regret_has_the_distribution_of_a_plain_program(epsilon):
    check_distribution(regrets(DPIMED(), Central(epsilon=epsilon), C2, 1e5, 4000), reference(epsilon, C2, 1e5, 4000))


@pytest.mark.slow
@pytest.mark.parametrize("means", [C1, C2, C3, C4], ids=str)
def test_regret_at_a_million_has_the_distribution_of_a_plain_program(means):
    for epsilon in (0.1, 0.5, 1):
        found = regrets(DPIMED(), Central(epsilon=epsilon), means, 1e6, 4000)
        check_distribution(found, reference(epsilon, means, 1e6, 4000))


@pytest.mark.slow
def test_the_distribution_of_a_policy_that_forgets_is_rejected():
    class Forgetful(DPIMED):
        tell = mutant(DPIMED.tell, "s.total[arm] += total", "s.total[arm] = total")

    with pytest.raises(AssertionError, match="two distributions"):
        check_distribution(regrets(Forgetful(), Central(epsilon=0.25), C2, 1e5, 4000), reference(0.25, C2, 1e5, 4000))


@pytest.mark.slow
def test_regret_with_noise_of_another_width_is_rejected():
    with pytest.raises(AssertionError, match="two distributions"):
        check_distribution(regrets(DPIMED(), Central(epsilon="0.3"), C2, 1e5, 4000), reference(0.25, C2, 1e5, 4000))


@pytest.mark.slow
def test_regret_without_noise_to_speak_of_is_that_of_the_table():
    """There no run is rare."""
    regret = regrets(DPIMED(), Central(epsilon=500), C2, 1e5, 1000)
    check_number(regret, 72)
    with pytest.raises(AssertionError, match="not 108"):
        check_number(regret, 1.5 * 72)


@pytest.mark.slow
def test_a_number_that_rare_runs_make_says_nothing():
    with pytest.raises(AssertionError, match="too wide an error"):
        check_number(regrets(DPIMED(), Central(epsilon=0.5), C2, 1e5, 200), 237)


def test_the_ratio_is_checked():
    with pytest.raises(InvalidValue, match="ratio"):
        DPIMED(ratio=1)

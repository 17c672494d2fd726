"""DP-IMED: its decisions recomputed from what was told, and its regret against tables of an independent program."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from tests.golden import Trail, interpreted
from tests.policies.mutants import mutant
from tests.policies.regret.test_dp_klucb import divergence
from tests.policies.replays import (
    C1,
    C2,
    C3,
    C4,
    check_choice,
    check_number,
    check_prefix,
    check_waits,
    moments,
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


@pytest.mark.parametrize("epsilon", [0.1, 1, 10])
@pytest.mark.parametrize("ratio", [2, 1.1])
def test_decisions_are_those_of_the_paper(epsilon, ratio):
    for seed in range(3):
        found = interpreted(DPIMED(ratio), Central(epsilon=epsilon), mb.Bernoulli(C2), 20_000, seed)
        check_decisions(found, epsilon, ratio)


def test_without_noise_it_is_imed_in_batches():
    check_decisions(interpreted(DPIMED(), mb.channels.Raw(), mb.Bernoulli(C2), 20_000), math.inf)


@pytest.mark.parametrize(
    ("old", "new"), [("+ math.log(s.n[a])", ""), ("s.n[a] * far", "far"), ("1 / law.scale", "9 / law.scale")]
)
def test_another_index_is_rejected(old, new):
    class Broken(DPIMED):
        ask = mutant(DPIMED.ask, old, new)

    with pytest.raises(AssertionError):
        check_decisions(interpreted(Broken(), Central(epsilon=1), mb.Bernoulli(C2), 20_000), 1)


def test_only_one_draw_of_laplace_noise_will_do():
    with pytest.raises(InvalidValue, match="one draw of Laplace noise"):
        mb.simulate(DPIMED(), mb.channels.Local(), mb.Bernoulli(C2), 100)


def test_it_waits_for_releases():
    check_waits(DPIMED(), Central(epsilon=1).law())


def test_the_horizon_only_cuts():
    check_prefix(DPIMED(), Central(epsilon=1))


RUNS = 200  # at least that many are behind the numbers of the tables


@pytest.mark.parametrize(("epsilon", "number"), [(500, 72), (1, 115), (0.5, 237), (0.25, 473), (0.1, 1179)])
def test_regret_is_that_of_the_table(epsilon, number):
    check_number(regrets(DPIMED(), Central(epsilon=epsilon), C2, 1e5, 1000), number, RUNS)


MILLION = {C1: (3723, 1001, 447), C2: (2763, 582, 152), C3: (1535, 218, 101), C4: (2135, 284, 285)}


@pytest.mark.slow
@pytest.mark.parametrize("means", MILLION, ids=str)
def test_regret_at_a_million_is_that_of_the_table(means):
    for epsilon, number in zip((0.1, 0.5, 1), MILLION[means], strict=True):
        check_number(regrets(DPIMED(), Central(epsilon=epsilon), means, 1e6, 1000), number, RUNS)


def test_another_number_is_rejected():
    with pytest.raises(AssertionError, match="not 108"):
        check_number(regrets(DPIMED(), Central(epsilon=500), C2, 1e5, 1000), 1.5 * 72, RUNS)


def test_the_ratio_is_checked():
    with pytest.raises(InvalidValue, match="ratio"):
        DPIMED(ratio=1)

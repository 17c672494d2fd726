"""AdaC-UCB: its decisions recomputed from what was told, and its regret against a table of an independent program."""

import math

import pytest

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from tests.for_each import for_each
from tests.golden import Trail, interpreted
from tests.policies.mutants import mutant
from tests.policies.replays import C2, check_choice, check_number, check_overlaps, check_prefix, moments, regrets

AdaCUCB = mb.policies.AdaCUCB


def central(rho: float) -> Channel:
    """Every release costs rho in zCDP."""
    return mb.channels.Central(epsilon=math.sqrt(2 * rho), noise=DiscreteGaussian())


def check_decisions(found: Trail, beta: float, rho: float) -> None:
    """Each episode goes to the highest index and doubles the arm's count."""
    for at in moments(found):
        x = beta * math.log(at.t)
        index = [total / n + math.sqrt((1 / (2 * n) + 1 / (rho * n**2)) * x) for n, total in at.last]
        check_choice(index, at.arm)
        assert (at.n, at.close) == (at.whole[at.arm][0], 1)


@for_each("rho", [0.01, 0.1, 1])
@for_each("beta", [1, 3.1])
def test_decisions_are_those_of_the_paper(rho, beta):
    for seed in range(5):
        check_decisions(interpreted(AdaCUCB(beta), central(rho), mb.Bernoulli(C2), 20_000, seed), beta, rho)


def test_without_noise_only_the_rewards_count():
    check_decisions(interpreted(AdaCUCB(), mb.channels.Raw(), mb.Bernoulli(C2), 20_000), 1, math.inf)


@for_each(("old", "new"), [("(4 * n)", "(2 * n)"), ("noise / (n * n)", "noise / n"), ("2 * x", "x")])
def test_another_index_is_rejected(old, new):
    class Broken(AdaCUCB):
        ask = mutant(AdaCUCB.ask, old, new)

    with pytest.raises(AssertionError):
        check_decisions(interpreted(Broken(), central(0.1), mb.Bernoulli(C2), 20_000), 1, 0.1)


def test_noise_that_is_not_gaussian_is_refused():
    for channel in (mb.channels.Central(), mb.channels.Central(noise=Skellam()), mb.channels.Response()):
        with pytest.raises(InvalidValue, match="Gaussian noise, or none"):
            mb.simulate(AdaCUCB(), channel, mb.Bernoulli(C2), 100)
    local = mb.channels.Local(epsilon=2, noise=DiscreteGaussian())
    assert interpreted(AdaCUCB(), local, mb.Bernoulli([0.9, 0.1]), 10_000).pulls[0] > 5000


def test_it_counts_what_is_in_flight():
    check_overlaps(AdaCUCB(), central(0.1).law())


def test_the_horizon_only_cuts():
    check_prefix(AdaCUCB(), central(0.1))


TABLE = {(1e5, 1): (509, 287, 233), (1e5, 3.1): (1067, 730, 672), (1e6, 1): (594, 356, 310)}


@pytest.mark.parametrize(("horizon", "beta"), TABLE)
@pytest.mark.slow
def test_regret_is_that_of_the_table(horizon, beta):
    for rho, number in zip((0.01, 0.1, 1), TABLE[horizon, beta], strict=True):
        check_number(regrets(AdaCUCB(beta), central(rho), C2, horizon, 500), number)


@pytest.mark.slow
def test_a_number_of_another_privacy_is_rejected():
    with pytest.raises(AssertionError, match="not 594"):
        check_number(regrets(AdaCUCB(), central(0.02), C2, 1e6, 500), 594)

"""LDP-UCB: its choices, recomputed from what it was told, and its regret by an independent program.

The table's numbers are means and standard errors of 150 runs of a program that shares nothing with this one: twenty
arms, 100,000 users [RZLS20, Sec. 5]. Each cell must lie within 5 joint standard errors: with normal means a correct
program fails with probability 6e-7 for each.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import LAPLACE, RESPONSE, Law
from maskedbandit.noises.skellam import Skellam
from maskedbandit.policies.policy import Policy
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant

LDPUCB, RAW, Response, Local = mb.policies.LDPUCB, mb.channels.Raw(), mb.channels.Response, mb.channels.Local
TWENTY = mb.Bernoulli([0.9, *[0.8] * 5, *[0.7] * 5, *[0.6] * 5, *[0.5] * 4])
TABLE = {
    (Local, 0.5): (18364.3, 27.0),
    (Local, 1): (14895.2, 25.8),
    (Local, 2): (10002.6, 20.3),
    (Response, 0.5): (13060.0, 47.2),
    (Response, 1): (6682.5, 31.2),
    (Response, 2): (3058.1, 12.4),
}


def check_regret(policy: Policy, channel: Channel, mean: float, error: float, runs: int) -> None:
    """Mean pseudo-regret of the twenty arms, within 5 joint standard errors."""
    regret = mb.simulate(policy, channel, TWENTY, 100_000, runs=runs, seed=1).regret[:, -1]
    joint = math.hypot(error, regret.std(ddof=1) / math.sqrt(runs))
    assert abs(regret.mean() - mean) <= 5 * joint, f"{regret.mean():.0f} ± {joint:.0f}, not {mean}"


def check_choices(policy: Policy, channel: Channel, horizon: int = 1500) -> None:
    """Every choice has the highest index, the first of equals, or is an arm of the fewest pulls if that are too few."""
    law, means = channel.law(), [0.7, 0.2, 0.6, 0.5]
    found = interpreted(policy, channel, mb.Bernoulli(means), horizon)
    total, n = np.zeros(4), np.zeros(4)
    for t, ((arm, *_), (of, users, value)) in enumerate(zip(found.decisions, found.released, strict=True), start=1):
        if n.min() <= (4 * math.log(t + 1) if law.kind == LAPLACE else 0):
            assert n[arm] == n.min(), "another arm has fewer pulls"
        else:
            index = total / n + np.sqrt(2 * np.log(t) / n)
            if law.kind == RESPONSE:
                index = (total * (1 - 2 * law.flip) + n * law.flip) / n + np.sqrt(2 * np.log(t) / n)
            if law.kind == LAPLACE:
                index += np.sqrt(32 * np.log(t) * law.scale**2 / n)
            assert index[arm] >= index.max() - 1e-12, "another index is higher"
        assert (of, users) == (arm, 1)
        total[arm] += value
        n[arm] += 1


@pytest.mark.slow
@for_each("channel", [RAW, Response(epsilon=1), Local(epsilon=1), mb.channels.Central(epsilon="0.5")])
def test_choices_are_those_of_the_index(channel):
    check_choices(LDPUCB(), channel)


@pytest.mark.slow
@for_each(
    ("old", "new", "channel"),
    [
        ("1 + 4 * law.scale", "1 + 2 * law.scale", Local(epsilon=1)),
        ("4 * math.log(t + 1)", "3 * math.log(t + 1)", Local(epsilon=1)),
        ("(1 - 2 * law.flip) * s.mean", "s.mean", Response(epsilon=1)),
        ("2 * math.log(t)", "math.log(t)", RAW),
    ],
)
def test_another_index_is_rejected(old, new, channel):
    class Broken(LDPUCB):
        ask = mutant(LDPUCB.ask, old, new)

    with pytest.raises(AssertionError, match="another"):
        check_choices(Broken(), channel)


def test_without_noise_it_is_ucb1():
    beta = mb.Beta((3.0, 5.0, 6.0), (7.0, 5.0, 4.0))
    plain = interpreted(mb.policies.UCB1(), RAW, beta, 1000)
    assert interpreted(LDPUCB(), RAW, beta, 1000).decisions == plain.decisions


@pytest.mark.slow
def test_regret_is_that_of_the_table():
    check_regret(LDPUCB(), Response(epsilon=2), *TABLE[Response, 2], runs=16)
    with pytest.raises(AssertionError, match="not 6682"):  # negative control: the cell of another epsilon
        check_regret(LDPUCB(), Response(epsilon=2), *TABLE[Response, 1], runs=16)


@pytest.mark.slow
@pytest.mark.parametrize("cell", TABLE, ids=lambda cell: f"{cell[0].__name__} {cell[1]}")
def test_regret_is_that_of_the_whole_table(cell):
    channel, epsilon = cell
    check_regret(LDPUCB(), channel(epsilon=epsilon), *TABLE[cell], runs=150)


@pytest.mark.slow
def test_regret_is_below_its_bound():
    """8 / (1 - 2 flip)^2 sum of ln T / gap, and a constant."""
    channel, gaps = Response(epsilon=2), 0.9 - np.array(TWENTY.true_means()[1:])
    bound = 8 / (1 - 2 * channel.law().flip) ** 2 * np.log(20_000) * (1 / gaps).sum() + (1 + np.pi**2 / 3) * gaps.sum()
    assert mb.simulate(LDPUCB(), channel, TWENTY, 20_000, runs=8, seed=2).regret[:, -1].mean() < bound


def test_only_laws_that_it_knows():
    assert [LDPUCB().needs(each.law()) for each in (RAW, Response(), Local(), mb.channels.Distributed())] == [""] * 4
    for other in (mb.channels.Shuffled(), mb.channels.Central(noise=Skellam())):
        with pytest.raises(InvalidValue, match="randomized bits"):
            mb.simulate(LDPUCB(), other, TWENTY, 100)
    assert "independent" in LDPUCB().needs(Law(LAPLACE, 1.0, 1.0, per_release=1.0, counter=1))

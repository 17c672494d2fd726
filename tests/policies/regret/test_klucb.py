"""KL-UCB: its choices against an index that is found by bisection, and its regret by an independent program.

The table's numbers are means and standard errors of 150 runs of a program that shares the divergence alone with this
one: twenty arms, 100,000 users, one randomized bit from each [RZLS20, Sec. 5]. Each cell must lie within 5 joint
standard errors: with normal means a correct program fails with probability 6e-7 for each.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.law import NO_NOISE, RESPONSE, Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.klucb import centre, compute, is_above
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant
from tests.policies.regret.test_ldp_ucb import check_regret

KLUCB, RAW, Response = mb.policies.KLUCB, mb.channels.Raw(), mb.channels.Response
TABLE = {0.5: (5931.6, 62.3), 1: (1945.6, 17.7), 2: (630.6, 5.9)}
BITS, BETA = mb.Bernoulli([0.7, 0.2, 0.6, 0.5, 0.6]), mb.Beta((3.0, 5.0, 6.0, 5.0, 2.0), (7.0, 5.0, 4.0, 5.0, 2.0))
SURE = mb.Bernoulli([1.0, 0.0, 1.0, 0.5, 1.0])


def divergence(p: float, q: float) -> float:
    parts = ((p, q), (1 - p, 1 - q))
    return sum(a * math.log(a / b) if b > 0 else math.inf for a, b in parts if a > 0)


def highest(law: Law, total: float, n: int, f: float) -> float:
    """max{q : kl(m, q) <= f / n}, by bisection."""
    if law.kind == RESPONSE:
        total = round((1 - 2 * law.flip) * total + law.flip * n)
    elif law.kind != NO_NOISE:
        total += radius(law, n, n, f)
    m = min(1.0, max(0.0, total / n))
    low, high = m, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if divergence(m, middle) <= f / n:
            low = middle
        else:
            high = middle
    return low


def check_choices(policy: Policy, channel: Channel, instance: Instance, horizon: int) -> None:
    """Every choice has the highest index, and is the first of equals."""
    law, k = channel.law(), len(instance.true_means())
    found = interpreted(policy, channel, instance, horizon)
    total, n = np.zeros(k), np.zeros(k, np.int64)
    for t, ((arm, *_), (of, users, value)) in enumerate(zip(found.decisions, found.released, strict=True), start=1):
        if t <= k:
            assert n[arm] == 0
        else:
            index = [highest(law, total[a], int(n[a]), math.log(t)) for a in range(k)]
            assert index[arm] >= max(index) - 1e-12, "another index is higher"
            equals = [a for a in range(arm) if (total[a], n[a]) == (total[arm], n[arm])]
            assert not equals, "an equal arm comes first"
        assert (of, users) == (arm, 1)
        total[arm] += value
        n[arm] += 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("channel", "instance", "horizon"),
    [
        (RAW, BITS, 1000),
        (RAW, BETA, 1000),
        (RAW, SURE, 300),
        (Response(epsilon=1), BITS, 1000),
        (Response(epsilon="0.1"), BETA, 1000),
        (mb.channels.Central(epsilon=1), BITS, 300),
        (mb.channels.Shuffled(epsilon=1), BITS, 100),
    ],
    ids=str,
)
def test_choices_are_those_of_the_index(channel, instance, horizon):
    check_choices(KLUCB(), channel, instance, horizon)


@pytest.mark.slow
@for_each(
    ("old", "new"),
    [
        ("q * (1 - q) / ((q - m) * n)", "0.0"),  # an index that is known is taken to stay
        ("q * (1 - q) / ((q - m) * n)", "0.9 * q * (1 - q) / ((q - m) * n)"),
        ("f / n", "1.2 * f / n"),
    ],
)
def test_another_index_is_rejected(old, new):
    class Broken(KLUCB):
        ask = mutant(KLUCB.ask, compute=mutant(compute, old, new))

    with pytest.raises(AssertionError, match=r"another index|an equal arm"):
        check_choices(Broken(), Response(epsilon=1), BITS, 2000)


def test_a_choice_without_an_index_that_is_not_the_highest_is_rejected():
    class Broken(KLUCB):
        ask = mutant(KLUCB.ask, is_above=mutant(is_above, "f / n", "1.05 * f / n"))

    with pytest.raises(AssertionError, match="another index"):
        check_choices(Broken(), Response(epsilon=1), BITS, 2000)


def test_bits_are_counted_without_a_rounding_error():
    law, total = Response(epsilon="0.3").law(), 0.0
    values = [-law.flip / (1 - 2 * law.flip), (1 - law.flip) / (1 - 2 * law.flip)]
    for i in range(30_000):
        total += values[i % 3 == 0]
    assert centre(law, total, 30_000, 1.0) == 10_000 / 30_000


@pytest.mark.slow
def test_regret_is_that_of_the_table():
    check_regret(KLUCB(), Response(epsilon=2), *TABLE[2], runs=12)
    with pytest.raises(AssertionError, match="not 1945"):  # negative control: the cell of another epsilon
        check_regret(KLUCB(), Response(epsilon=2), *TABLE[1], runs=12)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", TABLE)
def test_regret_is_that_of_the_whole_table(epsilon):
    check_regret(KLUCB(), Response(epsilon=epsilon), *TABLE[epsilon], runs=150)


@pytest.mark.slow
def test_regret_beats_the_other_policies_on_the_same_bits():
    for epsilon in (0.5, 1, 2):
        ours, theirs = (
            mb.simulate(policy, Response(epsilon=epsilon), BITS, 50_000, runs=60, seed=1).regret[:, -1]
            for policy in (KLUCB(), mb.policies.LDPUCB())
        )
        assert ours.mean() + 3 * ours.std() / math.sqrt(60) < theirs.mean()

"""AdaP-UCB: its decisions recomputed from what was told, and its regret against tables of an independent program."""

import math

import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from tests.for_each import for_each
from tests.golden import Trail, interpreted
from tests.policies.mutants import mutant
from tests.policies.replays import (
    C1,
    C2,
    C3,
    C4,
    check_choice,
    check_number,
    check_overlaps,
    check_prefix,
    moments,
    regrets,
)

AdaPUCB, Central = mb.policies.AdaPUCB, mb.channels.Central


def check_decisions(found: Trail, beta: float, epsilon: float) -> None:
    """Each episode goes to the highest index and doubles the arm's count."""
    for at in moments(found):
        x = beta * math.log(at.t)
        index = [total / n + math.sqrt(x / (2 * n)) + x / (epsilon * n) for n, total in at.last]
        check_choice(index, at.arm)
        assert (at.n, at.close) == (at.whole[at.arm][0], 1)


@for_each("epsilon", [0.1, 1, 10])
@for_each("beta", [1, 3.1])
def test_decisions_are_those_of_the_paper(epsilon, beta):
    policy = AdaPUCB(beta)
    for seed in range(5):
        found = interpreted(policy, Central(epsilon=epsilon), mb.Bernoulli(C2), 20_000, seed)
        assert len(found.decisions) > 15
        check_decisions(found, beta, epsilon)


def test_without_noise_the_last_term_is_zero():
    check_decisions(interpreted(AdaPUCB(), mb.channels.Raw(), mb.Bernoulli(C2), 20_000), 3.1, math.inf)


def test_other_channels_are_given_their_own_radius():
    for channel in (mb.channels.Local(epsilon=4), mb.channels.Response(epsilon=2)):
        assert interpreted(AdaPUCB(), channel, mb.Bernoulli([0.9, 0.1]), 20_000).pulls[0] > 10_000


@for_each(("old", "new"), [("x / (2 * n)", "x / n"), ("2.0)", "3.0)"), ("n = latest_size(s, a)", "n = s.n[a]")])
def test_another_index_or_schedule_is_rejected(old, new):
    class Broken(AdaPUCB):
        ask = mutant(AdaPUCB.ask, old, new)

    with pytest.raises(AssertionError):
        check_decisions(interpreted(Broken(), Central(epsilon=1), mb.Bernoulli(C2), 20_000), 3.1, 1)


def test_it_counts_what_is_in_flight():
    check_overlaps(AdaPUCB(), Central(epsilon=1).law())


def test_the_horizon_only_cuts():
    check_prefix(AdaPUCB(), Central(epsilon=1))


@pytest.mark.slow
@for_each(("epsilon", "number"), [(500, 659), (1, 1302), (0.5, 1806), (0.25, 2834), (0.1, 4859)])
def test_regret_is_that_of_the_table(epsilon, number):
    check_number(regrets(AdaPUCB(), Central(epsilon=epsilon), C2, 1e5, 300), number)


MILLION = {
    C1: (26214, 10404, 5325, 4080),
    C2: (58327, 7670, 2331, 1644),
    C3: (58040, 7256, 1997, 1341),
    C4: (49446, 8111, 3479, 2482),
}


@pytest.mark.slow
@pytest.mark.parametrize("means", MILLION, ids=str)
def test_regret_at_a_million_is_that_of_the_table(means):
    for epsilon, number in zip((0.01, 0.1, 0.5, 1), MILLION[means], strict=True):
        check_number(regrets(AdaPUCB(), Central(epsilon=epsilon), means, 1e6, 200), number)


@pytest.mark.slow
def test_at_ten_million():
    check_number(regrets(AdaPUCB(), Central(epsilon=1), C2, 1e7, 200), 2195)


@pytest.mark.slow
def test_a_number_of_another_beta_is_rejected():
    with pytest.raises(AssertionError, match="not 1302"):
        check_number(regrets(AdaPUCB(beta=4), Central(epsilon=1), C2, 1e5, 300), 1302)


@for_each("beta", [0, -1, math.inf, math.nan])
def test_beta_is_positive(beta):
    with pytest.raises(InvalidValue, match="beta"):
        AdaPUCB(beta)

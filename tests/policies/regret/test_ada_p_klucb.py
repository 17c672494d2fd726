"""AdaP-KLUCB: its decisions recomputed from what was told, and its regret against tables of an independent program."""

import math

import pytest
from scipy.special import rel_entr

import maskedbandit as mb
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
    largest,
    moments,
    regrets,
)

AdaPKLUCB, Central = mb.policies.AdaPKLUCB, mb.channels.Central


def upper(p: float, level: float) -> float:
    """max{q : kl(p, q) <= level}, by bisection."""
    p = min(max(p, 0.0), 1.0)
    return largest(lambda q: float(rel_entr(p, q) + rel_entr(1 - p, 1 - q)) if q > p else 0.0, level)


def check_decisions(found: Trail, epsilon: float, beta: float = 3.1) -> None:
    """Each episode goes to the highest index and doubles the arm's count."""
    for at in moments(found):
        x = beta * math.log(at.t)
        check_choice([upper(total / n + x / (epsilon * n), x / n) for n, total in at.last], at.arm)
        assert (at.n, at.close) == (at.whole[at.arm][0], 1)


@pytest.mark.slow
@for_each("epsilon", [0.1, 1, 10])
def test_decisions_are_those_of_the_paper(epsilon):
    for seed in range(5):
        check_decisions(interpreted(AdaPKLUCB(), Central(epsilon=epsilon), mb.Bernoulli(C2), 20_000, seed), epsilon)


def test_without_noise_it_is_kl_ucb_on_episodes():
    check_decisions(interpreted(AdaPKLUCB(), mb.channels.Raw(), mb.Bernoulli(C2), 20_000), math.inf)


@for_each(("old", "new"), [("x / n)\n", "x / (2 * n))\n"), ("2.0)", "3.0)"), (" + radius", " - radius")])
def test_another_index_or_schedule_is_rejected(old, new):
    class Broken(AdaPKLUCB):
        ask = mutant(AdaPKLUCB.ask, old, new)

    with pytest.raises(AssertionError):
        check_decisions(interpreted(Broken(), Central(epsilon=1), mb.Bernoulli(C2), 20_000), 1)


def test_it_counts_what_is_in_flight():
    check_overlaps(AdaPKLUCB(), Central(epsilon=1).law())


def test_the_horizon_only_cuts():
    check_prefix(AdaPKLUCB(), Central(epsilon=1))


@pytest.mark.slow
@for_each(("epsilon", "number"), [(500, 582), (1, 1166), (0.5, 1723), (0.25, 2583), (0.1, 4655)])
def test_regret_is_that_of_the_table(epsilon, number):
    check_number(regrets(AdaPKLUCB(), Central(epsilon=epsilon), C2, 1e5, 300), number)


MILLION = {
    C1: (26214, 8274, 3965, 3265),
    C2: (56607, 7557, 2129, 1550),
    C3: (57876, 7204, 1901, 1324),
    C4: (48243, 7782, 3036, 2155),
}


@pytest.mark.slow
@pytest.mark.parametrize("means", MILLION, ids=str)
def test_regret_at_a_million_is_that_of_the_table(means):
    for epsilon, number in zip((0.01, 0.1, 0.5, 1), MILLION[means], strict=True):
        check_number(regrets(AdaPKLUCB(), Central(epsilon=epsilon), means, 1e6, 200), number)


@pytest.mark.slow
def test_a_number_of_another_privacy_is_rejected():
    with pytest.raises(AssertionError, match="not 1166"):
        check_number(regrets(AdaPKLUCB(), Central(epsilon=0.8), C2, 1e5, 300), 1166)

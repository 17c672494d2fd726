"""Challengers on states made by hand: equal ones are chosen alike. A correct policy fails with probability 1e-9."""

from types import ModuleType

import numpy as np
import pytest

from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.identify import ada_p_tt, ada_p_tt_star, dp_tt, eb_tci, ttucb
from maskedbandit.policies.identify.ada_p_tt import AdaPTT
from maskedbandit.policies.identify.dp_tt import DPTT
from maskedbandit.policies.identify.eb_tci import EBTCI
from maskedbandit.policies.identify.ttucb import TTUCB
from maskedbandit.policies.parts.choice import weigh_arm
from maskedbandit.policies.parts.phases import LEADER, TIME, PhaseProgress
from tests.for_each import for_each
from tests.policies.mutants import mutant
from tests.statistics import same_distribution

BEST, ARMS = 1, 4
RNG = np.random.Generator(np.random.PCG64(1))
LAW = Law(NO_NOISE)


def ttucb_state():
    s = TTUCB().init(ARMS, 0.1)
    s.mean[BEST], s.inverse[:] = 0.5, 0.1
    return s, BEST, RNG


def eb_tci_state():
    s = EBTCI().init(ARMS, 0.1).coins
    s.z[:], s.log_n[:] = 1.0, 2.0
    return s, BEST, RNG


def lead(p: PhaseProgress, starving: bool) -> None:
    p.clock[LEADER], p.pulls[:] = BEST, 10
    p.clock[TIME] = 10_000 if starving else 40


def ada_p_tt_state(starving: bool):
    s = AdaPTT().init(ARMS, 0.1)
    s.cost[:] = 1.0
    lead(s.phases, starving)
    return s, RNG


def dp_tt_state(starving: bool):
    s = DPTT().init(ARMS, 0.1)
    s.mean[BEST], s.users[:] = 0.5, 10
    lead(s.phases, starving)
    return s, LAW, RNG


CASES = [
    (ttucb, ttucb_state, ()),
    (eb_tci, eb_tci_state, ()),
    *[(ada_p_tt, ada_p_tt_state, (starving,)) for starving in (False, True)],
    *[(dp_tt, dp_tt_state, (starving,)) for starving in (False, True)],
]
OTHERS = [arm for arm in range(ARMS) if arm != BEST]


def check_ties(challenger, state, how) -> None:
    """The other arms are challengers equally often."""
    found = np.array([challenger(*state(*how)) for _ in range(800)])
    same_distribution(found, lambda v: np.isin(v, OTHERS) / len(OTHERS))


@pytest.mark.slow
@for_each(("home", "state", "how"), CASES, ids=range(len(CASES)))
def test_equal_challengers_are_chosen_alike(home: ModuleType, state, how):
    check_ties(home.challenger, state, how)


@pytest.mark.slow
@for_each(("home", "state", "how"), CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("chance", ["False", "True", "rng.random() < 0.5"])
def test_the_first_and_the_last_of_them_are_rejected(home: ModuleType, state, how, chance):
    unfair = mutant(weigh_arm, "rng.random() * equals < 1.0", chance)
    with pytest.raises(AssertionError):
        check_ties(mutant(home.challenger, weigh_arm=unfair), state, how)


def test_the_step_of_ada_p_tt_star_is_that_of_ada_p_tt():
    assert ada_p_tt_star.next_pull is ada_p_tt.next_pull

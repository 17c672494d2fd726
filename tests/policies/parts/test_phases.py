"""Starvation on states made by hand, and thresholds that are no number. All tests are exact."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import kernel
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.policies.identify import ada_p_tt, ada_p_tt_star, dp_tt
from maskedbandit.policies.parts import phases as home
from maskedbandit.policies.parts.phases import (
    BEST,
    NEWS,
    TESTS,
    TIME,
    begin_phases,
    is_settled,
    is_starved,
    note_failure,
)
from tests.for_each import for_each
from tests.policies.mutants import mutant

RNG = np.random.Generator(np.random.PCG64(1))


def check_starved(is_starved) -> None:
    """Of 4 arms with a fraction of 1/2, after 800 pulls: below 100 if unsure, and below 25 if not."""
    p = begin_phases(4, 2.0, 0.5)
    p.clock[TIME] = 800
    p.pulls[:], p.unsure[:] = [99, 100, 24, 25], [1, 1, 0, 0]
    assert [is_starved(p, a) for a in range(4)] == [True, False, True, False]


def check_fail(fail) -> None:
    """A test that did not pass keeps both of its arms unsure."""
    p = begin_phases(4, 2.0, 0.5)
    p.clock[TIME], p.clock[BEST], p.number[:] = 4, 2, 1
    assert is_settled(p)
    fail(p, 1)
    assert p.unsure.tolist() == [0, 1, 1, 0]
    assert p.clock[TESTS] == 1
    assert not is_settled(p)


def test_arms_starve_below_their_fraction():
    check_starved(is_starved)


def test_a_failed_test_leaves_both_arms_unsure():
    check_fail(note_failure)


def test_other_fractions_and_failures_are_rejected():
    """Negative controls."""
    for wrong in (0, 1, 0.5):
        with pytest.raises(AssertionError):
            check_starved(mutant(is_starved, PASSED=wrong))
    for old in ("p.unsure[p.clock[BEST]] = 1", "p.unsure[b] = 1"):
        with pytest.raises(AssertionError):
            check_fail(mutant(note_failure, old, "pass"))


@kernel
def nowhere(*ignored):
    """A threshold, or a cost, that is not a number."""
    return math.nan


@for_each(
    ("policy", "weigh", "names"),
    [
        (mb.policies.AdaPTT(), ada_p_tt.weigh, ["gap_threshold"]),
        (mb.policies.AdaPTTStar(), ada_p_tt_star.weigh, ["near_threshold", "far_threshold"]),
        (mb.policies.DPTT(), dp_tt.update, ["arm_threshold"]),
        (mb.policies.DPTT(), dp_tt.update, ["private_cost"]),
    ],
    ids=range(4),
)
def test_what_is_no_number_passes_no_test(policy, weigh, names):
    """With the true thresholds these means pass."""
    for broken, failed in ((False, 0), (True, 2)):
        s = policy.init(3, 0.1)
        s.mean[:] = [1.0, 0.0, 0.0]
        if isinstance(s, dp_tt.State):
            s.total[0], s.users[:], s.phases.number[:] = 10**6, 2**20, 21
        else:
            s.size[:], s.phases.number[:] = 2**20, 20
        s.phases.clock[TIME], s.phases.clock[NEWS] = 3, 1
        run = mutant(weigh, **dict.fromkeys(names, nowhere)) if broken else weigh
        run.function(s, Law(NO_NOISE), RNG)
        assert s.phases.clock[TESTS] == failed


def test_phases_of_the_slowest_growth_end():
    p = begin_phases(1, 1.01, 0.5)
    assert [home.pull_arm(p, 0).close for _ in range(2000)].count(1) > 300

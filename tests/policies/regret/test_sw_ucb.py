"""SW-UCB knows the last users and no others, chooses by its formula, and pays for noise by its radius."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.regret.sw_ucb import SWUCB
from tests.for_each import for_each
from tests.policies.mutants import mutant

RAW, NOISY = Law(NO_NOISE), mb.channels.Central(epsilon=1).law()


def check_window(tell) -> None:
    """After any releases the sums are those of the last ones: 7 cohorts of 3 fit into 20 users, rounded up."""
    rng, s, told = np.random.default_rng(3), SWUCB(window=20, batch=3).init(3, 1000), []
    for _ in range(50):
        arm, n, total = int(rng.integers(3)), int(rng.integers(1, 4)), float(rng.integers(-3, 9))
        tell(s, arm, n, total)
        told.append((arm, n, total))
        for a in range(3):
            mine = [each for each in told[-7:] if each[0] == a]
            assert (s.n[a], s.m[a]) == (sum(n for _, n, _ in mine), len(mine))
            assert s.total[a] == pytest.approx(sum(x for _, _, x in mine))


def test_it_knows_the_last_releases_and_no_others():
    check_window(SWUCB.tell)


@for_each(("old", "new"), [("s.n[old] -= s.users[place]", "pass"), ("s.total[old] -= s.sums[place]", "pass")])
def test_remembering_more_is_rejected(old, new):
    with pytest.raises(AssertionError):
        check_window(mutant(SWUCB.tell, old, new))


@for_each("law", [RAW, NOISY], ids=["raw", "noisy"])
def test_the_arm_of_the_highest_index_is_next(law):
    rng = np.random.default_rng(4)
    for _ in range(50):
        s = SWUCB(window=100, batch=10).init(3, 1000)
        s.clock[0] = int(rng.integers(40, 900))
        for _ in range(10):
            SWUCB.tell(s, int(rng.integers(3)), 10, float(rng.integers(0, 11)))
        if min(s.n) == 0:
            continue
        f = 0.6 * math.log(min(s.clock[0] + 1, 100))
        index = [
            s.total[a] / s.n[a] + math.sqrt(f / s.n[a]) + radius(law, int(s.m[a]), int(s.n[a]), 2 * f) / s.n[a]
            for a in range(3)
        ]
        assert SWUCB.ask(s, law, rng).arm in np.flatnonzero(np.isclose(index, max(index)))


def test_an_arm_without_releases_in_the_window_is_next():
    s, rng = SWUCB(window=4).init(3, 100), np.random.default_rng(1)
    a, b, c, *again = [SWUCB.ask(s, RAW, rng).arm for _ in range(6)]
    assert (sorted((a, b, c)), again) == ([0, 1, 2], [a, b, c])  # in turn, while releases are late
    for arm in (a, b, c, a, a, a, a):
        SWUCB.tell(s, arm, 1, 1.0)
    assert [SWUCB.ask(s, RAW, rng).arm for _ in range(2)] == [b, c]


def test_a_window_that_does_not_fit_into_memory_is_refused():
    """In a live study it was accepted, and then every request failed."""
    with pytest.raises(InvalidValue, match=r"window is 1000000001: .* so here 1,000,000,000$"):
        SWUCB(window=10**9 + 1, batch=1000)
    assert SWUCB(window=10**9, batch=1000).init(2, 10**12).sums.size == 10**6
    assert SWUCB().init(2, 10**14).sums.size == SWUCB().init(2, 10**14).window == 10**6
    assert SWUCB(batch=10**3).init(2, 10**10).window == math.ceil(2 * math.sqrt(10**10 * math.log(10**10)))


def test_the_window_of_one_change():
    assert SWUCB().init(2, 10**4).arm.size == math.ceil(2 * math.sqrt(10**4 * math.log(10**4)))
    assert SWUCB().init(2, 1).arm.size == 1


def test_what_is_no_setting_is_refused():
    for wrong in ({"window": 0}, {"batch": 0}, {"xi": 0}):
        with pytest.raises(InvalidValue, match=f"{next(iter(wrong))} is 0"):
            SWUCB(**wrong)

"""Confidence sequences of differences: each bet exactly, over people of any kind; and intervals in samples.

Sampled assertions are those of tests/statistics.py: each fails a correct subject with probability at most 1e-9.
"""

import math
from functools import cache

import numpy as np
import pytest

from maskedbandit import Release
from maskedbandit.channels.tree import Tree
from maskedbandit.errors import InvalidValue
from maskedbandit.law import GAUSSIAN, LAPLACE, NO_NOISE, RESPONSE, Law
from maskedbandit.theory.differences import (
    LEVELS,
    cost_of_epoch,
    difference_apart,
    difference_interval,
    evidence_apart,
    evidence_of_pair,
    grid,
    pair_sums,
)
from maskedbandit.theory.noise_pmf import log_pmf
from maskedbandit.theory.sequences import Interval, mean_interval, sum_failures, sum_releases
from tests.for_each import for_each
from tests.statistics import at_most

EXACT = Law(NO_NOISE)
LAPLACIAN = Law(LAPLACE, scale=3.0, grid=1, per_release=1)
LAWS = {
    "none": EXACT,
    "central": LAPLACIAN,
    "Gaussian": Law(GAUSSIAN, scale=3.0, grid=1, per_release=1),
    "local": Law(LAPLACE, scale=0.7, grid=1, per_pull=1),
    "response": Law(RESPONSE, grid=1, flip=0.27),
}


# each bet, exactly


def log_moments(p_a: np.ndarray, p_b: np.ndarray, n_a: int, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """ln E exp(bet) if a random n_a of these people get a, and the others b: exactly, for all bets."""
    found = np.zeros((p_a.size + 1, *up.shape))
    found[0] = 1.0
    for one, two in zip(p_a, p_b, strict=True):
        found = found * (1 + two * np.expm1(down)) + np.roll(found, 1, axis=0) * (1 + one * np.expm1(up))
    return np.log(found[n_a] / math.comb(p_a.size, n_a))


def excess(p_a: np.ndarray, p_b: np.ndarray, n_a: int, unlike: bool = True) -> float:
    """By how much the log-moments of a bet exceed what is counted for them, at the most."""
    n_b = p_a.size - n_a
    w, (lam, c, up, down) = min(n_a, n_b), grid(EXACT)
    known = log_moments(p_a, p_b, n_a, (lam - c) * w / n_a, (-lam - c) * w / n_b)
    difference = float(p_a.mean() - p_b.mean())
    q = np.clip(LEVELS, abs(difference) / 2, 1 - abs(difference) / 2)
    counted = w * (np.log1p((q + difference / 2) * up) + np.log1p((q - difference / 2) * down))
    return float((known - counted - unlike * cost_of_epoch(EXACT, n_a, n_b)).max())


def crowds() -> list[tuple[np.ndarray, np.ndarray, int]]:
    """People of many kinds: alike, of two kinds, with a common shift or none, in equal and in unequal numbers."""
    rng, found = np.random.default_rng(4), []
    for _ in range(300):
        n_a, n_b = rng.integers(1, 9, 2)
        n = int(n_a + n_b)
        p_a = rng.choice([0.0, 1.0, rng.random()], n) if rng.random() < 0.5 else rng.random(n)
        kind = rng.random()
        p_b = p_a if kind < 0.3 else p_a * rng.random() if kind < 0.6 else rng.permutation(p_a)
        found.append((p_a, p_b, int(n_a)))
    return found


def test_each_bet_is_fair_for_people_of_any_kind() -> None:
    assert max(excess(*crowd) for crowd in crowds()) <= 1e-12


def test_it_is_not_if_unlike_people_cost_nothing() -> None:
    """Broken twin: a half of the people are sure to succeed, the others to fail."""
    half = np.array([0.0, 1.0])
    assert excess(half, half, 1, unlike=False) > 0.1 > 0 > excess(half, half, 1)


def test_levels_are_where_the_bound_is_highest() -> None:
    _, _, up, down = grid(EXACT)
    assert -(up + down) / (2 * up * down) == pytest.approx(np.broadcast_to(LEVELS, up.shape), abs=1e-6)
    assert (up > 0).all()
    assert (down < 0).all()


# in samples


@cache
def noise(law: Law, n: int) -> np.ndarray:
    """The probabilities of the noise of a release, from -150 to 150."""
    p = np.exp([log_pmf(law, n, float(each)) for each in range(-150, 151)])
    return p / p.sum()


def play(law: Law, rng: np.random.Generator, epochs: int = 15) -> tuple[list[tuple[Release, Release]], float]:
    """Epochs of a study in which days differ, and so do people; sizes go by what was released. And the truth.

    On good days everybody succeeds .5 more often, and arm a is better by .1 for half of all people; who looks better
    gets more people, mostly on bad days.
    """
    found, truth, weight, lead = [], 0.0, 0, 0.0
    for epoch in range(epochs):
        n_a, n_b = (12, 4) if lead > 0 and epoch % 2 else (4, 12) if epoch % 2 else (6, 6)
        day = 0.5 * (epoch % 2 == 0)
        kinds = rng.random(n_a + n_b) < 0.5
        p_b = day + 0.2 * rng.random(n_a + n_b)
        p_a = p_b + 0.1 * kinds
        of_a = np.zeros(n_a + n_b, bool)
        of_a[rng.permutation(n_a + n_b)[:n_a]] = True
        pair = []
        for arm, (mine, p) in enumerate(((of_a, p_a), (~of_a, p_b))):
            n, bit = int(mine.sum()), law.flip + (1 - 2 * law.flip) * p[mine]
            total = float((rng.random(n) < bit).sum())
            if law.kind == RESPONSE:
                total = (total - n * law.flip) / (1 - 2 * law.flip)
            elif law.kind != NO_NOISE:
                total += float(rng.choice(301, p=noise(law, n)) - 150)
            pair.append(Release(arm, n, total))
        w = min(n_a, n_b)
        truth, weight = truth + w * float((p_a - p_b).mean()), weight + w
        lead += pair[0].total / n_a - pair[1].total / n_b
        found.append((pair[0], pair[1]))
    return found, truth / weight


@pytest.mark.sparing(1)
@pytest.mark.parametrize("name", LAWS)
def test_the_average_difference_is_in_it_whatever_days_and_people_are_like(name: str) -> None:
    """At the end of 150 studies; tests/reports/interval_misses.py has all times. False alarms: 1e-9."""
    rng, law, missed = np.random.default_rng(6), LAWS[name], 0
    for _ in range(150):
        epochs, truth = play(law, rng)
        for order in (1, -1):
            known = pair_sums(law, [each[::order] for each in epochs])
            missed += bool(evidence_of_pair(law, known, order * truth * (1 - 2 * law.flip)) >= math.log(2 / 0.05))
    at_most(missed, 150, 0.05)


@pytest.mark.slow
def test_arms_that_were_not_compared_over_the_same_people_are_confounded_by_days() -> None:
    """Broken twin: the interval from each arm's own people, where one got its people on good days."""
    rng, missed = np.random.default_rng(7), 0
    for _ in range(20):
        totals = [rng.binomial(400, 0.2 + 0.5 * good) for good in (0.75, 0.25)]
        found = difference_apart(EXACT, *([Release(arm, 400, float(x))] for arm, x in enumerate(totals)))
        missed += not found.low <= 0 <= found.high
    with pytest.raises(AssertionError):
        at_most(missed, 20, 0.05)


@pytest.mark.slow
def test_intervals_that_forget_the_noise_are_rejected() -> None:
    """Broken twin."""
    rng, missed, law = np.random.default_rng(6), 0, Law(LAPLACE, scale=15.0, grid=1, per_release=1)
    for _ in range(150):
        epochs, truth = play(law, rng)
        for order in (1, -1):
            known = pair_sums(EXACT, [each[::order] for each in epochs])
            missed += bool(evidence_of_pair(EXACT, known, order * truth) >= math.log(2 / 0.05))
    with pytest.raises(AssertionError):
        at_most(missed, 150, 0.05)


# what an interval is


@for_each("name", LAWS)
def test_the_ends_are_where_the_evidence_suffices(name: str) -> None:
    law, enough = LAWS[name], math.log(2 / 0.05)
    epochs = [(Release(0, 400, 200.0), Release(1, 380, 150.0)), (Release(0, 500, 190.0), Release(1, 700, 200.0))]
    low, high = difference_interval(law, epochs)
    scale = 1 - 2 * law.flip
    known = pair_sums(law, epochs)
    assert evidence_of_pair(law, known, low * scale) >= enough - 1e-9 > evidence_of_pair(law, known, low * scale + 1e-6)
    assert -0.2 < low < 0.112 < high < 0.4
    assert difference_interval(law, [(b, a) for a, b in epochs]) == pytest.approx((-high, -low))
    if name == "central":
        a, b = ([each[arm] for each in epochs] for arm in (0, 1))
        apart = difference_apart(law, a, b)
        assert apart == pytest.approx((low, high), abs=0.05)
        assert difference_apart(law, b, a) == pytest.approx((-apart[1], -apart[0]))


def test_from_each_arm_it_is_narrower_than_by_a_union_bound() -> None:
    a, b = [Release(0, 1000, 400.0)], [Release(1, 4000, 1500.0)]
    one, two = (mean_interval(LAPLACIAN, each, 0.025) for each in (a, b))
    assert difference_apart(LAPLACIAN, a, b).width < 0.95 * (one.width + two.width)


@pytest.mark.slow
def test_the_least_product_is_found() -> None:
    a, b = (
        sum_releases(LAPLACIAN, [Release(0, 10**6, 4e5)]),
        sum_failures(sum_releases(LAPLACIAN, [Release(1, 300, 100.0)])),
    )
    m = np.linspace(0, 0.9, 200_001)
    from maskedbandit.theory.sequences import mean_evidence

    slow = (mean_evidence(LAPLACIAN, a, m + 0.1) + mean_evidence(LAPLACIAN, b, 1 - m)).min()
    assert slow - 0.01 < evidence_apart(LAPLACIAN, a, b, 0.1) <= slow


def test_nothing_is_known_without_an_epoch() -> None:
    assert difference_interval(LAPLACIAN, []) == Interval(-1.0, 1.0)
    assert difference_apart(LAPLACIAN, [], []) == Interval(-1.0, 1.0)


def test_releases_of_a_tree_are_refused() -> None:
    with pytest.raises(InvalidValue, match="on a tree they share their noise"):
        difference_interval(Tree(epsilon=1).law(), [(Release(0, 10, 5.0), Release(1, 10, 5.0))])


def test_it_costs_about_twice_an_interval_that_may_be_looked_at_once() -> None:
    for n, p, q in ((10**4, 0.5, 0.45), (10**5, 0.05, 0.04), (10**7, 0.3, 0.3)):
        epochs = [(Release(0, n // 10, p * n / 10), Release(1, n // 10, q * n / 10))] * 10
        naive = 2 * 1.96 * math.sqrt((p * (1 - p) + q * (1 - q)) / n)
        assert difference_interval(EXACT, epochs).width < 2.1 * naive

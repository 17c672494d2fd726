"""The confidence sequence of a mean: exactly, against the worst rule that chooses sizes and stops; and in samples.

Sampled assertions are those of tests/statistics.py: each fails a correct subject with probability at most 1e-9.
"""

import math

import numpy as np
import pytest

from maskedbandit import Release
from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.response import Response
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.tree import Tree
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.law import COINS, GAUSSIAN, LAPLACE, NO_NOISE, RESPONSE, SKELLAM, Law, count_steps
from maskedbandit.noise_bounds import cumulant, log_mgf
from maskedbandit.theory.noise_pmf import log_pmf
from maskedbandit.theory.sequences import (
    BETS,
    Interval,
    Sums,
    log_moments,
    mean_bets,
    mean_evidence,
    mean_interval,
    mean_intervals,
    noise_moments,
    sum_failures,
    sum_releases,
)
from tests.for_each import for_each
from tests.statistics import at_most

EXACT = Law(NO_NOISE)
LAWS = {
    "none": EXACT,
    "central": Law(LAPLACE, scale=3.0, grid=1, per_release=1),
    "Gaussian": Law(GAUSSIAN, scale=3.0, grid=1, per_release=1),
    "Skellam": Law(SKELLAM, scale=3.0, grid=1, per_release=1),
    "distributed": Law(LAPLACE, scale=3.0, grid=1, per_release=1, honest=0.7),
    "shuffled": Law(COINS, scale=1.0, grid=1, per_release=200),
    "local": Law(LAPLACE, scale=1.0, grid=1, per_pull=1),
    "response": Law(RESPONSE, grid=1, flip=0.27),
}


def noise_probabilities(law: Law, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All values of the noise that matter, and their probabilities."""
    z = np.arange(-120, 121)
    p = np.exp([log_pmf(law, n, float(each)) for each in z])
    assert p.sum() == pytest.approx(1, abs=1e-9)
    return z, p / p.sum()


# exactly


def worst_chance_to_miss(law: Law, p: float, alpha: float, forgets_noise: bool = False, normal: bool = False) -> float:
    """The probability with which an interval ever misses p, under the rule of sizes that makes it largest.

    Twelve releases of 2 or 20 people each, and all that a rule can know is their totals: dynamic programming.
    """
    sizes, most, start = (2, 20), 12, 400
    total = np.arange(-start, start + 1)
    steps = {}
    for n in sizes:
        ones = np.array([math.comb(n, x) * p**x * (1 - p) ** (n - x) for x in range(n + 1)])
        z, chances = noise_probabilities(law, n)
        steps[n] = int(z[0]), np.convolve(chances, ones)

    def missed(counts: tuple[int, int]) -> np.ndarray:
        n = sum(size * count for size, count in zip(sizes, counts, strict=True))
        moments = sum(count * noise_moments(law, size) for size, count in zip(sizes, counts, strict=True))
        if n == 0:
            return np.zeros(total.size, bool)
        if normal:
            deviation = math.sqrt(n * p * (1 - p) + sum(counts) * 2 * law.scale**2)
            return np.abs(total - n * p) > 1.959964 * deviation
        known = Sums(total, np.full(total.size, n), np.zeros(BETS) if forgets_noise else moments)
        both = mean_evidence(law, known, p), mean_evidence(law, sum_failures(known), 1 - p)
        return np.maximum(*both) >= math.log(2 / alpha)

    value: dict[tuple[int, int], np.ndarray] = {}
    for m in range(most, -1, -1):
        for first in range(m + 1):
            counts = first, m - first
            after = np.zeros(total.size)
            if m < most:
                for which, n in enumerate(sizes):
                    low, chances = steps[n]
                    next_one = value[counts[0] + (which == 0), counts[1] + (which == 1)]
                    padded = np.pad(next_one, (-low, len(chances) + low), mode="edge")
                    after = np.maximum(after, np.correlate(padded, chances, "valid")[: total.size])
            value[counts] = np.where(missed(counts), 1.0, after)
    return float(value[0, 0][start])


@pytest.mark.slow
@pytest.mark.parametrize("p", [0.05, 0.3, 0.5])
@for_each("name", ["central", "Skellam", "distributed", "shuffled"])
def test_no_rule_makes_it_miss_more_often_than_promised(name: str, p: float) -> None:
    for alpha in (0.05, 0.4):
        assert worst_chance_to_miss(LAWS[name], p, alpha) <= alpha


def test_what_is_promised_is_not_given_for_nothing() -> None:
    """Over these few people one bet of 32 decides, so the chance is at most some 2 / 32 of what is allowed."""
    assert 0.03 < worst_chance_to_miss(LAWS["Skellam"], 0.3, 0.4) < 0.05


def test_a_rule_makes_intervals_miss_that_forget_the_noise() -> None:
    """Broken twin."""
    assert worst_chance_to_miss(LAWS["central"], 0.3, 0.05, forgets_noise=True) > 0.1


def test_a_rule_makes_normal_intervals_miss() -> None:
    """The naive interval knows the variance of the noise, and is right 95 times in 100 if n is fixed."""
    found = worst_chance_to_miss(LAWS["central"], 0.3, 0.05, normal=True)
    assert 0.2 < found < 0.22


@for_each("name", LAWS)
@for_each("n", [1, 9])
def test_each_bet_is_fair(name: str, n: int) -> None:
    """E exp(bet) <= 1 for the mean, with equality for bits unless only a bound on the moments is known."""
    law, lam = LAWS[name], mean_bets(LAWS[name])
    for p in (0.0, 0.2, 0.9):
        bit = law.flip + (1 - 2 * law.flip) * p
        ones = np.array([math.comb(n, x) * bit**x * (1 - bit) ** (n - x) for x in range(n + 1)])
        z, chances = (np.zeros(1), np.ones(1)) if name in ("none", "response") else noise_probabilities(law, n)
        far = lam < 0.5 * (lam.max() if math.isinf(1 / law.scale if law.scale else math.inf) else 1 / law.scale)
        terms = np.exp(np.multiply.outer(lam, np.add.outer(np.arange(n + 1), z)))
        moments = np.zeros(BETS) if name in ("none", "response") else noise_moments(law, n)
        found = np.einsum("lxz,x,z->l", terms, ones, chances) / np.exp(n * np.log1p(bit * np.expm1(lam)) + moments)
        assert (found[far] <= 1 + 1e-6).all()
        assert found[far].min() > (0.8 if name == "Gaussian" else 1 - 1e-6)


# in samples


def played(law: Law, runs: int = 2000, releases: int = 25, seed: int = 3) -> tuple[Sums, np.ndarray]:
    """What releases add up to, and the average mean of the people so far; [runs, releases].

    Sizes depend on what was released, and means drift: whoever looks good by luck then gets worse, for spite.
    """
    rng = np.random.default_rng(seed)
    sizes, total = np.array([10, 40]), np.zeros(runs)
    n, expected, moments = np.zeros(runs), np.zeros(runs), np.zeros((runs, BETS))
    found: list[tuple[np.ndarray, ...]] = []
    for _ in range(releases):
        lucky = total > expected
        which, p = lucky.astype(int), np.where(lucky, 0.1, 0.6)
        size = sizes[which]
        bit = law.flip + (1 - 2 * law.flip) * p
        total = total + rng.binomial(size, bit)
        n, expected = n + size, expected + size * bit
        if law.kind not in (NO_NOISE, RESPONSE):
            for i, each in enumerate(sizes):
                z, chances = noise_probabilities(law, int(each))
                total = total + np.where(which == i, rng.choice(z, runs, p=chances), 0)
            moments = moments + np.stack([noise_moments(law, int(each)) for each in sizes])[which]
        found.append((total, n, moments, expected / n))
    totals, ns, costs, means = (np.stack(each, axis=1) for each in zip(*found, strict=True))
    return Sums(totals, ns, costs), means


def misses(law: Law, known: Sums, mean: np.ndarray, alpha: float = 0.05) -> int:
    """In how many runs an interval ever missed."""
    both = mean_evidence(law, known, mean), mean_evidence(law, sum_failures(known), 1 - mean)
    return int((np.maximum(*both).max(axis=1) >= math.log(2 / alpha)).sum())


@pytest.mark.sparing(1)
@pytest.mark.parametrize("name", LAWS)
def test_the_average_mean_of_the_people_is_in_it_at_all_times(name: str) -> None:
    """For means that drift and sizes that depend on releases, over every kind of noise; false alarms: 1e-9."""
    at_most(misses(LAWS[name], *played(LAWS[name])), 2000, 0.05)


@pytest.mark.slow
def test_broken_intervals_are_rejected() -> None:
    """The noise is forgotten; or the interval is taken for one of the mean that the first people had."""
    law = LAWS["central"]
    known, mean = played(law)
    with pytest.raises(AssertionError):
        at_most(misses(law, known._replace(moments=0 * known.moments), mean), 2000, 0.05)
    with pytest.raises(AssertionError):
        at_most(misses(law, known, 0 * mean + mean[:, :1]), 2000, 0.05)


def test_a_cohort_that_is_left_out_after_the_fact_is_rejected() -> None:
    """Broken twin: a cohort that did badly is thrown away."""
    ones = np.random.default_rng(8).binomial(10, 0.3, (500, 100))
    kept = ones > 2
    chosen = Sums((kept * ones).cumsum(axis=1), (kept * 10).cumsum(axis=1), np.zeros((500, 100, BETS)))
    with pytest.raises(AssertionError):
        at_most(misses(EXACT, chosen, np.full(ones.shape, 0.3)), 500, 0.05)


# what an interval is


def test_the_ends_are_where_the_evidence_suffices() -> None:
    law, known = LAWS["central"], [Release(0, 300, 93.0), Release(0, 500, 160.0)]
    found, of, enough = mean_interval(law, known, 0.1), sum_releases(LAWS["central"], known), math.log(20)
    assert mean_evidence(law, of, found.low) >= enough > mean_evidence(law, of, found.low + 1e-6)
    assert (
        mean_evidence(law, sum_failures(of), 1 - found.high)
        >= enough
        > mean_evidence(law, sum_failures(of), 1 - found.high + 1e-6)
    )
    assert found.low < 253 / 800 < found.high
    assert mean_intervals(law, [of, of], 0.1) == [found, found]


def test_devices_that_drop_out_of_a_cohort_on_a_finer_grid_are_covered() -> None:
    """The noise that was added is that of the cohort of 1000, of whom 800 are left."""
    law = Law(LAPLACE, scale=2.0, grid=1, root=0.1, per_release=1, honest=0.7)
    for lam in (0.05, 0.2, 0.45):
        added = cumulant(law, law.scale, 800 / 700, count_steps(law, 1000), lam)
        assert added <= log_moments(law, 800, lam) <= 1.01 * log_mgf(law, 800, lam)


def test_nothing_is_known_without_a_release() -> None:
    assert mean_interval(LAWS["central"], []) == Interval(0.0, 1.0)


@for_each("total", [-50.0, 0.0, 100.0, 180.0])
def test_ends_are_in_order_whatever_the_noise_does(total: float) -> None:
    for law in LAWS.values():
        low, high = mean_interval(law, [Release(0, 100, total)])
        assert 0 <= low <= high <= 1


WIDTHS = {  # channels at epsilon = 1; the last: what an unbiased bit of local trust costs, (e + 1) / (e - 1) = 2.16
    "central": (Central(epsilon=1), 1.02),
    "two servers": (TwoServers(epsilon=1), 1.02),
    "distributed": (Distributed(epsilon=1, honest="0.7"), 1.02),
    "shuffled": (Shuffled(epsilon=1, delta=1e-6), 1.05),
    "tree": (Tree(epsilon=1), 1.5),
    "local": (Response(epsilon=1), 2.4),
}


@for_each("trust", WIDTHS)
def test_noise_hardly_widens_it_at_a_hundred_thousand_people(trust: str) -> None:
    channel, most = WIDTHS[trust]
    sizes = [max(100, round(100 * 1.3**i)) for i in range(21)]
    sizes.append(10**5 - sum(sizes))
    known = [Release(0, n, 0.4 * n) for n in sizes]
    assert sum(sizes) == 10**5
    assert mean_interval(channel.law(), known).width < most * mean_interval(EXACT, known).width


@for_each(("p", "n"), [(0.5, 10**3), (0.05, 10**3), (0.3, 10**5), (0.3, 10**9)])
def test_it_costs_less_than_twice_an_interval_that_may_be_looked_at_once(p: float, n: int) -> None:
    naive = 2 * 1.96 * math.sqrt(p * (1 - p) / n)
    assert 1.5 < mean_interval(EXACT, [Release(0, n, p * n)]).width / naive < 1.9

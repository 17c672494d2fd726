"""Epochs: which release belongs to which epoch, and what they say of a pair of arms."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import hypergeom

import maskedbandit as mb
from maskedbandit.core import TOGETHER, WAIT, Decision
from maskedbandit.law import LAPLACE, NO_NOISE, Law, largest_tilt
from maskedbandit.noise_bounds import cumulant
from maskedbandit.policies.parts.epochs import (
    ROWS,
    begin_flight,
    begin_pairs,
    bound_moments,
    compare_epoch,
    epoch_evidence,
    fold_epochs,
    free_row,
    launch_epoch,
    next_of_plan,
    pair_exponent,
    phi,
    store_arrival,
    unlike_size,
)
from tests.for_each import for_each

PLAIN = Law(NO_NOISE)
NOISY = Law(LAPLACE, scale=2.0, grid=1, per_release=1)


def in_flight(*epochs: tuple[int, ...]):
    """Epochs with cohorts of these sizes, the first one asked first."""
    f, flying = begin_flight(len(epochs[0])), np.zeros(len(epochs[0]), np.int64)
    for number, sizes in enumerate(epochs, start=1):
        launch_epoch(f, free_row(f), number, np.array(sizes), flying)
    return f, flying


def after(f, k: int, law: Law = PLAIN):
    """The pairs, and the arms' counts and totals, after all epochs that are there."""
    p, n, total, flying = begin_pairs(k), np.zeros(k, np.int64), np.zeros(k), np.zeros(k, np.int64)
    found = fold_epochs(p, law, f, n, total, flying)
    return p, n, total, found


def test_an_epoch_counts_once_all_of_it_is_there():
    f, _ = in_flight((10, 20))
    store_arrival(f, 0, 10, 4.0)
    assert after(f, 2)[3] == 0
    store_arrival(f, 1, 20, 14.0)
    p, n, total, found = after(f, 2)
    assert found == 1
    assert n.tolist() == [10, 20]
    assert total.tolist() == [4.0, 14.0]
    assert p.margin[0, 1] == -p.margin[1, 0] == pytest.approx(10 * (4 / 10 - 14 / 20))
    assert p.spread[0, 1] == pytest.approx(10)
    assert p.spread[1, 0] == pytest.approx(5)
    assert after(f, 2)[3] == 0, "counted again"


@for_each("order", [*itertools.permutations(range(6))][::29])
def test_the_order_of_releases_does_not_matter(order):
    sizes = (5, 9), (8, 9), (13, 40)
    sizes = sizes[0], (sizes[1][0], 10), sizes[2]  # sizes of an arm in flight differ
    releases = [(arm, size, float(size // 2 + arm)) for epoch in sizes for arm, size in enumerate(epoch)]
    f, _ = in_flight(*sizes)
    for i in order:
        store_arrival(f, *releases[i])
    p, n, *_ = after(f, 2)
    assert n.tolist() == [26, 59]
    by_hand = sum(min(a, b) * ((a // 2) / a - (b // 2 + 1) / b) for a, b in sizes)
    assert p.margin[0, 1] == pytest.approx(by_hand)


def test_where_devices_dropped_out_the_oldest_epoch_that_awaits_more_is_meant():
    f, _ = in_flight((10, 10), (11, 11))
    store_arrival(f, 0, 11, 1.0)  # exactly the second
    store_arrival(f, 0, 9, 2.0)
    assert f.n[:2, 0].tolist() == [9, 11]
    store_arrival(f, 1, 8, 3.0)
    store_arrival(f, 1, 7, 4.0)
    assert f.n[:2, 1].tolist() == [8, 7]


def test_where_devices_dropped_out_and_releases_overtook_each_other_none_is_lost():
    """The second epoch's was taken for the first's, so what is larger than all that are awaited is the second's."""
    f, _ = in_flight((100, 10), (50, 10))
    store_arrival(f, 0, 45, 1.0)
    store_arrival(f, 0, 95, 2.0)
    assert f.n[:2, 0].tolist() == [45, 95]
    assert f.awaited[:2].tolist() == [1, 1]


def test_sizes_in_flight_differ():
    f, _ = in_flight((10, 3), (11, 3))
    assert unlike_size(f, 0, 10) == 12
    assert unlike_size(f, 0, 9) == 9
    assert unlike_size(f, 1, 3) == 4


def test_rows_run_out():
    f, flying = begin_flight(2), np.zeros(2, np.int64)
    for number in range(1, ROWS + 1):
        launch_epoch(f, free_row(f), number, np.array([number, number]), flying)
    assert free_row(f) == -1


def test_a_plan_is_asked_for_together():
    plan, clock = np.array([0, 5, 0, 7, 2]), np.array([0])
    asked = [next_of_plan(plan, clock) for _ in range(4)]
    assert asked == [Decision(1, 5, TOGETHER), Decision(3, 7, TOGETHER), Decision(4, 2, 1), WAIT]


# --- what epochs say -----------------------------------------------------------------------------------------


def test_what_a_day_adds_to_all_arms_changes_no_difference():
    """Exactly, for totals that are their expectations."""
    plain, drifting = begin_pairs(3), begin_pairs(3)
    for sizes, shift in (((10, 20, 30), 0.3), ((50, 5, 8), -0.25), ((7, 7, 7), 0.1)):
        for p, tau in ((plain, 0.0), (drifting, shift)):
            f, _ = in_flight(sizes)
            for arm, n in enumerate(sizes):
                store_arrival(f, arm, n, n * (0.4 + 0.1 * arm + tau))
            compare_epoch(p, PLAIN, f, 0)
    np.testing.assert_allclose(plain.margin, drifting.margin, atol=1e-12)


def test_phi_is_smooth_where_its_form_changes():
    assert phi(0.0) == 0.5
    assert phi(0.999e-3) == pytest.approx(phi(1.001e-3), rel=1e-5)
    assert phi(2.0) == pytest.approx((math.exp(2) - 3) / 4)


def exceeds(sizes: tuple[tuple[int, int], ...], q: float, draws: int, seed: int, cautious: bool = True) -> float:
    """How often arms of equal means are told apart with evidence of at least 2 nats, as a part of exp(-2)."""
    rng, found = np.random.Generator(np.random.PCG64(seed)), 0
    law = NOISY if cautious else PLAIN
    for _ in range(draws):
        p = begin_pairs(2)
        for n in sizes:
            f, _ = in_flight(n)
            for arm in range(2):
                ratio = math.exp(-1 / NOISY.scale)
                noise = rng.geometric(1 - ratio) - rng.geometric(1 - ratio)
                store_arrival(f, arm, n[arm], float(rng.binomial(n[arm], q) + noise))
            compare_epoch(p, law, f, 0)
        found += epoch_evidence(p, law, 0, 1) >= 2.0
    return found / draws / math.exp(-2)


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_evidence_is_a_chernoff_bound(q):
    """4000 draws: a binomial count whose mean is at most exp(-2) of them exceeds 1.3 times that with p < 1e-9."""
    assert exceeds(((40, 40), (20, 90)), q, 4000, seed=1) < 1.3


@pytest.mark.slow
def test_evidence_that_ignores_noise_is_rejected():
    assert exceeds(((40, 40), (20, 90)), 0.05, 4000, seed=1, cautious=False) > 1.3


def test_the_exponent_is_bennetts_bound():
    """At least the log-moments of the exact distribution: the first epoch without noise, for all lam and q."""
    f, _ = in_flight((6, 15))
    store_arrival(f, 0, 6, 0.0), store_arrival(f, 1, 15, 0.0)
    p = begin_pairs(2)
    compare_epoch(p, PLAIN, f, 0)
    for q, lam in itertools.product((0.05, 0.5, 0.8), (0.01, 0.3, 1.0, 3.0)):
        weight = 6 / 15
        exact = 6 * math.log(1 - q + q * math.exp(-lam)) + 15 * math.log(1 - q + q * math.exp(weight * lam))
        assert -pair_exponent(p, PLAIN, 0, 1, q, 1, lam) >= exact - 1e-12


LAWS = [
    mb.channels.Central(epsilon=1).law(),
    mb.channels.Central(epsilon=1, noise=mb.noises.DiscreteGaussian()).law(),
    mb.channels.Central(epsilon=1, noise=mb.noises.Skellam()).law(),
    mb.channels.Shuffled(epsilon=1).law(),
]


def check_weighted_noise(bound) -> None:
    """A draw that counts w <= 1 times has at most w^2 times the bound on the log-moments of one."""
    for law, w, lam in itertools.product(LAWS, (0.05, 0.3, 0.7, 1.0), (0.01, 0.3, 0.9, 3.0)):
        if lam < largest_tilt(law):
            one = cumulant(law, law.scale, 1.0, 1, w * lam)
            assert one <= bound(law, w * w, 1, lam) * (1 + 1e-12), f"{law} with weight {w}, at {lam}"


def test_noise_that_counts_in_part_is_bounded():
    check_weighted_noise(bound_moments)


def test_coins_that_count_in_part_are_not_bounded_by_their_own_moments():
    with pytest.raises(AssertionError, match="with weight"):
        check_weighted_noise(lambda law, draws, g, lam: cumulant(law, law.scale, draws, g, lam))


def surplus(n: int, h: int, lam: float, correction: float) -> float:
    """Log-moments of the difference of two halves of 2n users, of whom h have a one, over the bound."""
    ones = np.arange(max(0, h - n), min(h, n) + 1)
    exact = logsumexp(hypergeom(2 * n, h, n).logpmf(ones) + lam * (2 * ones - h))
    return float(exact / (lam * lam / 2 * h * (1 - (h - correction) / (2 * n))))


CASES = [(n, h, lam) for n in (1, 2, 3, 7, 40) for h in range(1, 2 * n) for lam in (0.01, 0.2, 1.0, 3.0)]


@pytest.mark.slow
def test_halves_of_fixed_rewards_differ_by_no_more_than_elimination_allows():
    assert max(surplus(*case, 1.0) for case in CASES) <= 1 + 1e-9


@pytest.mark.slow
def test_halves_differ_by_more_than_a_bound_without_its_correction():
    assert max(surplus(*case, 0.0) for case in CASES) > 1.01


# --- under delays --------------------------------------------------------------------------------------------


@for_each("name", ["ContemporaneousKLUCB", "ContemporaneousElimination"])
def test_nothing_is_awaited_for_ever(name):
    """33 epochs in a row, then all answers in another order: it goes on."""
    policy = getattr(mb.policies, name)()
    s, rng = policy.init(3, 10**6 if policy.goal == "regret" else 0.1), np.random.Generator(np.random.PCG64(1))
    asked = [d for d in (policy.ask(s, NOISY, rng) for _ in range(99)) if d.n > 0]
    assert len(asked) == 99
    for i in rng.permutation(len(asked)):
        policy.tell(s, asked[i].arm, asked[i].n, asked[i].n * (0.2 + 0.3 * asked[i].arm))
    assert policy.ask(s, NOISY, rng) == Decision(2, 0, 0)
    assert s.flight.number.sum() == 0
    assert s.flying.sum() == 0

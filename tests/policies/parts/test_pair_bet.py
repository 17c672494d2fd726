"""Bets on the difference of a pair: the density, what a bet gains where nothing is to be gained, and what is kept."""

import itertools
import math

import numpy as np
import pytest
from scipy.signal import fftconvolve
from scipy.stats import binom, dlaplace

import maskedbandit as mb
from maskedbandit.law import LAPLACE, Law, draws_of_one
from maskedbandit.policies.parts.epochs import (
    begin_flight,
    begin_pairs,
    compare_epoch,
    epoch_evidence,
    fold_epochs,
    free_row,
    launch_epoch,
    store_arrival,
)
from maskedbandit.policies.parts.pair_bet import (
    MOST_EPOCHS,
    begin_kept,
    bet_on_order,
    keep_epochs,
    log_density,
    of_epoch,
    pair_shift,
)
from maskedbandit.policies.regret.contemporaneous_klucb import RELEASED, ContemporaneousKLUCB, against, level
from maskedbandit.theory.noise_pmf import log_pmf_of_draws
from tests.for_each import for_each
from tests.policies.mutants import mutant
from tests.statistics import at_most


def laplace(epsilon: float, **more: float) -> Law:
    return Law(LAPLACE, scale=1 / epsilon, grid=1, per_release=1, **more)


# --- the density -----------------------------------------------------------------------------------------------


def by_quadrature(x: float, v: float, a: float, b: float) -> float:
    """ln of the density, from values of the three densities on a fine grid."""
    step = min(a, b, math.sqrt(v)) / 50
    y = np.arange(-4000, 4001) * step
    noisy = fftconvolve(np.exp(-y * y / (2 * v)), np.exp(-np.abs(y) / a), "same")
    return math.log(noisy @ np.exp(-np.abs(x - y) / b))


@for_each(("v", "a", "b"), [(4.0, 3.0, 1.0), (25.0, 10.0, 0.9), (100.0, 1.0, 9.0), (4.0, 3.0, 3.0)])
def test_the_density_is_that_of_rewards_and_both_noises(v, a, b):
    """For equal scales, which are moved apart, to a hundredth of a nat."""
    for x in (2.0, 9.0, 25.0):
        found = log_density(x, v, a, b) - log_density(0.0, v, a, b)
        assert found == pytest.approx(by_quadrature(x, v, a, b) - by_quadrature(0.0, v, a, b), abs=0.01)
        assert found == log_density(-x, v, a, b) - log_density(0.0, v, a, b)


def test_the_density_is_finite_far_out_and_without_noise_to_speak_of():
    for x, v, a in ((1e6, 1.0, 2.0), (0.0, 1e10, 1e-3), (1e3, 1e6, 0.01)):
        assert math.isfinite(log_density(x, v, a, a))
    assert log_density(2e3, 1e6, 0.01, 0.01) - log_density(0.0, 1e6, 0.01, 0.01) == pytest.approx(-2.0, abs=1e-6)


# --- a bet gains nothing where nothing is to be gained -----------------------------------------------------------


def noise(law: Law, draws: float, most: int) -> np.ndarray:
    """The probabilities of so many draws, from -most to most."""
    if draws == 1.0:
        return dlaplace(1 / law.scale).pmf(np.arange(-most, most + 1))
    half = np.exp([log_pmf_of_draws(law, law.scale, draws, float(z)) for z in range(most + 1)])
    return np.concatenate([half[:0:-1], half])


def gain(law: Law, n_a: int, n_c: int, q: float, level: float, lost: bool = False, gains=of_epoch) -> float:
    """E exp(Lambda) for one epoch of two arms of mean q, exactly; one size is a multiple of the other.

    `lost`: all who may be lost are lost, with their noise.
    """
    p, f, flying = begin_pairs(2), begin_flight(2), np.zeros(2, np.int64)
    launch_epoch(f, free_row(f), 1, np.array([n_a, n_c]), flying)
    store_arrival(f, 0, n_a, n_a * q), store_arrival(f, 1, n_c, n_c * q)
    compare_epoch(p, law, f, 0)
    delta, lam = pair_shift(p, law, 0, 1, q, level)
    w = min(n_a, n_c)
    times_a, times_c = max(n_a, n_c) // n_a, max(n_a, n_c) // n_c  # D = (times_a X_a - times_c X_c) / both
    most = int(35 * law.scale) + 5
    widest = times_a * (n_a + most) + times_c * (n_c + most)
    size = 1 << (2 * widest).bit_length()
    spectrum = np.ones(size // 2 + 1, complex)
    for sign, n in ((times_a, n_a), (-times_c, n_c)):
        draws = 1.0 if lost else draws_of_one(law, n)
        for values, chances in (
            (np.arange(n + 1), binom.pmf(np.arange(n + 1), n, q)),
            (np.arange(-most, most + 1), noise(law, draws, most)),
        ):
            line = np.zeros(size)
            np.add.at(line, sign * values % size, chances)
            spectrum *= np.fft.rfft(line)
    chances, values = np.fft.irfft(spectrum, size), np.fft.fftfreq(size, 1 / size)
    seen = chances > 1e-13
    units = values[seen] * w / max(n_a, n_c)  # D
    found = [gains(law, n_a, d * n_a / w, n_c, 0.0, q, delta, lam) for d in units.tolist()]
    return float(chances[seen] @ np.exp(found))


GRID = [
    (epsilon, *sizes, q, level)
    for epsilon in (0.1, 0.5, 1.0, 2.0)
    for level in (2.0, 5.0, 10.0)
    for q in (0.01, 0.05, 0.5, 0.95, 0.99)
    for n in (max(1, int(2.5 / epsilon * level) // 4), int(2.5 / epsilon * level), 10 * int(level / epsilon))
    for sizes in ((n, n), (n, 3 * n), (n, 8 * n), (3 * n, n))
]
WORST = (2.0, 52, 8 * 52, 0.95, 10.0)  # for a variance that is too small
TOO_LIGHT = mutant(of_epoch, "w * in_c, lam) / (lam * lam)", "w * in_c, 0.75 * lam) / (0.75 * lam) ** 2")


@pytest.mark.slow
def test_no_bet_gains_in_the_mean():
    assert max(gain(laplace(epsilon), *sizes_and_mean) for epsilon, *sizes_and_mean in GRID) <= 1


@for_each("setting", [WORST, *GRID[::80]])
def test_some_of_these_bets(setting):
    assert gain(laplace(setting[0]), *setting[1:]) <= 1


def test_with_a_smaller_variance_a_bet_gains():
    assert gain(laplace(WORST[0]), *WORST[1:], gains=TOO_LIGHT) > 1.5


@pytest.mark.slow
@pytest.mark.parametrize(("honest", "most"), [(0.8, 1.03), (0.5, 1.07)])
def test_where_users_may_drop_out_bets_gain_next_to_nothing(honest, most):
    """The most is gained where nobody drops out, and all noise is there."""
    law = laplace(0.1, honest=honest)
    grid = list(itertools.product((12, 50), (1, 4), (0.05, 0.5), (2.0, 8.0)))
    assert max(gain(law, n, r * n, q, f) for n, r, q, f in grid) <= most
    assert max(gain(law, n, r * n, q, f, lost=True) for n, r, q, f in grid) <= 1


def refuted(sizes: tuple[tuple[int, int], ...], q: float, runs: int, seed: int, told: Law, law: Law) -> int:
    """In how many of these runs the bet at level 2 on arms of equal means is won, q estimated, by who is told a law."""
    rng, found = np.random.Generator(np.random.PCG64(seed)), 0
    for _ in range(runs):
        p, f, flying, known = begin_pairs(2), begin_flight(2), np.zeros(2, np.int64), begin_kept(2)
        for number, n in enumerate(sizes, start=1):
            launch_epoch(f, free_row(f), number, np.array(n), flying)
            for arm in range(2):
                first, second = rng.geometric(-math.expm1(-1 / law.scale), 2)
                store_arrival(f, arm, n[arm], float(rng.binomial(n[arm], q) + first - second))
        epochs = keep_epochs(known, f, 0)
        fold_epochs(p, told, f, np.zeros(2, np.int64), np.zeros(2), flying)
        found += bet_on_order(p, known, epochs, told, 0, 1, 2.0) > 2.0
    return found


SIZES = (25, 25), (20, 60), (60, 30)


@pytest.mark.slow
@pytest.mark.parametrize("q", [0.05, 0.5, 0.9])
def test_over_epochs_of_fixed_sizes_a_level_is_exceeded_as_rarely_as_it_says(q):
    """A false alarm has probability 1e-9."""
    at_most(refuted(SIZES, q, 2000, 1, laplace(0.2), laplace(0.2)), 2000, math.exp(-2))


@pytest.mark.slow
def test_who_is_told_of_too_little_noise_wins_too_often():
    with pytest.raises(AssertionError, match="more than"):
        at_most(refuted(SIZES, 0.05, 2000, 1, laplace(2.0), laplace(0.2)), 2000, math.exp(-2))


# --- what is kept, and what a policy makes of it -----------------------------------------------------------------


def test_epochs_are_kept_once_all_of_them_is_there():
    f, flying, known = begin_flight(2), np.zeros(2, np.int64), begin_kept(2)
    for number, sizes in enumerate([(5, 9), (6, 10)], start=1):
        launch_epoch(f, free_row(f), number, np.array(sizes), flying)
    store_arrival(f, 0, 6, 1.0), store_arrival(f, 1, 10, 2.0), store_arrival(f, 0, 5, 3.0)
    assert keep_epochs(known, f, 0) == 1
    assert known.n[0].tolist() == [6, 10]
    assert known.total[0].tolist() == [1.0, 2.0]
    assert keep_epochs(known, f, MOST_EPOCHS) == MOST_EPOCHS + 1
    assert known.n[1:].sum() == 0


def told(law: Law):
    """A policy's state after its first epoch of two arms."""
    s, rng = ContemporaneousKLUCB().init(2, 10**6), np.random.Generator(np.random.PCG64(1))
    asked = [ContemporaneousKLUCB.ask(s, law, rng) for _ in range(2)]
    for arm, n, _ in asked:
        ContemporaneousKLUCB.tell(s, arm, n, n * (0.3 + 0.2 * arm))
    ContemporaneousKLUCB.ask(s, law, rng)
    return s


@for_each("epsilon", [0.02, 1.0])
def test_an_arm_is_ruled_out_where_its_bet_is_won(epsilon):
    """After a first epoch that is large because noise is, more is asked of it."""
    law = laplace(epsilon)
    s = told(law)
    n = s.n[0]
    more = math.log(max(1.0, n / 10))
    s.flying[0] = 0
    f = level(s.horizon, 2, n, n)
    found = bet_on_order(s.pairs, s.kept, 1, law, 0, 1, f + more)
    assert (against(s, law, s.n[0], 0, 1) > f) == (found > f + more)
    half = against(s, law, s.n[0], 0, 1) * (f + more) / f
    assert half == pytest.approx((found + f + more) ** 2 / (4 * (f + more)))


@for_each(
    "channel",
    [mb.channels.Raw(), mb.channels.Response(epsilon=1), mb.channels.Local(epsilon=1), mb.channels.Shuffled(epsilon=1)],
)
def test_elsewhere_evidence_is_by_a_chernoff_bound(channel):
    s = told(channel.law())
    assert against(s, channel.law(), s.n[0], 0, 1) == epoch_evidence(s.pairs, channel.law(), 0, 1)


def test_it_is_by_a_chernoff_bound_where_there_are_more_epochs_than_are_kept():
    law = laplace(1.0)
    s = told(law)
    assert against(s, law, s.n[0], 0, 1) != epoch_evidence(s.pairs, law, 0, 1)
    s.clock[RELEASED] = MOST_EPOCHS + 1
    assert against(s, law, s.n[0], 0, 1) == epoch_evidence(s.pairs, law, 0, 1)


def test_less_is_asked_where_the_first_epoch_takes_much_of_the_horizon():
    assert level(10**5, 4, 900, 250) == level(10**5, 4, 900, 1) == math.log1p(0.75 * 10**5 / 900)
    assert level(10**5, 4, 900, 2500) == pytest.approx(math.log1p(0.075 * 10**5 / 900))


def test_where_noise_is_small_evidence_is_by_a_chernoff_bound():
    """There bets were found to gain: up to 11 in the mean at epsilon = 5."""
    for epsilon, by_bet in ((2.0, True), (2.1, False)):
        s = told(laplace(epsilon))
        assert (against(s, laplace(epsilon), s.n[0], 0, 1) != epoch_evidence(s.pairs, laplace(epsilon), 0, 1)) == by_bet


def test_epochs_of_other_arms_say_nothing_of_a_pair():
    law = laplace(0.02)
    s = told(law)
    before = against(s, law, s.n[0], 0, 1)
    s.kept.n[1, 0] = 50  # an epoch without the other one
    s.clock[RELEASED] = 2
    assert against(s, law, s.n[0], 0, 1) == before

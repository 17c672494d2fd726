"""Evidence: every bet is fair by enumeration, and what is seen everywhere holds on a fine grid of all bets."""

import math
from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from maskedbandit.law import COINS, GAUSSIAN, LAPLACE, NO_NOISE, RESPONSE, SKELLAM, Law, draws_of_one
from maskedbandit.theory.evidence import (
    EQUAL_RATIO,
    Bets,
    bet_weights,
    both,
    evidence_at,
    find_weak_mean,
    log_weight,
    scale_step,
    settle_tail,
)
from maskedbandit.theory.likelihood import ArmReleases, likeliest_mean, log_allowance, log_likelihood
from maskedbandit.theory.noise_pmf import log_pmf, wider_laplace
from tests.for_each import for_each
from tests.policies.mutants import mutant

LAWS = {
    "none": Law(NO_NOISE),
    "response": Law(RESPONSE, grid=1, flip=0.2),
    "laplace": Law(LAPLACE, scale=2.0, grid=1, per_release=1),
    "gaussian": Law(GAUSSIAN, scale=2.0, grid=1, per_release=1),
    "skellam": Law(SKELLAM, scale=2.0, grid=1, per_release=1),
    "coins": Law(COINS, scale=0.5, grid=1, per_release=20),
    "lossy laplace": Law(LAPLACE, scale=2.0, grid=1, per_release=1, honest=0.7),
}
SKELLAM_IS_SLOW = [pytest.param(name, marks=[pytest.mark.slow] * (name == "skellam")) for name in LAWS]
MANY = 12  # scales; of what is below, hardly anything is gained


def chances(law: Law, n: int, mu: float) -> dict[float, float]:
    """The distribution of a release of n bits of mean mu."""
    if law.kind == RESPONSE:
        flip = law.flip
        bit = flip + (1 - 2 * flip) * mu
        return {(x - n * flip) / (1 - 2 * flip): float(binom.pmf(x, n, bit)) for x in range(n + 1)}
    bits = binom.pmf(np.arange(n + 1), n, mu)
    if law.kind == NO_NOISE:
        return {float(x): float(p) for x, p in enumerate(bits)}
    noise = np.array([math.exp(log_pmf(law, n, z)) for z in range(-60, 61)])
    return {float(r - 60): float(p) for r, p in enumerate(np.convolve(bits, noise)) if p > 0}


def check_fair(law: Law, assumed: Law, n: int = 6) -> None:
    """No bet on a mean above z gains on average where the mean is z or less, nor below where it is z or more."""
    for z in (0.25, 0.5, 0.8):
        for mean in (0.0, 0.1, z, 0.9, 1.0):
            sign = 1 if mean <= z else -1
            for s in (0.02, 0.2) if mean != z else (-0.2, -0.02, 0.02, 0.2):
                to, total = z + sign * s, 0.0
                for r, p in chances(law, n, mean).items():
                    known = ArmReleases(np.array([r]), np.array([n]), 1)
                    gain = log_likelihood(assumed, known, to)[0] - log_likelihood(assumed, known, z)[0]
                    total += p * math.exp(gain - log_allowance(assumed, known))
                assert total <= 1 + 1e-9, f"a bet on {to} against {z} gains {total} where the mean is {mean}"


@pytest.mark.sparing(1)
@pytest.mark.parametrize("name", SKELLAM_IS_SLOW)
def test_bets_are_fair(name):
    check_fair(LAWS[name], LAWS[name])


def test_rewards_that_are_not_bits_are_fair_too():
    """Without noise the likelihood of a coin is a fair bet for all rewards in [0, 1]."""
    for z, s in ((0.3, 0.2), (0.6, 0.3), (0.6, -0.3)):
        rewards = np.array([0.0, 0.5, 1.0, 2 * z - 0.5] if 2 * z >= 0.5 else [0.0, 2 * z])
        for reward in rewards[(rewards >= 0) & (rewards <= 1)]:
            pair = (reward, 2 * z - reward)  # two rewards as likely, of mean z
            if 0 <= pair[1] <= 1:
                gains = [((z + s) / z) ** x * ((1 - z - s) / (1 - z)) ** (1 - x) for x in pair]
                assert np.mean(gains) <= 1 + 1e-12


def test_ignoring_the_noise_is_not_fair():
    with pytest.raises(AssertionError, match="gains"):
        check_fair(LAWS["laplace"], LAWS["none"]._replace(grid=1.0))


@for_each("many", [False, True])
def test_weights_add_up_to_one(many):
    """Over pairs of scales, and over those of one arm; what is missing belongs to scales below 2^-4000."""
    on_a, on_b, ratios = bet_weights(Bets(1.0, 1.0, many))
    pairs = sum(
        math.exp(log_weight(t) + ratios[s - t + EQUAL_RATIO])
        for t in range(4000)
        for s in range(max(0, t - EQUAL_RATIO), t - EQUAL_RATIO + ratios.size)
    )
    one = sum(math.exp(log_weight(j)) for j in range(4000))
    assert 0.98 < pairs + (on_a + on_b) * one <= 1 + 1e-12


def whole_evidence(
    law: Law, a: ArmReleases, b: ArmReleases, best: int, rivals: float, z: float, many: bool = False
) -> float:
    """ln M_ab(z) with all bets of MANY scales, as its definition says."""
    here = [log_likelihood(law, each, z)[0] + log_allowance(law, each) for each in (a, b)]
    gain_a = [log_likelihood(law, a, min(z + scale_step(j), 1.0))[0] - here[0] for j in range(MANY)]
    gain_b = [log_likelihood(law, b, max(z - scale_step(j), 0.0))[0] - here[1] for j in range(MANY)]
    of_a, of_b, ratios = bet_weights(Bets(best, rivals, many))
    of_one = (math.log(of_a), gain_a), (math.log(of_b), gain_b)
    terms = [weight + log_weight(j) + gain for weight, gains in of_one for j, gain in enumerate(gains)]
    for t in range(MANY):
        for position, weight in enumerate(ratios):
            s = (
                t + position - EQUAL_RATIO
            )  # t = s 2^(position - FIRST), in shifts: the s-th is 2^(t's - position + FIRST)
            if 0 <= s < MANY:
                terms.append(log_weight(t) + weight + gain_a[s] + gain_b[t])
    return float(np.logaddexp.reduce(terms))


Pair = Callable[[ArmReleases, ArmReleases, int, int, float], float]


def check_mean(pair: Pair, rivals: int = 3, n: int = 6) -> None:
    """With the best arm and its rivals at z, in a tie, the greatest evidence of a rival against it is 1 on average."""
    for z in (0.3, 0.5, 0.8):
        of_sum = binom.pmf(np.arange(n + 1), n, z)
        one = [ArmReleases(np.array([float(x)]), np.array([n]), 1) for x in range(n + 1)]
        for_rival = np.exp([[pair(a, b, 1, rivals, z) for a in one] for b in one]) / rivals
        total = 0.0
        for against, p in zip(for_rival, of_sum, strict=True):
            order = np.argsort(against)
            below = np.cumsum(of_sum[order]) ** rivals  # that the greatest of all rivals is so high, or less
            total += p * float(against[order] @ np.diff(below, prepend=0.0))
        assert total <= 1 + 1e-9, f"the greatest of {rivals} rivals gains {total} at {z}"


def test_bets_on_the_best_arm_alone_need_no_union() -> None:
    check_mean(partial(whole_evidence, LAWS["none"]))


def test_all_other_bets_need_it() -> None:
    """A mutant: no bet pays for there being several rivals."""

    def free(a: ArmReleases, b: ArmReleases, best: int, rivals: int, z: float) -> float:
        return whole_evidence(LAWS["none"], a, b, 1, 1, z) + math.log(best * rivals)

    with pytest.raises(AssertionError, match="greatest of 3 rivals"):
        check_mean(free)
    with pytest.raises(AssertionError, match="greatest of 2 by 2"):
        check_mean_of_pairs(free)


def check_mean_of_pairs(pair: Pair, best: int = 2, rivals: int = 2, n: int = 4) -> None:
    """With all arms at z, in a tie, the greatest evidence of one of the rivals against one of the best is at most 1 on
    average."""
    for z in (0.3, 0.5, 0.8):
        of_sum = binom.pmf(np.arange(n + 1), n, z)
        one = [ArmReleases(np.array([float(x)]), np.array([n]), 1) for x in range(n + 1)]
        gains = np.exp([[pair(a, b, best, rivals, z) for b in one] for a in one]) / (best * rivals)
        total = 0.0
        for sums in product(range(n + 1), repeat=best + rivals):
            most = max(gains[a, b] for a in sums[best:] for b in sums[:best])
            total += float(np.prod(of_sum[list(sums)]) * most)
        assert total <= 1 + 1e-9, f"the greatest of {best} by {rivals} pairs gains {total} at {z}"


def test_a_pair_pays_for_all_pairs_and_an_arm_alone_for_those_like_it() -> None:
    check_mean_of_pairs(partial(whole_evidence, LAWS["none"]))
    check_mean_of_pairs(partial(whole_evidence, LAWS["none"]), best=3, rivals=1)


def released(law: Law, mean: float, sizes: list[int], rng: np.random.Generator) -> ArmReleases:
    """Releases of these sizes."""
    totals = []
    for n in sizes:
        law_of_sum = chances(law, n, mean)
        p = np.array(list(law_of_sum.values()))
        totals.append(float(rng.choice(list(law_of_sum), p=p / p.sum())))
    return ArmReleases(np.array(totals), np.array(sizes), len(sizes))


def check_everywhere(law: Law, seed: int, kernel=find_weak_mean, cases: int = 4) -> int:
    """Where the evidence is seen to reach a threshold, it does at 90 values of z; how often it was, out of all cases.

    The threshold is what M reaches at its least on a coarse grid, less a little, so it is near the edge.
    """
    rng, yes = np.random.Generator(np.random.PCG64(seed)), 0
    for _ in range(cases):
        low, gap = rng.uniform(0.0, 0.6), rng.uniform(0.1, 0.4)
        a, b = released(law, low + gap, [12, 40], rng), released(law, low, [30], rng)
        mean_a, mean_b = likeliest_mean(law, a, 0.5), likeliest_mean(law, b, 0.5)
        if mean_a <= mean_b:
            continue
        fine = np.concatenate([np.linspace(0.01, 0.99, 30), np.linspace(mean_b, mean_a, 62)[1:-1]])
        rivals = int(rng.integers(1, 30))
        best = 1 + rivals % 3
        many = rivals > 15
        least = min(whole_evidence(law, a, b, best, rivals, float(z), many) for z in fine)
        for threshold in (least - 0.3, least + 0.02, least + 1.0):
            if threshold > 0 and kernel(law, a, b, Bets(best, rivals, many), mean_a, mean_b, threshold) > 1:
                assert threshold <= least + 1e-9, (
                    f"seen to be {threshold:.3f} everywhere, but it is {least:.3f} somewhere"
                )
                yes += 1
    return yes


@pytest.mark.sparing(1)
@pytest.mark.parametrize("cases", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SKELLAM_IS_SLOW)
def test_what_is_seen_everywhere_is_there(name, cases):
    assert check_everywhere(LAWS[name], seed=1, cases=1 if name == "skellam" else cases) > 0


def coarse(
    law: Law, a: ArmReleases, b: ArmReleases, bets: Bets, mean_a: float, mean_b: float, threshold: float
) -> float:
    """A mutant: evidence at three values of z stands for all."""
    seen = (evidence_at(law, a, b, bets, mean_a - mean_b, z)[0] >= threshold for z in (0.25, 0.5, 0.75))
    return min(2.0 if enough else z for enough, z in zip(seen, (0.25, 0.5, 0.75), strict=True))


def test_a_coarse_grid_is_rejected():
    with pytest.raises(AssertionError, match="somewhere"):
        check_everywhere(LAWS["none"], 1, coarse, cases=20)


@pytest.mark.slow
def test_the_wrong_ends_of_intervals_are_rejected():
    """A mutant that takes the greater likelihood of a bet, and of the null the one at both ends, not between them."""
    blind = mutant(
        find_weak_mean, "if slope > 0.0 and slope_to < 0.0:", "if False:", both=mutant(both, "min(a", "max(a")
    )
    with pytest.raises(AssertionError, match="somewhere"):
        check_everywhere(LAWS["none"], 1, blind, cases=40)


@pytest.mark.slow
@pytest.mark.parametrize("change", ["most - more_a", "of_b[0] + more_b"])
def test_evidence_that_forgets_that_draws_may_be_lost_is_rejected(change):
    """Mutants of bets on both arms, and on one."""
    free = mutant(find_weak_mean, change, change.split()[0])
    with pytest.raises(AssertionError, match="somewhere"):
        check_everywhere(LAWS["lossy laplace"], 1, free, cases=20)


def test_tails_pay_for_draws_that_may_be_lost():
    """They are those of the noise that stands for what is left, with so much more to show."""
    law, known = LAWS["lossy laplace"], ArmReleases(np.linspace(38.0, 42.0, 9), np.full(9, 50), 9)
    one = Law(LAPLACE, scale=wider_laplace(2.0, draws_of_one(law, 50) - 1), grid=1, per_release=1)
    more = log_allowance(law, known)
    assert more > 0.5
    found, without = settle_tail(law, known, 0.1, 0.8, 1.0, 3.0), settle_tail(one, known, 0.1, 0.8, 1.0, 3.0)
    assert found == settle_tail(one, known, 0.1, 0.8, 1.0, 3.0 + more) < without


def test_it_is_sharp():
    """The least of M on a fine grid is told from a twentieth below and a hundredth above it."""
    law, n = LAWS["none"], np.array([400])
    a, b = ArmReleases(np.array([220.0]), n, 1), ArmReleases(np.array([180.0]), n, 1)
    least = min(whole_evidence(law, a, b, 1, 1, z) for z in np.linspace(0.3, 0.7, 81))
    assert find_weak_mean(law, a, b, Bets(1, 1, False), 0.55, 0.45, least - 0.05) == 2
    assert find_weak_mean(law, a, b, Bets(1, 1, False), 0.55, 0.45, least + 0.01) <= 1

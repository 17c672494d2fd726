"""Epochs: cohorts of several arms over the same stretch of users, and what they say of every pair of arms.

The places of an epoch are dealt in random order, so all its arms share whatever the day brings: if a day adds τ to
every mean, cohorts of one epoch have means θ_a + τ, and their differences do not depend on it. For a pair of arms (a,
c) with cohorts of n_a and n_c users in epoch e, and w = min(n_a, n_c),

    S = Σ_e w (X_a / n_a − X_c / n_c),        E S = Σ_e w (θ_a − θ_c),

X_a the released totals. The rewards of the pair have mean q on average, so that their variance is at most q (1 − q),
and noise comes in draws of one width. The log-moments of -(S − E S) are at most

    q (1 − q) λ² (V_a φ(λ q) + V_c φ(λ (1 − q))) + D K(λ),     φ(x) = (e^x − 1 − x) / x²,
    V_a = Σ_e w² / n_a,     D = Σ_e (w / n_a)² draws + (w / n_c)² draws,     K the cumulant of one draw.

The first part is Bennett's bound [BLM13, Thm. 2.9] for terms of at most w / n ≤ 1 times a reward, as φ grows; the
second holds since K(w λ) ≤ w² K(λ) for w ≤ 1 (see `nodes` in law.py; `bound_moments` are those of coins). So

    P(S ≤ s) ≤ exp(−I(s)),    I(s) = sup over λ ≥ 0 of  −λ s − (what is above),

for sums whose sizes are fixed beforehand, if a's mean is not below c's, q is known, and either τ is the same in all
epochs or n_a / n_c is. (If neither is, the epochs that count most in V may have another mean than q.)
docs/contemporaneous.md says what is estimated instead.

Cohorts in flight wait in rows, one for each epoch. A release belongs to the row where its arm awaits one of its size,
and if devices dropped out, to the oldest where it awaits a larger one; sizes of an arm that are in flight differ. Where
devices drop out and releases overtake each other as well, that may be the wrong epoch, and a drift is taken for a
difference.
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.core import TOGETHER, WAIT, Decision, kernel, large_kernel, lean_kernel
from maskedbandit.golden_section import narrow_down, open_bracket
from maskedbandit.law import (
    Law,
    count_steps,
    draws_of_one,
    is_coins,
    is_laplace,
    is_response,
    largest_tilt,
    unit_variance,
)
from maskedbandit.noise_bounds import cumulant

ROWS = 128  # epochs in flight at most
NEXT = 0  # in the clock of a policy: the next arm of the epoch that it asks for
LARGEST_LAM, SMALLEST_LAM = 40.0, 1e-9  # lam


class Pairs(NamedTuple):
    """The sums over epochs for each pair of arms (a, c)."""

    margin: np.ndarray  # [k, k] S
    spread: np.ndarray  # [k, k] V_a
    weight: np.ndarray  # [k, k] sum of w
    pooled: np.ndarray  # [k, k] sum of w times the mean reward of both cohorts
    draws: np.ndarray  # [k, k] D


class Flight(NamedTuple):
    """Epochs of which releases are awaited."""

    asked: np.ndarray  # [rows, k] sizes of the cohorts
    n: np.ndarray  # [rows, k] rewards in the release; 0: awaited, or no cohort
    total: np.ndarray  # [rows, k] released
    number: np.ndarray  # [rows] of the epoch, from 1 on; 0: the row is free
    awaited: np.ndarray  # [rows] releases


def begin_pairs(k: int) -> Pairs:
    """Nothing is known."""
    return Pairs(*np.zeros((5, k, k)))


def begin_flight(k: int) -> Flight:
    """Nothing is in flight."""
    asked, n = np.zeros((2, ROWS, k), np.int64)
    return Flight(asked, n, np.zeros((ROWS, k)), *np.zeros((2, ROWS), np.int64))


@kernel
def free_row(f: Flight) -> int:
    """A row without an epoch; -1 if there is none."""
    for row in range(ROWS):
        if f.number[row] == 0:
            return row
    return -1


@kernel
def unlike_size(f: Flight, arm: int, n: int) -> int:
    """The least size from n on that no cohort of this arm in flight has."""
    taken = True
    while taken:
        taken = False
        for row in range(ROWS):
            if f.number[row] > 0 and f.asked[row, arm] == n:
                taken = True
        if taken:
            n += 1
    return n


@kernel
def store_arrival(f: Flight, arm: int, n: int, total: float) -> None:
    """Store a release in the row to which it belongs."""
    found, best = -1, -1  # fits exactly, with some users lost, or not at all as others were taken for it
    for row in range(ROWS):
        if f.number[row] > 0 and f.asked[row, arm] > 0 and f.n[row, arm] == 0:
            fit = int(f.asked[row, arm] >= n) + int(f.asked[row, arm] == n)
            if fit > best or (fit == best and f.number[row] < f.number[found]):
                found, best = row, fit
    if found >= 0:
        f.n[found, arm], f.total[found, arm] = n, total
        f.awaited[found] -= 1


@large_kernel
@lean_kernel
def fold_epochs(p: Pairs, law: Law, f: Flight, n: np.ndarray, total: np.ndarray, flying: np.ndarray) -> int:
    """Add all epochs whose releases are there to the pairs and to the arms; how many there were."""
    found = 0
    for row in range(ROWS):
        if f.number[row] > 0 and f.awaited[row] == 0:
            compare_epoch(p, law, f, row)
            for a in range(n.size):
                n[a] += f.n[row, a]
                total[a] += f.total[row, a]
                flying[a] -= f.asked[row, a]
                f.asked[row, a], f.n[row, a] = 0, 0
            f.number[row] = 0
            found += 1
    return found


@kernel
def launch_epoch(f: Flight, row: int, number: int, plan: np.ndarray, flying: np.ndarray) -> None:
    """Put the cohorts of an epoch in flight, in a free row."""
    f.number[row], f.awaited[row] = number, 0
    for a in range(plan.size):
        f.asked[row, a] = plan[a]
        f.awaited[row] += plan[a] > 0
        flying[a] += plan[a]


@kernel
def rewards_or_bits(law: Law, total: float, n: int) -> float:
    """The released total; under randomized response that of the bits, whose means have the same order."""
    return total * (1 - 2 * law.flip) + n * law.flip if is_response(law) else total


@kernel
def compare_epoch(p: Pairs, law: Law, f: Flight, row: int) -> None:
    """Add an epoch, all of whose releases are there, to the pairs."""
    k = p.margin.shape[0]
    for a in range(k):
        n_a = f.n[row, a]
        if n_a > 0:
            x_a, noise_a = rewards_or_bits(law, f.total[row, a], n_a), draws_of_one(law, n_a)
            for c in range(k):
                n_c = f.n[row, c]
                if n_c > 0 and c != a:
                    x_c, noise_c = rewards_or_bits(law, f.total[row, c], n_c), draws_of_one(law, n_c)
                    w = float(min(n_a, n_c))
                    of_a, of_c = w / n_a, w / n_c
                    p.margin[a, c] += of_a * x_a - of_c * x_c
                    p.spread[a, c] += w * of_a
                    p.weight[a, c] += w
                    p.pooled[a, c] += w * (x_a + x_c) / (n_a + n_c)
                    p.draws[a, c] += of_a * of_a * noise_a + of_c * of_c * noise_c


@kernel
def mean_of_pair(p: Pairs, a: int, c: int) -> float:
    """The mean reward of both arms in the epochs that they share."""
    return min(max(p.pooled[a, c] / p.weight[a, c], 0.0), 1.0)


@kernel
def cautious_mean(p: Pairs, law: Law, a: int, c: int) -> float:
    """The mean of the pair, moved towards 1/2 by its standard error, so that its variance is not estimated too low."""
    q, w = mean_of_pair(p, a, c), p.weight[a, c]
    noise = unit_variance(law) * law.scale * law.scale * p.draws[a, c]
    error = math.sqrt(q * (1 - q) / (2 * w) + noise / (4 * w * w))
    return min(0.5, q + error) if q < 0.5 else max(0.5, q - error)


@kernel
def standardize_sum(p: Pairs, law: Law, a: int, c: int) -> float:
    """S over its standard deviation; 0 if the arms share no epoch."""
    w = p.weight[a, c]
    if w == 0.0:
        return 0.0
    q = mean_of_pair(p, a, c)
    noise = unit_variance(law) * law.scale * law.scale * p.draws[a, c]
    return p.margin[a, c] / math.sqrt((p.spread[a, c] + p.spread[c, a]) * max(q * (1 - q), 1 / w) + noise)


@kernel
def phi(x: float) -> float:
    """(e^x - 1 - x) / x^2."""
    return 0.5 + x / 6 + x * x / 24 if x < 1e-3 else (math.expm1(x) - x) / (x * x)


@kernel
def bound_moments(law: Law, draws: float, g: int, lam: float) -> float:
    """D K(lam). That of coins is concave in lam^2, so w^2 K(lam) is too little: the tangent at 0 is taken instead."""
    return draws * law.scale * law.scale * lam * lam / 2 if is_coins(law) else cumulant(law, law.scale, draws, g, lam)


@kernel
def pair_exponent(p: Pairs, law: Law, a: int, c: int, q: float, g: int, lam: float) -> float:
    """The function whose supremum is I(s), for the pair's S and arms of mean q."""
    rewards = q * (1 - q) * lam * lam * (p.spread[a, c] * phi(lam * q) + p.spread[c, a] * phi(lam * (1 - q)))
    noise = 0.0 if is_response(law) else bound_moments(law, p.draws[a, c], g, lam)
    return -lam * p.margin[a, c] - rewards - noise


@large_kernel
@lean_kernel
def epoch_evidence(p: Pairs, law: Law, a: int, c: int) -> float:
    """I(S): how surprising the epochs would be, in nats, if arm a were at least as good as arm c."""
    if p.margin[a, c] >= 0.0:
        return 0.0
    q = cautious_mean(p, law, a, c)
    g = count_steps(law, int(p.weight[a, c])) if is_laplace(law) else count_steps(law, 1)  # see log_mgf_of_sum
    top = min(LARGEST_LAM, largest_tilt(law))
    section = open_bracket(math.log(SMALLEST_LAM / (1 + law.scale)), math.log(top))
    for _ in range(26):
        section = narrow_down(section, -pair_exponent(p, law, a, c, q, g, math.exp(section.x)))
    return max(0.0, -section.least)


@large_kernel
@lean_kernel
def next_of_plan(plan: np.ndarray, clock: np.ndarray) -> Decision:
    """The next cohort of an epoch, from arm clock[NEXT] on; WAIT if all were asked for."""
    k, arm = plan.size, clock[NEXT]
    while arm < k and plan[arm] == 0:
        arm += 1
    if arm == k:
        return WAIT
    after = arm + 1
    while after < k and plan[after] == 0:
        after += 1
    clock[NEXT] = after
    return Decision(int(arm), int(plan[arm]), TOGETHER if after < k else 1)

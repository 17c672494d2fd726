"""Evidence that an arm b is not among the m best of K, because arm a is better, from both arms' releases, at all times.

For a value z let a bet (s, t) say that arm a has mean z + s and arm b has mean z − t, or 1 and 0 if that is outside [0,
1]. Its gain is the likelihood ratio

    L_a(z + s) / L_a(z) * L_b(z − t) / L_b(z).

Let z be the mean of the m-th best arm. Then no bet gains on average that moves one of the m best down, or one of the
others up. A bet on one arm alone (s = 0 or t = 0) involves no other, so there are m or K − m of them. With weights that
are fixed in advance and add up to one,

    M(z) = (1 / m) sum over the m best b of the bets on b alone + (1 / (K − m)) sum over others a of the bets on a alone
           + (1 / (m (K − m))) sum over a and b of the bets on both

is a non-negative supermartingale from 1, however pulls and cohorts are chosen, so it ever reaches 1/δ with probability
≤ δ [Vil39]. The part of one pair is less than all of it, so evidence is that

    M_ab(z) = (K − m) (bets on b alone) + m (bets on a alone) + bets on both ≥ m (K − m) / δ

for **all** z in [0, 1]: if b is among the m best, and a is not, it is wrong at that z. For the best arm m is 1.
docs/released_likelihood.md and docs/top_arms.md have the proofs.

The bets on each a need not weigh alike, nor begin at once: `Bets.rivals` is K − m, or one over the share of a, of whose
releases L_a has then those that came after the share was fixed.

Bets are relative to z, so nothing is lost because it is unknown where both means lie. A mixture over two unknown means,
divided by the largest likelihood of the null hypothesis, loses evidence for each of them.

`find_weak_mean` checks M(z) ≥ 1/α for all z: on an interval of z, a concave function is at least the smaller of its
values at the ends, and at most the maximum that its tangents there allow; ln L is concave. Bets on one arm alone settle
both tails at once, because their gains are monotone in z.

**Beyond a known value.** Here a bet says that the mean is u_j, with logit u_j = logit z + 2^(1 − j), j = 0, 1, ...; its
gain is the likelihood ratio L(u_j) / L(z). If the mean is at most z, each gain is a non-negative supermartingale from
1, however pulls and cohorts are chosen, and so is the mean of them under weights that are fixed in advance
(docs/released_likelihood.md, Lemma 1): it ever reaches 1/α with probability ≤ α [Vil39]. Bets below z are the mirror
image.
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel, large_kernel
from maskedbandit.law import Law
from maskedbandit.theory.likelihood import ArmReleases, log_allowance, log_likelihood

SCALES = 6  # the scales in the sum; gains of others are not negative, so leaving them out is safe
LARGE = np.log(np.array([0.03, 0.09, 0.17, 0.17, 0.17, 0.17]))  # weights of shifts of 1/2, 1/4, ..., 1/64
REST_WEIGHT, TAIL = 0.2, 3  # the weight of all smaller ones, less and less
ON_A, ON_B = (0.08, 0.05), (0.25, 0.4)  # weights of the bets on a alone, and on b alone, with few arms and with many
FEW_RATIOS = np.log(np.array([0.02, 0.10, 0.45, 0.28, 0.10, 0.05]) * (1 - ON_A[0] - ON_B[0]))  # t = s/4, s/2, ...
MANY_RATIOS = np.log(np.array([0.01, 0.05, 0.235, 0.19, 0.275, 0.165, 0.05, 0.025]) * (1 - ON_A[1] - ON_B[1]))
EQUAL_RATIO = 2  # the index of t = s in both
NARROW_INTERVAL = 2e-3  # intervals below this fraction of the whole are not divided further


class Bets(NamedTuple):
    """By how many arms bets are shared, and which of them weigh most."""

    best: float  # m: those that bets on a alone are shared by
    rivals: float  # K - m: those that bets on b alone are shared by
    many: bool  # there are many arms


@kernel
def scale_step(j: int) -> float:
    """Scales of bets: 1/2, 1/4, ..."""
    return math.ldexp(0.5, -j)


@kernel
def scale(distance: float) -> int:
    """The first scale that is at most the distance."""
    return max(0, math.ceil(-math.log2(2 * max(distance, 1e-15))))


@kernel
def log_weight(j: int) -> float:
    """ln of the weight of a scale; all weights add up to one.

    >>> round(sum(math.exp(log_weight(j)) for j in range(10**5)), 4)
    1.0
    """
    if j < LARGE.size:
        return float(LARGE[j])
    rank = j - LARGE.size + TAIL
    return math.log(REST_WEIGHT * TAIL / (rank * (rank + 1.0)))


@kernel
def bet_weights(bets: Bets) -> tuple[float, float, np.ndarray]:
    """The weights of bets on a alone and on b alone in M_ab(z), and the logarithms of those of bets on both.

    With many equal arms the best one has many times the users of each other, so the worst z is near its mean: there
    bets on b alone gain most, and of those on both the ones that move b much further than a.
    """
    i, ratios = (1, MANY_RATIOS) if bets.many else (0, FEW_RATIOS)
    return bets.best * ON_A[i], bets.rivals * ON_B[i], ratios


@kernel
def log_sum(x: float, y: float) -> float:
    """ln(e^x + e^y)."""
    if x < y:
        x, y = y, x
    return x if y == -math.inf else x + math.log1p(math.exp(y - x))


@kernel
def shifted_logs(law: Law, known: ArmReleases, z: float, sign: float, first: int, out: np.ndarray) -> float:
    """ln L at z, moved up or down by each scale, and kept in [0, 1]. Returns the highest."""
    highest = -math.inf
    for i in range(SCALES):
        out[i] = log_likelihood(law, known, min(max(z + sign * scale_step(first + i), 0.0), 1.0))[0]
        highest = max(highest, out[i])
    return highest


@kernel
def both(
    ratios: np.ndarray,
    first: int,
    z: float,
    to: float,
    a: np.ndarray,
    b: np.ndarray,
    to_a: np.ndarray,
    to_b: np.ndarray,
) -> float:
    """ln of the weighted sum over bets on both arms of at most the least L_a L_b between z and `to`.

    ln L_a L_b is concave in z, so the lesser of its values at both ends, unless a bet is moved to 0 or 1 on the way:
    then the lesser of each factor's.
    """
    answer = -math.inf
    for i in range(SCALES):
        for k in range(SCALES):
            rank = i - k + EQUAL_RATIO  # t / s = 2^(i - k)
            if 0 <= rank < ratios.size:
                least = min(a[i] + b[k], to_a[i] + to_b[k])
                if to + scale_step(first + i) > 1.0 or z < scale_step(first + k):
                    least = min(a[i], to_a[i]) + min(b[k], to_b[k])
                answer = log_sum(answer, log_weight(first + k) + ratios[rank] + least)
    return answer


@kernel
def single_bets(weight: float, first: int, span: float, at: np.ndarray, null: float) -> float:
    """ln of the weighted sum over bets on one arm of L / null, for shifts of at most `span`."""
    answer = -math.inf
    for i in range(SCALES):
        if scale_step(first + i) <= span:
            answer = log_sum(answer, math.log(weight) + log_weight(first + i) + at[i] - null)
    return answer


@large_kernel
def evidence_at(
    law: Law, a: ArmReleases, b: ArmReleases, bets: Bets, gap: float, z: float
) -> tuple[float, float, float]:
    """ln M_ab(z), and the gains of the best bets on a and on b there, over scales from twice the gap down."""
    first = scale(2 * gap)
    at_a, at_b = np.empty(SCALES), np.empty(SCALES)
    best_a, best_b = shifted_logs(law, a, z, 1.0, first, at_a), shifted_logs(law, b, z, -1.0, first, at_b)
    of_a, of_b = (
        log_likelihood(law, a, z)[0] + log_allowance(law, a),
        log_likelihood(law, b, z)[0] + log_allowance(law, b),
    )
    of_best, of_rival, ratios = bet_weights(bets)
    one_sided = log_sum(single_bets(of_best, first, 1 - z, at_a, of_a), single_bets(of_rival, first, z, at_b, of_b))
    found = log_sum(both(ratios, first, z, z, at_a, at_b, at_a, at_b) - of_a - of_b, one_sided)
    return found, max(best_a - of_a, 0.0), max(best_b - of_b, 0.0)


@kernel
def settle_tail(law: Law, known: ArmReleases, weight: float, mean: float, sign: float, threshold: float) -> float:
    """A z near the mean such that from there on bets on this arm alone have the evidence; -1 if there is none.

    The gain of a bet falls as z comes nearer to the mean, so that one z settles all beyond it.
    """
    far, near, found, more = 0.0 if sign > 0.0 else 1.0, mean, -1.0, log_allowance(law, known)
    for _ in range(40):
        z, seen = (far + near) / 2, -math.inf
        here, first = log_likelihood(law, known, z)[0] + more, scale(2 * abs(mean - z))
        for j in range(first, first + 2):
            to = z + sign * scale_step(j)
            if 0.0 <= to <= 1.0:
                seen = log_sum(seen, math.log(weight) + log_weight(j) + log_likelihood(law, known, to)[0] - here)
        if seen >= threshold:
            far, found = z, z
        else:
            near = z
        if abs(near - far) < 0.1 * abs(mean - found) and (found >= 0.0 or abs(far - near) < 1e-3):
            break
    return found


@large_kernel
def find_weak_mean(
    law: Law, a: ArmReleases, b: ArmReleases, bets: Bets, mean_a: float, mean_b: float, threshold: float
) -> float:
    """2 if ln M_ab(z) >= threshold for all z in [0, 1], for estimates mean_a > mean_b; else a z where it may be less.

    >>> from maskedbandit.law import NO_NOISE
    >>> known = [ArmReleases(np.array([x]), np.array([100]), 1) for x in (90.0, 60.0, 40.0)]
    >>> round(find_weak_mean(Law(NO_NOISE), known[0], known[2], Bets(1.0, 1.0, False), 0.9, 0.4, math.log(100)), 2)
    2.0
    >>> round(find_weak_mean(Law(NO_NOISE), known[1], known[2], Bets(1.0, 1.0, False), 0.6, 0.4, math.log(100)), 2)
    0.39
    """
    of_best, of_rival, ratios = bet_weights(bets)
    z, end = (
        settle_tail(law, a, of_best, mean_a, 1.0, threshold),
        settle_tail(law, b, of_rival, mean_b, -1.0, threshold),
    )
    if z < 0.0 or end < 0.0:
        return 0.0 if z < 0.0 else 1.0
    first, whole = scale(2 * (mean_a - mean_b)), end - z
    step, narrow = whole / 4, NARROW_INTERVAL * whole
    more_a, more_b = log_allowance(law, a), log_allowance(law, b)
    at_a, at_b, next_a, next_b = np.empty(SCALES), np.empty(SCALES), np.empty(SCALES), np.empty(SCALES)
    shifted_logs(law, a, z, 1.0, first, at_a)
    shifted_logs(law, b, z, -1.0, first, at_b)
    of_a, of_b = log_likelihood(law, a, z), log_likelihood(law, b, z)
    while z < end:
        to = min(z + step, end)
        to_a, to_b = log_likelihood(law, a, to), log_likelihood(law, b, to)
        shifted_logs(law, a, to, 1.0, first, next_a)
        shifted_logs(law, b, to, -1.0, first, next_b)
        null, slope, null_to, slope_to = of_a[0] + of_b[0], of_a[1] + of_b[1], to_a[0] + to_b[0], to_a[1] + to_b[1]
        most = max(null, null_to)
        if slope > 0.0 and slope_to < 0.0:  # where the tangents meet
            most = null + slope * ((null_to - null + slope * z - slope_to * to) / (slope - slope_to) - z)
        of_one_a = single_bets(of_best, first, 1 - to, next_a, to_a[0] + more_a)
        one_sided = log_sum(of_one_a, single_bets(of_rival, first, z, at_b, of_b[0] + more_b))
        seen = log_sum(both(ratios, first, z, to, at_a, at_b, next_a, next_b) - most - more_a - more_b, one_sided)
        if seen >= threshold:
            z, of_a, of_b, step = to, to_a, to_b, 1.5 * step
            at_a, next_a = next_a, at_a
            at_b, next_b = next_b, at_b
        else:
            step /= 2
            if step < narrow:
                return z
    return 2.0


@kernel
def logit(p: float) -> float:
    """ln(p / (1 - p)), which is kept finite."""
    p = min(max(p, 1e-300), 1 - 1e-16)
    return math.log(p / (1 - p))


@large_kernel
def evidence_beyond(law: Law, known: ArmReleases, z: float, mean: float) -> tuple[float, float]:
    """ln of the evidence that the mean is beyond z, on the side of the estimate `mean`, and the gain of the best bet.

    >>> import numpy as np
    >>> from maskedbandit.law import NO_NOISE
    >>> known = ArmReleases(np.array([65.0]), np.array([100]), 1)
    >>> [round(float(number), 2) for number in evidence_beyond(Law(NO_NOISE), known, 0.5, 0.65)]
    [3.02, 4.41]
    """
    here, distance = logit(z), logit(mean) - logit(z)
    first, sign = scale(abs(distance) / 2), 1.0 if mean > z else -1.0
    null, found, best = log_likelihood(law, known, z)[0] + log_allowance(law, known), -math.inf, -math.inf
    for j in range(first, first + SCALES):  # gains of others are not negative, so leaving them out is safe
        gain = log_likelihood(law, known, 1 / (1 + math.exp(-here - 4 * sign * scale_step(j))))[0] - null
        found = log_sum(found, log_weight(j) + gain)
        best = max(best, gain)
    return found, max(best, 0.0)

"""A bet on the difference of two arms over the epochs that they share, for Laplace noise in whole sums of bits.

As in epochs.py, D_e = w (X_a / n_a − X_c / n_c) is what epoch e says of the pair (a, c), w = min(n_a, n_c). Let p_e be
its density if both arms have the same mean. One difference δ is fixed by sizes and noise, and

    Λ = Σ_e  ln p_e(D_e + w δ) − ln p_e(D_e)

is the bet that the mean of a is below that of c by δ. If it is not below, E exp(Λ) is about 1 or less, as was computed
for noise of a scale of 1/2 or more: a level is exceeded with probability about exp(−level) or less. A day that adds the
same to both arms changes no D_e. Noise counts as what it is: an epoch can say nothing false that is louder than its own
noise, and a noisy epoch counts less than one whose noise is small beside its users, where a Chernoff bound for the sum
of all pays for the noise of each.

δ is where the Chernoff bound of epochs.py reaches f' = level² / (level + 2), as in theory/bet.py, λ its tilt:

    δ = min over λ of  (f' + R(λ) + D K(λ)) / (λ Σ_e w),
    R(λ) = q (1 − q) λ² (V_a φ(λ q) + V_c φ(λ (1 − q))).

p_e is the density of a normal variable, for the rewards, and of both noises. The variance of the former is Bennett's, 2
R_e(λ) / λ², which is more than theirs, as their tails may be heavier. Noise of several draws counts as one draw of the
same variance, whose tails are heavier. docs/contemporaneous.md has what was computed of E exp(Λ).
"""

import math
from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel, large_kernel, lean_kernel
from maskedbandit.golden_section import narrow_down, open_bracket
from maskedbandit.law import Law, draws_of_one, largest_tilt
from maskedbandit.policies.parts.epochs import (
    LARGEST_LAM,
    SMALLEST_LAM,
    Flight,
    Pairs,
    bound_moments,
    cautious_mean,
    phi,
)
from maskedbandit.theory.bet import SPARED

MOST_EPOCHS = 64  # epochs that are kept
SCALES_APART = 0.03  # of two equal scales, so that the density of their sum is that of different ones


class KeptEpochs(NamedTuple):
    """What was released in each epoch."""

    total: np.ndarray  # [MOST, k]
    n: np.ndarray  # [MOST, k] rewards in it; 0: no cohort


def begin_kept(k: int) -> KeptEpochs:
    """Nothing was released."""
    return KeptEpochs(np.zeros((MOST_EPOCHS, k)), np.zeros((MOST_EPOCHS, k), np.int64))


@large_kernel
@lean_kernel
def keep_epochs(known: KeptEpochs, f: Flight, epochs: int) -> int:
    """Add the epochs whose releases are there, to those before; how many there are then; MOST_EPOCHS are kept."""
    for row in range(f.number.size):
        if f.number[row] > 0 and f.awaited[row] == 0:
            if epochs < MOST_EPOCHS:
                for a in range(f.n.shape[1]):
                    known.total[epochs, a], known.n[epochs, a] = f.total[row, a], f.n[row, a]
            epochs += 1
    return epochs


@large_kernel
@lean_kernel
def log_tail(x: float, s: float) -> float:
    """s (s - 2 x) + ln erfc(s - x), also where erfc underflows."""
    t = s - x
    if t < 20.0:
        return s * (s - 2 * x) + math.log(math.erfc(t))
    square = 1 / (t * t)
    return -x * x - math.log(t * math.sqrt(math.pi)) + math.log1p(square * (0.75 * square - 0.5))


@large_kernel
@lean_kernel
def log_density(x: float, v: float, a: float, b: float) -> float:
    """ln of the density of N + A + B at x, up to a constant: N normal of variance v, A and B Laplace of these scales.

    The density of N + A is that of two tails, for x and -x, and that of the whole a difference of two such densities.

    >>> round(log_density(50.0, 4.0, 10.0, 2.0) - log_density(60.0, 4.0, 10.0, 2.0), 6)  # far out the wider one decides
    1.0
    """
    middle, x, s = math.sqrt((a * a + b * b) / 2), abs(x) / math.sqrt(2 * v), math.sqrt(v / 2)
    a, b = max(a, b, (1 + SCALES_APART) * middle), min(a, b, (1 - SCALES_APART) * middle)
    top = log_tail(x, s / a)
    of_a = a * (1 + math.exp(log_tail(-x, s / a) - top))
    of_b = b * (math.exp(log_tail(x, s / b) - top) + math.exp(log_tail(-x, s / b) - top))
    return top + math.log(of_a - of_b)


@kernel
def of_rewards(q: float, in_a: float, in_c: float, lam: float) -> float:
    """R, the bound on the log-moments of the rewards, for sum_e w^2 / n_a and sum_e w^2 / n_c."""
    return q * (1 - q) * lam * lam * (in_a * phi(lam * q) + in_c * phi(lam * (1 - q)))


@large_kernel
@lean_kernel
def pair_shift(p: Pairs, law: Law, a: int, c: int, q: float, level: float) -> tuple[float, float]:
    """delta and lam, for arms of mean q."""
    section, lam = (
        open_bracket(math.log(SMALLEST_LAM / (1 + law.scale)), math.log(min(LARGEST_LAM, largest_tilt(law)))),
        0.0,
    )
    for _ in range(26):
        lam = math.exp(section.x)
        price = of_rewards(q, p.spread[a, c], p.spread[c, a], lam) + bound_moments(law, p.draws[a, c], 1, lam)
        section = narrow_down(section, (level * level / (level + SPARED) + price) / lam)
    return section.least / p.weight[a, c], lam


@large_kernel
@lean_kernel
def of_epoch(law: Law, n_a: int, x_a: float, n_c: int, x_c: float, q: float, delta: float, lam: float) -> float:
    """The summand of Lambda for totals x_a of n_a and x_c of n_c rewards."""
    w = float(min(n_a, n_c))
    in_a, in_c = w / n_a, w / n_c
    d, v = in_a * x_a - in_c * x_c, 2 * of_rewards(q, w * in_a, w * in_c, lam) / (lam * lam)
    scale_a = in_a * law.scale * math.sqrt(draws_of_one(law, n_a))
    scale_c = in_c * law.scale * math.sqrt(draws_of_one(law, n_c))
    return log_density(d + w * delta, v, scale_a, scale_c) - log_density(d, v, scale_a, scale_c)


@large_kernel
@lean_kernel
def bet_on_order(p: Pairs, known: KeptEpochs, epochs: int, law: Law, a: int, c: int, level: float) -> float:
    """Lambda, from the epochs that the pair shares; there must be one."""
    q, found = cautious_mean(p, law, a, c), 0.0
    delta, lam = pair_shift(p, law, a, c, q, level)
    for e in range(epochs):
        n_a, n_c = known.n[e, a], known.n[e, c]
        if n_a > 0 and n_c > 0:
            found += of_epoch(law, n_a, known.total[e, a], n_c, known.total[e, c], q, delta, lam)
    return found

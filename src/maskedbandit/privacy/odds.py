"""A loss in words: how often somebody who guesses one person's outcome from all that was published can be right.

Somebody guesses between two equally likely outcomes from something that is (ε, δ)-private. If the guess is wrong with
probability a for the first outcome, and b for the second, then

    a + e^ε b ≥ 1 − δ,   e^ε a + b ≥ 1 − δ                                                     [KOV17, Thm. 2.1]

so a + b ≥ 2 (1 − δ) / (1 + e^ε), and the guess is right with probability 1 − (a + b) / 2 ≤ (e^ε + δ) / (e^ε + 1).
"""

import math
from fractions import Fraction
from functools import lru_cache

from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import INF

GUESS_DELTAS = [Fraction(1, 10**k) for k in (9, 6, 4, 3)] + [Fraction(k, 50) for k in range(1, 50)]


def right(epsilon: float, delta: float = 0.0) -> float:
    """The largest probability with which a guess from something (ε, δ)-private can be right.

    >>> round(right(0.5), 3), right(0.0), right(1000.0), right(0.0, 1.0)
    (0.622, 0.5, 1.0, 1.0)
    """
    small = math.exp(-epsilon)
    return (1 + delta * small) / (1 + small)


@lru_cache(maxsize=256)
def best_guess(loss: Loss) -> float:
    """The largest probability with which a guess can be right under this loss: the best bound over all δ.

    >>> round(best_guess(Loss.pure(1)), 3), round(best_guess(Loss.approximate(1, 0.01)), 3)
    (0.731, 0.734)
    >>> round(best_guess(Loss.zcdp(0.125)), 3)  # 0.599 for Gaussian noise
    0.644
    """
    pure, delta = loss.pure_epsilon, loss.delta
    found = right(float(pure), float(delta)) if pure < INF and delta < 1 else 1.0
    if pure == INF and delta < 1:
        deltas = [delta + more for more in GUESS_DELTAS if delta + more < 1]
        found = min([found, *map(right, loss.epsilons(deltas), map(float, deltas))])
    return found


def in_hundred(probability: float) -> str:
    """The probability as a number of times in 100, rounded upwards.

    >>> in_hundred(right(0.5)), in_hundred(0.5), in_hundred(right(20))
    ('62.3', '50', '100')
    """
    return f"{math.ceil(probability * 1000 - 1e-9) / 10:.4g}"

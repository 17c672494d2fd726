"""Amplification by shuffling: what ε₀ on every device is worth once nobody knows who sent what [FMT22].

Each of n users sends one message from an ε₀-private randomizer, and a shuffler drops the senders. Whatever the
randomizer is, the messages of two neighbours are at most as different as these two pairs of counts P and Q:

    C ~ Bin(n − 1, share),   A ~ Bin(C, 1/2),   B ~ Bernoulli(q),     q = e^{ε₀} / (e^{ε₀} + 1)
    P = (A + B, C − A + 1 − B),   Q = (A + 1 − B, C − A + B),         share = e^{−ε₀}

Proof [FMT22]. Let the first user have one of two values, and R, R′ be the distributions of the message. D, D′ exist
with R = q D + (1 − q) D′ and R′ = (1 − q) D + q D′ [KOV17]. The message of another user has a distribution of at least
e^{−ε₀} R and e^{−ε₀} R′; so with probability e^{−ε₀} it is (R + R′) / 2 = (D + D′) / 2, and else something in which the
first user has no part. P and Q count how many messages are of D and of D′, if one is told who is such a clone.

With randomized response the share is larger: a bit is replaced by a fair coin with probability 2 / (e^{ε₀} + 1). That
bound still tells who is a clone. What is learned from the number of ones alone is computed exactly, as it takes two
binomials only: "exact_response", see shuffled_response.py.

Given C = c, and with b the pmf of Bin(c, 1/2), a probability under P minus e^ε times that under Q is

    (q − e^ε (1 − q)) b(a − 1) − (e^ε q − (1 − q)) b(a),

which is above 0 from some a on, as b(a − 1) / b(a) = a / (c + 1 − a) grows. So δ is a difference of two tails, summed
over c. It falls in c, as a clone more is a coin more; where numbers of clones are grouped, each counts as the least.

To compare with: a closed form, and the coins that devices toss beside their true bits, whose least number is exact
(`channels.Shuffled`).
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from maskedbandit.core import Floats
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import to_whole
from maskedbandit.theory.bounds import to_positive
from maskedbandit.theory.shuffled_response import find_likely_range, weigh_neighbours, worst_response_delta

UNSEEN_CLONES = 1e-3  # of δ: the chance of a number of clones that is left out
GROUPS = 4096  # of numbers of clones
TAIL_MARGIN = 1e-9  # relative, above the error of a binomial tail in floating point: 6e-11 where it is largest

Randomizer = Literal["any", "response", "exact_response"]
RANDOMIZERS = {"any": 10**10, "response": 10**10, "exact_response": 10**7}  # of how many users at most


def clone_probability(local_epsilon: float, randomizer: Randomizer = "any") -> float:
    """The probability that another user is a clone of the first.

    >>> round(clone_probability(1.0), 4), round(clone_probability(1.0, "response"), 4)
    (0.3679, 0.5379)
    """
    small = math.exp(-to_positive("local_epsilon", local_epsilon))
    return small if randomizer == "any" else 2 * small / (1 + small)


def shuffled_delta(
    epsilon: float,
    local_epsilon: float,
    n: int,
    randomizer: Randomizer = "any",
    unseen: float = 1e-15,
    enough: float = 0.0,
) -> float:
    """The δ of n shuffled messages at this ε; `unseen` is the probability of what is left out, which is added.

    Who asks only whether δ is at most `enough` is answered sooner: with a number that is on the same side of it.

    **Guarantee**: shuffled messages of a randomizer of pure loss `local_epsilon` are (epsilon, δ)-private, for any
    randomizer or for randomized response of bits; idealized floats, rounded upwards.

    >>> for randomizer in ("any", "response", "exact_response"):
    ...     print(f"{shuffled_delta(0.5, 2.0, 1000, randomizer):.2e}")
    3.93e-06
    8.65e-09
    9.04e-11
    """
    from scipy.stats import binom

    if randomizer not in RANDOMIZERS:
        raise InvalidValue("randomizer", randomizer, f"one of {', '.join(map(repr, RANDOMIZERS))}")
    local_epsilon, n = to_positive("local_epsilon", local_epsilon), to_whole("n", n, 1, RANDOMIZERS[randomizer])
    if not epsilon >= 0:
        raise InvalidValue("epsilon", epsilon, "a number of at least 0")
    if not 1e-110 <= unseen < 1:
        raise InvalidValue("unseen", unseen, "a probability of at least 1e-110 and below 1")
    if epsilon >= local_epsilon:
        return 0.0
    if randomizer == "exact_response":  # found from above, which may be above the bound where both are nearly alike
        bound = shuffled_delta(epsilon, local_epsilon, n, "response", unseen)
        return min(bound, worst_response_delta(epsilon, local_epsilon, n, unseen, enough))
    share = clone_probability(local_epsilon, randomizer)
    low, high = find_likely_range(n - 1, share, unseen / 2)
    counts = np.arange(low, high + 1)
    first = np.arange(0, counts.size, 1 + counts.size // GROUPS)
    mass, clones = np.add.reduceat(binom.pmf(counts, n - 1, share), first), counts[first]
    left = binom.cdf(low - 1, n - 1, share) + binom.sf(high, n - 1, share)
    return min(1.0, float((mass * divergence_among(clones, epsilon, local_epsilon)).sum() + left))


def divergence_among(clones: np.ndarray, epsilon: float, local_epsilon: float) -> Floats:
    """The δ at which a message hides among each number of clones: a difference of two binomial tails."""
    from scipy.stats import binom

    rise, fall = weigh_neighbours(epsilon, local_epsilon)
    first = np.ceil((clones + 1) * fall / (rise + fall))  # where rise b(a - 1) is above fall b(a)
    more, less = rise * binom.sf(first - 2, clones, 0.5), fall * binom.sf(first - 1, clones, 0.5)
    answer: Floats = np.maximum(more * (1 + TAIL_MARGIN) - less * (1 - TAIL_MARGIN), 0.0)
    return answer


def is_private(epsilon: float, local_epsilon: float, n: int, delta: float, randomizer: Randomizer) -> bool:
    """Whether n shuffled messages are (epsilon, delta)-private."""
    return shuffled_delta(epsilon, local_epsilon, n, randomizer, UNSEEN_CLONES * delta, delta) <= delta


def shuffled_epsilon(local_epsilon: float, n: int, delta: float, randomizer: Randomizer = "any") -> float:
    """The least ε at this δ of n shuffled messages of pure loss `local_epsilon`, to one part in 10⁴, from above.

    >>> round(shuffled_epsilon(4.0, 10**5, 1e-6), 4)  # the authors' program: between 0.1675 and 0.1728
    0.1698
    """
    check_delta(delta)
    return _least(
        lambda epsilon: is_private(epsilon, local_epsilon, n, delta, randomizer),
        to_positive("local_epsilon", local_epsilon),
    )


def local_epsilon_for(epsilon: float, n: int, delta: float, randomizer: Randomizer = "any") -> float:
    """The largest ε₀ on a device at which n shuffled messages are (ε, δ)-private, to one part in 10⁴, from below.

    >>> round(local_epsilon_for(1.0, 10**4, 1e-6), 3), round(local_epsilon_for(1.0, 10**4, 1e-6, "response"), 3)
    (4.797, 5.469)
    """
    check_delta(delta)
    low = high = to_positive("epsilon", epsilon)
    while is_private(epsilon, high, n, delta, randomizer):
        low, high = high, 1.5 * high
    while high > low * (1 + 1e-4):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_private(epsilon, middle, n, delta, randomizer) else (low, middle)
    return low


def closed_epsilon(local_epsilon: float, n: int, delta: float) -> float:
    """The closed form, for any randomizer, as the authors' program has it; ∞ where n is too small for it [FMT22].

        ε = ln(1 + (1 − e^{−ε₀}) / (1 + e^{−ε₀} / (1 + x)) x),   x = 8 √(e^{ε₀} ln(4/δ) / n) + 8 e^{ε₀} / n

    >>> round(closed_epsilon(4.0, 10**5, 1e-6), 6), closed_epsilon(8.0, 10**4, 1e-6)
    (0.537804, inf)
    """
    check_delta(delta)
    small, log = math.exp(-to_positive("local_epsilon", local_epsilon)), math.log(4 / delta)
    if 16 * log > small * to_whole("n", n, 1):
        return math.inf
    x = 8 * math.sqrt(log / (small * n)) + 8 / (small * n)
    return math.log1p((1 - small) / (1 + small / (1 + x)) * x)


def check_delta(delta: float) -> None:
    """Raise unless this is a δ at which floats say something."""
    if not 1e-100 <= delta < 1:
        raise InvalidValue("delta", delta, "a probability of at least 1e-100 and below 1")


def _least(private: Callable[[float], bool], most: float) -> float:
    low, high = 0.0, most
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if private(middle) else (middle, high)
    return high

"""Randomized response behind a shuffler, exactly: the δ of a number of ones, some of which are false.

Each of n users sends a bit that is true with probability q = e^{ε₀} / (e^{ε₀} + 1), and a shuffler drops the senders.
So the server sees how many ones there are. If k of the other users have a one, they send S ones,

    S = Bin(k, q) + Bin(n − 1 − k, 1 − q).

Let P(z) be the probability that there are z ones if the first user has a one, and Q(z) if that user has none. Then

    P(z) − e^ε Q(z) = rise P(S = z − 1) − fall P(S = z),      rise = q − e^ε (1 − q),  fall = e^ε q − (1 − q).

S is a sum of independent bits, so P(S = z − 1) / P(S = z) grows with z, and this is above 0 from some z = t on. As fall
− rise = e^ε − 1, the δ at which P hides behind Q is

    δ_k = rise P(S = t − 1) − (e^ε − 1) P(S ≥ t).

Q hides behind P at δ_{n−1−k}, as is seen by counting zeros. So the δ of all n users is the largest δ_k.

Where it is largest takes a search. Most often that is where all others have what the first user may have, k = n − 1;
but ones are whole, and another k may fit t better. A server that sees fewer users can add the bits of the others
itself: so δ_k is at most what it would be if some of the k ones, and of the zeros, were not there. Ranges of k are
halved where this bound is largest, until it is that of one k, or near enough to what was found.
"""

import math
from bisect import bisect_left
from heapq import heappop, heappush

import numpy as np

from maskedbandit.core import Floats

CLOSE = 0.01  # relative: how far what is found may be above the largest δ; of ε that is less than a thousandth
MASS_MARGIN = 1e-9  # relative, above the error of a binomial probability in floating point


def weigh_neighbours(epsilon: float, local_epsilon: float) -> tuple[float, float]:
    """Rise and fall; `epsilon` is below `local_epsilon`.

    No difference of numbers that are nearly alike: rise is small where epsilon is close to local_epsilon.
    """
    small = math.exp(-local_epsilon)
    rise = -math.expm1(epsilon - local_epsilon) / (1 + small)
    return rise, (math.expm1(epsilon) - math.expm1(-local_epsilon)) / (1 + small)


def find_likely_range(users: int, chance: float, unseen: float) -> tuple[int, int]:
    """The range of a binomial number, which is below it, and above it, with a probability of at most `unseen` each.

    Not by `binom.isf`, which for a probability below 1e-16 says that all users are likely.
    """
    from scipy.special import betainc
    from scipy.stats import binom

    high = bisect_left(range(users), True, key=lambda x: bool(betainc(x + 1, users - x, chance) <= unseen))
    return int(binom.ppf(unseen, users, chance)), high


def count_false(users: int, local_epsilon: float, unseen: float) -> Floats:
    """The probabilities of the likely numbers of false bits; those that are left out add up to 2 `unseen` at most."""
    from scipy.stats import binom

    flip = 1 / (1 + math.exp(local_epsilon))
    low, high = find_likely_range(users, flip, unseen)
    mass: Floats = binom.pmf(np.arange(low, high + 1), users, flip)
    return mass


def response_delta_among(ones: int, zeros: int, epsilon: float, local_epsilon: float, unseen: float = 1e-16) -> float:
    """The δ of a user with a one, or with none, among so many others; rounded upwards.

    >>> from maskedbandit.theory.shuffled_response import response_delta_among
    >>> [round(response_delta_among(ones, 9 - ones, 0.5, 2.0), 4) for ones in (0, 4, 7, 8, 9)]
    [0.0908, 0.1236, 0.2124, 0.2223, 0.2183]
    """
    rise, fall = weigh_neighbours(epsilon, local_epsilon)
    # of S but for a constant: ones that are left, counted from the fewest, and zeros that became ones
    left, more = count_false(ones, local_epsilon, unseen)[::-1], count_false(zeros, local_epsilon, unseen)
    at_least = np.append(np.cumsum(more[::-1])[::-1], 0.0)

    def mass(z: int) -> float:
        first, last = max(0, z - more.size + 1), min(left.size - 1, z)
        return float(left[first : last + 1] @ more[z - last : z - first + 1][::-1])

    t = bisect_left(range(left.size + more.size - 1), True, lo=1, key=lambda z: rise * mass(z - 1) > fall * mass(z))
    tail = float(left @ at_least[np.clip(t - np.arange(left.size), 0, more.size)])
    found = rise * mass(t - 1) * (1 + MASS_MARGIN) - math.expm1(epsilon) * tail * (1 - MASS_MARGIN)
    return max(found, 0.0) + 4 * unseen


def worst_response_delta(epsilon: float, local_epsilon: float, n: int, unseen: float, enough: float = 0.0) -> float:
    """The largest δ_k, from above: by at most 2 `unseen` and one part in a hundred.

    With `enough` the search ends once it is known whether it is at most that.
    """

    def bound(low: int, high: int) -> float:
        return response_delta_among(low, n - 1 - high, epsilon, local_epsilon, unseen / 4)

    found, ranges = bound(n - 1, n - 1), [(-bound(0, n - 1), 0, n - 1)]
    if found > enough > 0:
        return found
    while True:
        largest, low, high = heappop(ranges)
        if low == high or -largest <= max(found * (1 + CLOSE) + unseen, enough):
            return min(1.0, -largest)
        middle = (low + high) // 2
        for part in ((low, middle), (middle + 1, high)):
            heappush(ranges, (-bound(*part), *part))

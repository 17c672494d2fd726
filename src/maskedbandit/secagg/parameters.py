"""How many neighbours a user needs, and how many of them must answer [BBG20], in exact integer arithmetic.

Of n users at most c are corrupted and at most d are lost, chosen before the ring is drawn. A user has k neighbours, a
random k of the n - 1 others, who hold key shares of its two seeds; any t of them recover a seed. The conditions are

    E1  secrecy      of any user's neighbours at most a are corrupted, and the threshold fits:
                       t > a                                    if the server follows the protocol
                       2t > k + a                               if it may lie, on the complete graph [BIK17]
                       3t > 2k + 2a + 1  and  2t > k + 2a + 2   if it may lie, on a sparse one (docs/secure_sums.md)
    E2  connection   the honest users who are left are connected on the ring
    E3  correctness  of any user's neighbours at most b are lost: t <= k - b

    P(not E1) <= n P(Hyp(n-1, c, k) > a)
    P(not E2) <= n(n-k-1)/2 C(n-k, c+d-k) / C(n, c+d)      two runs of k/2 bad users cut the ring
    P(not E3) <= n P(Hyp(n-1, d, k) > b)

**Guarantee**: P(not E1) and P(not E2) are each below 2^-(secrecy+1), P(not E3) is below 2^-correctness. On the complete
graph all three hold with certainty. If the server follows the protocol, E2 assumes that corrupted users do not choose
whom to lose after they have seen the ring. If the server may lie, secrecy rests on E1 alone, whoever is lost.

Google's published parameters draw neighbours from all n users instead of the n - 1 others, so its k is sometimes
smaller by 2. Its check of complete graphs asks for t >= n - d, where correctness needs t <= k - d. Its sparse graphs
have 2t > k + a under a lying server: no user's two secrets come out then, but parts of the sum may.
"""

from functools import lru_cache
from math import perm
from typing import NamedTuple

from maskedbandit.errors import InvalidValue


class Neighbourhood(NamedTuple):
    """How many neighbours each user has, and the least and the largest threshold allowed."""

    k: int
    least: int
    most: int


@lru_cache(maxsize=256)
def choose_neighbours(
    n: int,
    corrupted: int,
    lost: int,
    malicious: bool = False,
    secrecy: int = 40,
    correctness: int = 20,
    most: int | None = None,
) -> Neighbourhood:
    """The least even k below n - 1, and up to `most`, that a threshold fits, or else the complete graph.

    Raises `InvalidValue` if the complete graph does not suffice, as then no other does: some t fits if a + b < k, or
    a + 2b < k; the means kc/(n-1) and kd/(n-1) exceed a and b by k P(more) < 1/8 and 1/4 at most; so c + d < n - 1,
    or c + 2d < n - 1.

    >>> choose_neighbours(1000, corrupted=100, lost=100)
    Neighbourhood(k=48, least=27, most=28)
    >>> choose_neighbours(10, corrupted=3, lost=5)
    Neighbourhood(k=9, least=4, most=4)
    """
    for name, value in (("secrecy", secrecy), ("correctness", correctness)):
        if value < 2:
            raise InvalidValue(name, value, "at least 2: a failure in 4 rounds")
    safe = complete_graph(n, corrupted, lost, malicious)
    k = 2
    while k < n - 1 and (most is None or k <= most):
        a = _most(n, corrupted, k, secrecy + 1)
        b = _most(n, lost, k, correctness)
        found = Neighbourhood(k, sparse_threshold(k, a, malicious), k - b)
        short = found.least - found.most
        if short <= 0 and _connected(n, corrupted + lost, k, secrecy + 1):
            return found
        # a and b do not fall as k grows: two more neighbours make `short` less by 2 at most, or by 1 if malicious
        k += max(2, 2 * short if malicious else short + short % 2)
    return safe


def complete_graph(n: int, corrupted: int, lost: int, malicious: bool = False) -> Neighbourhood:
    """The complete graph, on which all conditions hold with certainty.

    >>> complete_graph(10, corrupted=3, lost=2, malicious=True)
    Neighbourhood(k=9, least=7, most=7)
    """
    if n < 3:
        raise InvalidValue("n", n, "at least 3 users")
    if not 0 <= corrupted <= n - 2:
        raise InvalidValue("corrupted", corrupted, f"from 0 to {n - 2} of {n} users: two must be honest")
    k = n - 1
    least = complete_threshold(k, corrupted, malicious)
    if not 0 <= lost <= k - least:
        raise InvalidValue("lost", lost, f"from 0 to {k - least} of {n} users, if {corrupted} are corrupted")
    return Neighbourhood(k, least, k - lost)


def complete_threshold(k: int, a: int, malicious: bool) -> int:
    """The least threshold with E1 on the complete graph, where a of the k neighbours are corrupted; at least 2."""
    return (k + a) // 2 + 1 if malicious else max(a + 1, 2)


def sparse_threshold(k: int, a: int, malicious: bool) -> int:
    """The least threshold with E1 on a sparse graph, where at most a of k neighbours are corrupted; at least 2."""
    return max((2 * k + 2 * a + 1) // 3 + 1, k // 2 + a + 2) if malicious else max(a + 1, 2)


def _most(n: int, marked: int, k: int, power: int) -> int:
    """The least a with n P(Hyp(n-1, marked, k) > a) < 2^-power: nobody has more than a marked neighbours.

    The probabilities are computed from the mode outwards, up to a factor, by
    P(j+1) / P(j) = (marked - j)(k - j) / ((j + 1)(n - marked - k + j)). Numbers have 128 bits more than the tail needs;
    the tail is rounded up, and the sum of all down.
    """
    one = 1 << power + 128
    mode, last = (k + 1) * (marked + 1) // (n + 1), min(k, marked)
    below, term = 0, one
    for j in range(mode - 1, -1, -1):
        term = term * (j + 1) * (n - marked - k + j) // ((marked - j) * (k - j))
        if term == 0:
            break
        below += term
    above = [one]
    for j in range(mode, last):
        above.append(-(-above[-1] * (marked - j) * (k - j) // ((j + 1) * (n - marked - k + j))))
        if above[-1] == 1:  # all further terms are 1 too
            break
    whole = below + sum(above) - len(above) ** 2  # each term is rounded up by less than their number
    j = mode + len(above) - 1
    more = last - j
    while True:
        more += above[j - mode]
        if n * more << power >= whole:
            return j
        j -= 1


def _connected(n: int, bad: int, k: int, power: int) -> bool:
    """Whether two runs of k/2 bad users that cut the ring in two have a probability below 2^-power.

    C(n-k, bad-k) / C(n, bad) is the product of (bad - i) / (n - i) for i < k.
    """
    if k > bad:
        return True
    return n * (n - k - 1) * perm(bad, k) << power < 2 * perm(n, k)

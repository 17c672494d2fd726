"""Split-and-mix: messages that add up to a device's value, and once shuffled reveal only their sum [IKOS06; BBGN20].

Each of n devices sends k messages that are uniform on Z_q, except that they add up to its value. The analyzer sees one
list of nk residues in random order, and adds them. Let U be uniform on the lists with the same sum: it can be simulated
from the sum alone. Whatever the values are,

    SD(what is seen, U) <= sqrt(E[q^(C-1)] - 1) / 2,

where C counts the components of a random k-regular bipartite multigraph on n + n nodes.

Proof. The list v is seen with probability E_π[Π_i q^(1-k) 1{block i of π sums to x_i}], π a random partition of the nk
positions into n blocks of k; U(v) is q^(1-nk). So the mean of (seen / U)^2 under U is, for two partitions π and π', the
mean of q^(2n-2) times the chance under U that all 2n equations hold. They are those of a graph whose nodes are the
blocks of π and of π', and whose edges are the positions: they have no solution, or q^(nk-2n+C) of the q^(nk-1) lists
with the right sum. So the mean is at most E[q^(C-1)], with equality if all x_i are alike. By Cauchy-Schwarz the bound
follows.

With A_a = (ak)! / (a!)^2, the component of a node of a random graph on n + n nodes has a + a of them with probability
(a/n) c_a w(n, a), where w(n, a) = A_a A_(n-a) / A_n and c_a is the chance that a graph on a + a nodes is connected. As
these add up to one, e(n) = E[q^(C-1)] - 1 obeys, with m = n - a,

    e(n) = sum_{m=1}^{n-1} (1 - m/n) c_(n-m) w(n, m) x(m),      x(m) = q - 1 + q e(m),      and each c is at most 1.

For n < 2M this is computed, rounded upwards. For larger n, w(n, m) = w(n, n-m) falls in m up to n/2, as A_a is
log-convex; and in n, like w(n, m) n if k >= 3, as w(n+1, m) / w(n, m) <= (1 - m/(n+1))^(k-2). Hence, if e <= 1 from M
up to n - 1, then e(n) is at most

    r(n) = sum_{m<M} w(n, m) x(m)  +  2q ( n w(n, M) + sum_{a<M} (a/n) w(n, a) ),

which falls in n. So if e <= 1 from M to 2M - 1 and r(2M) <= 1, then e <= 1 from M on, and e <= r from 2M on.
The bound is sharp for small n, and near its first term, q n^2 k! ((n-1)k)! / (nk)!, for large n. It replaces the bound
of [BBGN20], which never needs fewer messages, and needs n >= 19.

A sum that is hidden to within eta is not the sum itself: if the sum is epsilon-private, then what is seen is
(epsilon, (1 + e^epsilon) eta)-private, and never purely so.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import count, islice
from math import factorial, perm

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.sampling import Bits

LEAST_COMPUTED, MOST_COMPUTED = (
    64,
    512,
)  # of the computed part of the bound; with too few messages it would have to be longer


def split_value(value: int, k: int, modulus: int, bits: Bits) -> list[int]:
    """k messages that add up to the value; any k - 1 of them are uniform and independent.

    >>> sum(split_value(5, k=9, modulus=16, bits=Bits())) % 16
    5
    """
    if type(k) is not int or k < 1:
        raise InvalidValue("k", k, "a whole number of at least 1")
    if type(value) is not int or not 0 <= value < modulus:
        raise InvalidValue("value", "outside", f"a whole number from 0 to {modulus - 1}")
    messages = [bits.below(modulus) for _ in range(k - 1)]
    return [*messages, (value - sum(messages)) % modulus]


@lru_cache(maxsize=1024)
def messages_needed(honest: int, modulus: int, eta: Fraction) -> int:
    """The least number k of messages for which the bound above is at most eta, for this many honest devices.

    **Guarantee**: what `honest` devices send, in random order, is within statistical distance eta of what can be
    simulated from their sum. More devices do no harm, as a simulator can add their messages.

    >>> [messages_needed(n, 2**20, Fraction(1, 2**40)) for n in (10, 100, 10**4, 10**6)]
    [24, 15, 9, 7]
    """
    if type(honest) is not int or honest < 2:
        raise InvalidValue("honest", honest, "a whole number of at least 2: a shuffle does not hide a single device")
    if type(modulus) is not int or not 1 < modulus <= 2**62:
        raise InvalidValue("modulus", modulus, "a whole number above 1 and at most 2^62")
    if type(eta) is not Fraction or not Fraction(1, 2**256) <= eta < 1:
        raise InvalidValue("eta", eta, "a Fraction of at least 2^-256 and below 1")
    most = 4 * eta**2
    digits = 2 * (eta.denominator.bit_length() - eta.numerator.bit_length()) + modulus.bit_length() + 64
    return next(k for k in count(2) if proves(honest, modulus, k, most, digits))


def first_term(n: int, q: int, k: int) -> Fraction:
    """A lower bound on the bound of e(n): its terms with a single block of each partition apart from the others."""
    alone = Fraction(n * n * factorial(k), perm(n * k, k))
    return (q - 1) * alone * (1 if n > 2 else Fraction(1, 2))


def proves(n: int, q: int, k: int, most: Fraction, digits: int) -> bool:
    """Whether this bound proves that e(n) <= `most`."""
    if first_term(n, q, k) > most or (n >= MOST_COMPUTED and (k < 3 or first_term(MOST_COMPUTED // 2, q, k) > 1)):
        return False  # no need to compute further
    unit = 1 << digits
    rows = excesses(q, k, unit)
    e, half = [0], LEAST_COMPUTED // 2
    while True:
        e += islice(rows, min(2 * half, n + 1) - len(e))
        if n < len(e):
            return e[n] <= most * unit
        if k >= 3 and max(e[half:]) <= unit and rest(2 * half, q, k, e[:half], unit) <= unit:
            return rest(n, q, k, e[:half], unit) <= most * unit
        if 2 * half == MOST_COMPUTED:
            return False
        half *= 2


def excesses(q: int, k: int, unit: int) -> Iterator[int]:
    """e(1), e(2), ... in fixed point, rounded upwards: one row of the recursion after another."""
    blocks = [perm(k, k)]  # (ak + k)! / (ak)!
    terms: list[int] = []  # (1 - m/n) w(n, m) x(m), for m = 1, ..., n - 1
    for n in count(1):
        e = sum(terms)
        yield e
        blocks.append(perm(n * k + k, k))
        # to the next row: w(n+1, m) / w(n, m) = ((n+1) / (n+1-m))^2 blocks[n-m] / blocks[n]
        for m, term in enumerate(terms, 1):
            terms[m - 1] = -(-term * n * (n + 1) * blocks[n - m] // ((n - m) * (n + 1 - m) * blocks[n]))
        x = (q - 1) * unit + q * e
        terms.append(-(-x * (n + 1) * blocks[0] // blocks[n]))


def rest(n: int, q: int, k: int, e: list[int], unit: int) -> int:
    """r(n) for M = len(e), in fixed point, rounded upwards."""
    fine = unit * max(e) + unit  # as w(n, m) may be as small as x(m) is large
    w, total = fine, 0
    for m in range(1, len(e) + 1):
        alone, others = perm(m * k, k), perm((n - m + 1) * k, k)
        w = -(-w * (n - m + 1) ** 2 * alone // (m**2 * others))
        if m < len(e):
            total += w * ((q - 1) * unit + q * e[m]) - (-2 * q * m * w * unit // n)
        else:
            total += 2 * q * n * w * unit
    return -(-total // fine)

"""A secret from shares of which some are wrong: the errors of a Reed-Solomon code [Gao03].

The shares at r points are the values of a polynomial of degree below t, but for e wrong ones. Let g be the product of
all X - x_i and h the polynomial through all shares. Euclid's algorithm on g and h, stopped at the first remainder of a
degree below (r + t) / 2, gives that remainder = (the polynomial) * (a multiple of the product over the wrong points).

**Guarantee**: the secret comes out whenever 2e <= r - t, whichever shares are wrong. Beyond that no answer is unique.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from maskedbandit.secagg.shamir import PRIME

Polynomial = list[int]  # coefficients, the constant one first; none is zero at the end


class Correction(NamedTuple):
    """A secret, and the points of the shares that are not its."""

    secret: int
    wrong: list[int]


def corrected(shares: Mapping[int, int], threshold: int, prime: int = PRIME) -> Correction | None:
    """The secret behind shares, by their points; None if too many are wrong for it to be told.

    >>> from maskedbandit.privacy.sampling import Bits
    >>> from maskedbandit.secagg.shamir import split
    >>> shares = dict(enumerate(split(7, 2, range(1, 7), Bits()), start=1))
    >>> corrected(shares | {2: 11, 5: 12}, threshold=2)
    Correction(secret=7, wrong=[2, 5])
    """
    whole = [1]
    for x in shares:
        whole = product(whole, [-x % prime, 1], prime)
    last, rest, before, factor = whole, through(shares, whole, prime), list[int](), [1]
    while 2 * (len(rest) - 1) >= len(shares) + threshold:
        quotient, remainder = divided(last, rest, prime)
        last, rest = rest, remainder
        before, factor = factor, difference(before, product(quotient, factor, prime), prime)
    found, remainder = divided(rest, factor, prime)
    if remainder or len(found) > threshold:
        return None
    return Correction(value(found, 0, prime), [x for x, y in shares.items() if value(found, x, prime) != y % prime])


def through(shares: Mapping[int, int], whole: Polynomial, prime: int) -> Polynomial:
    """The polynomial through all shares, by Lagrange; `whole` is the product of all X - x."""
    total = [0] * len(shares)
    for x, y in shares.items():
        others, _ = divided(whole, [-x % prime, 1], prime)
        scale = y * pow(value(others, x, prime), -1, prime) % prime
        total = [(a + scale * b) % prime for a, b in zip(total, others, strict=True)]
    return trimmed(total)


def value(a: Polynomial, x: int, prime: int) -> int:
    """a(x)."""
    total = 0
    for coefficient in reversed(a):
        total = (total * x + coefficient) % prime
    return total


def product(a: Polynomial, b: Polynomial, prime: int) -> Polynomial:
    """a b."""
    total = [0] * max(0, len(a) + len(b) - 1)
    for i, left in enumerate(a):
        for j, right in enumerate(b):
            total[i + j] += left * right
    return trimmed([each % prime for each in total])


def difference(a: Polynomial, b: Polynomial, prime: int) -> Polynomial:
    """a - b."""
    size = max(len(a), len(b))
    padded = [each + [0] * (size - len(each)) for each in (a, b)]
    return trimmed([(left - right) % prime for left, right in zip(*padded, strict=True)])


def divided(a: Polynomial, b: Polynomial, prime: int) -> tuple[Polynomial, Polynomial]:
    """Quotient and remainder of a by b, which is not zero."""
    rest, quotient, inverse = list(a), [0] * max(0, len(a) - len(b) + 1), pow(b[-1], -1, prime)
    for shift in reversed(range(len(quotient))):
        factor = quotient[shift] = rest[shift + len(b) - 1] * inverse % prime
        for i, each in enumerate(b):
            rest[shift + i] = (rest[shift + i] - factor * each) % prime
    return trimmed(quotient), trimmed(rest[: len(b) - 1])


def trimmed(a: Polynomial) -> Polynomial:
    """Without zeros at the end."""
    while a and a[-1] == 0:
        a.pop()
    return a

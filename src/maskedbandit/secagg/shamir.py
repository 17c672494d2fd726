"""Shamir's secret sharing: any t key shares give the secret back, and t - 1 of them reveal nothing [Sha79].

    key share at x = secret + c_1 x + ... + c_{t-1} x^(t-1)  mod p,    c_i uniform below p

**Guarantee**: whatever the secret is, any t - 1 key shares are uniform and independent, against unlimited computing
power. An altered key share gives another secret, which is not noticed here: key shares travel sealed, and the protocol
checks every secret against a commitment.

The prime p = 2^130 - 5 is above all 16-byte secrets, and a key share takes 17 bytes. This is our own implementation
because the only one in a maintained library, PyCryptodome's, takes 50 to 100 times longer.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import accumulate
from operator import mul

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.sampling import Bits

PRIME = 2**130 - 5
KEY_SHARE = 17  # bytes of a key share, big-endian


def split_secret(secret: int, threshold: int, xs: Sequence[int], bits: Bits, prime: int = PRIME) -> list[int]:
    """The key share at each of the points `xs`; any `threshold` of them give the secret back.

    >>> key_shares = split_secret(7, 2, [1, 2, 3], Bits())
    >>> combine_shares(key_shares[1:], lagrange_weights([2, 3]))
    7
    """
    _check(xs, prime)
    if not 0 <= secret < prime:
        raise InvalidValue("secret", "hidden", "a whole number below the prime")
    if not 1 <= threshold <= len(xs):
        raise InvalidValue("threshold", threshold, f"from 1 to {len(xs)}, the number of key shares")
    coefficients = [bits.below(prime) for _ in range(threshold - 1)]
    key_shares = []
    for x in xs:
        y = 0
        for c in coefficients:  # points are small: one reduction is faster than a reduction at every step
            y = (y + c) * x
        key_shares.append((y + secret) % prime)
    return key_shares


def lagrange_weights(xs: Sequence[int], prime: int = PRIME) -> list[int]:
    """Lagrange's weights at 0: w_i = Π_{j≠i} x_j / (x_j - x_i), with one inversion for all of them.

    >>> lagrange_weights([1, 2, 3], prime=11)
    [3, 8, 1]
    """
    _check(xs, prime)
    # w_i = (Π x_j) / d_i, and 1 / d_i = (d_1 ... d_{i-1}) / (d_1 ... d_i)
    ds = [reduce(mul, [other - x for other in xs if other != x], x) % prime for x in xs]
    products = list(accumulate(ds, lambda product, d: product * d % prime, initial=1))
    rest = reduce(mul, xs) * pow(products.pop(), -1, prime) % prime  # (Π x_j) / (d_1 ... d_i)
    found = []
    for d, product in zip(reversed(ds), reversed(products), strict=True):
        found.append(product * rest % prime)
        rest = rest * d % prime
    return found[::-1]


def combine_shares(ys: Sequence[int], weights: Sequence[int], prime: int = PRIME) -> int:
    """The secret of the key shares `ys`, given the weights of their points: a wrong key share gives a wrong secret.

    >>> combine_shares([5, 3], lagrange_weights([1, 2], prime=11), prime=11)
    7
    """
    if len(ys) != len(weights):
        raise InvalidValue("ys", f"{len(ys)} key shares", f"{len(weights)}, one for each weight")
    return sum(map(mul, ys, weights)) % prime


def _check(xs: Sequence[int], prime: int) -> None:
    if not xs or min(xs) < 1 or max(xs) >= prime or len(set(xs)) < len(xs):
        raise InvalidValue("xs", list(xs), "different whole numbers above 0 and below the prime")

"""The key shares that came back, and the seeds that they give.

A seed is right if it gives what its owner published. It is rebuilt from any t key shares, where t is the threshold. If
it is wrong, some key shares are: of r of them up to (r - t) / 2 may be wrong, and are corrected. With more wrong ones,
or if an owner published something else than it shared, the round ends; so any device can end a round.

**Correction** is decoding of a Reed-Solomon code [Gao03]. All but e of the key shares at r points are the values of one
polynomial of degree below t. Let g be the product of all X - x_i, and h the polynomial through all key shares. Euclid's
algorithm on g and h stops at the first remainder of degree below (r + t) / 2, which is the polynomial times a multiple
of the product of X - x_i over the wrong points.

**Guarantee**: the secret is found whenever 2e <= r - t, whichever key shares are wrong. Beyond that it is not unique.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from maskedbandit.errors import Disagreement, TooFew
from maskedbandit.secagg.masks import SEED
from maskedbandit.secagg.shamir import PRIME, combine_shares, lagrange_weights


class KeyShares:
    """All key shares that a server received."""

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        self.given: dict[int, dict[int, int]] = {}  # by the owner of the seed and by sender
        self.doubted: set[int] = set()  # senders of wrong key shares

    def add(self, owner: int, sender: int, key_share: bytes) -> None:
        """Keep the key share of the owner's seed that a neighbour sent."""
        if (y := int.from_bytes(key_share)) < PRIME:  # otherwise it is not one
            self.given.setdefault(owner, {})[sender] = y

    def rebuilt(
        self, owner: int, point: Callable[[int], int], publish: Callable[[bytes], bytes], published: bytes
    ) -> bytes:
        """The seed of a user; `point` gives the point of the polynomial at which a sender holds its key share."""
        given, t = self.given.get(owner, {}), self.threshold
        if len(given) < t:
            raise TooFew(f"{len(given)} key shares of a seed of user {owner} came back: {t} are needed")
        known = sorted(given, key=self.doubted.__contains__)  # doubted senders last, as correction takes long
        senders = {point(sender): sender for sender in known}
        key_shares = {x: given[sender] for x, sender in senders.items()}

        def right(secret: int) -> bool:
            return secret < 1 << 8 * SEED and publish(secret.to_bytes(SEED)) == published

        some = list(key_shares)[:t]
        secret = combine_shares([key_shares[x] for x in some], lagrange_weights(some))
        if not right(secret):
            found = corrected(key_shares, t)
            if found is None or not right(found.secret):
                raise Disagreement(f"the key shares of user {owner}'s seed do not give what the user published")
            secret = found.secret
            self.doubted |= {senders[x] for x in found.wrong}
        return secret.to_bytes(SEED)

    def clear(self) -> None:
        """Forget all key shares."""
        self.given.clear()


Polynomial = list[int]  # coefficients, the constant one first; none is zero at the end


@dataclass(frozen=True)
class Correction:
    """A secret, and the points of the key shares that do not belong to it."""

    secret: int = field(repr=False)
    wrong: list[int]


def corrected(key_shares: Mapping[int, int], threshold: int, prime: int = PRIME) -> Correction | None:
    """The secret of some key shares, which are given by point; None if too many are wrong.

    >>> from maskedbandit.privacy.sampling import Bits
    >>> from maskedbandit.secagg.shamir import split_secret
    >>> key_shares = dict(enumerate(split_secret(7, 2, range(1, 7), Bits()), start=1))
    >>> found = corrected(key_shares | {2: 11, 5: 12}, threshold=2)
    >>> found, found.secret
    (Correction(wrong=[2, 5]), 7)
    """
    whole = [1]
    for x in key_shares:
        whole = product(whole, [-x % prime, 1], prime)
    last, rest, before, factor = whole, through(key_shares, whole, prime), list[int](), [1]
    while 2 * (len(rest) - 1) >= len(key_shares) + threshold:
        quotient, remainder = divided(last, rest, prime)
        last, rest = rest, remainder
        before, factor = factor, subtract_polynomials(before, product(quotient, factor, prime), prime)
    found, remainder = divided(rest, factor, prime)
    if remainder or len(found) > threshold:
        return None
    return Correction(
        evaluate_polynomial(found, 0, prime),
        [x for x, y in key_shares.items() if evaluate_polynomial(found, x, prime) != y % prime],
    )


def through(key_shares: Mapping[int, int], whole: Polynomial, prime: int) -> Polynomial:
    """The polynomial through all key shares, by Lagrange; `whole` is the product of all X - x."""
    total = [0] * len(key_shares)
    for x, y in key_shares.items():
        others, _ = divided(whole, [-x % prime, 1], prime)
        scale = y * pow(evaluate_polynomial(others, x, prime), -1, prime) % prime
        total = [(a + scale * b) % prime for a, b in zip(total, others, strict=True)]
    return trimmed(total)


def evaluate_polynomial(a: Polynomial, x: int, prime: int) -> int:
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


def subtract_polynomials(a: Polynomial, b: Polynomial, prime: int) -> Polynomial:
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
    """The polynomial without zeros at its end."""
    while a and a[-1] == 0:
        a.pop()
    return a

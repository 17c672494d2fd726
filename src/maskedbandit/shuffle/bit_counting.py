"""Bit counting: a sum modulo m from anonymous bits, with almost no extra loss and no delta; for tiny m [CY21].

Each of n devices sends d bits, and the server counts the ones among all of them. The number of ones that a device sends
is that of d fair coins, changed a little so that its residue modulo m is the device's value x:

    c ~ Bin(d, 1/2),  o uniform below m,  B = the block of m successive counts that contains c and starts at o modulo m;
    with probability alpha(B) the device sends the count in B that is x modulo m, else c.

alpha is 0 for blocks within 2 m^2 of either end, 1 from 2d/5 to 3d/5, and smooth in between. With high probability all
devices change their counts, and the total number K of ones is the sum modulo m. In every case the distribution of K
depends on little more than the sum of the values. This is a relaxed secure sum [CZ23, App. C.2]: its relaxation is
eps_hat if for every sum s there is a distribution Q with |ln P(K | values) - ln Q(K)| <= eps_hat for all K and all
values that add up to s. Such a Q exists if and only if

    eps_hat >= max( ln max_K (high / low) / 2,  ln sum_K high,  - ln sum_K low ),

where high and low are the largest and the smallest P(K | values) over these values: Q must lie between high e^-eps_hat
and low e^eps_hat, and add up to one. `certificate` computes this for all values, in whole numbers; half of the
logarithm of the worst ratio alone is not enough. This is a reference, and proves nothing beyond the cases that are
computed; [CY21] proves a theorem, for other bits. Both need far too many bits: here d is at least 5 m^2, and for the
cohort sums of a study m is in the thousands.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact
from fractions import Fraction
from functools import cached_property
from math import comb

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.sampling import Bits

ALPHA_STEPS = 1 << 20  # alpha is a multiple of 1 / FINE
EXACT_CONTEXT = Context(
    prec=MAX_PREC, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact]
)  # a rounded product would be an error


@dataclass(frozen=True)
class BitCounting:
    """A device's randomizer, which turns a value below `modulus` into `messages` bits.

    **Guarantee**: for n devices and any values with the same sum modulo m, the distribution of the number of ones is
    the same within a factor e^eps_hat, where `certificate(n)` is e^(2 eps_hat). The number of ones is the sum modulo m,
    except with probability at most n `missed()`.

    >>> from math import log
    >>> tiny = BitCounting(modulus=2, messages=64)
    >>> f"{log(tiny.certificate(3)) / 2:.1e}, {float(3 * tiny.missed()):.1e}"
    '1.2e-03, 5.5e-03'
    """

    modulus: int
    messages: int

    def __post_init__(self) -> None:
        if type(self.modulus) is not int or not 2 <= self.modulus <= 64:
            raise InvalidValue("modulus", self.modulus, "a whole number from 2 to 64: above that use split-and-mix")
        least = 5 * self.modulus**2 + 5
        if type(self.messages) is not int or not least <= self.messages <= 2**16:
            raise InvalidValue("messages", self.messages, f"a whole number from {least} to 65536")

    @cached_property
    def chances(self) -> dict[int, int]:
        """FINE * alpha of each block, by its first count; for all other blocks alpha is 0."""
        m, d, found = self.modulus, self.messages, {}
        for first in range(d - m + 2):
            middle = Fraction(2 * first + m - 1, 2)
            t = (min(middle, d - middle) - 2 * m**2) * Fraction(5, 2 * d - 10 * m**2)
            if t > 0:
                t = min(t, Fraction(1))
                found[first] = round(ALPHA_STEPS * t**4 * (35 - 84 * t + 70 * t**2 - 20 * t**3))
        return found

    def randomize(self, value: int, bits: Bits) -> int:
        """How many of the device's bits are ones."""
        if type(value) is not int or not 0 <= value < self.modulus:
            raise InvalidValue("value", "outside", f"a whole number from 0 to {self.modulus - 1}")
        count = bits.below(1 << self.messages).bit_count()
        first = count - (count - bits.below(self.modulus)) % self.modulus
        if bits.below(ALPHA_STEPS) < self.chances.get(first, 0):
            return first + (value - first) % self.modulus
        return count

    def weights(self, value: int) -> list[int]:
        """The distribution of `randomize`, times `self.total`."""
        m, d = self.modulus, self.messages
        found = [0] * (d + 1)
        for count in range(d + 1):
            ways = comb(d, count)
            for first in range(count - m + 1, count + 1):  # one for each offset
                moved = self.chances.get(first, 0)
                found[count] += ways * (ALPHA_STEPS - moved)
                if moved:
                    found[first + (value - first) % m] += ways * moved
        return found

    @property
    def total(self) -> int:
        """The sum of `weights`."""
        return ALPHA_STEPS * self.modulus << self.messages

    def missed(self) -> Fraction:
        """The probability that a device does not change its count."""
        m, d = self.modulus, self.messages
        moved = sum(
            comb(d, count) * self.chances.get(first, 0)
            for count in range(d + 1)
            for first in range(count - m + 1, count + 1)
        )
        return 1 - Fraction(moved, self.total)

    def certificate(self, n: int) -> Fraction:
        """e^(2 eps_hat) for n devices, exactly, over all values up to their order."""
        if type(n) is not int or n < 1:
            raise InvalidValue("n", n, "a whole number of at least 1")
        whole, worst = pow(self.total, n), Fraction(1)
        bounds: dict[int, tuple[list[int], list[int]]] = {}
        for total, distribution in self.distributions(n):
            high, low = bounds.get(total % self.modulus, (distribution, distribution))
            bounds[total % self.modulus] = list(map(max, high, distribution)), list(map(min, low, distribution))
        for high, low in bounds.values():
            a, b = 1, 1
            for most, least in zip(high, low, strict=True):
                if most * b > a * least:
                    a, b = most, least
            if b == 0:
                raise InvalidValue(
                    "messages",
                    self.messages,
                    "more: some numbers of ones are possible for some values and not for others",
                )
            worst = max(worst, Fraction(a, b), Fraction(sum(high), whole) ** 2, Fraction(whole, sum(low)) ** 2)
        return worst

    def distributions(self, n: int) -> Iterator[tuple[int, list[int]]]:
        """For all n values in falling order: their sum, and the distribution of the number of ones times total^n.

        A distribution is one long integer with a slot for each number of ones, so that convolutions are products. Its
        digits are decimal, as Python multiplies such numbers much faster if they are long.
        """
        slot, size = len(str(Decimal(pow(self.total, n)))), n * self.messages + 1
        each = [
            Decimal("".join(str(Decimal(weight)).zfill(slot) for weight in self.weights(x)))
            for x in range(self.modulus)
        ]

        def extended(left: int, most: int, total: int, distribution: Decimal) -> Iterator[tuple[int, list[int]]]:
            if not left:
                digits = str(distribution).zfill(slot * size)
                yield total, [int(Decimal(digits[slot * i : slot * (i + 1)])) for i in range(size)]
            else:
                for x in range(most + 1):
                    yield from extended(left - 1, x, total + x, EXACT_CONTEXT.multiply(distribution, each[x]))

        return extended(n, self.modulus - 1, 0, Decimal(1))

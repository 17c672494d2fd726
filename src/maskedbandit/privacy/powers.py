"""Powers of e in fixed point, from below and from above: probabilities and losses that no rounding makes too small."""

from fractions import Fraction

FIXED_ONE = 1 << 192  # the number 1 in fixed point


def power_below(x: Fraction) -> int:
    """At most e^x, for x of at least 0: the series, cut off, with every term rounded down.

    >>> low, high = power_below(Fraction(1)), power_above(Fraction(1))
    >>> low < high, float(Fraction(low, FIXED_ONE)), high - low < 2**7
    (True, 2.718281828459045, True)
    """
    p, q = x.as_integer_ratio()
    total, term, i = FIXED_ONE, FIXED_ONE, 0
    while term:
        i += 1
        term = term * p // (q * i)
        total += term
    return total


def power_above(x: Fraction) -> int:
    """At least e^x, for x of at least 0: the series, with every term rounded up.

    It ends where terms halve at least, so that those left out come to no more than the last one.
    """
    p, q = x.as_integer_ratio()
    total, term, i = FIXED_ONE, FIXED_ONE, 0
    while term > 1 or i * q < 2 * p:
        i += 1
        term = -(-term * p // (q * i))
        total += term
    return total + term

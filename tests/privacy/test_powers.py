"""Powers of e are between their bounds, and these are close."""

from fractions import Fraction

from maskedbandit.privacy.powers import FIXED_ONE, power_above, power_below
from tests.for_each import for_each


@for_each("x", [Fraction(0), Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(8), Fraction(60)])
def test_powers_of_e_are_between_their_bounds(x) -> None:
    import mpmath

    mpmath.mp.dps = 90
    below, above = power_below(x), power_above(x)
    assert (
        below
        <= mpmath.exp(mpmath.mpf(x.numerator) / x.denominator) * FIXED_ONE
        <= above
        < below * (1 + Fraction(1, 10**30))
    )

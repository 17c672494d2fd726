"""An outcome as a whole number of steps, at random so that its mean is kept."""

from fractions import Fraction

from maskedbandit.privacy.sampling import Bits, bernoulli


def round_outcome(scaled: Fraction, steps: int, bits: Bits) -> int:
    """A number from 0 to 1 as whole steps: exact, as every coin of ours.

    >>> round_outcome(Fraction(1, 2), 4, Bits())
    2
    """
    whole, part = divmod(scaled * steps, 1)
    return int(whole) + bernoulli(part, bits)

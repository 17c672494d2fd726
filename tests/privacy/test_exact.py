"""Numbers mean what the user wrote."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.privacy.loss import Loss
from tests.for_each import for_each


@for_each(
    ("given", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (1e-3, Fraction(1, 1000)),
        (3, Fraction(3)),
        (np.int64(3), Fraction(3)),
        ("1/3", Fraction(1, 3)),
        ("0.25", Fraction(1, 4)),
        (Decimal("0.3"), Fraction(3, 10)),
        (Fraction(2, 7), Fraction(2, 7)),
    ],
)
def test_a_number_is_the_fraction_that_was_meant(given, meant) -> None:
    assert to_fraction("epsilon", given) == meant


@for_each("given", [np.int64(2**33 + 1), np.int16(7), Fraction(np.int64(2**33 + 1), np.int64(7))])
def test_numbers_of_numpy_do_not_overflow_later(given) -> None:
    """The loss of NumPy's 1 and 2^33 + 1 was that of a sensitivity of 2^17: the square overflowed."""
    found = to_fraction("epsilon", given)
    assert type(found.numerator) is int is type(found.denominator)
    assert found**9 == Fraction(int(given.numerator), int(given.denominator)) ** 9
    assert Loss.gaussian(np.int64(1), given) == Loss.gaussian(1, found)


@for_each(
    "wrong", [0, -1, -0.0, float("nan"), float("inf"), "x", "1/0", "1e999999999", "1e-999999999", None, True, [1], 1j]
)
def test_what_is_no_positive_number_is_refused_by_name(wrong) -> None:
    with pytest.raises(InvalidValue, match=r"epsilon is .*: it must be a finite number above 0"):
        to_fraction("epsilon", wrong)


def test_zero_is_allowed_where_it_makes_sense() -> None:
    assert to_fraction("fineness", 0, strict=False) == 0
    with pytest.raises(InvalidValue, match="of at least 0"):
        to_fraction("fineness", -1, strict=False)

"""A loss as one line of text, and back, without any loss of precision.

    maskedbandit-loss-1 delta=0 pure=1/2 curve=1/3,...,inf single=skellam:100:1

Numbers are decimal fractions in lowest terms, or `inf`. The curve is at the orders of version 1, which are `ORDERS`: a
change of the orders is a new version. Equal losses have equal texts.
"""

import re
from collections.abc import Iterable
from fractions import Fraction

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.renyi_divergences import INF, ORDERS, Bound
from maskedbandit.privacy.single_release import SingleRelease

LONGEST = 2**20  # characters of a text
DIGITS = 4000  # of a numerator or denominator: Python refuses to read a little more
Parts = tuple[tuple[Bound, ...], Bound, Bound, frozenset[SingleRelease]]  # curve, pure ε, δ, single releases

_WHOLE = rf"[0-9]{{1,{DIGITS}}}"
_NUMBER = rf"(?:inf|{_WHOLE}(?:/{_WHOLE})?)"
_RELEASE = rf"[a-z_]{{1,20}}:{_NUMBER}:{_WHOLE}"
_TEXT = re.compile(
    rf"maskedbandit-loss-1 delta=({_NUMBER}) pure=({_NUMBER})"
    rf" curve=({_NUMBER}(?:,{_NUMBER}){{{len(ORDERS) - 1}}}) single=((?:{_RELEASE}(?:,{_RELEASE})*)?)"
)


def written(curve: Iterable[Bound], pure: Bound, delta: Bound, single: Iterable[SingleRelease]) -> str:
    """The text of these parts, or `InvalidValue` where it would be too long to be read again."""
    try:
        releases = sorted(f"{each.noise}:{each.variance}:{each.sensitivity}" for each in single)
        text = f"maskedbandit-loss-1 delta={delta} pure={pure} curve={','.join(map(str, curve))}"
        text += f" single={','.join(releases)}"
    except ValueError:  # more digits than Python writes
        text = ""
    if len(text) > LONGEST or not _TEXT.fullmatch(text):
        raise InvalidValue("loss", "too long", f"of at most {LONGEST} characters, and {DIGITS} digits in each number")
    return text


def parsed(text: str) -> Parts:
    """The parts that a text states, or `InvalidValue` unless it is exactly the output of `written` for them."""
    allowed = "text that Loss.to_text of this version wrote"
    if type(text) is not str:
        raise InvalidValue("loss", text, allowed)
    shown = text if len(text) <= 60 else f"{text[:60]}... ({len(text)} characters)"
    match = _TEXT.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise InvalidValue("loss", shown, allowed)
    try:
        delta, pure = map(_number, match.group(1, 2))
        curve = tuple(map(_number, match[3].split(",")))
        releases = (each.split(":") for each in match[4].split(",") if each)
        single = frozenset(SingleRelease(noise, Fraction(v), int(shift)) for noise, v, shift in releases)
        same = written(curve, pure, delta, single) == text
    except (ValueError, ZeroDivisionError):  # a variance of inf, or a denominator of 0
        same = False
    if not same:  # 2/4, 007, or releases in another order
        raise InvalidValue("loss", shown, allowed)
    return curve, pure, delta, single


def _number(text: str) -> Bound:
    return INF if text == "inf" else Fraction(text)

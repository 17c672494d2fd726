"""A loss as one line of text, and back, without any loss of precision.

    maskedbandit-loss-1 delta=0 pure=1/2 curve=1/3,...,inf single=skellam:100:1

Numbers are decimal fractions in lowest terms, or `inf`. The curve is at the orders of version 1, which are `ORDERS`: a
change of the orders is a new version. Equal losses have equal texts.
"""

import re
from collections.abc import Iterable
from fractions import Fraction

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.renyi_divergences import INF, ORDERS, Exact
from maskedbandit.privacy.single_release import SingleRelease

LONGEST_LOSS = 2**20  # characters of a text
LOSS_DIGITS = 4000  # of a numerator or denominator: Python refuses to read a little more
LossParts = tuple[tuple[Exact, ...], Exact, Exact, frozenset[SingleRelease]]  # curve, pure ε, δ, single releases

_WHOLE = rf"[0-9]{{1,{LOSS_DIGITS}}}"
_NUMBER = rf"(?:inf|{_WHOLE}(?:/{_WHOLE})?)"
_RELEASE = rf"[a-z_]{{1,20}}:{_NUMBER}:{_WHOLE}"
_TEXT = re.compile(
    rf"maskedbandit-loss-1 delta=({_NUMBER}) pure=({_NUMBER})"
    rf" curve=({_NUMBER}(?:,{_NUMBER}){{{len(ORDERS) - 1}}}) single=((?:{_RELEASE}(?:,{_RELEASE})*)?)"
)


def write_loss(curve: Iterable[Exact], pure: Exact, delta: Exact, single: Iterable[SingleRelease]) -> str:
    """The text of these parts, or `InvalidValue` where it would be too long to be read again."""
    try:
        releases = sorted(f"{each.noise}:{each.variance}:{each.sensitivity}" for each in single)
        text = f"maskedbandit-loss-1 delta={delta} pure={pure} curve={','.join(map(str, curve))}"
        text += f" single={','.join(releases)}"
    except ValueError:  # more digits than Python writes
        text = ""
    if len(text) > LONGEST_LOSS or not _TEXT.fullmatch(text):
        raise InvalidValue(
            "loss", "too long", f"of at most {LONGEST_LOSS} characters, and {LOSS_DIGITS} digits in each number"
        )
    return text


def parse_loss(text: str) -> LossParts:
    """The parts that a text states, or `InvalidValue` unless it is exactly the output of `write_loss` for them."""
    allowed = "text that Loss.to_text of this version wrote"
    if type(text) is not str:
        raise InvalidValue("loss", text, allowed)
    shown = text if len(text) <= 60 else f"{text[:60]}... ({len(text)} characters)"
    match = _TEXT.fullmatch(text) if len(text) <= LONGEST_LOSS else None
    if match is None:
        raise InvalidValue("loss", shown, allowed)
    try:
        delta, pure = map(_number, match.group(1, 2))
        curve = tuple(map(_number, match[3].split(",")))
        releases = (each.split(":") for each in match[4].split(",") if each)
        single = frozenset(SingleRelease(noise, Fraction(v), int(shift)) for noise, v, shift in releases)
        same = write_loss(curve, pure, delta, single) == text
    except (ValueError, ZeroDivisionError):  # a variance of inf, or a denominator of 0
        same = False
    if not same:  # 2/4, 007, or releases in another order
        raise InvalidValue("loss", shown, allowed)
    return curve, pure, delta, single


def _number(text: str) -> Exact:
    return INF if text == "inf" else Fraction(text)

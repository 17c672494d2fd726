"""Numbers and times in words, for the page."""

import math
from datetime import UTC, datetime

from markupsafe import Markup

from maskedbandit.privacy.loss import Loss

TIME_UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1000, "second"))


def say_count(number: int) -> str:
    """A whole number in groups of three digits.

    >>> say_count(1234567).split()
    ['1', '234', '567']
    """
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def say_things(number: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> say_things(1, "person", "people"), say_things(2, "cohort")
    ('1 person', '2 cohorts')
    """
    return f"{say_count(number)} {one if number == 1 else many or one + 's'}"


def say_part(many: int, people: int) -> str:
    """How many of so many.

    >>> say_part(900, 900), say_part(5, 900)
    ('all 900', '5 of 900')
    """
    return f"all {say_count(people)}" if many == people else f"{say_count(many)} of {say_count(people)}"


def say_decimal(number: float, digits: int = 3) -> str:
    """A number with so many digits, and a real minus sign.

    >>> say_decimal(-0.01234), say_decimal(1234.5, 5)
    ('\N{MINUS SIGN}0.0123', '1234.5')
    """
    return f"{number:.{digits}g}".replace("-", "\N{MINUS SIGN}")


def say_fixed(number: float, error: float) -> str:
    """A number with as many digits as make sense with such an error.

    >>> say_fixed(0.12345, 0.034), say_fixed(-123.456, 12), say_fixed(12.345, 1.2)
    ('0.123', '−123', '12.3')
    """
    digits = max(1 - math.floor(math.log10(error)), 0) if error > 0 else 3
    return f"{number:.{digits}f}".replace("-", "−")


def loss(lost: Loss) -> str:
    """A loss that is not broken within a number.

    >>> loss(Loss.approximate(1, 1e-6)).replace("\N{NO-BREAK SPACE}", "_")
    'ε_=_1 at δ_=_1e-06'
    """
    return str(lost).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def say_epsilon(number: float | None) -> str:
    """An ε of an audit; None is one that has no end.

    >>> say_epsilon(1.0), say_epsilon(0.78271), say_epsilon(None)
    ('1', '0.783', 'no end')
    """
    return "no end" if number is None else f"{number:.3g}"


def say_percent(part: float) -> str:
    """A share.

    >>> [say_percent(part).split() for part in (0.123, 0.9999, 1)]
    [['12', '%'], ['over', '99', '%'], ['100', '%']]
    """
    if 0 < part < 0.01:
        return "under\N{NO-BREAK SPACE}1\N{NO-BREAK SPACE}%"
    if 0.99 < part < 1:
        return "over\N{NO-BREAK SPACE}99\N{NO-BREAK SPACE}%"
    return f"{100 * part:.0f}\N{NO-BREAK SPACE}%"


def say_duration(milliseconds: int) -> str:
    """A length of time in its largest unit.

    >>> say_duration(5_400_000), say_duration(1000), say_duration(0)
    ('1.5 hours', '1 second', '0 seconds')
    """
    for unit, name in TIME_UNITS:
        if milliseconds >= unit or unit == 1000:
            number = f"{milliseconds / unit:.3g}"
            return f"{number} {name}{'' if number == '1' else 's'}"
    raise AssertionError


def say_span(start: int, end: int) -> Markup:
    """From a time to another, in UTC."""
    first, last = (datetime.fromtimestamp(at / 1000, UTC) for at in (start, end))
    until = last.strftime("%H:%M" if first.date() == last.date() else "%-d %b %Y, %H:%M")
    return Markup("{} to {}").format(first.strftime("%-d %b %Y, %H:%M"), until)


def say_day(day: str) -> str:
    """A day that is written with digits.

    >>> say_day("2026-11-06")
    '6 Nov 2026'
    """
    return datetime.fromisoformat(day).strftime("%-d %b %Y")


def say_time(at: int, seconds: bool = False) -> Markup:
    """A time in UTC."""
    time = datetime.fromtimestamp(at / 1000, UTC)
    text = time.strftime("%-d %b %Y, %H:%M:%S" if seconds else "%-d %b %Y, %H:%M")
    return Markup('<time datetime="{}">{}\N{NO-BREAK SPACE}UTC</time>').format(time.isoformat(), text)


def one_line(text: str) -> str:
    """A text as it can be read: on one line, and what is not seen, such as marks that turn it around, spelled out.

    >>> one_line("which is best?\\n\\nthe\\u202e first")
    'which is best? the\\\\u202e first'
    """
    line = " ".join(text.split())
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)

"""The compiled loop that reads visits from lines of text.

    1241160900 109513 0 |user 2:0.000012 3:0.000000 ... 1:1.000000 |109498 2:0.306008 ... 1:1.000000 |109509 ...
    time, article shown, click, |user and the user's features, and the candidates with their features

Nine tenths of a line are its candidates, and they are nearly always those of the line before, byte by byte. So they are
compared, not read: the loop stops at candidates that are new, and continues when its caller has read them.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import Integers, kernel

READING_ENDS, FULL, CANDIDATES = 0, 1, 2  # why the loop stopped; a larger number: the line is not a visit
WRONG_TIME, SHOWN, CLICK, USER, FEATURE = 3, 4, 5, 6, 7
WHAT_IS_WRONG = {
    WRONG_TIME: "begins with a whole number of seconds",
    SHOWN: "has the article shown, a whole number, as its second word",
    CLICK: "has 0 or 1 for the click as its third word",
    USER: "has |user as its fourth word",
    FEATURE: "has user features NUMBER:VALUE, with different numbers from 1 to 6 and plain decimal values",
    CANDIDATES: "has candidates |NUMBER with features NUMBER:VALUE, with different numbers from 1 to 6",
}
MOST_DIGITS = 18  # as many fit an integer of 64 bits
FEATURES = 6


class VisitColumns(NamedTuple):
    """Columns of visits, with space for a part of a log."""

    time: Integers
    arm: npt.NDArray[np.int32]
    click: npt.NDArray[np.uint8]
    pool: npt.NDArray[np.int32]
    user: npt.NDArray[np.float32]


class Pool(NamedTuple):
    """The candidates of the line before: their text, ids, rows in the table of articles, and the number of the pool."""

    text: npt.NDArray[np.uint8]
    ids: Integers
    arms: Integers
    number: Integers  # one; -1 if there was none


class Position(NamedTuple):
    """The state of the loop and its counts: arrays of one number each, as compiled code cannot change other fields."""

    next: Integers  # the first byte of the line to read next
    line: Integers  # lines before it
    filled: Integers  # rows of `Visits` in use
    latest: Integers  # time of the visit before
    tail: Integers  # where it stopped: candidates begin,
    end: Integers  # and the line ends
    blank: Integers  # lines of nothing
    absent: Integers  # visits whose article was no candidate
    earlier: Integers  # visits with a time before that of the visit before
    partial: Integers  # visits without all user features


@kernel
def is_blank_byte(byte: int) -> bool:
    """Whether a byte separates words: a space, a tab or a carriage return."""
    return byte == 32 or byte == 9 or byte == 13


@kernel
def skipped(text: npt.NDArray[np.uint8], i: int) -> int:
    """The position where the next word begins, or the line ends."""
    while is_blank_byte(text[i]):
        i += 1
    return i


@kernel
def ended(text: npt.NDArray[np.uint8], i: int) -> int:
    """Where the line ends."""
    while text[i] != 10:
        i += 1
    return i


@kernel
def read_whole_number(text: npt.NDArray[np.uint8], i: int) -> tuple[int, int]:
    """The whole number that begins here, and where it ends; -1 for the end if there is none."""
    start, number = i, 0
    while 48 <= text[i] <= 57 and i - start <= MOST_DIGITS:
        number = 10 * number + int(text[i]) - 48
        i += 1
    if i == start or i - start > MOST_DIGITS:
        return number, -1
    return number, i


@kernel
def read_decimal(text: npt.NDArray[np.uint8], i: int) -> tuple[float, int]:
    """The decimal number that begins here, and where it ends; -1 for the end if there is none.

    Digits are read as one integer and divided by a power of ten. Up to 2^53 both are exact, so the quotient is what
    Python reads; a larger integer is rounded before it is divided, and the quotient may be next to what Python reads.
    """
    sign, scale, digits, number = 1.0, 1.0, 0, 0
    if text[i] == 45:
        sign = -1.0
        i += 1
    point = False
    while digits <= MOST_DIGITS:
        if 48 <= text[i] <= 57:
            number = 10 * number + int(text[i]) - 48
            digits += 1
            if point:
                scale *= 10.0
        elif text[i] == 46 and not point and digits > 0:
            point = True
        else:
            break
        i += 1
    if digits == 0 or digits > MOST_DIGITS:
        return 0.0, -1
    return sign * number / scale, i


@kernel
def same(text: npt.NDArray[np.uint8], i: int, end: int, known: npt.NDArray[np.uint8]) -> bool:
    """Whether the bytes at i are the known ones; all are compared, as that can be done many at a time."""
    if i + known.size > end:
        return False
    difference = 0
    for j in range(known.size):
        difference |= int(text[i + j]) ^ int(known[j])
    return difference == 0


@kernel
def features(text: npt.NDArray[np.uint8], i: int, user: npt.NDArray[np.float32]) -> tuple[int, int]:
    """Read features up to a | or the end of the line; returns its position (-1: malformed) and their number.

    Missing features are 0, except for the first, a constant 1.
    """
    seen = 0
    user[:] = 0
    user[0] = 1
    count = 0
    while True:
        i = skipped(text, i)
        if text[i] == 124 or text[i] == 10:
            return i, count
        f = int(text[i]) - 49
        if f < 0 or f >= FEATURES or text[i + 1] != 58 or seen >> f & 1:
            return -1, count
        seen |= 1 << f
        count += 1
        value, i = read_decimal(text, i + 2)
        if i < 0 or not (is_blank_byte(text[i]) or text[i] == 10 or text[i] == 124):
            return -1, count
        user[f] = value


@kernel
def read_line_head(text: npt.NDArray[np.uint8], i: int, row: int, visits: VisitColumns) -> tuple[int, int, int]:
    """Read a line up to its candidates; returns their position (or minus the error), the article, and the features."""
    time, i = read_whole_number(text, i)
    if i < 0 or not is_blank_byte(text[i]):
        return -WRONG_TIME, 0, 0
    shown, i = read_whole_number(text, skipped(text, i))
    if i < 0 or not is_blank_byte(text[i]):
        return -SHOWN, 0, 0
    click, i = read_whole_number(text, skipped(text, i))
    if i < 0 or click > 1 or not is_blank_byte(text[i]):
        return -CLICK, 0, 0
    i = skipped(text, i)
    for byte in (124, 117, 115, 101, 114):  # |user
        if text[i] != byte:
            return -USER, 0, 0
        i += 1
    if not (is_blank_byte(text[i]) or text[i] == 10):
        return -USER, 0, 0
    i, count = features(text, i, visits.user[row])
    if i < 0:
        return -FEATURE, 0, 0
    visits.time[row], visits.click[row] = time, click
    return i, shown, count


def read_lines(text: npt.NDArray[np.uint8], end: int, pool: Pool, position: Position, visits: VisitColumns) -> int:
    """Read whole lines, up to `end`, until all are read, the columns are full, or the caller has to read a line."""
    i = position.next[0]
    while i < end:
        position.next[0] = i
        i = skipped(text, i)
        if text[i] == 10:
            position.blank[0] += 1
            position.line[0] += 1
            i += 1
            continue
        row = position.filled[0]
        if row == visits.time.size:
            return FULL
        i, shown, count = read_line_head(text, i, row, visits)
        if i < 0:
            position.end[0] = ended(text, position.next[0])
            return -i
        tail = i
        known = pool.number[0] >= 0 and same(text, i, end, pool.text)
        if known:
            i = skipped(text, i + pool.text.size)
            known = text[i] == 10
        if not known:
            position.tail[0], position.end[0] = tail, ended(text, tail)
            return CANDIDATES
        position.line[0] += 1
        i += 1
        arm = -1
        for j in range(pool.ids.size):
            if pool.ids[j] == shown:
                arm = pool.arms[j]
        if arm < 0:
            position.absent[0] += 1
            continue
        if count < FEATURES:
            position.partial[0] += 1
        if visits.time[row] < position.latest[0]:
            position.earlier[0] += 1
        position.latest[0] = visits.time[row]
        visits.arm[row], visits.pool[row] = arm, pool.number[0]
        position.filled[0] += 1
    position.next[0] = i
    return READING_ENDS

"""The control arm of a study: a fixed share of all places, whatever the policy does.

    [[arms]]
    name = "plain"
    share = "1/10"                   # this arm is the control: one place in ten

The policy knows the other arms alone: it is never asked about the control, nor told its releases, and its horizon is
the people who are left to it. Whenever the policy asks for cohorts, the driver adds one of the control, which is dealt
together with them: in random order, over the same people. So what an arm has more than the control is a difference of
the same people.

Of P places that the policy asked for so far, the control is due share / (1 - share) P, rounded down. What is due waits
until it is worth a cohort: it has as many places as the smallest cohort with which it would be dealt, or so many that
the noise of a release is small beside how much people differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from maskedbandit.core import TOGETHER, Decision
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law, is_response
from maskedbandit.noise_bounds import deviation
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.study.naming import refuse_number_texts

QUIET = 16  # people for each unit of variance of the noise, which is then a quarter of what theirs can be, or less


class Control(NamedTuple):
    """Which arm is the control, and which share of all places it has.

    >>> control = Control(2, Fraction(1, 10))
    >>> control.due(900), control.due(1000)
    (100, 111)
    """

    arm: int
    share: Fraction

    @classmethod
    def of(cls, arms: Iterable[Any]) -> Control | None:
        """The control of these [[arms]] tables, if one of them has a share."""
        found: Control | None = None
        for number, arm in enumerate(arms):
            if "share" not in arm:
                continue
            name, given = f"share of arm {number + 1}", arm["share"]
            refuse_number_texts({name: given})
            if (share := to_fraction(name, given)) >= 1:
                raise InvalidValue(name, given, "above 0 and below 1")
            if found is not None:
                raise InvalidValue(name, given, "left out: at most one arm has a share, which is the control")
            found = cls(number, share)
        return found

    @property
    def name(self) -> str:
        """What an error calls its share."""
        return f"share of arm {self.arm + 1}"

    def due(self, placed: int) -> int:
        """How many places the control is to have when the policy has asked for so many."""
        return math.floor(placed * self.share / (1 - self.share))

    def join(self, group: list[Decision], law: Law, placed: int, given: int) -> list[Decision]:
        """The decisions of a group that is dealt together, with one for the control if it is due.

        Before it the policy had asked for so many `placed`, and the control was `given` so many.
        """
        sizes = [each.n for each in group]
        n = self.due(placed + sum(sizes)) - given
        if n < count_enough(law, min(sizes)):
            return group
        *rest, last = group
        if last.close:
            last = last._replace(close=TOGETHER)
        return [*rest, last, Decision(self.arm, n, 1)]


def count_left(control: Control | None, people: int | None, placed: int = 0) -> int | None:
    """How many people are left to the policy, so that the control may have its share of those who have no place yet.

    >>> count_left(Control(2, Fraction(1, 10)), 1005), count_left(None, 1005, 5), count_left(None, None)
    (904, 1000, None)
    """
    if people is None:
        return None
    return people - placed if control is None else math.floor((people - placed) * (1 - control.share))


def share_left(control: Control | None) -> float:
    """Which part of the people who come are left to the policy."""
    return 1.0 if control is None else float(1 - control.share)


def count_enough(law: Law, smallest: int) -> int:
    """How many places make a cohort that can be dealt together with others of which the smallest has so many.

    >>> from maskedbandit.channels.central import Central
    >>> count_enough(Central(epsilon=1).law(), 1000), count_enough(Central(epsilon=1).law(), 4)
    (32, 4)
    """
    if law.root > 0:  # the size decides the noise, or the price
        return smallest
    noise = 0.0 if is_response(law) else deviation(law._replace(per_pull=0.0), 1, smallest) ** 2
    return min(smallest, max(math.ceil(round(QUIET * noise, 6)), 1))

"""Who may be enrolled: by what is known of a person, by a part of all people, and more of them from step to step.

    [enrolment]
    default = "plain"                # the arm of whoever is not enrolled; left out: the first
    ramp = { shares = ["1/20", "1/4"], every = "1 day" }             # and everybody after the last step
    group = { name = "checkout", least = 0, below = "1/2" }          # a part of the people of the project

    [enrolment.eligible]             # rules.py: of what the application says of a person, all of it must hold
    country = ["DE", "AT"]
    age = { least = 18 }

Nothing here is an outcome, or follows from one. A person's lot is a number in [0, 1), which a keyed hash of the person
draws once for the ramp of a study and once for a group: so it is the same whenever and wherever it is asked for, and
nothing of it is stored. In the ramp are those whose lots are below the share of the present step. As shares rise,
whoever is in the ramp stays there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.person_attributes import PersonAttributes
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.study.eligibility import EligibilityRule, read_eligibility
from maskedbandit.study.naming import check_study_name, refuse_number_texts, refuse_unknown
from maskedbandit.study.reward import MILLISECONDS, parse_duration

NotEnrolled = Literal["not_eligible", "other_study", "not_yet"]
MOST_RAMP_STEPS = 100
ENROLMENT_PARTS = ("ramp", "group", "eligible")


class PersonLots(NamedTuple):
    """The lots of a person, each in [0, 1)."""

    group: Fraction = Fraction(0)
    ramp: Fraction = Fraction(0)


class Ramp(NamedTuple):
    """The shares of people who may be enrolled, one after the other; after the last of them it is everybody.

    >>> ramp = Ramp.from_table({"shares": ["1/20", "1/4"], "every": "1 day"})
    >>> [str(ramp.share_after(hours * 3_600_000)) for hours in (0, 23, 24, 48)]
    ['1/20', '1/20', '1/4', '1']
    """

    shares: tuple[Fraction, ...]
    every: int  # milliseconds

    @classmethod
    def from_table(cls, given: Any) -> Ramp:
        """The `ramp` of an [enrolment] table."""
        if not isinstance(given, dict):
            raise InvalidValue("ramp", given, 'such as { shares = ["1/20", "1/4"], every = "1 day" }')
        refuse_unknown("key of ramp", given, ("shares", "every"))
        listed = given.get("shares")
        if not isinstance(listed, list) or not 1 <= len(listed) <= MOST_RAMP_STEPS:
            raise InvalidValue("shares of the ramp", listed, f'1 to {MOST_RAMP_STEPS} of them in a list, as ["1/20"]')
        for each in listed:
            refuse_number_texts({"a share of the ramp": each})
        shares = tuple(to_fraction("a share of the ramp", each) for each in listed)
        if any(after <= before for before, after in zip(shares, (*shares[1:], Fraction(1)), strict=True)):
            raise InvalidValue("shares of the ramp", listed, "each larger than the one before, and all below 1")
        return cls(shares, parse_duration("every of the ramp", given.get("every"), MILLISECONDS["minute"]))

    def share_after(self, since: int) -> Fraction:
        """The share of people so many milliseconds after the start of the study."""
        step = since // self.every
        return self.shares[step] if step < len(self.shares) else Fraction(1)

    def stretch(self, time: float) -> float:
        """How long it takes until as many people were let in as come within so many milliseconds without a ramp.

        >>> ramp = Ramp((Fraction(1, 4), Fraction(1, 2)), 1000)
        >>> [ramp.stretch(time) for time in (0, 125, 250, 500, 750, 1750)]
        [0.0, 500.0, 1000.0, 1500.0, 2000.0, 3000.0]
        """
        for step, share in enumerate(self.shares):
            if time <= share * self.every:
                return step * self.every + float(time / share)
            time -= float(share * self.every)
        return len(self.shares) * self.every + float(time)


class PeopleGroup(NamedTuple):
    """A part of the people of a project; studies of one group that run at the same time have parts without overlap.

    >>> half = PeopleGroup.from_table({"name": "checkout", "below": "1/2"})
    >>> half, half.overlaps(PeopleGroup("checkout", Fraction(1, 2), Fraction(1))), half.overlaps(half)
    (PeopleGroup(name='checkout', least=Fraction(0, 1), below=Fraction(1, 2)), False, True)
    """

    name: str
    least: Fraction
    below: Fraction

    @classmethod
    def from_table(cls, given: Any) -> PeopleGroup:
        """The `group` of an [enrolment] table."""
        if not isinstance(given, dict):
            raise InvalidValue("group", given, 'such as { name = "checkout", least = 0, below = "1/2" }')
        refuse_unknown("key of group", given, ("name", "least", "below"))
        bounds = {key: given.get(key, usual) for key, usual in (("least", 0), ("below", 1))}
        refuse_number_texts(bounds)
        least, below = (to_fraction(f"{key} of the group", value, strict=False) for key, value in bounds.items())
        if below > 1:
            raise InvalidValue("below of the group", bounds["below"], "at most 1")
        if least >= below:
            raise InvalidValue("least of the group", bounds["least"], f"smaller than its below, {bounds['below']}")
        return cls(check_study_name("name of the group", given.get("name")), least, below)

    def overlaps(self, other: PeopleGroup) -> bool:
        """Whether a person may be in both."""
        return self.name == other.name and max(self.least, other.least) < min(self.below, other.below)


@dataclass(frozen=True)
class Enrolment:
    """Who may be enrolled, and the number of the arm that all others get.

    >>> found = Enrolment.from_table({"eligible": {"age": {"least": 18}}}, ("plain", "bold"))
    >>> found.default, found.turn_away({"age": 17}, PersonLots()), found.turn_away({"age": 18}, PersonLots())
    (0, 'not_eligible', None)
    """

    default: int = 0
    eligible: tuple[EligibilityRule, ...] = ()
    ramp: Ramp | None = None
    group: PeopleGroup | None = None

    @classmethod
    def from_table(cls, given: Any, arms: Sequence[str]) -> Enrolment:
        """The [enrolment] table of a protocol that has these arms."""
        if not isinstance(given, dict):
            raise InvalidValue("enrolment", given, "an [enrolment] table")
        refuse_unknown("key of [enrolment]", given, ("default", *ENROLMENT_PARTS))
        if not given.keys() & set(ENROLMENT_PARTS):
            raise InvalidValue("enrolment", given, "a table with eligible, ramp or group, or left out")
        default = given.get("default", arms[0])
        if default not in arms:
            raise InvalidValue("default of the enrolment", default, f"an arm of the study: {', '.join(arms)}")
        return cls(
            list(arms).index(default),
            read_eligibility(given["eligible"]) if "eligible" in given else (),
            Ramp.from_table(given["ramp"]) if "ramp" in given else None,
            PeopleGroup.from_table(given["group"]) if "group" in given else None,
        )

    def count_days(self, people: float, per_day: float) -> float:
        """How many days it takes to enrol so many people, if so many come on a day who are eligible.

        >>> Enrolment(group=PeopleGroup("g", Fraction(0), Fraction(1, 2))).count_days(1000, 100)
        20.0
        """
        part = 1 if self.group is None else float(self.group.below - self.group.least)
        days, day = people / (per_day * part), MILLISECONDS["day"]
        return days if self.ramp is None else self.ramp.stretch(days * day) / day

    def turn_away(self, attributes: PersonAttributes, lots: PersonLots, since: int = 0) -> NotEnrolled | None:
        """Why a person with these attributes and lots is not enrolled so long after the start; None: may be."""
        if not all(rule.holds(attributes) for rule in self.eligible):
            return "not_eligible"
        if self.group is not None and not self.group.least <= lots.group < self.group.below:
            return "other_study"
        if self.ramp is not None and lots.ramp >= self.ramp.share_after(since):
            return "not_yet"
        return None

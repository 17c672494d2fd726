"""How what is reported of a person becomes a reward, and by when.

A person may have several rewards while the window is open. With the rule "sum" they are added up, and the sum is cut at
`cap` times the most of one: that is the person's one reward, which enters one release. So what is promised of a reward
is promised of all that the person ever had in the study.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from maskedbandit.checks import is_number
from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.statistics import capped_sum
from maskedbandit.study.naming import refuse_unknown

MILLISECONDS = {
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}  # milliseconds
LONGEST_TIME = 10 * 366 * MILLISECONDS["day"]
MOST_OUTCOME = 1e15  # of an outcome: sums of those of many people are finite, and have a page
RULES = ("first", "last", "sum")
EVALUATING = ("exposes", "enrols")
REWARD_KEYS = ("least", "most", "rule", "cap", "default", "window", "exposure", "evaluating", "grace")


@dataclass(frozen=True)
class Reward:
    """How the reports of a person become a reward in [0, 1].

    **Guarantee**: it is in [0, 1] whatever the reports are, and however many.

    >>> sum_of_three = Reward(most=10, rule="sum")
    >>> sum_of_three.of([1, 2, 3]), sum_of_three.of([]), sum_of_three.of([9, 9])
    (0.6, 0.0, 1.0)
    >>> purchases = Reward(rule="sum", cap=4)  # of each person at most four count
    >>> purchases.of([1, 1, 1]), purchases.of([1] * 9), purchases.highest
    (0.75, 1.0, 4.0)
    """

    least: float = 0.0
    most: float = 1.0
    rule: Literal["first", "last", "sum"] = "last"
    default: float = 0.0
    window: int = MILLISECONDS["day"]
    exposure: int = 10 * MILLISECONDS["minute"]
    cap: int = 1
    evaluating: Literal["exposes", "enrols"] = "exposes"
    grace: int = 0  # milliseconds, for devices, which report what held at the end of the window

    @classmethod
    def from_table(cls, given: Any, of: str = "the reward") -> Reward:
        """The [reward] table of a protocol, or what a further outcome, which errors call so, has of it."""
        if not isinstance(given, dict):
            raise InvalidValue("reward", given, "a [reward] table")
        refuse_unknown("key of [reward]", given, REWARD_KEYS)
        bounds = {key: given.get(key, standard) for key, standard in (("least", 0), ("most", 1))}
        for key, value in bounds.items():
            if not is_number(value) or abs(value) > MOST_OUTCOME:
                raise InvalidValue(f"{key} of {of}", value, f"a number from {-MOST_OUTCOME:g} to {MOST_OUTCOME:g}")
        least, most = float(bounds["least"]), float(bounds["most"])
        default = given.get("default", least)
        if not least < most:
            raise InvalidValue(f"most of {of}", most, f"above its least, {least:g}")
        if not is_number(default) or not least <= default <= most:
            raise InvalidValue(f"default of {of}", default, f"a number from {least:g} to {most:g}")
        if (rule := given.get("rule", "sum" if "cap" in given else "last")) not in RULES:
            raise InvalidValue(f"rule of {of}", rule, f"one of {', '.join(RULES)}")
        cap = capped_sum(given.get("cap", 1)).cap
        if "cap" in given and rule != "sum":
            raise InvalidValue(f"rule of {of}", rule, "sum, or left out: a cap is of the sum of a person's rewards")
        if cap > 1 and least != 0:
            raise InvalidValue(f"least of {of}", least, "0, if there is a cap: the sum of no rewards is 0")
        window = parse_duration("window", given.get("window", "1 day"), 0)
        exposure = parse_duration("exposure", given.get("exposure", "10 minutes"), 0)
        if (evaluating := given.get("evaluating", "exposes")) not in EVALUATING:
            raise InvalidValue("evaluating", evaluating, f"one of {', '.join(EVALUATING)}")
        grace = parse_duration("grace", given.get("grace", "0 days"), 0)
        return cls(least, most, rule, float(default), window, exposure, cap, evaluating, grace)

    def allows(self, value: Any) -> bool:
        """Whether a report may say this."""
        return is_number(value) and self.least <= value <= self.most

    @property
    def taken_for(self) -> int:
        """How long after the arm was seen reports are taken."""
        return self.window + self.grace

    @property
    def highest(self) -> float:
        """What the reward of a person is at most."""
        return self.cap * self.most

    @property
    def width(self) -> float:
        """From the least to the highest reward of a person."""
        return self.highest - self.least

    def in_units(self, scaled: float) -> float:
        """A reward, or a mean of rewards, that was scaled to [0, 1], between the two bounds."""
        return self.least + scaled * self.width

    def reports(self, scaled: float) -> list[float]:
        """The fewest reports that make this reward.

        >>> Reward(rule="sum", cap=4).reports(0.625), Reward(least=1, most=5).reports(0.5)
        ([1.0, 1.0, 0.5], [3.0])
        """
        value, found = self.in_units(scaled), list[float]()
        while value > self.most and len(found) < self.cap - 1:
            found.append(self.most)
            value -= self.most
        return [*found, min(value, self.most)]

    def of(self, reports: list[float]) -> float:
        """The reward, scaled to [0, 1], of the reports of a person in the order in which they came."""
        if not reports:
            value = self.default
        elif self.rule == "sum":
            value = min(max(sum(reports), self.least), self.highest)
        else:
            value = reports[0 if self.rule == "first" else -1]
        return min(max((value - self.least) / self.width, 0.0), 1.0)


def parse_duration(name: str, value: Any, least: int) -> int:
    """A time such as "90 days" or "1.5 hours", in milliseconds.

    >>> parse_duration("window", "6 hours", 0)
    21600000
    """
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?) *([a-z]+?)s?", value) if isinstance(value, str) else None
    unit = MILLISECONDS.get(match[2]) if match else None
    found = round(float(match[1]) * unit) if match and unit else -1
    if not least <= found <= LONGEST_TIME:
        more = f", of at least {least // 1000} seconds" if least else ""
        raise InvalidValue(name, value, f'a time such as "90 minutes" or "2 days"{more} and of at most ten years')
    return found

"""Rules on what an application says of a person: who is eligible. They are frozen with the protocol.

    [enrolment.eligible]
    country = ["DE", "AT"]           # one of these texts
    plan = "pro"                     # this text
    beta = true                      # this one of true and false
    age = { least = 18, most = 65 }  # a number from the one to the other; either may be left out

All must hold. An attribute that is missing, or of another type, does not match; one that no rule names is not read.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from maskedbandit.checks import is_number
from maskedbandit.errors import InvalidValue
from maskedbandit.person_attributes import LONGEST_TEXT, MOST_ATTRIBUTES, PersonAttributes
from maskedbandit.study.naming import check_study_name, refuse_unknown
from maskedbandit.study.reward import MOST_OUTCOME

MOST_TEXTS = 300  # that one attribute may be: there are 249 countries
RULE_ALLOWED = "a text, a list of texts, true, false, or numbers such as { least = 18, most = 65 }"


class EligibilityRule(NamedTuple):
    """What an attribute must be: one of some texts, true or false, or a number of a range."""

    attribute: str
    texts: tuple[str, ...] = ()
    truth: bool | None = None
    least: float = -math.inf
    most: float = math.inf

    @classmethod
    def of(cls, attribute: str, given: Any) -> EligibilityRule:
        """The rule for an attribute, as a table has it.

        >>> EligibilityRule.of("age", {"least": 18}).holds({"age": 20})
        True
        """
        check_study_name("name of an attribute", attribute)
        name = f"{attribute} of [enrolment.eligible]"
        if isinstance(given, bool):
            return cls(attribute, truth=given)
        if isinstance(given, dict):
            refuse_unknown(f"key of {name}", given, ("least", "most"))
            bounds = tuple(given.get(key, usual) for key, usual in (("least", -math.inf), ("most", math.inf)))
            for key, value in given.items():
                if not is_number(value) or not abs(value) <= MOST_OUTCOME:
                    raise InvalidValue(
                        f"{key} of {name}", value, f"a number from {-MOST_OUTCOME:g} to {MOST_OUTCOME:g}"
                    )
            if not given or bounds[0] > bounds[1]:
                raise InvalidValue(name, given, "with a least, a most, or both, the least first")
            return cls(attribute, least=float(bounds[0]), most=float(bounds[1]))
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not 1 <= len(texts) <= MOST_TEXTS:
            raise InvalidValue(name, given, f"{RULE_ALLOWED}; of at most {MOST_TEXTS} texts")
        for text in texts:
            if not is_attribute_text(text):
                raise InvalidValue(name, text, f"a text of 1 to {LONGEST_TEXT} printable characters")
        return cls(attribute, tuple(texts))

    def holds(self, attributes: PersonAttributes) -> bool:
        """Whether it holds for a person of whom this is said."""
        value = attributes.get(self.attribute)
        if self.texts:
            return isinstance(value, str) and value in self.texts
        if self.truth is not None:
            return value is self.truth
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return self.least <= value <= self.most

    @property
    def says(self) -> str:
        """The rule for people.

        >>> EligibilityRule("country", ("DE", "AT")).says, EligibilityRule("age", least=18.0).says
        ('country is "DE" or "AT"', 'age is at least 18')
        """
        if self.texts:
            *others, last = (f'"{text}"' for text in self.texts)
            return f"{self.attribute} is {', '.join(others)}{' or ' if others else ''}{last}"
        if self.truth is not None:
            return f"{self.attribute} is {str(self.truth).lower()}"
        if math.isinf(self.most):
            return f"{self.attribute} is at least {self.least:.15g}"
        if math.isinf(self.least):
            return f"{self.attribute} is at most {self.most:.15g}"
        return f"{self.attribute} is from {self.least:.15g} to {self.most:.15g}"


def read_eligibility(given: Any) -> tuple[EligibilityRule, ...]:
    """The rules of an [enrolment.eligible] table."""
    if not isinstance(given, dict) or not 1 <= len(given) <= MOST_ATTRIBUTES:
        raise InvalidValue("eligible", given, f"a table with a rule for each of 1 to {MOST_ATTRIBUTES} attributes")
    return tuple(EligibilityRule.of(name, rule) for name, rule in given.items())


def is_attribute_text(value: Any) -> bool:
    """Whether this can be an attribute that is a text."""
    return isinstance(value, str) and 1 <= len(value) <= LONGEST_TEXT and value.isprintable()

"""The [budget] table of a protocol: what each person may lose, and for how long."""

from typing import Any

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.exact import exact
from maskedbandit.privacy.loss import Loss
from maskedbandit.study.naming import refuse_number_texts, refuse_unknown
from maskedbandit.study.reward import UNITS, duration

MOST = 10**6  # of ε or rho: a person who loses 1 each hour takes a century for it, so more is a mistake


def budget_of(given: Any) -> Loss:
    """What each person may lose in a period.

    >>> budget_of({"epsilon": 1, "period": "90 days"})
    Loss(ε = 1)
    """
    given = checked(given)
    if "rho" in given:
        if given.keys() & {"epsilon", "delta"}:
            raise InvalidValue("budget", given, "either rho, or epsilon and perhaps delta")
        return Loss.zcdp(given["rho"])
    if "epsilon" not in given:
        raise InvalidValue("budget", given, "a [budget] table with epsilon, or with rho")
    return Loss.approximate(given["epsilon"], given.get("delta", 0))


def check_new(given: dict[str, Any]) -> None:
    """Raise if a budget that is good is that of no new study: it is written as no number is, or beyond all use."""
    numbers = {key: value for key, value in given.items() if key != "period"}
    refuse_number_texts(numbers)
    for key in numbers.keys() & {"epsilon", "rho"}:
        if exact(key, numbers[key]) > MOST:
            allowed = f"at most {MOST}: whoever loses 1 each hour takes a century for it"
            raise InvalidValue(f"{key} of the budget", numbers[key], allowed)


def period_of(given: Any) -> int | None:
    """After how many milliseconds a person has a new budget; None: never."""
    period = checked(given).get("period")
    return None if period is None else duration("period", period, UNITS["hour"])


def checked(given: Any) -> dict[str, Any]:
    """The table, without keys that nobody reads."""
    if not isinstance(given, dict):
        raise InvalidValue("budget", given, "a [budget] table")
    refuse_unknown("key of [budget]", given, ("epsilon", "delta", "rho", "period"))
    return given

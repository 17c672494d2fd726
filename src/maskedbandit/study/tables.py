"""The tables of a protocol that name its arms, its people and their budget."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maskedbandit.checks import is_number
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.parts.purposes import find_purpose
from maskedbandit.privacy.exact import to_fraction, to_whole
from maskedbandit.privacy.loss import Loss
from maskedbandit.study.naming import check_study_name, refuse_number_texts, refuse_unknown
from maskedbandit.study.reward import MILLISECONDS, parse_duration

MOST_PEOPLE_OF_STUDY = 10**12
MOST_ARMS_OF_STUDY = 1000
ARM_KEYS = ("name", "payload", "share")
BUDGET_KEYS = ("epsilon", "delta", "rho", "period")
MOST_LOSS = 10**6  # of ε or rho: a person who loses 1 each hour takes a century for it, so more is a mistake


def read_toml_file(path: Path) -> dict[str, Any]:
    """What a TOML file has."""
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as wrong:  # of numbers with too many digits, too
        raise InvalidValue("protocol", str(path), f"a TOML file that can be read ({wrong})") from None


def read_arms(given: Any) -> tuple[tuple[str, Any], ...]:
    """The [[arms]] tables.

    >>> read_arms([{"name": "short", "payload": 7}, {"name": "long"}])
    (('short', 7), ('long', None))
    """
    if not isinstance(given, list) or not 2 <= len(given) <= MOST_ARMS_OF_STUDY:
        raise InvalidValue("arms", given, f"2 to {MOST_ARMS_OF_STUDY} [[arms]] tables")
    found: list[tuple[Any, Any]] = []
    for arm in given:
        if not isinstance(arm, dict):
            raise InvalidValue("arms", given, "[[arms]] tables, each with a name, and perhaps a payload or a share")
        refuse_unknown("key of [[arms]]", arm, ARM_KEYS)
        found.append((arm.get("name"), arm.get("payload")))
    check_arms(found)
    return tuple(found)


def copy_arms(arms: Sequence[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """The same arms, as they will be read from the ledger."""
    try:
        same = json.loads(json.dumps([[name, payload] for name, payload in arms], sort_keys=True, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        raise InvalidValue("payload of an arm", "not shown", "what JSON can hold") from None
    return tuple((name, payload) for name, payload in same)


def check_arms(arms: Sequence[tuple[Any, Any]]) -> None:
    """Raise `InvalidValue` unless a study can have these arms."""
    names = set[str]()
    for number, (name, _) in enumerate(arms, 1):
        if check_study_name(f"name of arm {number}", name) in names:
            raise InvalidValue(f"name of arm {number}", name, "different from the names of the arms before it")
        names.add(name)
    if len(arms) > MOST_ARMS_OF_STUDY:
        raise InvalidValue("the number of arms", len(arms), f"at most {MOST_ARMS_OF_STUDY}")
    for number, (_, payload) in enumerate(arms, 1):
        try:
            json.dumps(payload, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as wrong:
            raise InvalidValue(
                f"payload of arm {number}", type(payload).__name__, f"a value that JSON can hold ({wrong})"
            ) from None


def read_people(table: Mapping[str, Any], goal: str) -> int | None:
    """How many people get a place in all; None if the study ends with the answer of a search.

    >>> read_people({"people": 1000}, "regret"), read_people({"delta": 0.1}, "identify")
    (1000, None)
    """
    if find_purpose(goal).aim == "delta":
        if "people" in table:
            raise InvalidValue("people", table["people"], "left out: this policy stops by itself, see delta")
        return None
    if "delta" in table:
        raise InvalidValue("delta", table["delta"], "left out: this policy has a number of people instead")
    return to_whole("people", table.get("people"), 2, MOST_PEOPLE_OF_STUDY)


def read_aim(table: Mapping[str, Any], goal: str) -> int | float:
    """What the policy's `init` gets: the horizon, or the probability of a wrong answer."""
    if (people := read_people(table, goal)) is not None:
        return people
    delta = table.get("delta", 0.05)
    if not is_number(delta) or not 0 < delta < 1:
        raise InvalidValue("delta", delta, "a probability between 0 and 1")
    return float(delta)


def read_budget(given: Any) -> Loss:
    """What each person may lose in a period.

    >>> read_budget({"epsilon": 1, "period": "90 days"})
    Loss(ε = 1)
    """
    given = check_budget_table(given)
    if "rho" in given:
        if given.keys() & {"epsilon", "delta"}:
            raise InvalidValue("budget", given, "either rho, or epsilon and perhaps delta")
        return Loss.zcdp(given["rho"])
    if "epsilon" not in given:
        raise InvalidValue("budget", given, "a [budget] table with epsilon, or with rho")
    return Loss.approximate(given["epsilon"], given.get("delta", 0))


def check_new_budget(given: dict[str, Any]) -> None:
    """Raise if a budget that is good is that of no new study: it is written as no number is, or beyond all use."""
    numbers = {key: value for key, value in given.items() if key != "period"}
    refuse_number_texts(numbers)
    for key in numbers.keys() & {"epsilon", "rho"}:
        if to_fraction(key, numbers[key]) > MOST_LOSS:
            allowed = f"at most {MOST_LOSS}, which a loss of 1 each hour reaches in a century"
            raise InvalidValue(f"{key} of the budget", numbers[key], allowed)


def read_period(given: Any) -> int | None:
    """After how many milliseconds a person has a new budget; None: never."""
    period = check_budget_table(given).get("period")
    return None if period is None else parse_duration("period", period, MILLISECONDS["hour"])


def check_budget_table(given: Any) -> dict[str, Any]:
    """The table, without keys that nobody reads."""
    if not isinstance(given, dict):
        raise InvalidValue("budget", given, "a [budget] table")
    refuse_unknown("key of [budget]", given, BUDGET_KEYS)
    return given


def check_simulation_table(table: Mapping[str, Any]) -> None:
    """Raise `InvalidValue` unless the [simulation] of a protocol is a table; it is read when it is played."""
    if not isinstance(simulation := table.get("simulation", {}), dict):
        raise InvalidValue("simulation", simulation, "a [simulation] table")


def refuse_texts_of_numbers(table: Mapping[str, Any], part: str) -> None:
    """Raise `InvalidValue` where a part of a protocol has a number as a text."""
    given = table.get(part)
    if part in ("channel", "policy"):
        refuse_number_texts(given)
        return
    for each in given if isinstance(given, list) else [given]:  # what is no table is refused as that
        if isinstance(each, dict):
            refuse_number_texts({"share": each.get("share")})

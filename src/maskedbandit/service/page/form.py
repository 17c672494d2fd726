"""The form of a study: its fields, the table of the protocol that they mean, and the fields that mean a table.

A field is named after the place of its value in the protocol, as `reward.window`. A protocol is shown in the fields if
they say all of it, so that what is read from them has the same hash. Any other stays TOML, and nothing of it is lost.

A study of sites stays TOML: it has up to a hundred of them, whose fingerprints a command prints to be copied, and their
shares, `honest`, `colluding` and `lost` are right or wrong together, and not each at a field of its own.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from math import isfinite
from typing import Any, NamedTuple

from maskedbandit.errors import InvalidValue
from maskedbandit.study.faults import Fault, Place
from maskedbandit.study.operators import OPERATOR_KEYS, ROLES

PLANNED_NUMBERS = ("baseline", "difference", "per_day")  # what a forecast and a plan are told of the application
FIELDS = (  # in the order of the form; the arms come after the first two
    *("name", "about", "policy", "people", "delta"),
    *(
        f"reward.{key}"
        for key in ("window", "exposure", "default", "least", "most", "rule", "cap", "evaluating", "grace")
    ),
    *(f"guardrail.{key}" for key in ("name", "harm.above", "harm.below", "harm.against", "share", "alpha")),
    *(f"guardrail.{key}" for key in ("least", "most", "rule", "default")),
    "channel.name",
    *(f"operators.{role}.{key}" for role in ROLES for key in OPERATOR_KEYS if (role, key) != ("leader", "address")),
    *("channel.honest", "channel.backend.corrupted", "rounds.wait"),
    *("channel.epsilon", "budget.epsilon", "budget.period", "project", "budget.delta", "budget.rho"),
)
NUMBER_KEYS = ("people", "delta", "epsilon", "rho", "least", "most", "default", "cap", "honest", "corrupted")
NUMBER_FIELDS = (
    *(name for name in FIELDS if name.rpartition(".")[2] in NUMBER_KEYS),
    *("guardrail.harm.above", "guardrail.harm.below", "guardrail.share", "guardrail.alpha"),
)
FIRST_FIELDS = {  # where the form shows what is wrong with a table as a whole
    "arms": "arms.0.name",
    "channel": "channel.name",
    "budget": "budget.epsilon",
    "reward": "reward.least",
    "guardrail": "guardrail.name",
    "guardrail.harm": "guardrail.harm.above",
    "guardrail.against": "guardrail.harm.against",
    "operators": "operators.leader.name",
}
EXAMPLE_FORM = {
    "name": "newsletter",
    "about": "which of three subject lines is opened most often",
    "arms.0.name": "short",
    "arms.0.payload": '{"subject": "News of the week"}',
    "arms.1.name": "question",
    "arms.1.payload": '{"subject": "What happened this week?"}',
    "arms.2.name": "numbers",
    "arms.2.payload": '{"subject": "Seven things that happened this week"}',
    "policy": "contemporaneous_klucb",
    "people": "20000",
    "per_day": "2000",
    "baseline": "0.4",
    "difference": "0.05",
    "reward.window": "6 hours",
    "reward.exposure": "10 minutes",
    "reward.default": "0",
    "channel.name": "central",
    "channel.epsilon": "1",
    "budget.epsilon": "1",
    "budget.period": "90 days",
}


class SentForm(NamedTuple):
    """A form as it was sent: what it shows next, the table that it means, and what could not be read."""

    values: dict[str, str]
    table: Any  # None if there is none
    faults: list[Fault]


def read_sent_form(values: Mapping[str, str]) -> SentForm:
    """What a form says: its TOML if it has any, which goes to the fields if they can say it, or else its fields.

    >>> read_sent_form({"protocol": 'name = "x"\\npeople = 100'}).values
    {'name': 'x', 'people': '100'}
    """
    planned = {name: values[name] for name in PLANNED_NUMBERS if values.get(name)}
    text = (values.get("file") or values.get("protocol", "")).replace("\r\n", "\n").strip("\ufeff \n")
    if not text:
        values = settle_arms(values)
        return SentForm(values, *read_protocol_form(values))
    kept = planned | {"protocol": text}
    try:
        if "\N{REPLACEMENT CHARACTER}" in text:
            raise InvalidValue("protocol", "this text", "TOML in UTF-8")
        table = tomllib.loads(text)
        filled = fill_protocol_form(table)
    except (ValueError, RecursionError) as wrong:  # of numbers with too many digits, too
        why = wrong if isinstance(wrong, InvalidValue) else InvalidValue("protocol", "this text", f"TOML ({wrong})")
        return SentForm(kept, None, [Fault(("protocol",), why)])
    return SentForm(kept if filled is None else planned | filled, table, [])


def read_protocol_form(values: Mapping[str, str]) -> tuple[dict[str, Any], list[Fault]]:
    """The table that the fields mean, and what could not be read; `list_faults` says what is wrong with the table.

    >>> table, _ = read_protocol_form({"channel.name": "response", "channel.epsilon": "2", "arms.0.name": "a"})
    >>> table["channel"], table["reward"], table["budget"], table["arms"]
    ({'name': 'response', 'epsilon': 2}, {'rule': 'first'}, {'epsilon': 2}, [{'name': 'a'}])
    """
    given = {name: value.strip().replace("\r\n", "\n") for name, value in values.items()}
    arms, faults = read_arms_of_form(given)
    table: dict[str, Any] = {"name": "", "arms": arms, "channel": {}, "budget": {}}
    for name in FIELDS:
        if text := given.get(name):
            put_value(table, name, read_typed(text) if name in NUMBER_FIELDS else text)
    if keys := given.get("signed_by", "").split():
        table["signed_by"] = keys if len(keys) > 1 else keys[0]
    channel, budget = table["channel"], table["budget"]
    if channel.get("name") == "two_servers":
        channel["backend"] = "prio3"
        for name in FIELDS:
            if name.startswith("operators."):
                put_value(table, name, given.get(name, ""))
    if channel.get("name") == "distributed":
        channel["backend"] = {"name": "secagg", **channel.get("backend", {})}
        table.setdefault("rounds", {})
    if channel.get("name") in ("local", "response"):  # each device reports once
        for outcome in (table.setdefault("reward", {}), table.get("guardrail", {"rule": ""})):
            if "cap" not in outcome:
                outcome.setdefault("rule", "first")
    if "epsilon" in channel and not budget.keys() & {"epsilon", "rho"}:
        budget["epsilon"] = channel["epsilon"]
    return table, faults


def fill_protocol_form(table: Any) -> dict[str, str] | None:
    """The fields that mean this table; None if none do, as they cannot say all of it.

    >>> fill_protocol_form({"name": "x", "arms": [{"name": "a"}], "channel": {"name": "tree", "depth": 3}})
    """
    found = dict[str, str]()
    for name, value in flatten_table("", table):
        match value:
            case str():
                found[name] = value
            case int() | float():
                found[name] = repr(value)
            case list() if name == "signed_by":
                found[name] = "\n".join(map(str, value))
            case list() if name == "arms":
                for number, arm in enumerate(value):
                    if isinstance(arm, dict):
                        found[f"arms.{number}.name"] = str(arm.get("name", ""))
                        if "payload" in arm:
                            found[f"arms.{number}.payload"] = json.dumps(
                                arm["payload"], ensure_ascii=False, default=str
                            )
    if not all(each.isprintable() or each == "\n" for value in found.values() for each in value):
        return None  # browsers send other characters than these
    found.pop("channel.backend", None)
    meant, _ = read_protocol_form(found)
    meant = {key: value for key, value in meant.items() if value or key in table}
    return found if write_comparable(meant) == write_comparable(table) else None


def flatten_table(name: str, value: Any) -> list[tuple[str, Any]]:
    """The values in a table, by their places."""
    if not isinstance(value, dict):
        return [(name, value)]
    return [pair for key, each in value.items() for pair in flatten_table(f"{name}.{key}" if name else key, each)]


def write_comparable(table: Any) -> str:
    """A table as the text of which a protocol has the hash."""
    return json.dumps(table, sort_keys=True, default=repr)


def put_value(table: dict[str, Any], name: str, value: Any) -> None:
    """Put a value where the name of its field says."""
    *way, key = name.split(".")
    for each in way:
        table = table.setdefault(each, {})
    table[key] = value


def list_arm_rows(values: Mapping[str, str]) -> list[tuple[str, str]]:
    """The name and the payload of each arm, as they were typed: in rows, and then in the lines of a text."""
    names = (re.fullmatch(r"arms\.(\d{1,6})\.(?:name|payload)", name, re.ASCII) for name in values)
    rows = list[tuple[str, str]]()
    for each in sorted({int(name[1]) for name in names if name}):
        rows.append((values.get(f"arms.{each}.name", "").strip(), values.get(f"arms.{each}.payload", "").strip()))
    for line in values.get("more_arms", "").splitlines():
        name, _, payload = line.strip().partition(" ")
        rows.append((name, payload.strip()))
    return rows


def settle_arms(values: Mapping[str, str]) -> dict[str, str]:
    """The fields of a form, with every arm in a row of its own, and empty rows last.

    >>> settle_arms({"arms.0.name": "", "arms.1.name": "b", "more_arms": "c 7"})
    {'arms.0.name': 'b', 'arms.0.payload': '', 'arms.1.name': 'c', 'arms.1.payload': '7', 'arms.2.name': '', \
'arms.2.payload': ''}
    """
    rows = sorted(list_arm_rows(values), key=lambda row: not any(row))
    found = {name: values[name] for name in (*FIELDS, "signed_by", *PLANNED_NUMBERS) if name in values}
    for number, (name, payload) in enumerate(rows):
        found |= {f"arms.{number}.name": name, f"arms.{number}.payload": payload}
    return found


def read_arms_of_form(values: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[Fault]]:
    """The tables of the arms, and the payloads that are no JSON."""
    arms, faults = list[dict[str, Any]](), list[Fault]()
    for name, payload in list_arm_rows(values):
        if name or payload:
            arms.append({"name": name})
            try:
                if payload:
                    arms[-1]["payload"] = read_form_payload(payload, f"payload of arm {len(arms)}")
            except InvalidValue as wrong:
                faults.append(Fault(("arms", len(arms) - 1, "payload"), wrong))
    return arms, faults


def name_field(place: Place, values: Mapping[str, str]) -> str:
    """The field at which the form shows what is wrong at this place; empty if it has none."""
    if "protocol" in values:
        return "protocol"
    name = ".".join(map(str, place))
    name = FIRST_FIELDS.get(name, name)
    return name if name in (*FIELDS, "signed_by", *PLANNED_NUMBERS) or name.startswith("arms.") else ""


def find_rank(name: str) -> int:
    """Where a field stands in the form: what is wrong is listed in its order."""
    order = (*FIELDS[:2], "arms", *FIELDS[2:], "signed_by", *PLANNED_NUMBERS)
    part = name.partition(".")[0] if name.startswith("arms.") else name
    return order.index(part) if part in order else len(order)


def read_typed(text: str) -> int | float | str:
    """The number that was typed, or the text if it is none: what checks the protocol says what is allowed.

    >>> read_typed("20_000"), read_typed("1e-6"), read_typed("1/3"), read_typed("inf")
    (20000, 1e-06, '1/3', 'inf')
    """
    plain = text.replace("_", "").replace("\N{NARROW NO-BREAK SPACE}", "")
    if re.fullmatch(r"[-+]?\d{1,400}", plain, re.ASCII):
        return int(plain)
    try:
        found = float(plain)
    except ValueError:
        return text
    return found if isfinite(found) else text


def read_form_number(name: str, text: str) -> float:
    """The number that was typed, or raise `InvalidValue`."""
    found = read_typed(text.strip())
    if isinstance(found, str):
        raise InvalidValue(name, text, "a finite number")
    return float(found)


def read_form_payload(text: str, name: str = "payload") -> Any:
    """The payload of an arm that was typed, as JSON; None if nothing was.

    >>> read_form_payload(' {"color": "red"} '), read_form_payload("")
    ({'color': 'red'}, None)
    """
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        raise InvalidValue(name, text, 'JSON, such as {"color": "red"}, or nothing') from None

"""What the service answers, read with care: whatever is not what was promised counts as no answer."""

import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

TICKET_PATTERN = re.compile("[0-9a-z]{1,64}")
STUDY_PATTERN = re.compile("[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_CODE = re.compile("[a-z_]{1,64}")
_PROPENSITY = re.compile(r"[0-9]{1,20}(/[0-9]{1,20})?")
TURNED_AWAY = frozenset({"not_eligible", "other_study", "not_yet"})  # by the protocol; all get the default arm
FINAL = frozenset({"conflict", "late", "unknown_ticket", "not_exposed"})  # verdicts that a retry cannot change


@dataclass(frozen=True)
class Assigned:
    """The arm for a person. Without a ticket nobody asks for an outcome, and nobody need know more than the arm.

    The ticket is a secret of the person, and not shown.

    >>> Assigned("plain", source="fallback", why="unreachable")
    Assigned(arm='plain', payload=None, propensity=None, again=False, source='fallback', why='unreachable')
    """

    arm: str
    payload: Any = None
    ticket: str | None = field(default=None, repr=False)
    propensity: Fraction | None = None  # the probability with which the person was to get this arm, if it is known
    again: bool = False  # the place that the person had before
    source: Literal["service", "fallback"] = "service"
    # of a fallback "unreachable" or the code of a refusal, else why there is no ticket: docs/client.md
    why: str = ""
    offer: str | None = field(default=None, repr=False)  # of local trust: what reports are made from
    # of two operators, and of local trust if no channel was named: what the person's device joins with
    device: dict[str, Any] | None = field(default=None, repr=False)


class Refusal(NamedTuple):
    """What the service will never accept: it is dropped. The value is left out, as this ends in logs."""

    study: str
    ticket: str
    kind: str  # "expose" or "report"
    event: str
    code: str  # "conflict", "late", "unknown_ticket", "not_exposed" or "invalid_value"


class Reply(NamedTuple):
    """What came back: a status, 0 if nothing came, and the body if it is JSON."""

    status: int
    body: Any = None
    retry_after: float = 0.0  # seconds


NO_REPLY = Reply(0)


def parse_json(content: bytes) -> Any:
    """A body of JSON, or None."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def read_retry_after(header: str | None) -> float:
    """How long the service asks to be left alone, at most an hour; a date is not understood, and is a second."""
    if header is None:
        return 0.0
    return min(float(header), 3600.0) if re.fullmatch("[0-9]{1,9}", header) else 1.0


def read_problem_code(problem: Any) -> str:
    """The code of a problem body, or nothing if this is none."""
    code = problem.get("code") if isinstance(problem, dict) else None
    return code if isinstance(code, str) and _CODE.fullmatch(code) else ""


def read_assignment(reply: Reply, study: str) -> Assigned | None:
    """The arm that the service gives, or None if this is not an answer of the service."""
    body = reply.body
    if reply.status != 200 or not isinstance(body, dict) or body.get("study") != study:
        return None
    arm, ticket, propensity = (body.get(name) for name in ("arm", "ticket", "propensity"))
    offer, why, device = (body.get(name) for name in ("offer", "why", "device"))
    right = (
        isinstance(arm, str)
        and arm != ""
        and (ticket is None or (isinstance(ticket, str) and TICKET_PATTERN.fullmatch(ticket)))
        and (offer is None or isinstance(offer, str))
        and (device is None or (isinstance(device, dict) and device.get("ticket") == ticket is not None))
        and (why is None or (isinstance(why, str) and _CODE.fullmatch(why)))
        and isinstance(propensity, str)
        and _PROPENSITY.fullmatch(propensity)
        and isinstance(body.get("again"), bool)
    )
    if not right:
        return None
    try:
        chance = Fraction(str(propensity))
    except ZeroDivisionError:
        return None
    if not 0 < chance <= 1:
        return None
    again = bool(body["again"])
    return Assigned(str(arm), body.get("payload"), ticket, chance, again, why=why or "", offer=offer, device=device)


def read_verdict(item: Any, good: frozenset[str]) -> str | None:
    """The result of one request of a batch: "" if it counts, the code of a final refusal, or None: nobody knows yet."""
    if not isinstance(item, dict):
        return None
    answer, problem = item.get("answer"), item.get("problem")
    if item.get("status") == 200 and isinstance(answer, dict) and answer.get("status") in good:
        return ""
    code = read_problem_code(problem)
    if code in FINAL:
        return code
    return code or "invalid_value" if item.get("status") == 422 else None


def read_verdicts(reply: Reply, count: int, good: frozenset[str]) -> list[str | None] | None:
    """The result of each request of a batch, or None if this has another number of answers."""
    items = reply.body.get("items") if reply.status == 200 and isinstance(reply.body, dict) else None
    if not isinstance(items, list) or len(items) != count:
        return None
    return [read_verdict(item, good) for item in items]

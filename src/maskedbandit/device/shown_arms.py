"""What the service answers a device that asks for an arm, read with care: what is not as promised is no answer."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from maskedbandit.device.service_calls import ServiceReply
from maskedbandit.device_refusals import Unreachable, find_refusal
from maskedbandit.errors import InvalidValue, restore_error

NO_PLACE = "no_place"  # the study takes nobody in any more, or not this person


class ShownArm(NamedTuple):
    """The arm that the person sees."""

    arm: str
    payload: Any = None  # what the application is given with it
    # why nothing is reported of it: elsewhere, no_place, not_eligible, other_study, not_yet, finished, budget_exceeded,
    # late or unknown_ticket
    why: str = ""


class AnsweredArm(NamedTuple):
    """The arm, and the place if the person has one."""

    shown: ShownArm
    place: Mapping[str, Any] | None


def read_answered_arm(reply: ServiceReply, study: str) -> AnsweredArm:
    """What the service has answered, or raise what it refuses, or `Unreachable` if this is no answer of it."""
    body = reply.body
    arm, ticket, place, why = (body.get(name) for name in ("arm", "ticket", "device", "why"))
    if 400 <= reply.status < 500 and reply.said:
        raise restore_error(find_refusal(reply.said), f"the service refuses the request: {reply.said}")
    if reply.status != 200 or body.get("study") != study or not isinstance(arm, str) or not arm:
        raise Unreachable("the service did not answer")
    if ticket is None:
        return AnsweredArm(ShownArm(arm, body.get("payload"), why if isinstance(why, str) else NO_PLACE), None)
    if place is None:
        allowed = "local, or that of two operators: under central trust the application's backend reports"
        raise InvalidValue("trust of the study", "central", allowed)
    if not isinstance(place, dict) or any(place.get(name) != body[name] for name in ("study", "arm", "ticket")):
        raise Unreachable("the service answered with a place of somebody else")
    return AnsweredArm(ShownArm(arm, body.get("payload")), {**place, "payload": body.get("payload")})

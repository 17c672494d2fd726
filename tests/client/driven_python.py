"""Python's client as a program that plays scenarios: a step a line; with an argument it is a broken twin."""

import json
import re
import sys
import uuid
from collections.abc import Callable
from typing import Any

from maskedbandit.client import Client, answers, calls, delivery, engine
from maskedbandit.client.outbox import Message, Outbox
from maskedbandit.errors import MaskedBanditError
from maskedbandit.study import signatures


async def ask_once(self: calls.Calls, path: str, body: Any, deadline: float, right: object) -> answers.Reply:
    """No retry."""
    return await self.post(path, body, deadline)


async def ask_often(self: calls.Calls, path: str, body: Any, deadline: float, right: object) -> answers.Reply:
    """A service that is down is kept down."""
    replies = [await self.post(path, body, deadline / 5) for _ in range(5)]
    return max(replies, key=lambda reply: reply.status)


def forget_when_sent(
    self: Outbox, study: str, most: int, real: Callable[..., list[Message]] = Outbox.next
) -> list[Message]:
    """What is lost on its way is lost."""
    found = real(self, study, most)
    if most > 1:
        self.settle(found)
    return found


def name_anew(self: Message) -> dict[str, object]:
    """Each attempt is another event."""
    body = real_body(self)
    return body | {"event": uuid.uuid4().hex} if "event" in body else body


def prove_anew(self: Message) -> dict[str, object]:
    """The service cannot tell who reports again."""
    body = real_body(self)
    return body | {"proof": uuid.uuid4().hex} if "proof" in body else body


def expose_last(self: Outbox, study: str, ticket: str, kind: str, event: str = "", value: float | None = None) -> None:
    """What is said first is not written first."""
    if kind == "expose":
        late.append((study, ticket, kind))
        return
    real_put(self, study, ticket, kind, event, value)
    while late:
        real_put(self, *late.pop())


def forget_arms(self: object, study: str, unit: str) -> None:
    """Nobody is known while the service is away."""


def forget_default(self: object, study: str) -> None:
    """Whoever is not known gets the fallback, also where people are turned away to another arm."""


def take_anything(reply: answers.Reply, count: int, good: frozenset[str]) -> list[str]:
    """Whatever comes counts as an answer."""
    return [""] * count


def leave_out_metric(self: Message) -> dict[str, object]:
    """A guardrail's outcome is reported as the reward."""
    return {name: value for name, value in real_body(self).items() if name != "metric"}


def leave_the_rest(self: Outbox, study: str, ticket: str) -> None:
    """What waits of a person who leaves is sent first."""
    real_put(self, study, ticket, "leave")


def sign_for_somebody(private: str, study: str, unit: str, expires: int) -> str:
    """The token is of another person."""
    return real_sign(private, study, "somebody", expires)


def leave_out_attributes(unit: str, token: str | None, attributes: object) -> dict[str, Any]:
    """Nobody is eligible."""
    return real_person(unit, token, None)


real_body, real_put, real_sign = Message.body.fget, Outbox.put, signatures.sign_person
real_person = engine.write_person
late: list[Any] = []
TWINS: dict[str, tuple[object, str, object]] = {
    "asks once": (calls.Calls, "ask", ask_once),
    "asks often": (calls.Calls, "ask", ask_often),
    "forgets when sent": (Outbox, "next", forget_when_sent),
    "names anew": (Message, "body", property(name_anew)),
    "proves anew": (Message, "body", property(prove_anew)),
    "exposes last": (Outbox, "put", expose_last),
    "forgets arms": (engine.KnownArms, "find", forget_arms),
    "takes anything": (delivery, "read_verdicts", take_anything),
    "leaves out the metric": (Message, "body", property(leave_out_metric)),
    "signs for somebody": (signatures, "sign_person", sign_for_somebody),
    "leaves out attributes": (engine, "write_person", leave_out_attributes),
    "forgets the default": (engine.KnownArms, "served", forget_default),
    "checks nothing": (engine, "check_ticket", lambda ticket: None),
    "leaves the rest": (Outbox, "put_leaving", leave_the_rest),
    "reports anyway": (engine.KnownArms, "offer", lambda self, study, ticket: None),
}


def break_client(twin: str) -> None:
    """Make it a twin."""
    setattr(*TWINS[twin])


def do_step(client: list[Client], do: str, **given: Any) -> Any:
    """What comes of a step."""
    if do == "open":
        client[:] = [Client(**given)]
        return None
    if do == "assign":
        found = client[0].assign(**given)
        return {name: getattr(found, name) for name in ("arm", "payload", "ticket", "again", "source", "why")} | {
            "propensity": found.propensity and str(found.propensity)
        }
    if do == "sign":
        return signatures.sign_person(**given)
    if do == "refused":
        return dict(client[0].refused)
    return getattr(client[0], do)(**given)


def main() -> None:
    """Read steps until there are no more."""
    if len(sys.argv) > 1:
        break_client(sys.argv[1])
    client: list[Client] = []
    for line in sys.stdin:
        try:
            said: dict[str, Any] = {"gives": do_step(client, **json.loads(line))}
        except MaskedBanditError as why:
            said = {"error": re.sub("(?<!^)(?=[A-Z])", "_", type(why).__name__).lower()}
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()

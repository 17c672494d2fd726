"""A study that this process holds, and what clients ask of it."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from maskedbandit.channels.offers import to_lines
from maskedbandit.errors import TooMany
from maskedbandit.service.messages import Assigned, Exposed, Reported
from maskedbandit.store.operation import NOTHING, About, Operation
from maskedbandit.store.requests import name_report
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer

WAITING = 20_000  # operations of a study; more are refused


def assign(study: Study, body: Any) -> Assigned:
    """What the person gets."""
    found, protocol = study.op_assign(body.unit, body.evaluated), study.protocol
    name, payload = protocol.arms[found.arm]
    offer = to_lines(study.op_offers(found.ticket)) if found.ticket and protocol.on_devices else None
    given = name, payload, found.ticket, str(found.propensity), found.again, offer, found.exposed
    return Assigned(study.name, *given, "budget_exceeded" if found.over_budget else None)


def expose(study: Study, body: Any) -> Exposed:
    """The person saw the arm."""
    study.op_expose(body.ticket)
    return Exposed()


def report(study: Study, body: Any) -> Reported:
    """The person's outcome."""
    found = study.op_report(body.ticket, body.value, body.event, body.metric, body.proof)
    return Reported("duplicate" if found.again else "accepted")


VERBS: dict[str, Callable[[Study, Any], Any]] = {"assign": assign, "expose": expose, "report": report}


class Held(NamedTuple):
    """A study that this process holds."""

    study: Study
    writer: Writer

    def ask(self, verb: str, body: Any) -> Any:
        """What a client is answered, after it is on disk."""
        named = name_report(body.ticket, body.event, body.metric, body.proof) if verb == "report" else None
        about = About(getattr(body, "ticket", None), getattr(body, "unit", None), named)
        return self.do(partial(VERBS[verb], self.study, body), about)

    def do(self, operation: Operation, about: About = NOTHING) -> Any:
        """What comes of an operation, after it is on disk."""
        if self.writer.waiting > WAITING:
            raise TooMany("the study has more requests waiting than it can write: try again later")
        return self.writer.submit(operation, about)

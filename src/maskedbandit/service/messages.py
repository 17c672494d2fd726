"""What the service is sent, and what it answers: one type for each body, from which OpenAPI is generated."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, Struct

Answer = TypeVar("Answer")

Unit = Annotated[str, Meta(min_length=1, max_length=256, description="the application's name of a person")]
Ticket = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[0-9a-z]+$", description="secret of one person")]
Name = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
MOST_TOGETHER = 1000  # requests in a batch


class Body(Struct, forbid_unknown_fields=True, frozen=True):
    """The body of a request: a field that nobody knows is refused, as it may be a misspelled one."""


class Assign(Body):
    """A person comes. The token is the application's signature of the unit, in studies that ask for one."""

    unit: Unit
    token: str | None = None


class Assigned(Struct):
    """What the person gets. Without a ticket the person is served the arm, and nobody asks for an outcome."""

    study: str
    arm: str
    payload: Any
    ticket: str | None
    propensity: str  # a fraction: the probability with which the person was to get this arm
    again: bool  # the place that the person had before
    offer: str | None = None  # of local trust: what the device makes its report from


class Expose(Body):
    """The person saw the arm: the window of the outcome begins."""

    ticket: Ticket


class Exposed(Struct):
    """The exposure is written down."""

    status: str = "exposed"


class Report(Body):
    """The person's outcome, or one of several with an event each."""

    ticket: Ticket
    value: float
    event: Annotated[str, Meta(max_length=128)] = ""


class Reported(Struct):
    """The report counts once: `accepted` now, or `duplicate` if it came before with the same value."""

    status: str


class AssignBatch(Body):
    """Several people at once."""

    requests: Annotated[list[Assign], Meta(max_length=MOST_TOGETHER)]


class ExposeBatch(Body):
    """Several exposures at once."""

    requests: Annotated[list[Expose], Meta(max_length=MOST_TOGETHER)]


class ReportBatch(Body):
    """Several reports at once."""

    requests: Annotated[list[Report], Meta(max_length=MOST_TOGETHER)]


class Problem(Struct, omit_defaults=True):
    """Why a request was refused (RFC 9457), or one item of a batch; `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str


class Item(Struct, Generic[Answer], omit_defaults=True):
    """What came of one request of a batch: an answer or a problem."""

    status: int
    answer: Answer | None = None
    problem: Problem | None = None


class Items(Struct, Generic[Answer]):
    """What came of a batch, in the order of its requests."""

    items: list[Item[Answer]]

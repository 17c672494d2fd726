"""What the service is sent and answers of studies as a whole; messages.py has what it is of people."""

from typing import Annotated

from msgspec import Meta, Struct

from maskedbandit.service.messages import Body
from maskedbandit.store.book.finish import Reason


class Finished(Struct):
    """A study gives nobody a place any more: why, and since when, in milliseconds."""

    why: Reason
    since: int


class StudyState(Struct):
    """A study, and how it stands."""

    study: str
    about: str
    state: str  # draft, running, paused, finished, stopped or archived
    simulated: bool  # all its people are
    people: int  # with a place
    of: int | None  # how many get one in all; null if a search ends with its answer
    arms: list[str]
    in_play: list[str]  # those that people may get
    policy: str
    channel: str
    trust: str
    budget: str  # of each person
    period: int | None  # of the budget, in milliseconds; null: for ever
    window: int  # in which an outcome counts, in milliseconds
    protocol: str  # the hash of its protocol
    finished: Finished | None = None
    approved_by: list[str] = []  # keys of officers, by their public parts: of a draft those that hold
    needs_approval: bool = False  # of an officer, without whom this draft cannot be started


class Studies(Struct):
    """All studies that the key may see."""

    studies: list[StudyState]


class Validated(Struct):
    """A protocol that is allowed, and what it promises."""

    study: str
    protocol: str
    price: str  # what a place of a large cohort costs a person
    budget: str
    trust: str


class Deleted(Struct):
    """A draft that is no more."""

    study: str


ProtocolHash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Start(Body):
    """The protocol that was looked at, by its hash: no other is started."""

    protocol: ProtocolHash


class Approve(Body):
    """The protocol that an officer of privacy has looked at and approves, by its hash."""

    protocol: ProtocolHash

"""What the service is sent and answers of studies as a whole; messages.py has what it is of people."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from maskedbandit.service.messages import Body
from maskedbandit.store.book.finish import Reason

AttentionKind = Literal[
    "harmful_arm",
    "wrong_places",
    "places_unseen",
    "sample_ratio",
    "one_window",
    "budget_nearly_spent",
    "clock_ahead",
    "witness_behind",
    "nobody_reports",
    "nobody_comes",
]


class AttentionItem(Struct, frozen=True):
    """Something of a study that somebody should look at: what is so, and what to do."""

    kind: AttentionKind
    says: str
    advice: str
    arm: str | None = None
    since: int | None = None  # milliseconds; null if nobody knows


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
    in_play: list[str]  # those among which the policy chooses
    policy: str
    channel: str
    trust: str
    budget: str  # of each person
    period: int | None  # of the budget, in milliseconds; null: for ever
    window: int  # in which an outcome counts, in milliseconds
    protocol: str  # the hash of its protocol
    finished: Finished | None = None
    control: str | None = None  # the arm with a fixed share of all places, while people are given it
    attention: tuple[AttentionItem, ...] = ()  # what needs it, the most urgent first
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
    """A draft that was deleted."""

    study: str


ProtocolHash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Start(Body):
    """The protocol that was looked at, by its hash: no other is started."""

    protocol: ProtocolHash


class Approve(Body):
    """The protocol that an officer of privacy has looked at and approves, by its hash."""

    protocol: ProtocolHash

"""What the service is sent, and what it answers: one type for each body, from which OpenAPI is generated."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal, TypeVar

from msgspec import Meta, Struct

Answer = TypeVar("Answer")

Unit = Annotated[str, Meta(min_length=1, max_length=256, description="the application's name of a person")]
Token = Annotated[str, Meta(max_length=256, description="a signature of the unit")]
Ticket = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[0-9a-z]+$", description="secret of one person")]
NAME = "[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
Name = Annotated[str, Meta(pattern=f"^{NAME}$")]
MOST_TOGETHER = 1000  # requests in a batch


class Body(Struct, forbid_unknown_fields=True):
    """The body of a request: a field that nobody knows is refused, as it may be a misspelled one."""


class Assign(Body):
    """A person comes. The token is the application's signature of the unit, in studies that ask for one."""

    unit: Unit
    token: Token | None = None


class Assigned(Struct):
    """What the person gets. Without a ticket the person is served the arm, and nobody asks for an outcome."""

    study: str
    arm: str
    payload: Any
    ticket: str | None
    propensity: str  # a fraction: the probability with which the person was to get this arm
    again: bool  # the place that the person had before
    offer: str | None = None  # of local trust: what the device makes its report from; a line for each outcome


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
    metric: Annotated[str, Meta(max_length=64)] = ""  # the name of the guardrail, if the outcome is that


class Reported(Struct):
    """The report counts once: `accepted` now, or `duplicate` if it came before with the same value."""

    status: str


class Budget(Struct):
    """What a person has spent in the present period, and may spend; the period is in milliseconds, null is for ever."""

    spent: str
    budget: str
    period: int | None


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


class StudyState(Struct):
    """A study, and how it stands."""

    study: str
    about: str
    state: str
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


class Released(Struct):
    """A release: the sum of a cohort's rewards, scaled to [0, 1], with privacy noise."""

    cohort: int
    arm: str
    n: int
    total: float
    loss: str
    at: int  # milliseconds since 1970
    entry: int  # of the ledger


class Releases(Struct):
    """All releases so far, in the order in which they were made."""

    study: str
    simulated: bool
    releases: list[Released]


class GuardrailResult(Struct):
    """What the releases say of the second outcome of an arm; an interval holds its mean at any time."""

    n: int
    mean: float
    low: float
    high: float


class Compared(Struct):
    """What an arm has more than the first one over the same people, and an interval that holds it at any time."""

    minus: str
    difference: float
    low: float
    high: float


class ArmResult(Struct):
    """What the releases say of an arm: its mean, and an interval that holds it at any time, in 95 of 100 studies."""

    arm: str
    stands: str  # in play, paused or harmful
    n: int  # people in its releases
    mean: float | None
    low: float | None
    high: float | None
    low_without_noise: float | None  # what the interval would be if the total had no noise
    high_without_noise: float | None
    chance_of_being_best: float  # if means are normal
    compared: Compared | None = None  # if both were dealt together
    guardrail: GuardrailResult | None = None


class Results(Struct):
    """What a study has found so far. The intervals are valid at all times together, whenever somebody looks at them."""

    study: str
    simulated: bool
    state: str
    answer: str | None  # the final arm, of a search or of a number of people
    selected: list[str] | None  # the final arms in place of one, of a policy that names all arms of a kind
    loss: str  # of each person, by all that was published
    arms: list[ArmResult]


class LedgerEntry(Struct):
    """An entry of the ledger, as it is stored: its hash follows from the body and the hash before it."""

    number: int
    body: str
    hash: str
    signature: str


class Ledger(Struct):
    """Entries of the ledger, and the public key with which they are signed."""

    study: str
    key: str
    entries: list[LedgerEntry]


class LedgerHead(Struct):
    """The newest entry that was published."""

    study: str
    entries: int
    hash: str


class Verified(Struct):
    """Everything was recomputed from the rows, and fits."""

    study: str
    entries: int
    head: str
    releases: int
    people: int
    worst: str  # what the person who was charged most has spent


class Erase(Body):
    """A person whose data is to be erased."""

    unit: Unit


class Erased(Struct):
    """Of how many places the data was erased; what was released stays."""

    places: int


class NewKey(Body):
    """A key to be made."""

    role: Literal["owner", "officer", "client"]
    study: Name | None = None


class KeyMade(Struct):
    """A new key. It is shown this once."""

    key: str


class KeyListed(Struct):
    """A key without its secret."""

    key: str
    role: str
    study: str | None
    made: int
    ends: int | None


class KeysListed(Struct):
    """All keys."""

    keys: list[KeyListed]


class Health(Struct):
    """Whether the server lives, and whether it can write all studies."""

    status: str

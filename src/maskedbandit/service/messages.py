"""What the service is sent and answers, of which OpenAPI is made; views/answers.py has what a study publishes."""

from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, Struct

from maskedbandit.person_attributes import LONGEST_TEXT, MOST_ATTRIBUTES
from maskedbandit.store.requests import PROOF, WhyNoTicket

ItemAnswer = TypeVar("ItemAnswer")

Unit = Annotated[str, Meta(min_length=1, max_length=256, description="the application's name of a person")]
Token = Annotated[str, Meta(max_length=256, description="the person's token: KEY.EXPIRES.SIGNATURE")]
Ticket = Annotated[str, Meta(min_length=1, max_length=64, pattern="^[0-9a-z]+$", description="secret of one person")]
Proof = Annotated[
    str,
    Meta(pattern=f"^({PROOF})?$", description="a secret of the sender: only with it the answer tells what came before"),
]
NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
ShortName = Annotated[str, Meta(pattern=f"^{NAME_PATTERN}$")]
MOST_TOGETHER = 1000  # requests in a batch


class Body(Struct, forbid_unknown_fields=True):
    """The body of a request: a field that nobody knows is refused, as it may be a misspelled one."""


Attribute = Annotated[str, Meta(max_length=LONGEST_TEXT)] | float | bool
Attributes = Annotated[
    dict[ShortName, Attribute],
    Meta(max_length=MOST_ATTRIBUTES, description="for the rules on who is enrolled; it is not kept"),
]


class Assign(Body):
    """A person comes, with a token of the application's backend in studies that ask for one.

    With `evaluated` it is as if a flag was evaluated: the arm counts as seen, unless the protocol says otherwise.
    """

    unit: Unit
    token: Token | None = None
    evaluated: bool = False
    attributes: Attributes | None = None


class DeviceTerms(Struct, omit_defaults=True):
    """To what a device binds its reports, besides the offer and the place."""

    protocol: str  # its digest
    cohort: int | None = None  # not under local trust


class DeviceOperator(Struct):
    """An operator for whom devices seal, with its public keys in hexadecimal."""

    name: str
    seals: str
    signs: str
    address: str


class DeviceOutcome(Struct, omit_defaults=True):
    """A further outcome: the guardrail or a metric."""

    name: str
    least: float
    most: float
    default: float
    cap: int = 1  # so many of the person count


class PlaceRounds(Struct):
    """What the devices of a cohort agree on that add up by themselves: the keys of the backend `secagg`."""

    corrupted: str  # a fraction of the devices
    server: str
    graph: str
    smallest: int
    attempts: int


class DevicePlace(Struct, omit_defaults=True):
    """What a person's device is handed, to join with, if it makes the reports private; times are in milliseconds."""

    study: str
    arm: str
    ticket: str
    again: bool
    exposed: int | None  # when the arm was seen; null: not yet
    offer: str  # a line for each outcome
    terms: DeviceTerms
    window: int
    grace: int
    least: float
    most: float
    default: float
    cap: int = 1  # so many rewards of the person count
    further: list[DeviceOutcome] = []  # the guardrail, if there is one, and the metrics
    operators: list[DeviceOperator] | None = None  # the leader and the helper, if there are two
    rounds: PlaceRounds | None = None  # if the devices add up by themselves


class Assigned(Struct):
    """What the person gets. Without a ticket the person is served the arm, and nobody asks for an outcome."""

    study: str
    arm: str
    payload: Any
    ticket: str | None
    propensity: str  # a fraction: the probability with which the person was to get this arm
    again: bool  # the place that the person had before
    offer: str | None = None  # of local trust: what the device makes its report from; a line for each outcome
    exposed: bool = False  # the arm counts as seen
    # there is no ticket: the person's budget allows no other place, the study gives none to anybody any more, or its
    # protocol does not enrol the person, who gets the default arm
    why: WhyNoTicket | None = None
    device: DevicePlace | None = None  # unless the server is trusted: what the person's device is handed


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
    metric: Annotated[str, Meta(max_length=64)] = ""  # the name of the guardrail or the metric, if the outcome is that
    proof: Proof = ""


class Reported(Struct):
    """The first report counts. `accepted`, or `duplicate` if it came before with the same value and the same proof."""

    status: str


SealedShare = Annotated[
    str, Meta(min_length=4, max_length=1024, pattern="^[A-Za-z0-9_-]+={0,2}$", description="base64url")
]


class UploadReport(Body):
    """A report that a person's device has sealed for two operators."""

    ticket: Ticket
    report: Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="the report's name")]
    turn: Annotated[int, Meta(ge=0, lt=2**32)]
    leader: SealedShare
    helper: SealedShare


class ReportUploaded(Struct):
    """The report of the highest turn counts. `stored`, or `duplicate` if it, or a newer one, came before."""

    status: str


class LeaveStudy(Body):
    """A person's device leaves."""

    ticket: Ticket


class StudyLeft(Struct):
    """Nothing of whoever had this ticket is kept any more, but what was released."""

    status: str = "left"


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


class WrongValue(Struct):
    """What is wrong at a place of a protocol."""

    place: str  # the keys that lead to it, as reward.window or arms.2.name; empty: how several fit together
    detail: str


class Problem(Struct, omit_defaults=True):
    """Why a request was refused (RFC 9457), or one item of a batch; `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    faults: list[WrongValue] = []  # of a protocol: all that is wrong with it, of which `detail` is the first


class Item(Struct, Generic[ItemAnswer], omit_defaults=True):
    """What came of one request of a batch: an answer or a problem."""

    status: int
    answer: ItemAnswer | None = None
    problem: Problem | None = None


class Items(Struct, Generic[ItemAnswer]):
    """What came of a batch, in the order of its requests."""

    items: list[Item[ItemAnswer]]


class Erase(Body):
    """A person whose data is to be erased."""

    unit: Unit


class Erased(Struct):
    """Of how many places the data was erased; what was released stays."""

    places: int


class Health(Struct):
    """Whether the server lives, and whether it can write all studies; and what somebody should look at all the same."""

    status: str
    warnings: list[str] = []

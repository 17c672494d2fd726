"""What a study publishes, as the service answers it: releases, what follows from them, and the ledger."""

from msgspec import Struct


class Released(Struct):
    """A release: the sum of a cohort's rewards, scaled to [0, 1], with privacy noise."""

    cohort: int
    arm: str
    n: int
    total: float
    mean: float  # of these people, in units of the outcome
    loss: str
    at: int  # milliseconds since 1970
    entry: int  # of the ledger
    further: dict[str, float] = {}  # the sums of the guardrail and of the metrics, by their names


class Releases(Struct):
    """All releases so far, in the order in which they were made."""

    study: str
    simulated: bool
    releases: list[Released]


class GuardrailResult(Struct, frozen=True):
    """What the releases say of the second outcome of an arm; an interval holds its mean at any time."""

    n: int
    mean: float
    low: float
    high: float


class Compared(Struct):
    """What an arm has more than another one over the same people, and an interval that holds it at any time.

    The other one is the control, if the study has one, or else the first.
    """

    minus: str
    difference: float
    low: float
    high: float


class MetricResult(Struct, frozen=True):
    """What the releases say of a metric of an arm.

    Each interval holds what it is of at any time, in 95 of 100 studies: with many metrics and arms one of them is wrong
    in more studies than that.
    """

    metric: str
    n: int
    mean: float
    low: float
    high: float
    compared: Compared | None = None  # if the arm and the first one were dealt together


class ArmResult(Struct):
    """What the releases say of an arm: its mean, and an interval that holds it at any time, in 95 of 100 studies."""

    arm: str
    stands: str  # in play, paused or harmful, or control
    n: int  # people in its releases
    mean: float | None
    low: float | None
    high: float | None
    low_without_noise: float | None  # what the interval would be if the total had no noise
    high_without_noise: float | None
    surely_best: float | None  # the confidence that it is better than each other in play; None if none were compared
    surely_beaten: float | None  # the confidence that another arm in play is better, over the same people
    compared: Compared | None = None  # if both were dealt together
    guardrail: GuardrailResult | None = None
    metrics: list[MetricResult] = []  # once the arm has a release


class Results(Struct):
    """What a study has found so far. The intervals are valid at all times together, whenever somebody looks at them.

    An effect is read from `compared` alone: the means of two arms are those of other people. What is said of the best
    arm with a confidence of 0.95 or more is ever wrong in at most 5 of 100 studies, and 10 if arms were added.
    """

    study: str
    simulated: bool
    state: str
    answer: str | None  # the final arm, of a search or of a number of people
    selected: list[str] | None  # the final arms in place of one, of a policy that names all arms of a kind
    loss: str  # of each person, by all that was published
    arms: list[ArmResult]
    gain: Compared | None = None  # what all whom the policy placed had more than the control, if there is one


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

"""What a helper is sent by the leaders of studies, and what it answers. Bytes are base64 for URLs, but for hashes."""

from typing import Annotated

from msgspec import Meta, Struct

from maskedbandit.secagg.uploads import MOST_TURNS
from maskedbandit.service.messages import Body
from maskedbandit.store.helping.reports import LARGEST_COHORT, MOST_REPORTS
from maskedbandit.study.operators import FINGERPRINT, LONGEST_NAME

Hash = Annotated[str, Meta(pattern=f"^{FINGERPRINT}$", description="32 bytes in hexadecimal")]
OperatorName = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME, description="for people")]
ReportName = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="16 bytes in hexadecimal")]
Signature = Annotated[str, Meta(pattern="^[0-9a-f]{128}$")]
Who = Annotated[str, Meta(pattern="^[0-9a-f]{16}$", description="8 bytes in hexadecimal, of whoever has a place")]
Sealed = Annotated[str, Meta(max_length=128)]
PlaceNumber = Annotated[int, Meta(ge=0, lt=LARGEST_COHORT)]
Size = Annotated[int, Meta(ge=1, le=LARGEST_COHORT)]
Turn = Annotated[int, Meta(ge=0, lt=MOST_TURNS)]


class HelperCard(Struct):
    """Who this helper is."""

    name: str
    seals: str  # public keys
    signs: str
    fingerprint: str


class Pair(Body):
    """A leader that has an invitation."""

    token: Annotated[str, Meta(max_length=128)]
    name: OperatorName
    seals: Hash
    signs: Hash
    signature: Signature


class Paired(Struct):
    """The credential of the leader, shown only once, and who the helper is."""

    credential: str
    name: str
    seals: str
    signs: str


class HelpStudy(Body):
    """A study that is to be helped: the text of its frozen protocol."""

    protocol: Annotated[str, Meta(max_length=2**19)]


class StudyHelped(Struct):
    """The study is written down, and the ledger has so many entries."""

    study: str
    entries: int


class ReportOffered(Body):
    """One report of a device, and what the leader's share shows of its proof."""

    place: PlaceNumber
    report: ReportName
    turn: Turn
    sealed: Sealed
    verifier: Sealed


class OfferReports(Body):
    """Some reports of a cohort of n."""

    n: Size
    reports: Annotated[list[ReportOffered], Meta(min_length=1, max_length=MOST_REPORTS)]


class ReportChecked(Struct):
    """Whether a report may be in the total, and what the helper's share shows of its proof."""

    ok: bool
    verifier: str


class ReportsChecked(Struct):
    """What is found of each report, in the order of the request."""

    answers: list[ReportChecked]


class AskTotal(Body):
    """The total of a cohort of n is asked for, of the list of reports with this digest; the leader signs for it."""

    n: Size
    left_out: list[PlaceNumber]
    digest: Hash
    signature: Signature


class TotalStated(Struct):
    """What the helper states of a cohort, and signs."""

    study: str
    protocol: str
    cohort: int
    n: int
    reports: int
    digest: str
    offer: str
    total: str  # in decimal digits, as not all readers have such numbers
    entry: int
    signature: str


class HelpState(Struct):
    """How the help of a study stands."""

    study: str
    state: str
    protocol: str  # the hash of its protocol
    leader: str  # the fingerprint of its keys
    cohorts: list[int]  # that have a total
    entries: int
    head: str  # the hash of the newest entry
    contact: int | None  # when the leader last asked this process, in milliseconds since 1970


class HelpVerified(Struct):
    """What was found to fit."""

    study: str
    entries: int
    head: str
    totals: int
    reports: int

"""What sites and their coordinator say to one another. Bytes are base64 for URLs, but for hashes."""

from typing import Annotated

from msgspec import Meta, Struct

from maskedbandit.backends.sites import MOST_SITES
from maskedbandit.service.messages import Assigned, Attributes, Body, Ticket

Count = Annotated[int, Meta(ge=0, le=2**32)]
CohortNumber = Annotated[int, Meta(ge=0, lt=2**62)]
PhaseNumber = Annotated[int, Meta(ge=0, lt=5)]
Digits = Annotated[str, Meta(pattern="^[0-9a-f]{0,128}$")]
MOST_ROUNDS = 1000  # at a time


class AssignAtSite(Body):
    """A person of the site comes, by the name that the site made for the coordinator: 64 hexadecimal digits."""

    person: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    evaluated: bool = False
    attributes: Attributes | None = None


class PlaceOfSite(Struct):
    """What the person gets, and of a place its cohort."""

    assigned: Assigned
    cohort: CohortNumber | None


class EraseAtSite(Body):
    """A person of the site whose data is to be erased."""

    person: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class ExposeAtSite(Body):
    """The person saw the arm."""

    ticket: Ticket


class ListOfSites(Struct):
    """A list of the sites of a study: the name, the share and both public keys of each, from a cohort on."""

    first: int
    sites: list[list[str]]


class StudyOfSite(Struct):
    """A study, for one of its sites: the text of its protocol, both public keys of each site of it, and later lists."""

    study: str
    state: str
    protocol: str
    sites: list[list[str]]
    lists: list[ListOfSites]


class ChangeSites(Body):
    """Another list of the sites of a study that runs, as in the [sites] table of its protocol."""

    list: Annotated[list[dict[str, str]], Meta(max_length=MOST_SITES)]


class RoundAnswered(Body):
    """What the site answers in one phase; with no message it leaves the attempt."""

    cohort: CohortNumber
    attempt: Count
    phase: PhaseNumber
    message: Annotated[str, Meta(max_length=2**16)]


class AnswerRounds(Body):
    """What the site answers in all rounds that are under way."""

    answers: Annotated[list[RoundAnswered], Meta(max_length=MOST_ROUNDS)]
    confirmed: Digits = ""  # the hash of the newest list of sites to which the site agreed
    signed: Digits = ""  # its signature of that


class RoundOfSite(Struct):
    """A phase of a round, in which an answer is due from the site."""

    cohort: int
    attempt: int
    n: int  # places of the cohort
    weights: list[int]  # how many of them are of each site
    ring: str  # the hash of the seed of the ring
    phase: int
    message: str
    tickets: list[str]  # in the first phase: of the site's people in the cohort


class RoundsDue(Struct):
    """What is due from the site."""

    state: str  # of the study
    due: list[RoundOfSite]
    sites: str  # the hash of the newest list of sites
    first: int  # the cohort from which on it holds
    listed: bool  # whether the site is in it

"""What the service and devices that add up say to one another. Bytes are base64 for URLs, but for hashes."""

from typing import Annotated

from msgspec import Meta, Struct

from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import PARCEL
from maskedbandit.secagg.round_rules import MOST_NEIGHBOURS
from maskedbandit.service.messages import Body, Ticket
from maskedbandit.service.site_messages import Count, PhaseNumber

LONGEST_SENT = 4 * -(-(2 + 2 * KEY + MOST_NEIGHBOURS * PARCEL) // 3)  # key shares for so many, in base64


class AnsweredByDevice(Body):
    """What the device answers in one phase; with no message it leaves the attempt."""

    cohort: Count
    attempt: Count
    phase: PhaseNumber
    message: Annotated[str, Meta(max_length=LONGEST_SENT)]


class AnswerRound(Body):
    """What the device of the person who has this ticket answers, if anything was due, and asks what is due now."""

    ticket: Ticket
    answers: Annotated[list[AnsweredByDevice], Meta(max_length=1)]


class RoundOfDevice(Struct):
    """A phase of a round, in which an answer is due from the device."""

    cohort: int
    attempt: int
    n: int  # devices of the cohort
    ring: str  # the hash of the seed of the ring
    phase: int
    message: str


class RoundDueNow(Struct):
    """What is due from the device; nothing will be any more once its cohort was released, or never will be."""

    due: RoundOfDevice | None
    over: bool

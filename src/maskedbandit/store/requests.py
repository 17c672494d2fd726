"""What a study is asked, checked, and what it answers; errors end in logs, so they show nothing of a person."""

import re
from fractions import Fraction
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from maskedbandit.channels.offers import Offer
from maskedbandit.checks import is_number
from maskedbandit.errors import MaskedBanditError, PersonalValue, RewardOutOfRange
from maskedbandit.study.enrolment import NotEnrolled
from maskedbandit.study.protocol import Protocol

Operation = tuple[Any, ...]  # a verb of `Study.operations`, or a function of a session, and then what it is given


# the budget allows no other place; nobody gets one any more (book/finish.py); or the protocol does not enrol the person
WhyNoTicket = Literal["budget_exceeded", "finished", NotEnrolled]


class Done(NamedTuple):
    """What comes of an operation: a result, or a refusal, which leaves the transaction as it is."""

    result: Any
    refusal: MaskedBanditError | None = None

    def value(self) -> Any:
        """The result, or raise the refusal."""
        if self.refusal:
            raise self.refusal
        return self.result


class Assigned(NamedTuple):
    """What a person gets. Without a ticket the person is served the arm, and nobody asks for a reward."""

    arm: int
    ticket: str | None
    propensity: Fraction  # the probability with which the person was to get this arm
    again: bool = False  # the place that the person had before
    seen: int | None = None  # when the arm was seen, or counts as seen
    why: WhyNoTicket | None = None  # of a person without a ticket, if there is a reason besides the moment
    offers: tuple[Offer, ...] = ()  # if the device makes the report private: what it is offered, one for each outcome
    cohort: int | None = None  # to which what the device sends is bound, besides the offer, unless trust is local

    @property
    def exposed(self) -> bool:
        """Whether the arm counts as seen."""
        return self.seen is not None


class Reported(NamedTuple):
    """A report was taken; `again` if whoever made it proves that it came before, with the same value."""

    again: bool


def check_unit(unit: Any) -> str:
    """The name by which the application knows a person."""
    if type(unit) is not str or not 1 <= len(unit) <= 256 or not unit.isprintable():
        raise PersonalValue("unit", "a str of 1 to 256 printable characters")
    return unit


def is_text(*words: Any) -> bool:
    """Whether every database can read these words."""
    return set(map(type, words)) <= {str} and "".join(words).isprintable()


class ReportName(NamedTuple):
    """Under what a report is kept."""

    ticket: str
    event: str  # after the prefix of its outcome
    proof: str  # the hash of the secret of whoever made it; empty if there was none


GUARDRAIL = "guardrail\n"  # before the event of a report of the guardrail; no event has a line break


PROOF = "[0-9A-Za-z_-]{16,64}"


def find_prefix(protocol: Protocol, metric: str) -> str:
    """What stands before the events of an outcome where reports are kept; nothing for the reward.

    Of a metric it is its name: it has a space, so that no other outcome, and no event, begins so.
    """
    if not metric:
        return ""
    return GUARDRAIL if protocol.guardrail and metric == protocol.guardrail.name else f"metric {metric}\n"


def name_report(protocol: Protocol, ticket: str, event: str = "", metric: str = "", proof: str = "") -> ReportName:
    """The name of a report: with what is kept of its proof."""
    hidden = sha256(proof.encode()).hexdigest() if proof else ""
    return ReportName(ticket, find_prefix(protocol, metric) + event, hidden)


def check_report(protocol: Protocol, value: Any, event: Any, metric: Any, proof: Any) -> None:
    """The same, of what is reported to the service, which is no outcome where these stay elsewhere."""
    if protocol.sites is not None:
        raise PersonalValue("a report", "kept by the person's site: in this study no outcome leaves it")
    if protocol.rounds is not None:
        raise PersonalValue("a report", "kept by the person's device: in this study no outcome leaves it")
    check_outcome(protocol, value, event, metric, proof)


def check_outcome(protocol: Protocol, value: Any, event: Any, metric: Any, proof: Any) -> None:
    """Raise unless this can be an outcome of a person, and the rest what a report has."""
    if type(proof) is not str or (proof and not re.fullmatch(PROOF, proof)):
        raise PersonalValue("proof", "16 to 64 letters, digits, '-' or '_', or left out")
    if type(event) is not str or len(event) > 128 or not event.isprintable():
        raise PersonalValue("event", "a str of at most 128 printable characters")
    outcome = next((each for each in protocol.outcomes if each.metric == metric), None)
    if outcome is None:
        names = [each.metric for each in protocol.outcomes[1:]]
        raise PersonalValue("metric", ", ".join([*names, "or left out"]) if names else "left out")
    reward, channel = outcome.reward, outcome.channel
    if protocol.operators is not None:
        raise PersonalValue("a report", "sealed by the person's device for both operators: this study sees no outcome")
    if outcome.on_devices:
        if event:
            raise PersonalValue("event", "left out: each device reports once, as its noise is in its report")
        if not is_number(value) or int(value) != value or abs(value) > 2**53:
            raise PersonalValue("a report", "the whole number that the device's channel made of the outcome")
        if channel.law().flip > 0 and value not in (0, 1):
            raise PersonalValue("a report", "the bit that the device's channel made of the outcome")
    elif not reward.allows(value):
        if (reward.least, reward.most) == (0, 1):
            raise RewardOutOfRange
        raise PersonalValue("a report", f"a number from {reward.least:g} to {reward.most:g}")

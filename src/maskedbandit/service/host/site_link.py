"""A site in the rounds of a study: once in each turn of the clock it answers, and asks what is due."""

import asyncio
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import Any

from maskedbandit.errors import Malformed, MaskedBanditError
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerRefuses
from maskedbandit.store.rounds import RoundAnswer, RoundDue, RoundTerms
from maskedbandit.store.sites.lists import list_agreed
from maskedbandit.store.writer import Writer

log = logging.getLogger("maskedbandit")
MOST_DUE = 64  # rounds at once: one of each arm
Ask = Callable[[Any], Awaitable[dict[str, Any]]]


class SiteLink:
    """The way of one study to its coordinator."""

    def __init__(self, writer: Writer, ask: Ask) -> None:
        self.writer, self._ask = writer, ask
        self.away = False  # the coordinator did not answer
        self.unconfirmed = False  # the coordinator has another list of sites
        self._answers: list[RoundAnswer] = []  # for the next turn
        self.task: asyncio.Task[None] | None = None

    def go_on(self) -> None:
        """Begin to do what is due, unless that is under way."""
        if self.task is None or self.task.done():
            self.task = asyncio.create_task(self._try())

    def end(self) -> None:
        """End what is under way; it begins again from what is stored."""
        if self.task is not None:
            self.task.cancel()

    async def _try(self) -> None:
        try:
            await self._exchange()
            self.away = False
        except PartnerAway:
            self.away = True
        except (PartnerRefuses, MaskedBanditError) as why:
            log.warning("a round waits", extra={"study": self.writer.study.name, "why": type(why).__name__})
        except Exception:
            log.exception("the way to the coordinator failed, and goes on", extra={"study": self.writer.study.name})

    async def _exchange(self) -> None:
        """Send what was answered at the turn before, and answer what is due now.

        Once in a turn of the clock, whatever is due: so neither how long an answer takes, nor what else the site does
        meanwhile, is seen by the coordinator.
        """
        sent, self._answers = self._answers, []
        try:
            said = await self._ask(self._describe(sent))
        except PartnerAway:
            self._answers = sent
            raise
        if said.get("state") == "archived":
            await self.writer.submit("end")
            return
        due = read_due(said)
        if len(due) > MOST_DUE:
            raise Malformed(f"the coordinator asks for {len(due)} answers at once")
        study: Any = self.writer.study
        name, first = read_newest(said)
        self.unconfirmed = name != study.stages[-1].name
        due = list_agreed(study.stages, name, first, due)
        self._answers = [await self.writer.submit("round", each) for each in due]

    def _describe(self, sent: list[RoundAnswer]) -> dict[str, Any]:
        """What the site says: its answers, and to which list of sites it agreed last, which have one size."""
        study: Any = self.writer.study
        confirmed, signed = study.confirm()
        return {"answers": [describe_answer(each) for each in sent], "confirmed": confirmed, "signed": signed}


def describe_answer(answer: RoundAnswer) -> dict[str, Any]:
    """What a site answers, as it is sent."""
    message = urlsafe_b64encode(answer.message).decode()
    return {"cohort": answer.cohort, "attempt": answer.attempt, "phase": answer.phase, "message": message}


def read_due(said: dict[str, Any]) -> list[RoundDue]:
    """What the coordinator says is due, or raise `Malformed`."""
    try:
        return [
            RoundDue(
                RoundTerms(
                    read_whole(each["cohort"]),
                    read_whole(each["attempt"]),
                    read_whole(each["n"]),
                    tuple(read_whole(weight) for weight in each["weights"]),
                    bytes.fromhex(each["ring"]),
                ),
                read_whole(each["phase"]),
                urlsafe_b64decode(each["message"]),
                tuple(str(ticket) for ticket in each["tickets"]),
            )
            for each in said["due"]
        ]
    except (TypeError, ValueError, LookupError, AttributeError):
        raise Malformed("what the coordinator says is due cannot be read") from None


def read_newest(said: dict[str, Any]) -> tuple[str, int]:
    """The name of the newest list of sites, and the cohort from which on it holds, or raise `Malformed`."""
    try:
        return str(said["sites"]), read_whole(said["first"])
    except (LookupError, ValueError):
        raise Malformed("which list of sites the coordinator has cannot be read") from None


def read_whole(given: Any) -> int:
    """A whole number that JSON has."""
    if type(given) is not int or not 0 <= given < 2**62:
        raise ValueError(given)
    return given

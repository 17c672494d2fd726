"""A site in the rounds of a study: once in each turn of the clock it answers, and asks what is due."""

import asyncio
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec.structs import replace

from maskedbandit.errors import Malformed, MaskedBanditError
from maskedbandit.secagg.kept_round import RoundAnswer, RoundDue, RoundTerms
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerRefuses
from maskedbandit.service.views.link import LinkState
from maskedbandit.store.rounds import MOST_TOLD
from maskedbandit.store.sites.lists import list_agreed
from maskedbandit.store.writer import Writer

log = logging.getLogger("maskedbandit")
Ask = Callable[[Any], Awaitable[dict[str, Any]]]


class SiteLink:
    """The way of one study to its coordinator."""

    def __init__(self, writer: Writer, ask: Ask, clock: Callable[[], int]) -> None:
        self.writer, self._ask, self._clock = writer, ask, clock
        self.state = LinkState()
        self._answers: list[RoundAnswer] = []  # for the next turn
        self.task: asyncio.Task[None] | None = None

    @property
    def under_way(self) -> bool:
        """Whether it does what is due, which takes longer if more was reported of what is added up."""
        return self.task is not None and not self.task.done()

    def go_on(self) -> None:
        """Begin to do what is due, unless that is under way."""
        if not self.under_way:
            self.task = asyncio.create_task(self._try())

    def end(self) -> None:
        """End what is under way; it begins again from what is stored."""
        if self.task is not None:
            self.task.cancel()

    async def _try(self) -> None:
        begun = self._clock()  # when it ends depends on how much was reported of what is added up
        try:
            self.state = await self._exchange(begun)
        except PartnerAway:
            self.state = replace(self.state, away_since=self.state.away_since or begun)
        except MaskedBanditError as why:
            if isinstance(why, PartnerRefuses | Malformed):  # others are of the store, which the clock tells of
                refusal = getattr(why, "said", why.code)  # and a list of sites may wait as before
                self.state = replace(self.state, reached=begun, away_since=None, refusal=refusal)
            log.warning("a round waits", extra={"study": self.writer.study.name, "why": type(why).__name__})
        except Exception:
            log.exception("the way to the coordinator failed, and goes on", extra={"study": self.writer.study.name})

    async def _exchange(self, begun: int) -> LinkState:
        """Send what was answered at the turn before, and answer what is due now: how this site stands.

        Once in a turn of the clock, whatever is due: so neither how long an answer takes, unless that is longer than a
        turn, nor what else the site does meanwhile, is seen by the coordinator.
        """
        sent, self._answers = self._answers, []
        try:
            said = await self._ask(self._describe(sent))
        except PartnerAway:
            self._answers = sent
            raise
        if said.get("state") == "archived":
            await self.writer.submit("end")
            return LinkState(reached=begun)
        due = read_due(said)
        if len(due) > MOST_TOLD:
            raise Malformed(f"the coordinator asks for {len(due)} answers at once")
        study: Any = self.writer.study
        name, first = read_newest(said)
        other, unlisted = name != study.stages[-1].name, said.get("listed") is False
        due = list_agreed(study.stages, name, first, due)
        self._answers = [await self._answer(each) for each in due]
        return LinkState(reached=begun, unconfirmed=other and not unlisted, unlisted=unlisted)

    async def _answer(self, due: RoundDue) -> RoundAnswer:
        """What the site answers; why it leaves an attempt is for its own log alone, and follows from no outcome."""
        answer: RoundAnswer = await self.writer.submit("round", due)
        if answer.why:
            log.warning("this site leaves a round", extra={"study": self.writer.study.name, "why": answer.why})
        return answer

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

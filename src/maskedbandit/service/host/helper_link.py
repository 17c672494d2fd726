"""The way of each study of two operators to its helper: what is due is settled with it, one cohort after the other.

    register -> due -> what is made of its reports is settled with the helper -> due -> ...

Each step may be repeated after whatever ended it, and is answered the same. A helper that is away is asked again, less
often with each time that it does not answer, for ever; meanwhile people get places and devices upload, and nothing is
lost. If it disagrees, or refuses, nothing is released, and somebody should look.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import Any

from msgspec.structs import replace

from maskedbandit.errors import MaskedBanditError, ProtocolError
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerCalls, PartnerRefuses
from maskedbandit.service.views.link import LinkState
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.pairing import Pairing
from maskedbandit.store.settle import DueCohort, waits_for_release
from maskedbandit.store.writer import Writer

log = logging.getLogger("maskedbandit")
LONGEST_PAUSE = 60_000  # milliseconds between two tries
HEARTBEAT = 60_000  # milliseconds after which the helper is asked although nothing is due


class HelperLink(ABC):
    """The link from one study to its helper, which adds up (total_link.py), or is its shuffler (mix_link.py)."""

    def __init__(self, writer: Writer, pairing: Pairing, calls: PartnerCalls, witness: Witness, clock: Any) -> None:
        self.writer, self.pairing, self._calls, self._witness, self._clock = writer, pairing, calls, witness, clock
        self.state = LinkState()
        self._study: Any = writer.study
        self._path = f"/v1/helping/{writer.study.name}"
        self._registered = False  # whether the helper has written the study down
        self._failures, self._next, self._ended = 0, 0, False
        self.settling = False
        self.task: asyncio.Task[None] | None = None

    @property
    def lost(self) -> bool:
        """Whether the helper was given up."""
        return bool(self._study.helper_lost)

    def go_on(self) -> None:
        """Begin to do what is due, unless that is under way or failed a moment ago."""
        if (self.task is None or self.task.done()) and self._clock() >= self._next:
            self.task = asyncio.create_task(self._try())

    async def end(self) -> None:
        """End what is under way; it begins again from what is stored."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        await self._calls.close()

    async def _try(self) -> None:
        try:
            await self._settle_all()
        except PartnerAway as why:
            if self.state.away_since is None:
                self._say("the helper is away", str(why))
            self._put_off(away_since=self.state.away_since or self._clock())
        except (PartnerRefuses, ProtocolError) as why:
            said = why.said if isinstance(why, PartnerRefuses) else why.code
            if said != self.state.refusal:
                self._say("the helper does not agree", said)  # the code alone: more could say who uploaded
            self._put_off(refusal=said, away_since=None, reached=self._clock())
        except MaskedBanditError as why:  # of the store, which the clock tells of
            log.info("a cohort waits", extra={"study": self.writer.study.name, "why": str(why)})
        except Exception:
            log.exception("the way to the helper failed, and goes on", extra={"study": self.writer.study.name})
            self._put_off()
        else:
            self._failures, self._next = 0, 0
        finally:
            self.settling = False

    def _say(self, what: str, why: str) -> None:
        log.warning(what, extra={"study": self.writer.study.name, "why": why})

    def _put_off(self, **state: Any) -> None:
        """Put the next attempt off after one that failed, for longer each time."""
        self._registered = False  # it registers first, as the helper may have lost what it had
        self._failures += 1
        self._next = self._clock() + min(1000 * 2 ** min(self._failures, 10), LONGEST_PAUSE)
        self._tell(**state)

    def _tell(self, **changes: Any) -> None:
        self.state = replace(self.state, **changes)

    async def _settle_all(self) -> None:
        if self._ended:
            return
        due: list[DueCohort] = await self.writer.submit("due")
        self._tell(waiting=len(due))
        if not self._registered or self._clock() >= (self.state.reached or 0) + HEARTBEAT:
            await self._register()
            self._registered = True
        while due:
            self.settling = True
            await self._settle(due[0])
            due = await self.writer.submit("due")
            self._tell(waiting=len(due))
        if self._study.state == "stopped" and (self.lost or not await self.writer.submit(waits_for_release)):
            await self._ask("POST", "/end", {})  # it erases the shares, or the reports, that are left
            self._ended = True
        if self.state.refusal:
            self._tell(refusal="")

    async def _ask(self, method: str, path: str, body: Any) -> dict[str, Any]:
        found = await self._calls.ask(method, self._path + path, body)
        self._tell(reached=self._clock(), away_since=None)
        return found

    async def _register(self) -> None:
        """Have the helper write the study down, and read what opens what is for the leader."""
        await self._ask("PUT", "", {"protocol": self._study.protocol.text})
        await asyncio.to_thread(self._read_keys)

    @abstractmethod
    def _read_keys(self) -> None:
        """Read what opens what is for the leader."""

    @abstractmethod
    async def _settle(self, due: DueCohort) -> None:
        """Release a cohort with the helper."""

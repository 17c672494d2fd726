"""The way of each study of two operators to its helper: what is due is settled with it, one cohort after the other.

    register -> due -> batch -> the helper checks its shares -> ... -> list -> the helper states its total -> settle

Each step may be repeated after whatever ended it, and is answered the same. A helper that is away is asked again, less
often with each time that it does not answer, for ever; meanwhile people get places and devices upload, and nothing is
lost. If it disagrees, or refuses, nothing is released, and somebody should look.
"""

import asyncio
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import Any

import httpx
from msgspec.structs import replace

from maskedbandit.errors import Malformed, MaskedBanditError, ProtocolError
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import LEADER
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.secagg.uploads import ShareReader
from maskedbandit.service.host.metrics import Metrics
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerCalls, PartnerRefuses
from maskedbandit.service.views.link import LinkState
from maskedbandit.store.batches import Batch, OpenedReport, compare_proofs, open_batch
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.own_keys import derive_verify_key, read_seal_key
from maskedbandit.store.pairing import Pairing, read_pairings
from maskedbandit.store.settle import DueCohort, ListedReports, waits_for_release
from maskedbandit.store.writer import Writer

log = logging.getLogger("maskedbandit")
LONGEST_PAUSE = 60_000  # milliseconds between two tries
HEARTBEAT = 60_000  # milliseconds after which the helper is asked although nothing is due
LONG_AWAY = 60_000  # milliseconds after which somebody should know
HELPER_AWAY = (
    "the helper of a study of two operators has not answered for a minute or longer: people get places and devices "
    "upload all the while, and its cohorts are released when the helper is back; the log says which study"
)
HELPER_REFUSES = (
    "the helper of a study of two operators disagrees with what is here, or refuses what it is asked: nothing of the "
    "study is released until that is settled between the operators; the log says which study"
)


class HelperLink:
    """The way of one study to its helper."""

    def __init__(self, writer: Writer, pairing: Pairing, calls: PartnerCalls, witness: Witness, clock: Any) -> None:
        self.writer, self.pairing, self._calls, self._witness, self._clock = writer, pairing, calls, witness, clock
        self.state = LinkState()
        self._study: Any = writer.study
        self._path = f"/v1/helping/{writer.study.name}"
        self._reader: ShareReader | None = None  # once the helper has written the study down
        self._failures, self._next, self._ended = 0, 0, False
        self.settling = False
        self.task: asyncio.Task[None] | None = None

    def go_on(self) -> None:
        """Begin to do what is due, unless that is under way or was in vain just now."""
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
        """Something was in vain: the next try is later each time."""
        self._reader = None  # it registers first, as the helper may have lost what it had
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
        if self._reader is None or self._clock() >= (self.state.reached or 0) + HEARTBEAT:
            self._reader = await self._register()
        while due:
            self.settling = True
            await self._settle(self._reader, due[0])
            due = await self.writer.submit("due")
            self._tell(waiting=len(due))
        if self._study.state == "stopped" and not await self.writer.submit(waits_for_release):
            await self._ask("POST", "/end", {})  # it erases the shares that are left
            self._ended = True
        if self.state.refusal:
            self._tell(refusal="")

    async def _ask(self, method: str, path: str, body: Any) -> dict[str, Any]:
        found = await self._calls.ask(method, self._path + path, body)
        self._tell(reached=self._clock(), away_since=None)
        return found

    async def _register(self) -> ShareReader:
        """Have the helper write the study down; what opens the leader's shares of it."""
        await self._ask("PUT", "", {"protocol": self._study.protocol.text})
        return await asyncio.to_thread(self._make_reader)

    def _make_reader(self) -> ShareReader:
        key = derive_verify_key(self._witness, self._study.operators[1], self._study.protocol.digest)
        return ShareReader(LEADER, read_seal_key(self._witness), key)

    async def _settle(self, reader: ShareReader, due: DueCohort) -> None:
        """Release a cohort with the helper."""
        accepted = await self._offer_reports(reader, due)  # also once they are listed: an older helper may be back
        listed: ListedReports = due.listed or await self.writer.submit("list", due.cohort, accepted)
        protocol = self._study.protocol
        named = {"study": protocol.name, "protocol": protocol.digest, "cohort": due.cohort}
        asked = TotalRequest(**named, n=listed.n, digest=listed.digest).sign(self._witness.signing_key())
        body = {"n": listed.n, "left_out": listed.left_out, "digest": listed.digest, "signature": asked.signature}
        said = HelperTotal.from_table(await self._ask("POST", f"/cohorts/{due.cohort}/total", body))
        await self.writer.submit("settle", due.cohort, said)

    async def _offer_reports(self, reader: ShareReader, due: DueCohort) -> list[OpenedReport]:
        """Offer all reports of a cohort to the helper: those whose proofs hold for both operators."""
        start: int | None = 0
        accepted = list[OpenedReport]()
        while start is not None:
            sealed = await self.writer.submit("batch", due.cohort, start)
            batch = await asyncio.to_thread(open_batch, reader, sealed)
            if batch.reports:
                body = {"n": due.n, "reports": [describe_report(each) for each in batch.reports]}
                said = await self._ask("POST", f"/cohorts/{due.cohort}/reports", body)
                accepted += compare_proofs(batch, read_answers(batch, said.get("answers")))
            start = batch.next
        return accepted


class HelperLinks:
    """The ways of all studies that a process holds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.transport: httpx.AsyncBaseTransport | None = None  # how helpers are reached, if not directly
        self.links: dict[str, HelperLink] = {}
        self._pairings: dict[str, Pairing] = {}
        self._ending = set[asyncio.Task[None]]()

    def read(self, database: Any) -> None:
        """With which helpers this operator works now."""
        self._pairings = {each.fingerprint: each for each in read_pairings(database) if each.role == "helper"}

    @property
    def settling(self) -> bool:
        """Whether a cohort is being settled now, which takes longer if more was uploaded."""
        return any(link.settling for link in self.links.values())

    def go_on(
        self, held: Mapping[str, Writer], metrics: Metrics, witness: Witness
    ) -> dict[tuple[str, str], bool | None]:
        """Have each study that this process holds do what is due with its helper; what somebody should look at."""
        for name, link in list(self.links.items()):
            if held.get(name) is not link.writer or self._find(link.writer) != link.pairing:
                del self.links[name]
                metrics.helper(name, LinkState(), 0)  # nothing of it waits any more, or for somebody else
                self._ending.add(task := asyncio.create_task(link.end()))
                task.add_done_callback(self._ending.discard)
        for name, writer in held.items():
            if name not in self.links and (pairing := self._find(writer)) is not None:
                calls = PartnerCalls(pairing.address, pairing.credential, self.transport)
                self.links[name] = HelperLink(writer, pairing, calls, witness, self._clock)
        found, now = dict[tuple[str, str], bool | None](), self._clock()
        for name, link in self.links.items():
            since = link.state.away_since
            found[name, HELPER_AWAY] = since is not None and now >= since + LONG_AWAY
            found[name, HELPER_REFUSES] = bool(link.state.refusal)
            metrics.helper(name, link.state, now)
            link.go_on()
        return found

    def _find(self, writer: Writer) -> Pairing | None:
        """The helper of a study, if something of it may wait for one."""
        study: Any = writer.study
        operators = study.protocol.operators
        if operators is None or study.helper_lost or study.state not in ("running", "paused", "stopped"):
            return None
        return self._pairings.get(operators.helper.key)

    def show(self, name: str) -> LinkState | None:
        """How a study that is held here stands with its helper."""
        link = self.links.get(name)
        return None if link is None else link.state

    async def rest(self) -> None:
        """Wait until all that is under way has ended."""
        await asyncio.gather(*[link.task for link in self.links.values() if link.task is not None])

    async def end(self) -> None:
        """End all of them."""
        links, self.links = self.links, {}
        await asyncio.gather(*self._ending, *[link.end() for link in links.values()])


def describe_report(each: OpenedReport) -> dict[str, Any]:
    """A report, as the helper is offered it."""
    sealed, verifier = (urlsafe_b64encode(part).decode() for part in (each.sealed, each.verifier))
    return {"place": each.place, "report": each.report.hex(), "turn": each.turn, "sealed": sealed, "verifier": verifier}


def read_answers(batch: Batch, given: Any) -> dict[int, bytes]:
    """What the helper's shares show of the proofs of the reports that it accepts, by place."""
    if not isinstance(given, list) or len(given) != len(batch.reports):
        raise Malformed("the helper does not answer to each report that it was asked about")
    found = dict[int, bytes]()
    for each, answer in zip(batch.reports, given, strict=True):
        if not isinstance(answer, dict) or type(answer.get("ok")) is not bool:
            raise Malformed("the helper does not say of a report whether it holds")
        if answer["ok"]:
            try:
                found[each.place] = urlsafe_b64decode(answer.get("verifier", ""))
            except (ValueError, TypeError):
                raise Malformed("what the helper shows of a proof is not base64url") from None
    return found

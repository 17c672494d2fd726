"""The ways of all studies that a process holds to their helpers."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from maskedbandit.service.host.helper_link import HelperLink
from maskedbandit.service.host.metrics import Metrics
from maskedbandit.service.host.mix_link import MixLink
from maskedbandit.service.host.partner_calls import PartnerCalls
from maskedbandit.service.host.total_link import TotalLink
from maskedbandit.service.views.link import LinkState
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.pairing import Pairing, read_pairings
from maskedbandit.store.writer import Writer

LONG_AWAY = 60_000  # milliseconds after which somebody should know
HELPER_AWAY = (
    "the helper of a study of two operators has not answered for a minute or longer: people get places and devices "
    "upload all the while, and its cohorts are released when the helper is back; the log says which study"
)
HELPER_REFUSES = (
    "the helper of a study of two operators disagrees with what is here, or refuses what it is asked: nothing of the "
    "study is released until that is settled between the operators; the log says which study"
)


class HelperLinks:
    """The links of all studies that a process holds."""

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
        """Have each study of this process do what is due with its helper, and return what somebody should look at."""
        for name, link in list(self.links.items()):
            if held.get(name) is not link.writer or self._find(link.writer) != link.pairing:
                del self.links[name]
                metrics.helper(name, LinkState(), 0)  # nothing of it waits any more, or for somebody else
                self._ending.add(task := asyncio.create_task(link.end()))
                task.add_done_callback(self._ending.discard)
        for name, writer in held.items():
            if name not in self.links and (pairing := self._find(writer)) is not None:
                calls = PartnerCalls(pairing.address, pairing.credential, self.transport)
                kind = MixLink if writer.study.protocol.shuffled else TotalLink
                self.links[name] = kind(writer, pairing, calls, witness, self._clock)
        found, now = dict[tuple[str, str], bool | None](), self._clock()
        for name, link in self.links.items():
            state = self.show(name) or LinkState()
            found[name, HELPER_AWAY] = state.away_since is not None and now >= state.away_since + LONG_AWAY
            found[name, HELPER_REFUSES] = bool(state.refusal)
            metrics.helper(name, state, now)
            link.go_on()
        return found

    def _find(self, writer: Writer) -> Pairing | None:
        """The helper of a study, if anything in the study may be waiting for a helper.

        A shuffler that was given up has reports of people still: it is told the end, should it ever come back.
        """
        study: Any = writer.study
        operators, lost = study.protocol.operators, study.helper_lost and not study.protocol.shuffled
        if operators is None or lost or study.state not in ("running", "paused", "stopped"):
            return None
        return self._pairings.get(operators.helper.key)

    def show(self, name: str) -> LinkState | None:
        """How a study that is held here stands with its helper, unless that was given up."""
        link = self.links.get(name)
        return None if link is None or link.lost else link.state

    async def rest(self) -> None:
        """Wait until all that is under way has ended."""
        await asyncio.gather(*[link.task for link in self.links.values() if link.task is not None])

    async def end(self) -> None:
        """End all of them."""
        links, self.links = self.links, {}
        await asyncio.gather(*self._ending, *[link.end() for link in links.values()])

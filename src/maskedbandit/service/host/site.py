"""What the server of a site hosts: its part of studies, and the way to their coordinator."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from msgspec import structs

from maskedbandit.errors import StorageFailed
from maskedbandit.service.host.host_with_pages import HostWithPages
from maskedbandit.service.host.hosting import Looks
from maskedbandit.service.host.partner_calls import PartnerCalls
from maskedbandit.service.host.site_link import SiteLink
from maskedbandit.service.views.site_view import SiteView, read_site_view
from maskedbandit.store.databases.database import Database
from maskedbandit.store.lease import read_clock
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import Pairing, read_pairings
from maskedbandit.store.sites.study import SiteStudy
from maskedbandit.store.writer import Writer

LONGEST_DUE = 2**26  # bytes: a cohort of a million people, each with a ticket
COORDINATOR_AWAY = (
    "the coordinator does not answer: people whom this site knows have their arms, others get none, outcomes are "
    "stored here, and rounds go on when it is back"
)

LIST_WAITS = (
    "the coordinator has another list of sites, and its rounds wait for this site: `maskedbandit site enter` shows it, "
    "and `maskedbandit site confirm` agrees to it"
)


class SiteHost(HostWithPages):
    """The site's part of the studies of a database, while a server runs."""

    role = "site"

    def __init__(
        self, address: str, folder: Path | None, rate: float = 5000, clock: Callable[[], int] = read_clock
    ) -> None:
        self.transport: httpx.AsyncBaseTransport | None = None  # how the coordinator is reached, if not directly
        self._coordinator: Pairing | None = None
        self._calls: PartnerCalls | None = None
        self.links: dict[str, SiteLink] = {}
        super().__init__(address, folder, rate, clock)
        self.own = read_own_keys(self.witness)

    async def ask_coordinator(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What the coordinator answers of a study, or raise `PartnerAway` or `PartnerRefuses`."""
        if self._coordinator is None:
            raise StorageFailed("this site has joined no coordinator: `maskedbandit site join` does")
        if self._calls is None:
            address, credential = self._coordinator.address, self._coordinator.credential
            self._calls = PartnerCalls(address, credential, self.transport, "coordinator", LONGEST_DUE)
        return await self._calls.ask(method, f"/v1/studies/{path}", body)

    async def view(self, name: str) -> SiteView:
        """What may be shown of this site's part of a study."""
        found = await self.read(partial(read_site_view, witness=self.witness, name=name, now=self.clock()))
        link = self.links.get(name)
        return structs.replace(found, link=link.state if link else None)

    def _hold(self, database: Database, name: str, holder: str) -> SiteStudy:
        return SiteStudy(database, self.witness, name, self.clock, holder)

    def _read_known(self, database: Database) -> None:
        super()._read_known(database)
        found = [each for each in read_pairings(database) if each.role == "coordinator"]
        if found and found[-1] != self._coordinator:
            self._coordinator, self._calls = found[-1], None

    @property
    def _settling(self) -> bool:
        return any(link.under_way for link in self.links.values())

    def _settle(self, held: Mapping[str, Writer]) -> Looks:
        for name in [name for name, link in self.links.items() if held.get(name) is not link.writer]:
            self.links.pop(name).end()
        looks = Looks()
        for name, writer in held.items():
            if name not in self.links:
                self.links[name] = SiteLink(
                    writer, partial(self.ask_coordinator, "POST", f"{name}/site/rounds"), self.clock
                )
            self.links[name].go_on()
            looks[name, COORDINATOR_AWAY] = self.links[name].state.away_since is not None
            looks[name, LIST_WAITS] = self.links[name].state.unconfirmed
        return looks

    async def _end_settling(self) -> None:
        for link in self.links.values():
            link.end()
        await asyncio.gather(*[link.task for link in self.links.values() if link.task], return_exceptions=True)
        if self._calls is not None:
            await self._calls.close()

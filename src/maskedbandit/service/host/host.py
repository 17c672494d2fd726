"""What the server of a study hosts: the studies that this operator leads, and all that is shown of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from msgspec import structs

from maskedbandit.errors import StoreError
from maskedbandit.service.host.deliveries import Deliveries
from maskedbandit.service.host.elsewhere import Elsewhere
from maskedbandit.service.host.helper_links import HelperLinks
from maskedbandit.service.host.host_with_pages import HostWithPages
from maskedbandit.service.host.hosting import Looks
from maskedbandit.service.host.watch import StudyWatch
from maskedbandit.service.paired_keys import SITE_ROLE, PairedKeys
from maskedbandit.service.request.limits import Buckets, OpenStreams
from maskedbandit.service.study_messages import StudyState
from maskedbandit.service.views.counts import keep_counts
from maskedbandit.service.views.describe import read_finish, read_state
from maskedbandit.service.views.health import MANY_WASTED, WASTED_WARNING, count_wasted
from maskedbandit.service.views.tally import Tally
from maskedbandit.service.views.view import StudyView, read_view
from maskedbandit.store.book.book import parse_protocol
from maskedbandit.store.book.finish import Finish, is_used_up
from maskedbandit.store.databases.database import Database
from maskedbandit.store.lease import read_clock
from maskedbandit.store.study import Study
from maskedbandit.store.study_rows import StudyRow, read_study
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol

Seen = TypeVar("Seen")
Forecast = Callable[[Protocol, float, float, float], Awaitable[list[tuple[str, str]]]]
OwnAudit = Callable[[Protocol], Awaitable[list[dict[str, Any]]]]
TrustPlan = Callable[[Protocol, float, float, float], Awaitable[tuple[list[str], list[list[str]], str]]]


class Host(HostWithPages):
    """The studies of a database, while a server runs."""

    role = "leader"

    def __init__(
        self, address: str, folder: Path | None, rate: float = 5000, clock: Callable[[], int] = read_clock
    ) -> None:
        self.forecast: Forecast | None = None  # what a new study would bring; it is simulated, which is not for here
        self.trust_plan: TrustPlan | None = None  # what a study would take under each trust model: the same
        self.own_audit: OwnAudit | None = None  # what an audit shows of a study: the same
        self.people = Buckets(10, 30)
        self.devices, self.tickets = Buckets(100, 1000), Buckets(1, 10)  # of devices, from one address, for one person
        self.forecasting = asyncio.Lock()  # it takes long: one at a time
        self.streams, self.open_streams = (
            OpenStreams(500, 100),
            OpenStreams(100, 20),
        )  # of events: with a key, and without one
        self._finishes: dict[str, tuple[tuple[Any, ...], Finish | None]] = {}  # of studies, by their last version
        self._watches: dict[str, StudyWatch] = {}  # of studies to which somebody listened
        self._tallies: dict[str, Tally] = {}  # what was counted for views, by study
        self.links = HelperLinks(clock)
        self.deliveries = Deliveries(self)
        self.contacts: dict[tuple[str, int], int] = {}  # when each site of a study last asked, by its number
        super().__init__(address, folder, rate, clock, PairedKeys(SITE_ROLE))

    async def view(self, name: str) -> StudyView:
        """What may be shown of a study."""
        found = await self._counted(read_view, name)
        contacts = tuple((site, at) for (study, site), at in self.contacts.items() if study == name)
        return structs.replace(found, link=self.links.show(name), contacts=contacts)

    async def state(self, name: str) -> StudyState:
        """How a study stands."""
        return await self._counted(read_state, name)

    async def _counted(self, read: Callable[..., Seen], name: str) -> Seen:
        tally = self._tallies.get(name) or Tally()
        ask = partial(read, witness=self.witness, name=name, now=self.clock(), tally=tally)
        found = await self.read(ask)
        self._tallies[name] = tally  # of studies that there are, and no other names
        return found

    def tally_of(self, name: str) -> Tally:
        """The tally that is kept of a study, which must exist."""
        return self._tallies.setdefault(name, Tally())

    async def version(self, name: str) -> tuple[Any, ...]:
        """A value that changes whenever anything changes that may be shown of a study."""

        def question(database: Database) -> tuple[Any, ...]:
            found, seen = read_study(database, name), self.witness.seen(name)
            used_up = is_used_up(database, name, found.people, parse_protocol(found.protocol))
            return found.state, found.people, seen.head.entries if seen else 0, used_up

        return await self.read(question)

    def watch(self, name: str) -> StudyWatch:
        """The listeners of a study, which must exist."""
        return self._watches.setdefault(name, StudyWatch(lambda: self.version(name), self.stops))

    async def finish(self, name: str, version: tuple[Any, ...]) -> Finish | None:
        """Why a study has finished: looked for once in each version, however many listen."""
        kept = self._finishes.get(name)
        if kept is None or kept[0] != version:
            found = await self.read(partial(read_finish, witness=self.witness, name=name))
            kept = self._finishes[name] = version, found
        return kept[1]

    def sends_for(self, study: str, state: str) -> bool:
        """Whether this process tells receivers of a study: the one that holds it, or any, if it is archived."""
        held = self.held.get(study)
        return isinstance(held, Writer) or (state == "archived" and not isinstance(held, Elsewhere))

    def _hold(self, database: Database, name: str, holder: str) -> Study:
        return Study(database, self.witness, name, self.clock, holder)

    def _read_known(self, database: Database) -> None:
        super()._read_known(database)
        self.links.read(database)
        self.deliveries.read(database)

    @property
    def _settling(self) -> bool:
        return self.links.settling

    def _settle(self, held: Mapping[str, Writer]) -> Looks:
        self.deliveries.go_on()
        return self.links.go_on(held, self.metrics, self.witness)

    async def _end_settling(self) -> None:
        await self.links.end()
        await self.deliveries.end()

    def _look_at(self, database: Database, study: StudyRow, published: bool) -> Looks:
        held, many = self.held.get(study.name), None
        if published:
            many = 0
            if isinstance(held, Writer):
                many = count_wasted(database, study.name, self.clock() - held.study.protocol.reward.exposure)
                with suppress(StoreError):  # it is tried again with the next round of the clock
                    keep_counts(database, self.witness, study.name, study.people, self.tally_of(study.name))
            self.metrics.places(study.name, study.people, many)
        if study.state != "running":
            return {}
        return {(study.name, WASTED_WARNING): None if many is None else many >= MANY_WASTED}

"""A coordinator and its sites, each a service within the process of the test; what passes between them is kept."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self

import httpx

from maskedbandit.privacy.sampling import Bits
from maskedbandit.service.host.enter_study import enter_study
from maskedbandit.service.host.helper_pairing import pair_with_operator
from maskedbandit.service.host.site import SiteHost
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.pairing import write_invitation
from tests.service.inside import Inside
from tests.store.small_study import Clock

URL = "http://localhost:8000"
CHANNEL = {"name": "distributed", "epsilon": 1, "honest": "1/2", "backend": {"name": "sites"}}
REWARD = {"window": "20 seconds", "exposure": "10 seconds"}


class Passed(NamedTuple):
    """A request of a site, and how it was answered."""

    site: str
    method: str
    path: str
    sent: bytes
    status: int
    answered: bytes


class CoordinatorWire(httpx.AsyncBaseTransport):
    """Carries what a site sends to the coordinator; the test may cut it."""

    def __init__(self, coordinator: Inside, site: str, passed: list[Passed]) -> None:
        self.coordinator, self.site, self.passed, self.cut = coordinator, site, passed, False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the coordinator, which has a loop of its own."""
        if self.cut:
            raise httpx.ConnectError("the wire is cut")
        body, path = await request.aread(), request.url.raw_path.decode()
        asked = request.method, path, body, None, list(request.headers.items())
        found = await asyncio.to_thread(self.coordinator.ask, *asked)
        self.passed.append(Passed(self.site, request.method, path, body, found.status, found.body))
        return httpx.Response(found.status, headers=found.headers, content=found.body)


class SiteInside(Inside):
    """A site's service."""

    def __init__(
        self, wire: httpx.AsyncBaseTransport | None, address: str, folder: Path, clock: Callable[[], int]
    ) -> None:
        self.wire = wire
        super().__init__(address, folder, clock)

    async def _made(self, rate: float) -> SiteHost:
        made = SiteHost(self.address, self.folder, rate, self.clock)
        made.transport = self.wire
        return made


class SitesInside:
    """A coordinator with a study, and its sites, which have entered it.

    Sites may have clocks of their own, and a network to the coordinator, of which the test knows the address.
    """

    def __init__(
        self,
        folder: Path,
        sites: int = 3,
        clocks: Sequence[Clock] = (),
        network: Callable[[Inside], str] | None = None,
        shares: Sequence[str] = (),
        clock: Clock | None = None,
        **changes: Any,
    ) -> None:
        self._open(folder, sites, clocks, network, clock)
        self.url = network(self.coordinator) if network else URL
        self.named = [self.pair(number, shares[number] if shares else "1/2") for number in range(sites)]
        named = self.named
        policy = {"name": "successive_elimination", "least": 8}
        table = {"channel": CHANNEL, "reward": REWARD, "policy": policy, "sites": {"list": named}}
        self.coordinator.begin(**(table | changes))
        dealing: Any = self.coordinator.host.held["small"]
        dealing.study._session.bits = Bits(Random(7).randbytes)  # who gets which place is the same in every world
        self.sites = [self.enter(number) for number in range(sites)]

    def pair(self, number: int, share: str = "1/2") -> dict[str, str]:
        """A site joins the coordinator: as a protocol names it."""
        given = self.addresses[number], self.folders[number], self.url, self.invite(), self.folders[number].name
        own = asyncio.run(pair_with_operator(*given, self.ways[number], "coordinator")).own
        return {"name": self.folders[number].name, "key": own, "share": share}

    def add(self) -> None:
        """One more site joins the coordinator."""
        number, folder = len(self.folders), self.folders[0].parent / f"site{len(self.folders)}"
        self.folders.append(folder)
        self.addresses.append(self.find_address(folder))
        self.wires.append(CoordinatorWire(self.coordinator, folder.name, self.passed))
        self.ways.append(self.wires[-1])
        self.clocks = [*self.clocks, self.clock]
        self.named.append(self.pair(number))

    @classmethod
    def reopen(cls, folder: Path, now: int, sites: int = 3) -> Self:
        """All of them go on from what is stored, perhaps in a copy of their folder."""
        made = cls.__new__(cls)
        made._open(folder, sites)
        made.clock.now = now
        made.sites = [made.serve(number) for number in range(sites)]
        return made

    def _open(
        self,
        folder: Path,
        sites: int,
        clocks: Sequence[Clock] = (),
        network: Callable[[Inside], str] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock, self.passed = clock or Clock(), list[Passed]()
        self.clocks = clocks or [self.clock] * sites
        self.coordinator = Inside(self.find_address(folder / "coordinator"), folder / "coordinator", self.clock)
        self.folders = [folder / f"site{number}" for number in range(sites)]
        self.addresses = [self.find_address(each) for each in self.folders]
        self.wires = [CoordinatorWire(self.coordinator, each.name, self.passed) for each in self.folders]
        self.ways: list[CoordinatorWire | None] = [None if network else each for each in self.wires]

    def find_address(self, folder: Path) -> str:
        """Where the database is of whoever has this folder."""
        return f"sqlite:///{folder}.db"

    def invite(self) -> str:
        """An invitation, as the command makes it."""
        database = open_database(self.coordinator.address)
        try:
            with database.transaction():
                return write_invitation(database, self.clock())
        finally:
            database.close()

    def enter(self, number: int) -> SiteInside:
        """A site enters the study, and begins to serve."""
        address, folder, way = self.addresses[number], self.folders[number], self.ways[number]
        asyncio.run(enter_study(address, folder, "small", way))
        return self.serve(number)

    def serve(self, number: int) -> SiteInside:
        """A site that has entered the study begins to serve."""
        made = SiteInside(self.ways[number], self.addresses[number], self.folders[number], self.clocks[number])
        made.run(wait_for_links(made.host))  # then it asks nothing by itself before its clock goes on
        return made

    def come(self, site: int, unit: str, value: float | None) -> dict[str, Any]:
        """A person comes to a site, sees the arm, and has an outcome or none."""
        at = self.sites[site]
        given = at.assign(unit)
        if given["ticket"] is not None:
            assert at.study("expose", {"ticket": given["ticket"]}).status == 200
            if value is not None:
                assert at.study("report", {"ticket": given["ticket"], "value": value}).status == 200
        return given

    def fill(self, people: int = 16) -> dict[str, float]:
        """People come to the sites in turn until so many have places: the sums of their outcomes by arm."""
        sums, many = {"a": 0.0, "b": 0.0}, 0
        for i in range(10 * people):
            value = float(i % 3 == 0)
            given = self.come(i % len(self.sites), f"person {i}", value)
            if given["ticket"] is not None:
                sums[given["arm"]] += value
                many += 1
            if many == people:
                return sums
        raise AssertionError("the cohorts are not full")

    def go_round(self, away: Sequence[int] = (), rounds: int = 16) -> None:
        """The clocks of all go on, and whatever the sites began ends."""
        for _ in range(rounds):
            self.coordinator.tick(1)
            for number, each in enumerate(self.sites):
                if number not in away:
                    each.tick()
                    each.run(wait_for_links(each.host))

    def releases(self) -> list[dict[str, Any]]:
        """What the coordinator publishes."""
        found: list[dict[str, Any]] = self.coordinator.ask("GET", "/v1/studies/small/releases", None, "owner").json[
            "releases"
        ]
        return found

    def close(self) -> None:
        """End all of them."""
        for each in (*self.sites, self.coordinator):
            each.close()


async def wait_for_links(host: SiteHost) -> None:
    """Until what a site began with its coordinator has ended."""
    await asyncio.gather(*[link.task for link in host.links.values() if link.task], return_exceptions=True)

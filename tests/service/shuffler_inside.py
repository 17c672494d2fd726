"""A service and its shuffler, each within the process of the test, and devices that reach both; what passes is kept."""

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx

from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.device import Agreed, Device
from maskedbandit.privacy.sampling import Bits
from maskedbandit.service.host.helper import ShufflerHost
from maskedbandit.service.host.helper_pairing import pair_with_operator
from maskedbandit.store.book.verify import Verified, verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.pairing import write_invitation
from maskedbandit.store.shuffling.verify import VerifiedShuffling, verify_shuffling
from tests.service.inside import Inside
from tests.store.small_study import Clock

LEADER, SHUFFLER = "http://leader.test", "https://shuffler.test"
DELTA = "1/1000"
CHANNEL = {"name": "shuffled", "epsilon": 1, "delta": DELTA, "honest": "1/2", "backend": "shuffler"}
SPLIT = {"name": "split_and_mix", "epsilon": 1, "eta": "1/1000000", "honest": "1/2", "grid": 5, "backend": "shuffler"}
REWARD = {"window": "20 seconds", "exposure": "10 seconds", "grace": "10 seconds"}
WINDOW, GRACE = 20, 10  # seconds
Lie = Callable[[str, str, Any], Any]  # what is answered in place of this to a request of this method and path


class Passed(NamedTuple):
    """A request of a device, to whom, and how it was answered."""

    to: str
    path: str
    size: int
    status: int
    answered: int  # bytes
    at: int


class LinkWire(httpx.AsyncBaseTransport):
    """Carries what the service asks of the shuffler, which has a loop of its own; the test may cut it, or lie."""

    def __init__(self, shuffler: Inside) -> None:
        self.shuffler, self.away, self.lie = shuffler, False, None
        self.asked = list[str]()
        self.cut_at: str | None = None  # an answer to such a request is lost on its way

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the shuffler."""
        body, path = await request.aread(), request.url.raw_path.decode()
        self.asked.append(f"{request.method} {path}")
        if self.away:
            raise httpx.ConnectError("away")
        asked = request.method, path, body, None, list(request.headers.items())
        found = await asyncio.to_thread(self.shuffler.ask, *asked)
        if self.cut_at is not None and self.asked[-1].partition("?")[0].endswith(self.cut_at):
            self.cut_at = None
            raise httpx.ReadError("cut off")
        lie: Lie | None = self.lie
        if lie is not None and found.status == 200:
            return httpx.Response(200, json=lie(request.method, path, found.json))
        return httpx.Response(found.status, headers=found.headers, content=found.body)


class DeviceWire(httpx.BaseTransport):
    """Carries what a device sends to either of both."""

    def __init__(self, study: "ShuffledStudy") -> None:
        self.study = study

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of whom it is sent to."""
        to = self.study.service if request.url.host == "leader.test" else self.study.shuffler
        body = request.read()
        found = to.ask(request.method, request.url.path, body, None, request.headers.items())
        passed = Passed(request.url.host, request.url.path, len(body), found.status, len(found.body), to.clock())
        self.study.passed.append(passed)
        self.study.bodies.append(body)
        self.study.headers.append({name.lower() for name in request.headers})
        return httpx.Response(found.status, headers=found.headers, content=found.body)


class ShufflerInside(Inside):
    """A shuffler's service."""

    async def _made(self, rate: float) -> ShufflerHost:
        return ShufflerHost(self.address, self.folder, "University", rate, self.clock)

    def invite(self) -> str:
        """An invitation, as the command makes it."""
        with closing(open_database(self.address)) as database, database.transaction():
            return write_invitation(database, self.clock())

    def verify(self) -> VerifiedShuffling:
        """All that is stored fits."""
        with closing(open_database(self.address)) as database:
            return verify_shuffling(database, self.host.witness, "small")


class ShuffledStudy:
    """A running study of a service and a shuffler, and its people."""

    def __init__(self, folder: Path, seed: int = 7, **changes: Any) -> None:
        self.folder, self.clock, self.passed, self.bodies = folder, Clock(), list[Passed](), list[bytes]()
        self.headers = list[set[str]]()  # their names
        self.key: str | None = None  # a device key, which devices have from then on
        self.devices = dict[str, Device]()
        self.places = dict[str, dict[str, Any]]()
        self.service = Inside(f"sqlite:///{folder}/leader.db", folder / "leader", self.clock)
        self.shuffler = ShufflerInside(f"sqlite:///{folder}/shuffler.db", folder / "shuffler", self.clock)
        self.wire = LinkWire(self.shuffler)
        given = self.service.address, self.service.folder, SHUFFLER, self.shuffler.invite(), "Clinic", self.wire
        paired = asyncio.run(pair_with_operator(*given))
        self.operators = paired.own, paired.other.fingerprint
        self.service.host.links.transport = self.wire
        table: dict[str, Any] = {
            "channel": CHANNEL,
            "reward": REWARD,
            "policy": {"name": "successive_elimination", "least": 4},
            "budget": {"epsilon": 1, "delta": DELTA},
            "operators": {
                "leader": {"name": "Clinic", "key": paired.own},
                "helper": {"name": "University", "key": paired.other.fingerprint, "address": SHUFFLER},
            },
        }
        self.service.begin(**(table | changes))
        dealing: Any = self.service.host.held["small"]
        dealing.study._session.bits = Bits(Random(seed).randbytes)  # who gets which place is the same in every world
        self.go()

    def make_device(self, unit: str, folder: str | None = None) -> Device:
        """A device of a person."""
        made = Device(
            self.folder / (folder or unit),
            LEADER,
            Agreed(1, self.operators, delta=DELTA),
            key=self.key,
            clock=lambda: self.clock() / 1000,
            transport=lambda: DeviceWire(self),
        )
        made.consent(True)
        return made

    def take_place(self, unit: str) -> dict[str, Any]:
        """A person comes, and sees the arm."""
        place: dict[str, Any] = self.service.assign(unit)["device"]
        assert self.service.study("expose", {"ticket": place["ticket"]}).status == 200
        self.devices[unit] = self.make_device(unit)
        self.devices[unit].join(place)
        self.places[unit] = place
        return place

    def come(self, unit: str, value: float | None) -> dict[str, Any]:
        """A person comes, sees the arm, and has an outcome or none."""
        place = self.take_place(unit)
        if value is not None:
            assert self.devices[unit].record("small", value)
        return place

    def come_all(self, values: list[float | None], start: int = 0) -> list[str]:
        """So many people come."""
        units = [f"person{number}" for number in range(start, start + len(values))]
        for unit, value in zip(units, values, strict=True):
            self.come(unit, value)
        return units

    def report(self, *units: str) -> None:
        """The window is over, and these people's applications run again, or all."""
        self.clock.now += 1000 * WINDOW
        for unit in units or tuple(self.devices):
            self.devices[unit].contact()

    def go(self, seconds: float = 0) -> None:
        """Time passes, and what is due is done to its end."""
        self.service.tick(seconds)
        self.service.run(self.service.host.links.rest())

    def release(self) -> list[dict[str, Any]]:
        """The time for reports is over: what is released by then."""
        self.go(GRACE + 0.001)
        found: list[dict[str, Any]] = self.service.ask("GET", "/v1/studies/small/releases", key="owner").json[
            "releases"
        ]
        return found

    def entries(self, of: Inside, kind: str) -> list[dict[str, Any]]:
        """What the ledger of one of both says of this kind."""
        with closing(open_database(of.address)) as database:
            rows = database.rows("SELECT body FROM entry WHERE study = 'small' ORDER BY number")
        return [each for (text,) in rows if (each := json.loads(text))["kind"] == kind]

    def verify(self) -> Verified:
        """All that the service has stored fits."""
        with closing(open_database(self.service.address)) as database:
            return verify_study(database, self.service.host.witness, "small")

    def answers(self, unit: str) -> list[str]:
        """What was answered to each report of a person."""
        return [each.answer for each in self.devices[unit].show()[0].sent]

    def close(self) -> None:
        """End all of them."""
        for each in self.devices.values():
            each.close()
        for server in (self.service, self.shuffler):
            server.close()


@contextmanager
def shuffled_study(folder: Path, **changes: Any) -> Iterator[ShuffledStudy]:
    """A study, until the end of a block."""
    folder.mkdir(parents=True, exist_ok=True)
    made = ShuffledStudy(folder, **changes)
    try:
        yield made
    finally:
        made.close()


def even_coins(self: Shuffled, reward: Any, offer: Any, bits: Bits) -> int:
    """In place of `randomize`: half of a person's coins are ones, and one more of an odd number if the place is odd."""
    tossed = self.tossed_by(offer)
    return int(reward) + tossed // 2 + (tossed % 2) * (offer.position % 2)

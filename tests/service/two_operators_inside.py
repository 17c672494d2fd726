"""A study of two operators over HTTP: a service, and the devices of its people, which know its address alone."""

from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from maskedbandit.device import Agreed, Device
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import write_pairing
from maskedbandit.study.operators import OperatorKeys
from tests.service.fake_helper import FakeHelper
from tests.service.inside import Inside
from tests.store.two_operators import CHANNEL, REWARD, name_operators

ADDRESS = "http://helper.test"
WINDOW, GRACE = 20, 5  # seconds


class ServiceWire(httpx.BaseTransport):
    """Carries what a device sends to a service within this process; what passes is kept."""

    def __init__(self, service: Inside, passed: list[httpx.Request] | None = None) -> None:
        self.service, self.passed = service, passed

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the service."""
        if self.passed is not None:
            self.passed.append(request)
        found = self.service.ask(request.method, request.url.path, request.read(), None, request.headers.items())
        return httpx.Response(found.status, headers=found.headers, content=found.body)


def pair(service: Inside, keys: OperatorKeys) -> None:
    """The helper with these keys is known to the service from now on."""
    with closing(open_database(service.address)) as database, database.transaction():
        write_pairing(database, keys, "helper", "University", ADDRESS, "secret", service.clock())


def begin_study(service: Inside, helper: OperatorKeys, **changes: Any) -> dict[str, Any]:
    """A running study of this service and a helper."""
    leader = read_own_keys(service.host.witness)
    pair(service, helper)
    table = {"channel": CHANNEL, "reward": REWARD, "operators": name_operators(leader, helper)}
    return service.begin(**(table | changes))


class Person:
    """Somebody with a device."""

    def __init__(self, service: Inside, folder: Path, unit: str, **more: Any) -> None:
        self.service, self.unit, self.passed = service, unit, list[httpx.Request]()
        self.place = service.assign(unit)["device"]
        operators = tuple(OperatorKeys.from_text(each["seals"], each["signs"]) for each in self.place["operators"])
        leader, helper = (each.fingerprint for each in operators)
        self.device = Device(
            folder / unit,
            "http://leader.test",
            Agreed(1, (leader, helper)),
            clock=lambda: service.clock() / 1000,
            transport=lambda: ServiceWire(service, self.passed),
            **more,
        )
        self.device.consent(True)

    def join(self) -> None:
        """The person sees the arm."""
        assert self.service.study("expose", {"ticket": self.place["ticket"]}).status == 200
        self.device.join(self.place)

    @property
    def answers(self) -> list[str]:
        """What was answered to each report."""
        return [each.answer for each in self.device.show()[0].sent]


class Both:
    """A service, its helper, and people."""

    def __init__(self, service: Inside, folder: Path, **changes: Any) -> None:
        self.service, self.folder = service, folder
        self.helper = FakeHelper(folder, service.clock)
        self.helper.pair(read_own_keys(service.host.witness))
        service.host.links.transport = self.helper
        begin_study(service, self.helper.keys, **changes)
        self.people: list[Person] = []

    def come(self, many: int, values: Any = lambda i: i % 2) -> None:
        """So many people come, and have outcomes."""
        for i in range(many):
            person = Person(self.service, self.folder, f"person{len(self.people)}")
            person.join()
            assert person.device.record("small", values(i))
            self.people.append(person)
        self.service.clock.now += 1000
        for person in self.people[-many:]:
            person.device.contact()

    def go(self, seconds: float = 0) -> None:
        """Time passes, and what is due is done to its end."""
        self.service.tick(seconds)
        self.service.run(self.service.host.links.rest())

    def releases(self) -> list[Any]:
        """What was released."""
        return list(self.service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"])

    def warnings(self) -> list[str]:
        """What somebody should look at."""
        self.service.tick()
        self.service.run(self.service.host.links.rest())
        return list(self.service.ask("GET", "/readyz", key=None).json["warnings"])

    @property
    def state(self) -> Any:
        """How the link stands."""
        return self.service.host.links.show("small")

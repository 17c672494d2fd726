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
from tests.service.inside import Inside
from tests.store.two_operators import CHANNEL, REWARD, name_operators

ADDRESS = "http://helper.test"


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

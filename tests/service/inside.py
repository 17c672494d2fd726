"""The service within the process of the test: requests go to the application itself, and the test moves the clock."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

import pytest

from maskedbandit.service import keys
from maskedbandit.service.app import make_application
from maskedbandit.service.host.helper import HelperHost
from maskedbandit.service.host.host import Host
from maskedbandit.store.databases.connection import open_database
from tests.store.small_study import Clock

TABLE: dict[str, Any] = {  # a policy that needs no compiled kernels
    "name": "small",
    "people": 1000,
    "policy": {"name": "successive_elimination", "least": 2},
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "a", "payload": {"text": "A"}}, {"name": "b"}],
    "reward": {"window": "20 seconds", "exposure": "10 seconds"},
    "budget": {"epsilon": 1},
}
Headers = Iterable[tuple[str, str]]


class Reply(NamedTuple):
    """An answer over HTTP."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """What a problem is for programs."""
        found = self.json
        assert self.headers["content-type"] == "application/problem+json", self
        assert found["status"] == self.status, self
        return str(found["code"])


class Inside:
    """A service. `key` is a role, whose key is then used; or the text of a key; or None for nobody's."""

    def __init__(self, address: str, folder: Path, clock: Callable[[], int] | None = None, rate: float = 1e9) -> None:
        self.clock = clock or Clock()
        self.sign: Callable[[str], str] | None = None  # the token of a person, if people are signed
        self.said: dict[str, Any] = {}  # of each person, for rules on who is enrolled
        self.runner, self._turn = asyncio.Runner(), RLock()
        self.address, self.folder = address, folder
        self.host: Any = self.run(self._made(rate))
        for each in (
            getattr(self.host, name, None)
            for name in ("people", "devices", "tickets", "strangers", "visitors", "guests")
        ):
            if each is not None:
                each.rate = each.burst = rate
        database = open_database(address)
        self.keys = {role: keys.write_key(database, role, None, self.clock()) for role in keys.SECRET_ROLES}
        self.host.keys.read(database)
        database.close()
        self.app = make_application(self.host)
        self.run(self.host.start())
        self.host._clock_task.cancel()  # a test says when the clock goes

    async def _made(self, rate: float) -> Host | HelperHost:
        return Host(self.address, self.folder, rate, self.clock)

    def run(self, what: Any) -> Any:
        """What a coroutine gives; `Runner.run` would change how signals are handled for each.

        Other services of a test ask this one from threads of theirs. Only one thread at a time may run the loop.
        """
        with self._turn:
            return self.runner.get_loop().run_until_complete(what)

    def close(self) -> None:
        """End as a server ends."""
        self.run(self.host.stop())
        with self._turn:
            self.runner.close()

    def tick(self, seconds: float = 0) -> None:
        """Time passes, and what is due is done."""
        self.clock.now += round(1000 * seconds)
        self.run(self.host._round())

    def scope(self, method: str, path: str, key: str | None, headers: Headers) -> dict[str, Any]:
        """A request, as servers hand it on."""
        path, _, query = path.partition("?")
        given = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        if key is not None:
            given.append((b"authorization", f"Bearer {self.keys.get(key, key)}".encode("latin-1")))
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": given,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }

    async def asked(
        self, method: str, path: str, body: Any = None, key: str | None = "client", headers: Headers = ()
    ) -> Reply:
        """The answer to a request; a body that is not bytes is sent as JSON."""
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        came, found = [{"type": "http.request", "body": raw, "more_body": False}], list[dict[str, Any]]()

        async def receive() -> dict[str, Any]:
            return came.pop() if came else {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            found.append(message)

        await self.app(self.scope(method, path, key, headers), receive, send)
        names = {name.decode(): value.decode("latin-1") for name, value in found[0]["headers"]}
        return Reply(found[0]["status"], names, b"".join(each.get("body", b"") for each in found[1:]))

    def ask(self, method: str, path: str, body: Any = None, key: str | None = "client", headers: Headers = ()) -> Reply:
        """The answer to one request."""
        found: Reply = self.run(self.asked(method, path, body, key, headers))
        return found

    def streamed(self, path: str, key: str | None, headers: Headers = ()) -> bytes:
        """What a stream of events says until nothing has changed any more."""
        found, enough = list[bytes](), asyncio.Event()

        async def send(message: dict[str, Any]) -> None:
            found.append(message.get("body", b""))
            if b"event: changed" in found[-1]:
                enough.set()

        async def receive() -> dict[str, Any]:
            await enough.wait()
            return {"type": "http.disconnect"}

        self.run(asyncio.wait_for(self.app(self.scope("GET", path, key, headers), receive, send), 60))
        return b"".join(found)

    def together(self, *requests: tuple[Any, ...]) -> list[Reply]:
        """The answers to requests that come at the same time."""

        async def all_of_them() -> list[Reply]:
            return await asyncio.gather(*[self.asked(*each) for each in requests])

        found: list[Reply] = self.run(all_of_them())
        return found

    # what tests ask most

    def study(self, verb: str, body: Any = None, key: str | None = "client", name: str = "small") -> Reply:
        """A request about a study."""
        return self.ask("POST", f"/v1/studies/{name}/{verb}", body, key)

    def begin(self, **changes: Any) -> dict[str, Any]:
        """A running study; what is None is left out."""
        table = {key: value for key, value in (TABLE | changes).items() if value is not None}
        made = self.ask("POST", "/v1/studies", table, "owner")
        assert made.status == 201, made
        assert self.start(table["name"]).status == 200
        return table

    async def approved(self, name: str) -> Reply:
        """What an officer is answered who approves the protocol of a draft."""
        found = (await self.asked("GET", f"/v1/studies/{name}", None, "officer")).json["protocol"]
        return await self.asked("POST", f"/v1/studies/{name}/approve", {"protocol": found}, "officer")

    async def started(self, name: str, query: str = "") -> Reply:
        """What an owner is answered who starts a draft that an officer has approved."""
        assert (await self.approved(name)).status == 200
        return await self.asked("POST", f"/v1/studies/{name}/start{query}", None, "owner")

    def start(self, name: str = "small", query: str = "") -> Reply:
        """The same, outside of an event loop."""
        found: Reply = self.run(self.started(name, query))
        return found

    def assign(self, unit: str, name: str = "small") -> dict[str, Any]:
        """The arm of a person."""
        more = {"token": self.sign(unit)} if self.sign else {}
        more |= {"attributes": self.said} if self.said else {}
        found = self.study("assign", {"unit": unit} | more, name=name)
        assert found.status == 200, found
        return dict(found.json)

    def seen(self, unit: str, name: str = "small") -> str:
        """The ticket of a person who has seen the arm."""
        ticket = str(self.assign(unit, name)["ticket"])
        assert self.study("expose", {"ticket": ticket}, name=name).status == 200
        return ticket

    def scoped(self, role: str, study: str) -> str:
        """A key for one study."""
        return str(self.ask("POST", "/v1/keys", {"role": role, "study": study}, "owner").json["key"])


def end_after(service: Inside, verb: str, patch: pytest.MonkeyPatch) -> None:
    """The process of a service is gone as soon as its study has done this operation, before anybody is told."""
    writer = service.host.held["small"]
    real = writer.submit

    async def gone(*operation: Any) -> None:
        await real(*operation)
        raise OSError("the process has ended")

    def submit(*operation: Any) -> Any:
        return gone(*operation) if operation[0] == verb else real(*operation)

    patch.setattr(writer, "submit", submit)


@contextmanager
def inside(address: str, folder: Path, **more: Any) -> Iterator[Inside]:
    """A service, until the end of a block."""
    made = Inside(address, folder, **more)
    try:
        yield made
    finally:
        made.close()

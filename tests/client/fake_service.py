"""A service in memory that keeps what the table of the interface promises, behind a network with faults."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable

import httpx

URL, KEY, STUDY = "http://service.test", "mb_client_secret-of-tests", "newsletter"
ARMS = [("plain", {"subject": "Hello"}), ("bold", {"subject": "HELLO"})]


class FakeService:
    """Studies without a policy: the arms are given in turn, and everything else is as the interface says."""

    def __init__(
        self, exposure: bool = True, offer: str | None = None, arms: Iterable[tuple[str, object]] = ARMS
    ) -> None:
        self.exposure, self.offer, self.arms = exposure, offer, list(arms)
        self.places: dict[tuple[str, str], dict[str, object]] = {}
        self.exposed: set[str] = set()
        self.reports: dict[tuple[str, str], float] = {}
        self.told: dict[tuple[str, str, str], float] = {}  # by ticket, event and proof
        self.asked: Counter[str] = Counter()
        self.late: set[str] = set()
        self.left: list[str] = []
        self.state: dict[str, int] = {}  # a status with which all requests of a path are refused
        self.enrols, self.over_budget, self.turned_away = True, set[str](), set[str]()

    def handle(self, path: str, body: dict[str, object]) -> tuple[int, object]:
        """The answer to a request."""
        study, *rest = path.removeprefix("/v1/studies/").split("/")
        self.asked["/".join(rest)] += 1
        for ending, status in self.state.items():
            if path.endswith(ending):
                return refused(status, {409: "not_running", 404: "unknown_study", 401: "unauthorized"}.get(status, "x"))
        if study.startswith("unknown"):
            return refused(404, "unknown_study")
        if rest == ["assign"]:
            return self.assign(study, str(body["unit"]))
        if rest == ["leave"]:
            return self.leave(str(body["ticket"]))
        one = {"expose": self.expose, "report": self.report}[rest[0]]
        items = []
        for request in body["requests"]:
            status, answer = one(**request)
            items.append({"status": status, "answer" if status == 200 else "problem": answer})
        return 200, {"items": items}

    def assign(self, study: str, unit: str) -> tuple[int, object]:
        again = (study, unit) in self.places
        number = len(self.places)
        enrols = self.enrols and unit not in self.over_budget | self.turned_away
        arm, payload = self.arms[number % len(self.arms)] if enrols else self.arms[-1]
        given = {"study": study, "arm": arm, "payload": payload, "ticket": None, "propensity": "1", "again": False}
        given["why"] = "budget_exceeded" if unit in self.over_budget else None
        given["why"] = "not_eligible" if unit in self.turned_away else given["why"]
        if enrols and not again:
            self.places[study, unit] = given | {"ticket": f"ticket{number}", "propensity": "1/2", "offer": self.offer}
        return 200, self.places.get((study, unit), given) | {"again": again}

    def expose(self, ticket: str) -> tuple[int, object]:
        if not self.known(ticket):
            return refused(404, "unknown_ticket")
        self.exposed.add(ticket)
        return 200, {"status": "exposed"}

    def leave(self, ticket: str) -> tuple[int, object]:
        if not self.known(ticket):
            return refused(404, "unknown_ticket")
        self.places = {key: place for key, place in self.places.items() if place["ticket"] != ticket}
        self.left.append(ticket)
        return 200, {"status": "left"}

    def report(self, ticket: str, value: float, event: str, proof: str, metric: str = "") -> tuple[int, object]:
        event = f"{metric} {event}" if metric else event
        if not self.known(ticket):
            return refused(404, "unknown_ticket")
        if ticket in self.late:
            return refused(410, "late")
        if self.offer is None and not -1000 <= value <= 1000:
            return refused(422, "reward_out_of_range")
        if self.exposure and ticket not in self.exposed:
            return refused(409, "not_exposed")
        self.reports.setdefault((ticket, event), value)
        before = self.told.get((ticket, event, proof))
        if before is None:
            self.told[ticket, event, proof] = value
            return 200, {"status": "accepted"}
        return (200, {"status": "duplicate"}) if before == value else refused(409, "conflict")

    def known(self, ticket: str) -> bool:
        return any(place["ticket"] == ticket for place in self.places.values())


def refused(status: int, code: str) -> tuple[int, object]:
    return status, {"type": "about:blank", "title": "x", "status": status, "code": code, "detail": "in words"}


class Dripping(httpx.AsyncByteStream):
    """A body that begins and never ends."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.001)


GARBAGE = [
    b"",
    b"null",
    b"[]",
    b"<html>",
    b'{"items": []}',
    b'{"items": [null]}',
    b'{"study": 1}',
    b"[" * 100_000,
    b"\xff",
]
GARBAGE += [b'{"study": "newsletter", "arm": "bold", "ticket": "NOT ONE", "propensity": "1/2", "again": false}']
GARBAGE += [b'{"study": "newsletter", "arm": "bold", "ticket": "abc", "propensity": "1/0", "again": false}']
GARBAGE += [b'{"study": "another", "arm": "bold", "ticket": "abc", "propensity": "1/2", "again": false}']
FAULTS = ("drop request", "drop response", "duplicate", "reorder", "unavailable", "too many", "garbage")


class Network(httpx.AsyncBaseTransport):
    """Carries requests to the service, each with the fault that `fault` names: none, one of `FAULTS` or a body."""

    def __init__(self, service: FakeService, fault: Callable[[str], str | bytes | None] = lambda path: None) -> None:
        self.service, self.fault = service, fault
        self.sent: list[tuple[str, bytes]] = []
        self.headers: list[httpx.Headers] = []
        self.held: list[tuple[str, bytes]] = []
        self.lock = threading.Lock()  # several clients have a loop each

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path, content = request.url.path, await request.aread()
        with self.lock:
            self.sent.append((path, content))
            self.headers.append(request.headers)
            fault = self.fault(path)
        if fault == "hang":
            await asyncio.Event().wait()
        with self.lock:
            return self.carry(fault, path, content)

    def carry(self, fault: str | bytes | None, path: str, content: bytes) -> httpx.Response:
        if fault == "drop request":
            raise httpx.ConnectError("refused")
        if fault == "unavailable":
            return httpx.Response(503, content=b"away")
        if fault == "too many":
            return httpx.Response(429, headers={"Retry-After": "0"}, json=refused(429, "too_many")[1])
        if fault == "drip":
            return httpx.Response(200, stream=Dripping())
        if isinstance(fault, bytes):
            return httpx.Response(200, content=fault)
        if fault == "reorder":  # it arrives after what is sent later
            self.held.append((path, content))
            raise httpx.ReadTimeout("nothing came")
        status, answer = self.service.handle(path, json.loads(content))
        if fault == "duplicate":
            status, answer = self.service.handle(path, json.loads(content))
        while self.held:
            old, body = self.held.pop()
            self.service.handle(old, json.loads(body))
        if fault == "drop response":
            raise httpx.RemoteProtocolError("the server went away")
        return httpx.Response(status, json=answer)

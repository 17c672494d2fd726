"""A service in memory that answers devices as the interface says, on a wire that writes down all that can be seen.

It is the leader of a study of two operators, or the service of one of local trust, or of one with a shuffler; then it
answers as the shuffler, too.
"""

from __future__ import annotations

import json
import threading
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

import httpx
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.backends.prio3 import Prio3
from maskedbandit.channels.local import Local
from maskedbandit.channels.offers import Offer
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.device import Agreed, Device
from maskedbandit.secagg.prio3 import FIELD, HELPER, LEADER
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, Upload
from maskedbandit.study.operators import OperatorKeys
from tests.threaded_server import serve_in_thread

URL, STUDY, TICKET = "http://leader.test", "newsletter", "k3"
HOUR = 3_600_000
EXPOSED, WINDOW, GRACE = 1_764_000_000_000, 6 * HOUR, 24 * HOUR
PRIVATE = [X25519PrivateKey.from_private_bytes(bytes([7 + role]) * 32) for role in (LEADER, HELPER)]
KEYS = [OperatorKeys(each.public_key().public_bytes_raw(), bytes([role]) * 32) for role, each in enumerate(PRIVATE)]
PINNED = KEYS[0].fingerprint, KEYS[1].fingerprint
VERIFY = bytes(32)


def make_offer(n: int = 100, steps: int = 255, epsilon: Fraction = Fraction(1)) -> Offer:
    """What such a channel offers to a cohort."""
    return TwoServers(epsilon=epsilon, grid=steps, backend=Prio3()).offer(n).at(7)


def make_place(**changes: Any) -> dict[str, Any]:
    """A place, as an application's backend hands it over."""
    names = ("Clinic", ""), ("University", "https://helper.example")
    operators = [
        {"name": name, "address": address, "seals": keys.seals.hex(), "signs": keys.signs.hex()}
        for (name, address), keys in zip(names, KEYS, strict=True)
    ]
    usual = {"study": STUDY, "arm": "bold", "ticket": TICKET, "again": False, "offer": make_offer().to_text()}
    usual |= {"terms": {"protocol": "9f" * 32, "cohort": 3}, "operators": operators, "exposed": EXPOSED}
    return usual | {"window": WINDOW, "grace": GRACE, "default": 0} | changes


KEY = "mb_device_public_secret"
LOCAL = Local(1, grid=255)


def make_local_place(**changes: Any) -> dict[str, Any]:
    """A place of local trust."""
    place = make_place(offer=LOCAL.offer(100).at(7).to_text(), terms={"protocol": "9f" * 32})
    del place["operators"]
    return place | changes


DELTA, PASS = "1/1000000", "5b" * 64
COINS = Shuffled(1, DELTA, honest="3/4")


def make_mixed_place(**changes: Any) -> dict[str, Any]:
    """A place with a shuffler."""
    return make_place(offer=COINS.offer(20).at(7).to_text()) | changes


class Message(NamedTuple):
    """What can be seen of a request by whoever carries it, but for the letters and numbers that are random."""

    time: int
    head: tuple[tuple[str, str], ...]  # method, path and headers
    size: int  # of the body
    body: tuple[tuple[str, Any], ...]  # of what is random its length, and the first message that had the same


class Leader:
    """Uploads by the table of the interface: of a ticket the highest turn counts, and a turn has one report.

    Under local trust the first report of an outcome counts. Who asks for an arm gets that of `place`.
    """

    def __init__(self) -> None:
        self.time = EXPOSED
        self.uploads: dict[str, dict[str, Any]] = {}
        self.left: list[str] = []
        self.reports: dict[str, dict[str, Any]] = {}  # by the outcome
        self.bundles: list[dict[str, Any]] = []
        self.place: dict[str, Any] = make_local_place()
        self.exposed: int | None = EXPOSED
        self.seen: list[Message] = []
        self.bodies: list[bytes] = []
        self.faults: dict[int, str | int] = {}  # by the number of the request: lost, unanswered, or a status
        self._first: dict[str, int] = {}
        self.lock = threading.Lock()

    def clock(self) -> float:
        return self.time / 1000

    def take(self, method: str, path: str, headers: list[tuple[str, str]], content: bytes) -> tuple[int, Any] | None:
        """The answer to a request; None if nothing comes back."""
        with self.lock:
            number, body = len(self.seen), json.loads(content)
            shown = []
            for name, value in body.items():
                if name in ("report", "leader", "helper", "proof", "sealed"):
                    value = len(value), self._first.setdefault(value, number)
                elif name == "value":  # its noise makes it random, but for repeats
                    value = self._first.setdefault(content.decode(), number)
                shown.append((name, value))
            head = (("", f"{method} {path}"), *headers)
            self.seen.append(Message(self.time, head, len(content), tuple(shown)))
            self.bodies.append(content)
            fault = self.faults.get(number)
            if fault == "lost":
                return None
            if isinstance(fault, int):
                return fault, {"code": "unavailable" if fault >= 500 else "too_many"}
            answer = self.answer(path, body)
            return None if fault == "unanswered" else answer

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        if path == f"/v1/studies/{STUDY}/assign":
            return self.assign(body)
        if path == f"/v1/studies/{STUDY}/bundle":
            return self.take_bundle(body)
        if body["ticket"] != TICKET:
            return 404, {"code": "unknown_ticket"}
        if path == f"/v1/studies/{STUDY}/expose":
            self.exposed = self.time if self.exposed is None else self.exposed
            return 200, {"status": "exposed"}
        if path == f"/v1/studies/{STUDY}/pass":
            return 200, {"status": "given", "shown": PASS}
        if path == f"/v1/studies/{STUDY}/report":
            return self.take_report(body)
        if path == f"/v1/studies/{STUDY}/leave":
            self.left.append(body["ticket"])
            self.uploads.pop(TICKET, None)
            return 200, {"status": "left"}
        assert path == f"/v1/studies/{STUDY}/upload"
        if self.time > EXPOSED + WINDOW + GRACE:
            return 410, {"code": "late"}
        had = self.uploads.get(TICKET)
        if had is not None and had["turn"] >= body["turn"]:
            if had["turn"] == body["turn"] and had != body:
                return 409, {"code": "conflict"}
            return 200, {"status": "duplicate"}
        self.uploads[TICKET] = body
        return 200, {"status": "stored"}

    def assign(self, body: dict[str, Any]) -> tuple[int, Any]:
        """The arm; whoever asks for the second time has had the place before."""
        if body["token"] != "token":
            return 401, {"code": body["token"]}
        given = {"study": STUDY, "arm": self.place["arm"], "payload": {"text": "Hello"}, "ticket": TICKET}
        again = "assigned" in self._first
        self._first.setdefault("assigned", 0)
        return 200, given | {"again": again, "device": self.place | {"again": again, "exposed": self.exposed}}

    def take_bundle(self, body: dict[str, Any]) -> tuple[int, Any]:
        """What becomes of a bundle: the first one stands."""
        if body["shown"] != PASS:
            return 409, {"code": "forged"}
        self.bundles = self.bundles or [body]
        if self.bundles[0] != body:
            return 409, {"code": "conflict"}
        return 200, {"status": "stored" if self.bundles[0] is body else "duplicate"}

    def take_report(self, body: dict[str, Any]) -> tuple[int, Any]:
        """What becomes of a report with noise."""
        if self.exposed is None:
            return 409, {"code": "not_exposed"}
        if self.time > self.exposed + WINDOW + GRACE:
            return 410, {"code": "late"}
        had = self.reports.setdefault(body["metric"], body)
        if had["proof"] != body["proof"]:
            return 200, {"status": "accepted"}
        if had != body:
            return 409, {"code": "conflict"}
        return 200, {"status": "accepted" if had is body else "duplicate"}

    def opened(self, offer: Offer | None = None) -> int:
        """What both operators together read in the report that counts."""
        offer, body = offer or make_offer(), self.uploads[TICKET]
        parts = (urlsafe_b64decode(body[name]) for name in ("leader", "helper"))
        upload = Upload(bytes.fromhex(body["report"]), body["turn"], *parts)
        upload.check(offer.steps)
        assert offer.position is not None
        terms = ReportTerms(bytes.fromhex("9f" * 32), 3, offer.digest, offer.steps, offer.position)
        mine, his = (
            ShareReader(role, PRIVATE[role], VERIFY).read(terms, upload.report, upload.turn, sealed)
            for role, sealed in ((LEADER, upload.leader), (HELPER, upload.helper))
        )
        terms.range.check(mine.verifier, his.verifier)
        return (mine.value + his.value) % FIELD


class Wire(httpx.BaseTransport):
    """Carries requests to a leader in memory."""

    def __init__(self, leader: Leader) -> None:
        self.leader = leader

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self.leader.take(request.method, request.url.path, list(request.headers.items()), request.read())
        if answer is None:
            raise httpx.ReadError("nothing came back")
        return httpx.Response(answer[0], json=answer[1])


def make_device(folder: Any, leader: Leader, kind: type[Device] = Device, **options: Any) -> Device:
    """A device whose person agreed, and whose clock is the leader's."""
    usual = {"transport": lambda: Wire(leader), "clock": leader.clock}
    agreed = options.pop("agreed", Agreed(1, PINNED))
    device = kind(folder, options.pop("url", URL), agreed, **(usual | options))
    device.consent(True)
    return device


@contextmanager
def listening(leader: Leader, origin: str = "") -> Iterator[str]:
    """The same leader on a socket of this machine: the address. Connections are counted as a header.

    Pages of another site may use it if they are of this origin; how browsers hold connections is not counted.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            headers = [(name, value) for name, value in self.headers.items() if name != "Host"]
            if not origin:
                headers.append(("new connection", str(not getattr(self, "used", False))))
            self.used = True
            answer = leader.take("POST", self.path, headers, content)
            if answer is None:
                self.close_connection = True
                return
            text = json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            self.send_header("Content-Length", str(len(text)))
            self.allow_origin()
            self.wfile.write(text)

        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self.allow_origin()

        def allow_origin(self) -> None:
            if origin:
                self.send_header("Access-Control-Allow-Origin", origin)
                self.send_header("Access-Control-Allow-Headers", "authorization, content-type")
            self.end_headers()

        def log_message(self, *said: object) -> None:
            pass

    with serve_in_thread(Handler) as address:
        yield address

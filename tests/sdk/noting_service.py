"""A service on this machine that writes down what comes to it."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOUR = 3_600_000
EXPOSED = 1_764_000_000_000
PLACE = {
    "study": "newsletter",
    "arm": "bold",
    "ticket": "k3v7",
    "again": False,
    "exposed": None,
    "offer": "maskedbandit-offer-1 channel=Local n=20 steps=255 modulus=0 noise=DiscreteLaplace:255:1"
    " terms=cap:3,epsilon:1 position=7\n"
    "maskedbandit-offer-1 channel=Response n=20 steps=1 modulus=0 noise= terms=epsilon:1/2 position=7 metric=sick",
    "terms": {"protocol": "9f" * 32},
    "window": HOUR,
    "grace": HOUR,
    "least": 0,
    "most": 1,
    "default": 0,
    "cap": 3,
    "further": [{"name": "sick", "least": 0, "most": 1, "default": 0}],
}


class NotingService(ThreadingHTTPServer):
    """It gives everybody one place, and is away whenever it is asked something for the first time."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.place = PLACE | changes
        self.came: list[tuple[str, dict[str, str], str]] = []
        self.down = {"expose", "report", "leave"}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, verb: str) -> tuple[int, dict[str, Any]]:
        """The status and the body."""
        if verb in self.down:
            self.down.remove(verb)
            return 503, {"code": "storage_failed"}
        place = {name: self.place[name] for name in ("study", "arm", "ticket")}
        said = {"expose": "exposed", "report": "accepted", "leave": "left"}
        return 200, place | {"payload": None, "device": self.place} if verb == "assign" else {"status": said[verb]}


class Answering(BaseHTTPRequestHandler):
    """One request to it."""

    server: NotingService

    def do_POST(self) -> None:
        """Write it down, and answer."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        headers = {name: value for name, value in self.headers.items() if name != "Host"}
        self.server.came.append((self.path, headers, body))
        status, said = self.server.answer(self.path.rpartition("/")[2])
        raw = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *given: Any) -> None:
        """Nothing."""


@contextmanager
def noting_service(**changes: Any) -> Iterator[NotingService]:
    """It listens until the end of a block."""
    with NotingService(**changes) as service:
        thread = threading.Thread(target=service.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()

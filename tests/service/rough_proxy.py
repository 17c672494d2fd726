"""A proxy on this machine that treats requests as bad networks do: it delays, cuts, swallows, repeats and holds back.

What becomes of a request is drawn from a seed; in which order requests come is up to those who send them.
"""

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from threading import Condition, Thread

FATES = (
    "passed",
    "delayed",  # until another one was answered: so they come in another order
    "cut on its way",  # in the middle of its body
    "cut on the way back",  # in the middle of the answer
    "swallowed on the way back",  # it was done, and nobody is told
    "held back",  # the sender hears that it is lost, and it arrives after others that were sent later
    "repeated",
)
LONGEST_DELAY = 0.05  # seconds, if there is no other one
HELD_BACK = 5  # exchanges


class RoughProxy:
    """Passes requests on to a port of this machine: `smooth` of them as they are, and the others otherwise."""

    def __init__(self, port: int, seed: int) -> None:
        self._port, self._random, self.smooth = port, Random(seed), 1.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.fates, self._held = Counter[str](), list[tuple[int, bytes]]()
        self._answered, self._changed = 0, Condition()
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """End."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                Thread(target=self._pass, args=(client,), daemon=True).start()

    def _pass(self, client: socket.socket) -> None:
        """One request of a connection, which is then closed: whoever sent it opens another one."""
        with suppress(OSError), client:
            request = read_request(client)
            if not request:
                return
            with self._changed:
                fate = "passed" if self._random.random() < self.smooth else self._random.choice(FATES[1:])
                self.fates[fate] += 1
                since = self._answered
                if fate == "held back":
                    self._held.append((since + HELD_BACK, request))
                elif fate == "delayed":
                    self._changed.wait_for(lambda: self._answered > since, LONGEST_DELAY)
            if fate == "cut on its way":
                self._exchange(request[: -max(1, len(request.partition(b"\r\n\r\n")[2]) // 2)])
            elif fate != "held back":
                answer = [self._exchange(request) for _ in range(2 if fate == "repeated" else 1)][-1]
                if fate == "cut on the way back":
                    answer = answer[: len(answer) // 2]
                if fate != "swallowed on the way back":
                    client.sendall(answer)
            self._go_on()

    def _go_on(self) -> None:
        """Another one is over: those come that were held back for long enough."""
        with self._changed:
            self._answered += 1
            self._changed.notify_all()
            due = [request for at, request in self._held if at <= self._answered]
            self._held = [each for each in self._held if each[0] > self._answered]
        for request in due:
            self._exchange(request)

    def _exchange(self, request: bytes) -> bytes:
        """What is answered to these bytes, after which nothing more is sent."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self._port)) as server:
            server.sendall(request)
            server.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: server.recv(1 << 16), b""))
        return b""


def read_request(client: socket.socket) -> bytes:
    """The bytes of a request, or none if the connection ended."""
    found = b""
    while b"\r\n\r\n" not in found:
        if not (more := client.recv(1 << 16)):
            return b""
        found += more
    head, _, body = found.partition(b"\r\n\r\n")
    lines = (line.partition(b":") for line in head.lower().split(b"\r\n"))
    length = next((int(value) for name, _, value in lines if name == b"content-length"), 0)
    while len(body) < length:
        if not (more := client.recv(1 << 16)):
            return b""
        body += more
    return head + b"\r\n\r\n" + body


@contextmanager
def rough_proxy(port: int, seed: int) -> Iterator[RoughProxy]:
    """A proxy, until the end of a block."""
    made = RoughProxy(port, seed)
    try:
        yield made
    finally:
        made.close()

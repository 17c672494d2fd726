"""A proxy before a server on this machine that can swallow what it is sent: to either side nothing seems to be wrong.

A connection from which a byte was swallowed is dead for ever, as it would be behind a firewall that forgot it: it takes
what it is sent, and neither passes it on nor is ever closed.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread

SIZE = 1 << 16


class Line:
    """A connection of a client, and the one to the server that belongs to it."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client, self.server, self.dead = client, server, False

    def close(self) -> None:
        """Both ends hear of it at once."""
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class SwallowingProxy:
    """Passes bytes to a server that listens at this path, until it is told to swallow them."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._planned, self._at = set[str](), b""
        self._swallowed: set[str] = set()
        self._lines: list[Line] = []
        self._lock = Lock()
        Thread(target=self._accept, daemon=True).start()

    def swallow(self, *what: str, at: bytes = b"") -> None:
        """Swallow `requests`, or `answers`, or both, from the next bytes on in which these are."""
        with self._lock:
            self._planned, self._at = set(what or ("requests", "answers")), at

    def heal(self) -> None:
        """From now on pass bytes again, of connections from which none was swallowed."""
        with self._lock:
            self._planned, self._swallowed = set(), set()

    def cut(self) -> None:
        """Close all connections."""
        with self._lock:
            for line in self._lines:
                line.close()
            self._lines.clear()

    @property
    def dead(self) -> int:
        """How many connections have lost bytes."""
        return sum(line.dead for line in self._lines)

    def close(self) -> None:
        """End."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(self._path)
                except OSError:  # there is no server now
                    client.close()
                    server.close()
                    continue
                line = Line(client, server)
                with self._lock:
                    self._lines.append(line)
                for given in ((client, server, "requests"), (server, client, "answers")):
                    Thread(target=self._pass, args=(line, *given), daemon=True).start()

    def _pass(self, line: Line, source: socket.socket, sink: socket.socket, what: str) -> None:
        with suppress(OSError), source:
            while data := source.recv(SIZE):
                with self._lock:
                    if self._planned and self._at in data:
                        self._planned, self._swallowed = set(), self._planned
                    line.dead |= what in self._swallowed
                if not line.dead:
                    sink.sendall(data)
            with self._lock:
                if not line.dead and what not in self._swallowed:
                    sink.shutdown(socket.SHUT_WR)


@contextmanager
def swallowing_proxy(path: str) -> Iterator[SwallowingProxy]:
    """A proxy, until the end of a block."""
    made = SwallowingProxy(path)
    try:
        yield made
    finally:
        made.close()

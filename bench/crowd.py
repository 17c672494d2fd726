"""A crowd before a server: connections that are idle, streams that are open, and heads and requests without end."""

import resource
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from select import POLLIN, POLLOUT, poll
from socket import MSG_DONTWAIT
from time import perf_counter

ASK = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"


def raise_limit(many: int) -> None:
    """Allow this process so many descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard == resource.RLIM_INFINITY or hard >= many, f"{many} descriptors are needed, and {hard} are allowed"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, many), hard))


def connected(port: int, raw: bytes = ASK) -> socket.socket:
    """A connection on which a request was answered."""
    made = socket.create_connection(("127.0.0.1", port), timeout=60)
    ask(made, raw)
    return made


def ask(client: socket.socket, raw: bytes = ASK) -> None:
    """Wait until the answer to a request has begun to come, with a part of its body."""
    client.sendall(raw)
    said = b""
    while not said.partition(b"\r\n\r\n")[2]:
        part = client.recv(4096)
        assert part, f"the server ended the connection after {said!r}"
        said += part
    assert said.startswith(b"HTTP/1.1 200"), said


def listening(port: int, study: str, key: str) -> socket.socket:
    """A stream of events."""
    return connected(port, f"GET /v1/studies/{study}/events HTTP/1.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode())


@contextmanager
def crowd(port: int, idle: int, study: str, keys: Sequence[str], streams: int) -> Iterator[list[socket.socket]]:
    """So many connections that are idle, and streams of events."""
    raise_limit(idle + streams + 500)
    with ExitStack() as stack:
        found = [stack.enter_context(connected(port)) for _ in range(idle)]
        found += [stack.enter_context(listening(port, study, keys[i % len(keys)])) for i in range(streams)]
        yield found


def health_times(port: int, many: int) -> list[float]:
    """Seconds until a server says that it lives, asked so often on one connection."""
    with connected(port) as client:
        return [timed(client) for _ in range(many)]


def timed(client: socket.socket) -> float:
    """Seconds until an answer is there."""
    start = perf_counter()
    ask(client)
    return perf_counter() - start


def health_beside_a_head(port: int, size: int) -> list[float]:
    """The same after each mebibyte of one header of so many, which somebody sends until the server answers."""
    found, waiting = list[float](), poll()
    with connected(port) as client, socket.create_connection(("127.0.0.1", port), timeout=60) as sender:
        sender.sendall(b"GET / HTTP/1.1\r\nx: ")
        waiting.register(sender, POLLIN | POLLOUT)
        for _ in range(size):
            left = 2**20
            while left > 0 and waiting.poll(60_000)[0][1] == POLLOUT:
                left -= sender.send(b"v" * 2**16, MSG_DONTWAIT)
            found.append(timed(client))
    return found


def pipelining(port: int) -> socket.socket:
    """A connection on which requests are sent until they no longer fit, and no answer is read."""
    made = socket.create_connection(("127.0.0.1", port), timeout=60)
    made.send(ASK * (2**18 // len(ASK)), MSG_DONTWAIT)
    return made


def health_beside_pipelines(port: int, width: int, many: int) -> list[float]:
    """The same beside so many such connections, of which the oldest is replaced before each tenth health."""
    found = list[float]()
    with connected(port) as client, ExitStack() as stack:
        senders = deque(stack.enter_context(pipelining(port)) for _ in range(width))
        for turn in range(many):
            if turn % 10 == 0:
                senders.popleft().close()
                senders.append(stack.enter_context(pipelining(port)))
            found.append(timed(client))
    return found

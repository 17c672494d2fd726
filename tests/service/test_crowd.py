"""The server answers everybody else while a crowd is before it. This is the one time that is compared with another."""

import socket
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import pytest

from bench.crowd import ASK, ask, crowd, health_beside_a_head, health_beside_pipelines, health_times
from tests.service.inside import TABLE
from tests.service.live import Live, live

pytestmark = pytest.mark.slow


def slower(server: Live, size: int, idle: int = 0, streams: int = 0) -> float:
    """How many times as long health takes beside a head of so many mebibytes, idle connections, and streams."""
    server.start_study(TABLE)
    officers = [server.ask("POST", "/v1/keys", {"role": "officer"}, "owner").json["key"] for _ in range(5)]
    health_times(server.port, 100)
    quiet = median(health_times(server.port, 400))
    with crowd(server.port, idle, "small", officers, streams) as found:
        loud = median(health_beside_a_head(server.port, size))
        assert server.study("assign", {"unit": "ann"}).status == 200
        assert server.ask("GET", "/readyz", key=None).status == 200
        assert len(found) == idle + streams
    print(f"{1e6 * quiet:.0f} and {1e6 * loud:.0f} µs")
    return loud / quiet


def test_health_is_told_within_three_times_its_quiet_time(server: Live) -> None:
    """One caller sends 200 MB of a head; 5 000 connections are idle, and 500 streams are open."""
    assert slower(server, 200, idle=5000, streams=500) < 3
    assert server.end() == 0
    assert "Traceback" not in server.said()


def test_a_server_that_reads_heads_without_end_is_caught(tmp_path: Path) -> None:
    with live(tmp_path, command=("-m", "tests.service.mutant_server", "heads without end", "serve")) as server:
        assert slower(server, 60) > 3


def slower_beside_pipelines(server: Live, many: int) -> float:
    """How many times as long health takes beside 50 connections that send requests without end."""
    health_times(server.port, 100)
    quiet = median(health_times(server.port, 400))
    loud = median(health_beside_pipelines(server.port, 50, many))
    print(f"{1e6 * quiet:.0f} and {1e6 * loud:.0f} µs")
    return loud / quiet


def test_health_is_told_within_three_times_its_quiet_time_while_requests_come_without_end(server: Live) -> None:
    # whoever else uses the machine may slow one measurement of three
    assert min(slower_beside_pipelines(server, 400) for _ in range(3)) < 3
    assert server.end() == 0
    assert "Traceback" not in server.said()


def test_a_server_with_requests_that_wait_without_end_is_caught(tmp_path: Path) -> None:
    with live(tmp_path, command=("-m", "tests.service.mutant_server", "heads without end", "serve")) as server:
        assert slower_beside_pipelines(server, 50) > 3


def told(port: int, stack: ExitStack) -> tuple[str, socket.socket]:
    """How a new connection is answered, which stays open."""
    made = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
    try:
        made.sendall(ASK)
        return made.recv(12).decode(), made
    except ConnectionError:
        return "", made


def narrow(folder: Path, name: str) -> None:
    """A server with 256 descriptors takes half as many connections, and goes on with its studies."""
    with live(folder, command=("-m", "tests.service.mutant_server", name, "serve")) as server:
        server.start_study(TABLE)
        with ExitStack() as stack:
            found = [told(server.port, stack) for _ in range(300)]
            assert [said for said, _ in found[:128]] == ["HTTP/1.1 200"] * 128
            others = Counter(said for said, _ in found[128:])
            assert others["HTTP/1.1 503"] > 0
            assert others.keys() <= {"HTTP/1.1 503", ""}
            first = found[0][1]
            first.setblocking(True)
            first.recv(4096)  # the rest of the answer
            body = b'{"unit":"ann"}'
            head = f"POST /v1/studies/small/assign HTTP/1.1\r\nAuthorization: Bearer {server.keys['client']}\r\n"
            ask(first, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            ask(first, ASK.replace(b"healthz", b"readyz"))
        assert server.end() == 0
        assert "Too many open files" not in server.said()
        assert "the clock failed" not in server.said()


def test_descriptors_are_left_for_the_database_and_the_clock(tmp_path: Path) -> None:
    narrow(tmp_path, "few descriptors")


def test_a_server_that_takes_every_connection_is_caught(tmp_path: Path) -> None:
    with pytest.raises((AssertionError, TimeoutError)):
        narrow(tmp_path, "few descriptors, and no cap")

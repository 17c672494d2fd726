"""The server answers everybody else while a crowd is before it. This is the one time that is compared with another."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from bench.crowd import crowd, health_beside_a_head, health_times
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

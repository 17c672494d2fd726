"""Answers are counted as Prometheus's own counters and histograms count them."""

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from maskedbandit.service.host import metrics
from maskedbandit.service.host.metrics import SECONDS, Metrics
from tests.service.inside import Inside

ANSWERS = [
    *[("/a", 200, seconds) for seconds in (*SECONDS, 0.0, 0.0011, 7.0)],  # at an end, and between and beyond them
    ("/a", 404, 0.2),
    ("/a", 503, 0.3),
    ("/b", 500, 0.004),
    ("/b", 503, 0.004),
    ("/a/report", 200, 0.001),
]


def lines(registry: CollectorRegistry) -> set[str]:
    """What is said of answers."""
    said = generate_latest(registry).decode().splitlines()
    names = ("maskedbandit_requests_total{", "maskedbandit_failures_total{", "maskedbandit_request_seconds_")
    return {line for line in said if line.startswith(names) and "_created" not in line}


def theirs() -> set[str]:
    """The same, as the library counts it."""
    registry = CollectorRegistry()
    requests = Counter("maskedbandit_requests", "x", ["route", "status"], registry=registry)
    failed = Counter("maskedbandit_failures", "x", ["route"], registry=registry)
    times = Histogram("maskedbandit_request_seconds", "x", ["route"], buckets=SECONDS, registry=registry)
    for route, status, seconds in ANSWERS:
        if "report" not in route:
            requests.labels(route, str(status)).inc()
            failed.labels(route).inc(status >= 500)
            times.labels(route).observe(seconds)
    return lines(registry)


def ours() -> set[str]:
    found = Metrics()
    for answer in ANSWERS:
        found.answered(*answer)
    return lines(found.registry)


def test_answers_are_counted_as_the_library_counts_them() -> None:
    assert len(ours()) > 2 * len(SECONDS)
    assert ours() == theirs()


def test_a_time_in_the_wrong_bucket_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "bisect_left", lambda ends, seconds: sum(seconds >= end for end in ends))
    assert ours() != theirs()


def test_a_scrape_may_ask_for_some_by_name() -> None:
    found = Metrics()
    found.answered("/a", 200, 0.1)
    asked = found.registry.restricted_registry(["maskedbandit_requests_total"])
    assert 'maskedbandit_requests_total{route="/a",status="200"} 1.0' in generate_latest(asked).decode()


def test_how_long_a_release_takes_is_not_measured(service: Inside) -> None:
    """It takes longer if somebody reported more."""
    service.begin()
    for i in range(4):
        service.seen(f"person {i}")

    def measured(seconds: float) -> bool:
        service.host.metrics.tick.set(-1)
        service.tick(seconds)
        return "maskedbandit_tick_seconds -1.0" not in generate_latest(service.host.metrics.registry).decode()

    assert [measured(1), measured(20), measured(1)] == [True, False, True]

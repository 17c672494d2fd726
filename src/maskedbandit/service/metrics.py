"""Metrics for Prometheus, on a port of their own.

Nothing is counted that depends on outcomes before they are released. Whether somebody reports is an outcome too, so
reports are not counted and not timed, whether or not they could be answered; nor is there what every request adds to,
such as the time of the processor and open files.
"""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, start_http_server

from maskedbandit import __version__
from maskedbandit.errors import InvalidValue

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """What the operator of a server may watch."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        given: Any = {"registry": self.registry}
        Info("maskedbandit", "The version of the server", **given).info({"version": __version__})
        self._requests = Counter(
            "maskedbandit_requests", "Answers, without those to reports", ["route", "status"], **given
        )
        failed = "Requests that the server failed to answer, without reports"
        self._failed = Counter("maskedbandit_failures", failed, ["route"], **given)
        self._seconds = Histogram(
            "maskedbandit_request_seconds", "Time to an answer, without reports", ["route"], buckets=SECONDS, **given
        )
        self._answers: dict[tuple[str, int], tuple[Counter, Histogram]] = {}  # a look is faster than its labels
        self.ready = Gauge("maskedbandit_ready", "Whether all studies can be written", **given)
        self.tick = Gauge("maskedbandit_tick_seconds", "How long the last round of the clock took to write", **given)
        self._held = Gauge("maskedbandit_study_held", "Whether this process holds the study", ["study"], **given)
        self._people = Gauge("maskedbandit_study_people", "People who have a place", ["study"], **given)
        self._running = Gauge("maskedbandit_study_running", "Whether the study gives places", ["study"], **given)
        self._released = Gauge("maskedbandit_study_ledger_entries", "Entries of the ledger", ["study"], **given)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        if "report" in route:
            return
        if (which := (route, status)) not in self._answers:
            self._answers[which] = self._requests.labels(route, str(status)), self._seconds.labels(route)
        requests, times = self._answers[which]
        requests.inc()
        times.observe(seconds)
        if status >= 500:
            self._failed.labels(route).inc()

    def study(self, name: str, state: str, people: int, entries: int, held: bool) -> None:
        """How a study stands."""
        self._held.labels(name).set(held)
        self._people.labels(name).set(people)
        self._running.labels(name).set(state == "running")
        self._released.labels(name).set(entries)

    def serve(self, address: str, port: int) -> int:
        """Listen; which port it is."""
        try:
            server, _ = start_http_server(port, address, self.registry)
        except (OSError, OverflowError) as why:
            raise InvalidValue("--metrics-port", port, f"one that is free on {address} ({why})") from None
        return int(server.server_port)

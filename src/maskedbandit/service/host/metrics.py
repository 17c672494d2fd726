"""Metrics for Prometheus, on a port of their own.

Nothing is counted that depends on outcomes before they are released. Whether somebody reports is an outcome too, so
reports are not counted and not timed, whether or not they could be answered; nor is there what every request adds to,
such as the time of the processor and open files.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Info, start_http_server
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from maskedbandit import __version__
from maskedbandit.errors import InvalidValue
from maskedbandit.service.logs import is_of_reports
from maskedbandit.service.views.health import NEWEST_PLACES
from maskedbandit.service.views.link import LinkState

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """What the operator of a server may watch.

    Answers are counted by hand, as the library's own counters take a lock three times for each of them.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        given: Any = {"registry": self.registry}
        Info("maskedbandit", "The version of the server", **given).info({"version": __version__})
        self._answers: Counter[tuple[str, int, int]] = Counter()  # by route, status and how many of SECONDS it took
        self._seconds: defaultdict[str, float] = defaultdict(float)  # the sum for each route
        self.registry.register(self)
        self.ready = Gauge("maskedbandit_ready", "Whether all studies can be written", **given)
        self.tick = Gauge(
            "maskedbandit_tick_seconds", "How long the last round of the clock without a release took to write", **given
        )
        self.ahead = Gauge(
            "maskedbandit_study_ahead_seconds", "How far its time is ahead of the clock", ["study"], **given
        )
        self._held = Gauge("maskedbandit_study_held", "Whether this process holds the study", ["study"], **given)
        self._people = Gauge("maskedbandit_study_people", "People who have a place", ["study"], **given)
        self._running = Gauge("maskedbandit_study_running", "Whether the study gives places", ["study"], **given)
        self._wasted = Gauge(
            "maskedbandit_study_wasted_places",
            f"Of the {NEWEST_PLACES} newest places whose time to be seen is over, those that nobody saw",
            ["study"],
            **given,
        )
        self._away = Gauge(
            "maskedbandit_study_helper_away_seconds",
            "Of two operators: for how long the helper has not answered",
            ["study"],
            **given,
        )
        self._waiting = Gauge(
            "maskedbandit_study_helper_waiting_cohorts",
            "Of two operators: cohorts that are due and not settled",
            ["study"],
            **given,
        )
        self._refuses = Gauge(
            "maskedbandit_study_helper_refuses",
            "Of two operators: whether the helper disagrees or refuses",
            ["study"],
            **given,
        )
        self._released = Gauge("maskedbandit_study_ledger_entries", "Entries of the ledger", ["study"], **given)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        if is_of_reports(route):
            return
        self._answers[route, status, bisect_left(SECONDS, seconds)] += 1
        self._seconds[route] += seconds

    def collect(self) -> Iterator[Metric]:
        """What was counted of answers, for the registry."""
        answers, within, failures = Counter[tuple[str, int]](), dict[str, list[int]](), Counter[str]()
        for (route, status, took), many in list(self._answers.items()):  # a copy, as the server goes on
            answers[route, status] += many
            failures[route] += many * (status >= 500)
            within.setdefault(route, [0] * (len(SECONDS) + 1))[took] += many
        requests = CounterMetricFamily(
            "maskedbandit_requests", "Answers, without those to reports", labels=["route", "status"]
        )
        failed = CounterMetricFamily(
            "maskedbandit_failures", "Requests that the server failed to answer, without reports", labels=["route"]
        )
        times = HistogramMetricFamily(
            "maskedbandit_request_seconds", "Time to an answer, without reports", labels=["route"]
        )
        for (route, status), many in answers.items():
            requests.add_metric([route, str(status)], many)
        for route, counts in within.items():
            failed.add_metric([route], failures[route])
            ends = [*map(str, SECONDS), "+Inf"]
            times.add_metric([route], list(zip(ends, accumulate(counts), strict=True)), self._seconds.get(route, 0.0))
        yield from (requests, failed, times)

    describe = collect  # the names, for a scrape that asks for some of them

    def study(self, name: str, state: str, entries: int, held: bool) -> None:
        """How a study stands."""
        self._held.labels(name).set(held)
        self._running.labels(name).set(state == "running")
        self._released.labels(name).set(entries)

    def places(self, name: str, people: int, wasted: int) -> None:
        """How many people a study has, and how many of their places nobody saw."""
        self._people.labels(name).set(people)
        self._wasted.labels(name).set(wasted)

    def helper(self, name: str, link: LinkState, now: int) -> None:
        """How a study stands with its helper."""
        self._away.labels(name).set(0 if link.away_since is None else (now - link.away_since) / 1000)
        self._waiting.labels(name).set(link.waiting)
        self._refuses.labels(name).set(bool(link.refusal))

    def serve(self, address: str, port: int) -> int:
        """Listen; which port it is."""
        try:
            server, _ = start_http_server(port, address, self.registry)
        except (OSError, OverflowError) as why:
            raise InvalidValue("--metrics-port", port, f"one that is free on {address} ({why})") from None
        return int(server.server_port)

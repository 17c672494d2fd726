"""Logs: a failure that goes on is written once a minute, and no line says how often reports failed."""

import io
import json
import logging
from typing import Any

import pytest

from maskedbandit.service import logs
from maskedbandit.service.logs import JsonLines, Once

ASSIGN, REPORT = "/v1/studies/{study}/assign", "/v1/studies/{study}/report"


class Log:
    """A log, and the clock of its filter."""

    def __init__(self, *filters: logging.Filter) -> None:
        self.now, self.stream = 0.0, io.StringIO()
        handler = logging.StreamHandler(self.stream)
        handler.setFormatter(JsonLines())
        for each in filters or (Once(lambda: self.now),):
            handler.addFilter(each)
        self.log = logging.Logger("test")
        self.log.addHandler(handler)

    def fails(self, route: str = ASSIGN, code: str = "storage_failed", why: Any = None) -> None:
        """A request failed."""
        self.log.error("a request failed", extra={"route": route, "code": code}, exc_info=why)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What was written."""
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


def flooded(log: Log) -> list[tuple[str, int]]:
    """The lines about many failures in three minutes, and how many each says were left out."""
    for second in range(180):
        log.now = float(second)
        for _ in range(10):
            log.fails()
    return [(line["code"], line.get("left_out", 0)) for line in log.lines]


def test_a_failure_that_goes_on_is_written_once_a_minute() -> None:
    assert flooded(Log()) == [("storage_failed", 0), ("storage_failed", 599), ("storage_failed", 599)]
    assert len(flooded(Log(logging.Filter()))) == 1800, "the control"


def test_failures_of_other_kinds_are_written_too() -> None:
    log = Log()
    for route in (ASSIGN, "/v1/studies"):
        for code in ("storage_failed", "fenced_off"):
            for why in (None, ValueError(), KeyError()):
                for _ in range(2):
                    log.fails(route, code, why)
    assert len(log.lines) == 12
    for study in "abc":
        log.log.warning("a study cannot go on", extra={"study": study})
    assert len(log.lines) == 15


def test_how_many_reports_failed_is_not_said() -> None:
    """Whoever reports has an outcome."""
    log = Log()
    for now in (0.0, 1.0, 2.0, 61.0):
        log.now = now
        log.fails(REPORT, "server_error")
    assert [line.get("left_out") for line in log.lines] == [None, None]


def test_what_names_no_route_is_written_once_a_minute_too() -> None:
    """As what a server says of an application that failed, without a number: it may have failed at reports."""
    log = Log()
    for now in (0.0, 1.0, 59.0, 60.0):
        log.now = now
        for why in (RuntimeError(), ValueError()):
            log.log.error("Exception in ASGI application\n", exc_info=why)
    assert [line["error"] for line in log.lines] == ["RuntimeError", "ValueError"] * 2
    assert not any("left_out" in line for line in log.lines)


def test_names_without_end_fill_neither_the_log_nor_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_LINE_KINDS", 5)
    log = Log()
    for number in range(100):
        log.fails(f"page /studies/s{number}")
    assert len(log.lines) == 6
    log.fails(REPORT)
    log.now = 60.0
    log.fails("page /studies/s1000")
    assert len(log.lines) == 7
    assert "left_out" not in log.lines[-1], "of those that are not told apart some are of reports"


def test_the_log_of_a_server_is_one_of_these(monkeypatch: pytest.MonkeyPatch) -> None:
    found, ours = list[logging.Handler](), logging.getLogger("maskedbandit")
    monkeypatch.setattr(logging, "basicConfig", lambda **given: found.extend(given["handlers"]))
    level = ours.level
    logs.log_to_standard_error()
    ours.setLevel(level)
    assert [type(each) for handler in found for each in handler.filters] == [Once]

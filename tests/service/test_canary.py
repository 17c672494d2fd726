"""Nothing that was not released leaves the service: values that stand out are looked for in all that it says, and two
studies that differ in reports alone say the same."""

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec import structs
from prometheus_client import generate_latest

from maskedbandit.errors import StorageFailed
from maskedbandit.service.host.metrics import Metrics
from maskedbandit.service.request.sessions import COOKIE_NAME, new_session
from maskedbandit.service.views import describe
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.study import Study
from tests.service.inside import TABLE, Inside, inside
from tests.service.live import PATIENT, Live
from tests.store.small_study import Clock

# so many digits that no digest or ticket has them by chance: in 100,000 of its digits with a probability of 1e-13
VALUE, UNIT, EVENT = "0.873194265172638", "canary.unit", "canary.event"
MARKS = (VALUE, VALUE[2:], UNIT, EVENT)
WIDE = {"most": 4, "rule": "sum", "window": "20 seconds", "exposure": "10 seconds"}


def odd(ticket: str) -> list[tuple[str, str, bytes, dict[str, str]]]:
    """Requests with what is personal where it does not belong."""
    at = "/v1/studies/small"
    report = f'{{"ticket": "{ticket}", "value": {VALUE}, "event": "{EVENT}"}}'
    json_, plain = {"Content-Type": "application/json"}, {"Content-Type": "text/plain"}
    return [
        ("POST", f"{at}/report", report.encode(), plain),
        ("POST", f"{at}/report", report[:-1].encode(), json_),
        ("POST", f"{at}/report", report.replace(VALUE, f'"{VALUE}"').encode(), json_),
        ("POST", f"{at}/report", report.replace(VALUE, f"9{VALUE[2:]}").encode(), json_),
        ("POST", f"{at}/report", report.replace('"value"', f'"{VALUE}"').encode(), json_),
        ("POST", f"{at}/report", report.replace('"event"', f'"{UNIT}"').encode(), json_),
        ("POST", f"{at}/report", report.replace(ticket, UNIT).encode(), json_),
        ("POST", f"{at}/report", report.replace(ticket, VALUE[2:]).encode(), json_),
        ("POST", f"{at}/report?value={VALUE}&unit={UNIT}", b"", json_),
        ("POST", f"{at}/report", b'{"%s": {"%s": [%s' % (UNIT.encode(), EVENT.encode(), VALUE.encode()), json_),
        ("POST", f"{at}/report/batch", f'{{"requests": [{report}, {report}, {{"{UNIT}": {VALUE}}}]}}'.encode(), json_),
        ("POST", f"{at}/report/batch", f'{{"requests": {report}}}'.encode(), json_),
        ("POST", f"{at}/assign", f'{{"unit": "{UNIT}\\u0000"}}'.encode(), json_),
        ("POST", f"{at}/assign", f'{{"unit": ["{UNIT}"]}}'.encode(), json_),
        ("POST", f"{at}/assign", f'{{"unit": "{UNIT}", "token": {VALUE}}}'.encode(), json_),
        ("POST", f"{at}/assign/batch", f'{{"requests": [{{"unit": "{UNIT}{"x" * 300}"}}]}}'.encode(), json_),
        ("POST", f"{at}/{UNIT}/{VALUE}", b"", json_),
        ("POST", f"/{UNIT}/{VALUE}", b"", json_),
        ("GET", f"{at}/report/{VALUE}", b"", json_),
        ("PUT", f"{at}/report", report.encode(), json_),
        ("DELETE", f"{at}/report?{UNIT}", b"", json_),
        ("POST", f"/ofrep/v1/evaluate/flags/{UNIT[0]}", b"{}", json_),
        (
            "POST",
            "/ofrep/v1/evaluate/flags/small",
            f'{{"context": {{"targetingKey": {{"{UNIT}": 1}}}}}}'.encode(),
            json_,
        ),
        ("POST", "/ofrep/v1/evaluate/flags", f'{{"context": {{"targetingKey": "{UNIT}\\u0000"}}}}'.encode(), json_),
        ("POST", f"{at}/budget", f'{{"ticket": "{UNIT}"}}'.encode(), json_),
        ("GET", f"{at}/ledger?after=0&{UNIT}={VALUE}", b"", json_),
        ("POST", f"{at}/erase", f'{{"unit": "{UNIT}\\n"}}'.encode(), json_),
        ("POST", f"{at}/report", report.encode(), {"Authorization": f"Bearer {UNIT}{VALUE}"}),
        ("POST", f"{at}/report", report.encode(), {"Authorization": f"Basic {UNIT}{VALUE}"}),
        ("POST", "/sign-in", f"key={UNIT}{VALUE}&csrf={VALUE}".encode(), {}),
    ]


def check_clean(what: str, text: str) -> None:
    """Nothing personal is in a text."""
    found = [mark for mark in MARKS if mark in text]
    assert not found, f"{found} in {what}: {text[:2000]}"


def test_nothing_personal_is_said(server: Live) -> None:
    server.start_study(TABLE | {"reward": WIDE | PATIENT})
    ticket = server.study("assign", {"unit": UNIT}).json["ticket"]
    assert server.study("expose", {"ticket": ticket}).status == 200
    for value, event in ((VALUE, EVENT), (VALUE, EVENT), ("1", EVENT), ("2", "b"), (VALUE, EVENT * 12)):
        found = server.study("report", {"ticket": ticket, "value": float(value), "event": event})
        check_clean("the answer to a report", found.body.decode())
    statuses = set()
    for key in ("client", "owner", None):
        for method, path, raw, headers in odd(ticket):
            given = None if "Authorization" in headers else key
            found = server.ask(method, path, raw, given, **headers)
            statuses.add(found.status)
            assert found.status < 500, (method, path, found)
            check_clean(f"{method} {path}", found.body.decode() + str(found.headers))
    assert {401, 403, 404, 405, 422} <= statuses
    for path in ("", "/ledger", "/releases", "/ledger/head"):
        check_clean(path, server.ask("GET", f"/v1/studies/small{path}", key="owner").body.decode())
    check_clean("openapi", server.ask("GET", "/openapi.json", key=None).body.decode())
    cut = server.send(f"POST /v1/studies/small/report HTTP/1.1\r\nContent-Length: 99\r\n\r\n{UNIT}{VALUE}".encode())
    cut.close()
    server.send(f"{UNIT} {VALUE}\r\n\r\n".encode()).close()
    assert server.end() == 0
    check_clean("the output of the server", server.said())
    check_tables(server.address)


def check_tables(address: str) -> None:
    """A reward is in the table of rewards alone, and nobody's name is anywhere."""
    database = open_database(address)
    for table in database.tables() - {"sqlite_stat1"}:
        text = str(database.rows(f"SELECT * FROM {table}"))
        if table == "reward":
            assert VALUE in text
            text = text.replace(VALUE, "").replace(EVENT, "")
        check_clean(table, text)
    database.close()


def test_an_error_that_nobody_expected_says_nothing_either(
    service: Inside, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from maskedbandit.service import logs

    def broken(session: Any, *given: Any) -> Any:
        raise ValueError(f"could not do {given}")

    service.begin(reward=WIDE)
    ticket = service.seen("ann")
    monkeypatch.setitem(Study.operations, "report", broken)
    loggers = logging.getLogger(), logging.getLogger("maskedbandit")
    before = [(each.handlers[:], each.level) for each in loggers]
    try:
        logs.log_to_standard_error()
        found = service.study("report", {"ticket": ticket, "value": float(VALUE), "event": EVENT})
    finally:
        for each, (handlers, level) in zip(loggers, before, strict=True):
            each.handlers[:] = handlers
            each.setLevel(level)
    assert (found.status, found.code) == (500, "server_error")
    said = capfd.readouterr()
    assert "ValueError" in said.err
    check_clean("the log and the answer", found.body.decode() + said.out + said.err)


def test_a_report_that_cannot_be_written_leaves_no_trace(
    service: Inside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(session: Any, *given: Any) -> Any:
        raise StorageFailed("the disk is full")

    service.begin()
    ticket = service.seen("ann")
    before = generate_latest(service.host.metrics.registry)
    for verb in ("assign", "expose", "report"):
        monkeypatch.setitem(Study.operations, verb, full)
    report = {"ticket": ticket, "value": 1}
    assert service.study("report", report).status == 503
    assert service.study("report/batch", {"requests": [report]}).json["items"][0]["status"] == 503
    assert generate_latest(service.host.metrics.registry) == before
    assert caplog.records == []
    assert service.study("assign", {"unit": "ann"}).status == 503  # of which the log may speak
    assert [record.message for record in caplog.records] == ["a request failed"]


def test_the_metrics_have_nothing_that_every_request_adds_to() -> None:
    assert not re.findall(r"^(?:process|python)_\w+", generate_latest(Metrics().registry).decode(), re.MULTILINE)


# --- two studies that differ in reports alone ------------------------------------------------------------------


@contextmanager
def twins(folder: Path) -> Iterator[tuple[Inside, Inside]]:
    """A study, and a copy of it in which other reports came, at other times, and more of them; none is released."""
    clock = Clock()
    original = folder / "a"
    original.mkdir()
    with inside(f"sqlite:///{original}/studies.db", original / "witness", clock=clock) as first:
        first.begin(reward=WIDE)
        for i in range(4):  # whose cohorts are released
            first.seen(f"early{i}")
        first.tick(21)
        tickets = [first.seen(f"u{i}") for i in range(4)]
        keys = first.keys
    shutil.copytree(original, folder / "b")
    made = []
    for name in "ab":
        service = Inside(f"sqlite:///{folder}/{name}/studies.db", folder / name / "witness", clock=clock)
        made.append(service)
        service.keys = keys
        database = open_database(service.address)
        with database.transaction():  # those that the second one made for itself
            database.change("DELETE FROM api_key WHERE made > ?", 1_000_000)
        service.host.keys.read(database)
        database.close()
    try:
        clock.now += 3000
        for ticket in tickets:
            made[0].study("report", {"ticket": ticket, "value": 3.5, "event": "x"})
            made[0].study("report", {"ticket": ticket, "value": 0.25, "event": "y"})
        made[0].study("report", {"ticket": tickets[0], "value": 1, "event": "y"})  # a conflict
        made[1].study("report", {"ticket": tickets[1], "value": 0})
        for service in made:
            service.tick()
        yield made[0], made[1]
    finally:
        for service in made:
            service.close()


def said(service: Inside) -> dict[str, bytes]:
    """The answer to every GET, for everybody, and the metrics."""
    found: dict[str, bytes] = {}
    paths = {route.path for route in service.app.routes if "GET" in (getattr(route, "methods", None) or ())}
    assert len(paths) > 15
    for role in ("owner", "officer", None):
        public = role and service.host.keys.of(service.keys[role], service.clock())
        cookie = [("cookie", f"{COOKIE_NAME}={new_session(service.host, public)}")] if public else []
        for path in sorted(paths):
            concrete = path.format(study="small")
            if not path.endswith("/events"):
                reply = service.ask("GET", concrete, None, role, cookie)
                assert reply.status < 500
                found[f"{role} {path}"] = repr(reply).encode()
            elif role:
                found[f"{role} {path}"] = service.streamed(concrete, role, cookie)
    lines = generate_latest(service.host.metrics.registry).decode().splitlines()
    kept = [line for line in lines if not line.startswith("#") and "_seconds" not in line and "_created" not in line]
    return found | {"metrics": "\n".join(kept).encode()}


def check_same(pair: tuple[Inside, Inside]) -> None:
    """Both say the same."""
    with patch("secrets.token_hex", lambda many: "0" * 2 * many):  # what a page draws for its forms
        first, second = map(said, pair)
    assert [name for name in first if first[name] != second[name]] == []
    assert first.keys() == second.keys()


def test_reports_that_were_not_released_change_nothing_that_is_said(tmp_path: Path) -> None:
    with twins(tmp_path) as pair:
        check_same(pair)
        rows = []
        for service in pair:
            database = open_database(service.address)
            rows.append(database.rows("SELECT COUNT(*) FROM reward"))
            database.close()
        assert rows == [[(8,)], [(1,)]]


def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that says how many reports came."""
    real = describe.read_state

    def leaking(database: Any, **given: Any) -> Any:
        (count,) = database.rows("SELECT COUNT(*) FROM reward")[0]
        return structs.replace(real(database, **given), about=f"{count} reports")

    monkeypatch.setattr("maskedbandit.service.host.host.read_state", leaking)


def measuring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics that count reports."""

    def answered(self: Metrics, route: str, status: int, seconds: float) -> None:
        self._answers[route, status, 0] += 1

    monkeypatch.setattr(Metrics, "answered", answered)


def streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream whose entries say when the newest report came."""
    real = describe.read_simulated

    def leaking(database: Any, name: str) -> Any:
        return [real(database, name), database.rows("SELECT MAX(received) FROM reward WHERE value > 0")[0][0]]

    monkeypatch.setattr("maskedbandit.service.request.events.read_simulated", leaking)


@pytest.mark.slow
@pytest.mark.parametrize("leak", [counting, measuring, streaming])
def test_leaks_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leak: Callable[[pytest.MonkeyPatch], None]
) -> None:
    leak(monkeypatch)
    with twins(tmp_path) as pair, pytest.raises(AssertionError):
        check_same(pair)


def test_the_marks_are_looked_for() -> None:
    with pytest.raises(AssertionError, match="in the log"):
        check_clean("the log", json.dumps({"value": float(VALUE)}))

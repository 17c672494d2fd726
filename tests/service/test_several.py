"""Several processes over one PostgreSQL, and copies of a database: what one acknowledged, all know."""

import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from maskedbandit.cli import main
from maskedbandit.store import lease
from tests.service.inside import TABLE, Inside, Reply
from tests.service.live import PATIENT, Live, live
from tests.store.databases import fresh_postgresql
from tests.store.small_study import PROOF, Clock

PEOPLE = [f"person {number}" for number in range(120)]
CYCLE = cycle(PEOPLE)  # as nobody may come too often


def until(holds: Callable[[], bool]) -> None:
    """Ask until it holds; each question goes to a server, so this is no busy loop."""
    assert any(holds() for _ in range(30_000))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Live, Live]]:
    """Two servers over one database and one witness; the first holds the study, which has places for everybody."""
    address = fresh_postgresql()
    with live(tmp_path / "first", address, witness=tmp_path / "witness") as first:
        first.start_study(TABLE | {"policy": {"name": "successive_elimination", "least": 100}, "reward": PATIENT})
        with live(tmp_path / "second", address, witness=tmp_path / "witness") as second:
            second.keys = first.keys
            yield first, second


def answered(server: Live) -> int:
    """What comes of a person who came before."""
    status = server.study("assign", {"unit": next(CYCLE)}).status
    assert status in (200, 503)
    return status


def tickets(server: Live) -> dict[str, tuple[str, str]]:
    """The ticket and the arm of each person."""
    asked = {"requests": [{"unit": unit} for unit in PEOPLE]}
    found = server.study("assign/batch", asked).json["items"]
    assert {item["status"] for item in found} == {200}
    return {unit: (item["answer"]["ticket"], item["answer"]["arm"]) for unit, item in zip(PEOPLE, found, strict=True)}


@pytest.mark.slow
def test_both_answer_for_the_study_that_one_holds(pair: tuple[Live, Live]) -> None:
    first, second = pair
    given = tickets(second)
    assert tickets(first) == given
    ticket, arm = given["person 0"]
    again = second.study("assign", {"unit": "person 0"}).json
    assert (again["ticket"], again["arm"], again["again"]) == (ticket, arm, True)
    assert second.study("expose", {"ticket": ticket}).status == 200
    assert second.study("report", {"ticket": ticket, "value": 1, "proof": PROOF}).json == {"status": "accepted"}
    assert first.study("report", {"ticket": ticket, "value": 1, "proof": PROOF}).json == {"status": "duplicate"}
    assert second.study("report", {"ticket": ticket, "value": 0, "proof": PROOF}).code == "conflict"
    assert second.study("report", {"ticket": "0" * 32, "value": 0}).code == "unknown_ticket"
    assert second.study("budget", {"ticket": ticket}).json["spent"] == "ε = 1"
    assert second.study("pause", key="officer").json["state"] == "paused"
    assert first.ask("GET", "/v1/studies/small", key="officer").json["state"] == "paused"
    assert second.study("pause", key="client").status == 403
    flag = second.ask("POST", "/ofrep/v1/evaluate/flags/small", {"context": {"targetingKey": "person 1"}}).json
    assert (flag["metadata"]["ticket"], flag["metadata"]["exposed"]) == (given["person 1"][0], True)


def press(server: Live, key: str, path: str) -> int:
    """The status of a form that somebody with this key sends from the page, which needs cookies and a token."""
    cookies = dict[str, str]()

    def ask(method: str, path: str, form: dict[str, str] | None = None) -> Reply:
        said = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
        if form is not None:
            said["Content-Type"] = "application/x-www-form-urlencoded"
        found = server.ask(method, path, None if form is None else urlencode(form).encode(), None, **said)
        for name, morsel in SimpleCookie(found.headers.get("set-cookie", "")).items():
            cookies[name] = morsel.value
        return found

    for page, target, more in (("/sign-in", "/sign-in", {"key": server.keys[key]}), ("/studies/small", path, {})):
        token = re.search(r'name="csrf" value="([0-9a-f]+)"', ask("GET", page).body.decode())
        assert token
        found = ask("POST", target, {"csrf": token[1], **more})
    return found.status


@pytest.mark.slow
def test_the_ledger_names_the_key_wherever_it_was_used(pair: tuple[Live, Live]) -> None:
    """Of a request that another process has relayed, and of a form too."""
    first, second = pair
    assert second.study("pause", key="officer").json["state"] == "paused"
    assert press(second, "owner", "/studies/small/resume") == 303
    assert first.study("pause", key="owner").json["state"] == "paused"
    entries = first.ask("GET", "/v1/studies/small/ledger", None, "officer").json["entries"]
    owner, officer = (first.keys[role].split("_")[2] for role in ("owner", "officer"))
    expected = [("started", owner), ("paused", officer), ("resumed", owner), ("paused", owner)]
    assert [(says["kind"], says["by"]) for says in (json.loads(each["body"]) for each in entries)] == expected


@pytest.mark.slow
def test_the_other_takes_over_and_nothing_is_lost(pair: tuple[Live, Live]) -> None:
    first, second = pair
    given = tickets(second)
    for ticket, _ in given.values():
        assert second.study("expose", {"ticket": ticket}).status == 200
    first.end(signal.SIGKILL)

    assert answered(second) == 200  # who asks first has the study opened here: nobody is told to come again
    assert tickets(second) == given
    for ticket, _ in given.values():
        assert second.study("report", {"ticket": ticket, "value": 1, "proof": PROOF}).json == {"status": "accepted"}
    assert second.study("verify", key="officer").json["people"] == len(PEOPLE)
    # the first one comes back, and sends what it is asked to the second
    first.begin()
    assert tickets(first) == given
    ticket, _ = given["person 5"]
    assert first.study("report", {"ticket": ticket, "value": 1, "proof": PROOF}).json == {"status": "duplicate"}
    assert second.end(signal.SIGTERM) == 0
    until(lambda: answered(first) == 200)
    assert tickets(first) == given


@pytest.fixture
def _elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that held the study is not there any more."""
    monkeypatch.setattr(lease, "may_be_alive", lambda holder: False)


def backed_up(service: Inside, copy: Path) -> None:
    """As docs/service.md says."""
    file = service.address.removeprefix("sqlite:///")
    command = [sys.executable, "-m", "apsw", file, f".backup {copy}"]
    subprocess.run(command, check=True, timeout=60)


def released(service: Inside) -> list[Any]:
    return list(service.ask("GET", "/v1/studies/small/releases", None, "officer").json["releases"])


def play(service: Inside, people: range) -> None:
    """These people come, and all that is due is released."""
    for number in people:
        ticket = service.seen(f"person {number}")
        service.study("report", {"ticket": ticket, "value": 1, "proof": PROOF})
    service.tick(60)
    service.tick(1)


@pytest.mark.usefixtures("_elsewhere")
def test_a_copy_goes_on_where_it_was_made(tmp_path: Path) -> None:
    service = Inside(f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness", Clock())
    try:
        service.begin()
        play(service, range(4))
        before = released(service)
        backed_up(service, tmp_path / "copy.db")
    finally:
        service.close()
    assert before
    restored = Inside(f"sqlite:///{tmp_path}/copy.db", tmp_path / "witness", service.clock)
    try:
        assert released(restored) == before
        assert restored.ask("GET", "/readyz", None, None).status == 200
    finally:
        restored.close()
    assert sqlite3.connect(tmp_path / "copy.db").execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def answers(service: Inside) -> tuple[Reply, Reply]:
    return service.ask("GET", "/readyz", None, None), service.study("assign", {"unit": "ann"})


@pytest.mark.slow
@pytest.mark.usefixtures("_elsewhere")
def test_an_old_copy_is_not_served_until_it_is_reconciled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, witness = f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness"
    service = Inside(address, witness, Clock())
    try:
        service.begin()
        play(service, range(4))
        backed_up(service, tmp_path / "copy.db")
        play(service, range(4, 12))
        newest = released(service)
    finally:
        service.close()
    assert main(["ledger", "export", "--database", address, "--witness", str(witness)]) == 0
    (tmp_path / "small.ledger").write_text(capsys.readouterr().out)
    copied = f"sqlite:///{tmp_path}/copy.db"
    restored = Inside(copied, witness, service.clock)
    try:
        ready, assigned = answers(restored)
        assert (ready.status, assigned.status) == (503, 503)
        assert (ready.code, assigned.code) == ("behind_witness", "behind_witness")
        assert "maskedbandit study reconcile" in ready.json["detail"]
        assert len(released_or_none(restored)) < len(newest)
    finally:
        restored.close()
    place = ["--database", copied, "--witness", str(witness)]
    assert main(["study", "reconcile", str(tmp_path / "small.ledger"), *place]) == 0
    restored = Inside(copied, witness, service.clock)
    try:
        assert released(restored) == newest
        assert answers(restored)[0].status == 200
    finally:
        restored.close()
    assert main(["ledger", "verify", *place]) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("_elsewhere")
def test_what_was_burned_is_part_of_what_a_person_loses(tmp_path: Path) -> None:
    address, witness = f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness"
    service = Inside(address, witness, Clock())
    try:
        service.begin(budget={"epsilon": 3})
        play(service, range(4))
        backed_up(service, tmp_path / "copy.db")
        play(service, range(4, 12))
    finally:
        service.close()
    copied = f"sqlite:///{tmp_path}/copy.db"
    assert main(["study", "reconcile", "--database", copied, "--witness", str(witness)]) == 0
    restored = Inside(copied, witness, service.clock)
    try:
        before = len(released(restored))
        play(restored, range(4, 12))  # who were released in the database that was lost
        assert len(released(restored)) > before
        said = restored.ask("GET", "/v1/studies/small/statement", None, "officer").json
        assert said["person"][1]["loss"] == "ε = 2"
        assert "1 time an old copy" in said["points"]["composition"]
    finally:
        restored.close()


def released_or_none(service: Inside) -> list[Any]:
    found = service.ask("GET", "/v1/studies/small/releases", None, "officer")
    return list(found.json["releases"]) if found.status == 200 else []

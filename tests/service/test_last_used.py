"""The day on which a key was last used says nothing of reports: not whether there were any, nor on which day."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.cli import main
from maskedbandit.service.host import last_use
from maskedbandit.service.keys import Key
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.sqlite import Sqlite
from tests.service.inside import Inside, inside
from tests.service.test_site import Eyes

DAY = 86_400  # seconds
REWARD = {"window": "10 days", "exposure": "10 days"}


def list_days(service: Inside) -> dict[str, str | None]:
    """When each key was last used, by its role."""
    return {each["role"]: each["last_used"] for each in service.ask("GET", "/v1/keys", None, "owner").json["keys"]}


def test_a_day_is_said_on_which_a_key_was_used(service: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    service.begin(reward=REWARD)
    service.tick()
    before = list_days(service)
    today = last_use.write_day(service.clock() // last_use.DAY)
    assert before == {"owner": today, "officer": today, "client": None}, "the officer has approved the protocol"
    service.tick(DAY)
    ticket = service.seen("ann")
    eyes = Eyes(service)
    eyes.sign_in("officer")
    eyes.get("/")
    assert list_days(service) == before, "it is written by the clock, beside all requests"
    service.tick()
    today = last_use.write_day(service.clock() // last_use.DAY)
    assert list_days(service) == {"owner": today, "officer": today, "client": today}
    service.tick(DAY)
    service.study("report", {"ticket": ticket, "value": 1})
    service.tick()
    assert list_days(service)["client"] == today
    assert main(["key", "list", "--database", service.address]) == 0
    found = {each["role"]: each["last_used"] for each in map(json.loads, capsys.readouterr().out.splitlines())}
    assert found["client"] == today


def test_it_is_written_once_a_day_for_each_key(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin(reward=REWARD)
    written, real = list[str](), Sqlite.change

    def change(database: Sqlite, statement: str, *values: Any) -> int:
        written.extend([str(values[0])] * ("last_used" in statement))
        return real(database, statement, *values)

    service.tick()
    monkeypatch.setattr(Sqlite, "change", change)
    service.tick(DAY)
    for i in range(5):
        service.assign(f"person {i}")
        service.tick(1)
    assert written == [last_use.write_day(service.clock() // last_use.DAY)], "of the client"


def play_world(folder: Path, reports: Callable[[Inside, str], None]) -> tuple[Any, ...]:
    """All that is to be seen of the keys, where an application of one person may report a day later."""
    with inside(f"sqlite:///{folder}/studies.db", folder / "witness") as service:
        service.begin(reward=REWARD | {"rule": "last"})
        ticket = service.seen("ann")
        service.tick(DAY)
        reports(service, ticket)
        service.tick()
        database = open_database(service.address)
        rows = database.rows("SELECT role, last_used FROM api_key ORDER BY role")
        database.close()
        eyes = Eyes(service)
        eyes.sign_in("owner")
        days = [service.clock.now // (1000 * DAY) in service.host.last_use._days.values()]
        return rows, list_days(service), days, "never" in eyes.get("/keys").body.decode()


def report_once(service: Inside, ticket: str) -> None:
    """A report alone."""
    assert service.study("report", {"ticket": ticket, "value": 1}).status == 200


def report_together(service: Inside, ticket: str) -> None:
    """Reports together, and then the person leaves."""
    sent = {"requests": [{"ticket": ticket, "value": 1}]}
    assert service.study("report/batch", sent).json["items"][0]["status"] == 200


def leave_study(service: Inside, ticket: str) -> None:
    """The person leaves."""
    assert service.study("leave", {"ticket": ticket}).status == 200


def check_worlds(folder: Path) -> None:
    """Worlds in which the application reports, or does not, look the same."""
    found = []
    for name, reports in enumerate((lambda *_: None, report_once, report_together, leave_study)):
        (folder / str(name)).mkdir(parents=True)
        found.append(play_world(folder / str(name), reports))
    assert all(each == found[0] for each in found), found


def test_worlds_in_which_somebody_reports_or_not_have_the_same_days(tmp_path: Path) -> None:
    check_worlds(tmp_path)


def test_a_day_that_reports_move_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(last_use, "is_of_reports", lambda route: False)
    with pytest.raises(AssertionError):
        check_worlds(tmp_path)


def test_a_key_that_is_used_while_its_day_is_written_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """At midnight, by a thread beside the one that writes."""
    key, used, written = Key("3f2a9c01", "client", None, "", 0, None), last_use.LastUse(), list[str]()

    def write(database: Database, statement: str, day: str, *given: Any) -> None:
        written.append(day)
        used.note(key, "/v1/studies/{study}/assign", last_use.DAY)

    monkeypatch.setattr(last_use, "write_change", write)
    used.note(key, "/v1/studies/{study}/assign", 0)
    with closing(open_database("sqlite:///:memory:")) as database:
        for _ in range(3):
            used.write(database)
    assert written == ["1970-01-01", "1970-01-02"]

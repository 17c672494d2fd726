"""Commands about a helper: invitations, who is paired, and how a study that is helped stands."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.cli import main
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.lease import read_clock
from maskedbandit.store.pairing import accept_pairing, write_pairing
from maskedbandit.study.operators import OperatorKeys
from tests.service.helper_inside import helped_leader
from tests.service.inside import inside

KEYS = OperatorKeys(bytes(32), bytes(32))


def said(capsys: pytest.CaptureFixture[str], *words: str) -> list[Any]:
    """The lines of JSON of a command."""
    assert main(words) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_an_invitation_is_made_before_the_server_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = "--data", str(tmp_path / "helper")
    first, second = (said(capsys, "helper", "invite", *place)[0] for _ in range(2))
    assert first["fingerprint"] == second["fingerprint"]
    assert first["invitation"] != second["invitation"]
    assert said(capsys, "helper", "show", *place) == [{"fingerprint": first["fingerprint"]}]
    with closing(open_database(f"sqlite:///{tmp_path}/helper/studies.db")) as database, database.transaction():
        assert accept_pairing(database, first["invitation"], KEYS, "Clinic", read_clock())
    shown = said(capsys, "helper", "show", *place)[1]
    assert (shown["role"], shown["name"], shown["fingerprint"]) == ("leader", "Clinic", KEYS.fingerprint)
    assert main(["helper", "show", "--data", str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


def test_a_study_that_is_helped_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = "--database", f"sqlite:///{tmp_path}/helper.db", "--witness", str(tmp_path / "helper")
    with helped_leader(place[1], tmp_path) as leader:
        offered, _ = leader.send_all(0)
        leader.offer(0, offered)
        leader.total(0, offered)
    assert said(capsys, "helper", "show", *place)[2] == {"study": "small", "state": "running"}
    assert main(["study", "status", *place]) == 0
    assert capsys.readouterr().out == "small: helped for Clinic, running, 1 cohorts have a total\n"
    assert main(["ledger", "verify", *place]) == 0
    assert "1 totals, 3 reports that were offered" in capsys.readouterr().out
    assert main(["serve", "--port", "0", *place]) == 2
    assert "role is 'leader': it must be helper here, where small is helped" in capsys.readouterr().err


def test_a_leader_invites_nobody(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = "--database", f"sqlite:///{tmp_path}/led.db", "--witness", str(tmp_path / "led")
    with inside(place[1], tmp_path / "led") as service:
        service.begin()
    with closing(open_database(place[1])) as database, database.transaction():
        write_pairing(database, KEYS, "helper", "University", "https://helper.example", "secret", 9)
    shown = said(capsys, "helper", "show", *place)
    assert [sorted(each) for each in shown] == [["fingerprint"], ["address", "fingerprint", "made", "name", "role"]]
    assert "secret" not in str(shown)
    assert main(["helper", "invite", *place]) == 2
    assert "where small is led: have other roles in another database" in capsys.readouterr().err

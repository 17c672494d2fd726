"""Both databases are real, and keep the same rules."""

import json
from itertools import count
from pathlib import Path

import psycopg
import pytest

from maskedbandit.errors import Corrupted, InvalidValue, StorageFailed
from maskedbandit.store import session
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.postgresql import Postgresql
from maskedbandit.store.reconcile import export_ledger
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from tests.store.databases import fresh_postgresql
from tests.store.small_study import Clock, small_study


def test_both_databases_can_be_reached(address: str) -> None:
    database = open_database(address)
    assert database.tables() >= {"study", "place", "release"}
    database.close()


def test_a_new_file_is_read_by_nobody_else(tmp_path: Path) -> None:
    open_database(f"sqlite:///{tmp_path}/study.db").close()
    assert (tmp_path / "study.db").stat().st_mode & 0o777 == 0o600


def test_a_study_goes_on_after_its_server_was_away(tmp_path: Path) -> None:
    address, clock = fresh_postgresql(), Clock()
    with small_study(address, tmp_path, clock) as study:
        before = study.assign("ann")
        with psycopg.connect(address, autocommit=True) as other:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            other.execute(f"{others} AND pid <> pg_backend_pid()".encode())
        with pytest.raises(StorageFailed):
            study.assign("bob")
        assert study.state == "running"  # which was acknowledged
        assert study.assign("ann") == before._replace(again=True)
        assert not study.assign("bob").again


def test_a_server_that_undoes_a_commit_is_noticed(tmp_path: Path) -> None:
    database = open_database(fresh_postgresql())
    database.begin()
    with pytest.raises(StorageFailed):
        database.rows("SELECT no_such_column FROM study")
    with pytest.raises(StorageFailed, match="instead of committing"):
        database.commit()
    database.close()


def test_an_address_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(InvalidValue, match="an address that PostgreSQL can read") as wrong:
        open_database("postgresql://ann:canary%zz@host/name")
    assert "canary" not in str(wrong.value)


def test_errors_of_a_database_show_no_rows(address: str, tmp_path: Path) -> None:
    with small_study(address, tmp_path, Clock()) as study:
        ticket = str(study.assign("ann").ticket)
        study.expose(ticket)
        study.report(ticket, 0.71828)
        rows = study.database.rows("SELECT study, ticket, event, proof, value, received, position FROM reward")
        with pytest.raises(Corrupted) as wrong, study.database.transaction():
            study.database.insert("reward", "study, ticket, event, proof, value, received, position", rows)
        with pytest.raises(Corrupted) as empty, study.database.transaction():
            study.database.change("UPDATE reward SET event = NULL")
    for each in (wrong, empty):
        assert ticket not in str(each.value)
        assert "0.71828" not in str(each.value)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="nowhere"):
        open_database(f"sqlite:///{tmp_path}/nowhere/study.db")


@pytest.mark.sparing(1)
def test_a_study_is_verified_and_exported_while_it_goes_on(address: str, tmp_path: Path, monkeypatch) -> None:
    """After each question of `verify` and of `exported` another process gives a place, or makes a release."""
    clock = Clock()
    with small_study(address, tmp_path, clock) as study:
        other = open_database(address)
        witness, asked = find_witness(other, tmp_path), count()

        def rows_and_more(*given, plain=other.rows):
            found = plain(*given)
            ticket = study.assign(f"person {next(asked)}").ticket
            if ticket:
                study.expose(ticket)
            clock.now += 30_000
            study.tick()
            return found

        monkeypatch.setattr(other, "rows", rows_and_more)
        verify_study(other, witness, "small")
        before = len(study.releases())
        told = [row[0] for row in map(json.loads, export_ledger(other, witness, "small"))]
        assert told.count("release") == told.count("entry") - 1 == before
        assert len(study.releases()) > before + 1
        monkeypatch.undo()
        verify_study(other, witness, "small")
        other.close()


def idle_limits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How long a transaction may ask nothing while a study is opened, in what follows, and afterwards."""
    address, said = fresh_postgresql(), list[str]()
    small_study(address, folder / "witness", Clock()).close()
    database, real = open_database(address, patience=60), session.check_log

    def noted(*session: object) -> None:
        said.extend(database.rows("SHOW idle_in_transaction_session_timeout")[0])

    with monkeypatch.context() as patch:
        patch.setattr(session, "check_log", lambda *given: (noted(), real(*given))[1])
        with Study(database, find_witness(database, folder / "witness"), "small", Clock(), "tester") as study:
            study.apply([(noted,)])
            noted()
    return said


def test_a_study_may_take_long_to_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL ends transactions in which nothing is asked for long, but not the one in which a study is opened."""
    assert idle_limits(tmp_path, monkeypatch) == ["0", "15s", "15s"]


def test_a_study_that_is_not_given_time_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Postgresql, "take_time", lambda self: None)
    assert idle_limits(tmp_path, monkeypatch) == ["15s", "15s", "15s"]

"""Both databases are real, and keep the same rules."""

from pathlib import Path

import psycopg
import pytest

from maskedbandit.errors import StorageFailed
from maskedbandit.store.connection import connect
from tests.store.databases import fresh_postgresql
from tests.store.small_study import Clock, small_study


def test_both_databases_can_be_reached(address: str) -> None:
    database = connect(address)
    assert database.tables() >= {"study", "place", "release"}
    database.close()


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
    database = connect(fresh_postgresql())
    database.begin()
    with pytest.raises(StorageFailed):
        database.rows("SELECT no_such_column FROM study")
    with pytest.raises(StorageFailed, match="instead of committing"):
        database.commit()
    database.close()

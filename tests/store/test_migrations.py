"""Tables of every version become those of the newest, with all that is in them, or are refused."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from maskedbandit.errors import Corrupted, StorageFailed, UnknownSchema
from maskedbandit.service.keys import read_keys
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases import connection, migrate
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.reconcile import bring_back, export_ledger
from maskedbandit.store.studies import find_witness
from maskedbandit.store.study import Study
from maskedbandit.store.traces import Scrubber, has_traces
from tests.service.inside import inside
from tests.store.databases import empty_postgresql, make_tables
from tests.store.small_study import WINDOW, Clock, small_study

RENAMED = {"clock": "reached"}  # columns, since the first version
ORDER = ("loss", "project", "study", "decision", "place", "reward", "release", "account", "entry")  # keys point back


@pytest.fixture(autouse=True)
def migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """New tables are those of the first version, and then those of each version."""
    monkeypatch.setattr(connection, "migrate_tables", migrate.migrate_tables)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database of either kind, without tables."""
    return f"sqlite:///{tmp_path}/study.db" if request.param == "sqlite" else empty_postgresql()


def bare(address: str) -> Database:
    """A connection that makes no tables."""
    found: Database = import_module(f"maskedbandit.store.databases.{address.partition(':')[0]}").open_address(
        address, True
    )
    return found


def columns(database: Database, table: str) -> list[str]:
    """The columns of a table that both databases have."""
    find = {
        "Sqlite": "SELECT name FROM pragma_table_info(?)",
        "Postgresql": "SELECT column_name FROM information_schema.columns WHERE table_name = ?",
    }
    return [name for (name,) in database.rows(find[type(database).__name__], table)]


def test_a_study_of_the_first_version_goes_on(address: str, tmp_path: Path) -> None:
    """Its rows are written by plain SQL into the tables of version 1, and brought to the newest."""
    source, folder, clock = f"sqlite:///{tmp_path}/source.db", tmp_path / "witness", Clock()
    with small_study(source, folder, clock) as study:
        for i in range(7):
            if ticket := study.assign(f"person {i}").ticket:
                study.expose(ticket)
                study.report(ticket, i % 2)
        study.database.change("UPDATE place SET salt = NULL")  # as they were before there were salts
        clock.now += WINDOW + 1
        study.tick()
        places = [study.assign(f"person {i}") for i in range(7, 12)]
        releases = study.releases()
    old, new = open_database(source), bare(address)
    migrate.migrate_tables(new, to=1)
    assert migrate.read_version(new) == 1
    assert "leaf" not in columns(new, "place")
    rows, kept = {}, {}
    for table in ORDER:
        names = columns(new, table)
        kept[table] = ", ".join(RENAMED.get(name, name) for name in names)
        rows[table] = old.rows(f"SELECT {kept[table]} FROM {table}")
        marks = ", ".join("?" for _ in names)
        with new.transaction():
            for row in rows[table]:
                new.change(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", *row)
    assert all(rows.values()), "a table without rows shows nothing"
    new.change("UPDATE identity SET name = ?", *old.rows("SELECT name FROM identity")[0])
    new.close()
    old.close()
    new = open_database(address)
    assert migrate.read_version(new) == migrate.list_migrations()[-1][0]
    for table in ORDER:
        assert sorted(new.rows(f"SELECT {kept[table]} FROM {table}")) == sorted(rows[table])
    salted = "SELECT COUNT(*) FROM place WHERE LENGTH(salt) = 32 AND cohort NOT IN (SELECT cohort FROM release)"
    assert new.rows("SELECT COUNT(DISTINCT salt) FROM place") == new.rows(salted) != [(0,)]
    verify_study(new, find_witness(new, folder), "small")
    with Study(new, find_witness(new, folder), "small", clock, "tester") as study:
        assert study.releases() == releases
        assert [study.assign(f"person {i}")[:3] for i in range(7, 12)] == [each[:3] for each in places]
        assert study.erase("person 0") == 1
    new = open_database(address)
    verify_study(new, find_witness(new, folder), "small")
    new.close()


def test_who_still_runs_the_code_of_older_tables_writes_nothing_more(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would give people places without salts."""
    with small_study(address, tmp_path / "witness", Clock()) as study:
        real, older = study.database.change, "UPDATE study SET people = ?, state = ?, latest = ? WHERE study = ?"
        ended = older.replace("latest = ?", "reached = ?, lease = ?")
        asked: list[str] = []

        def noted(text: str, *values: Any) -> int:
            asked.append(text)
            return real(text, *values)

        monkeypatch.setattr(study.database, "change", noted)
        study.assign("ann")
        study.tick()
        assert asked.count(ended) == 2, "each transaction ends with it, as it did in older versions, with this column"
        with pytest.raises(StorageFailed, match="latest"), study.database.transaction():
            real(older, 1, "running", 1, "small")


def test_tables_are_made_once(address: str) -> None:
    database = open_database(address)
    before = database.rows("SELECT name FROM identity")
    migrate.migrate_tables(database)
    assert database.rows("SELECT name FROM identity") == before
    assert database.rows("SELECT version FROM version") == [(migrate.list_migrations()[-1][0],)]
    database.close()


def test_the_tables_of_other_tests_are_those_that_migrations_make() -> None:
    """Which copy them: the same tables, columns, rules and indexes."""
    migrated, copied = (bare("sqlite:///:memory:") for _ in range(2))
    migrate.migrate_tables(migrated)
    make_tables(copied)
    schema = "SELECT type, name, tbl_name, sql FROM sqlite_master"
    assert sorted(copied.rows(schema), key=repr) == sorted(migrated.rows(schema), key=repr)
    assert migrate.read_version(copied) == migrate.read_version(migrated)
    for each in (migrated, copied):
        each.close()


def test_tables_of_a_later_version_are_refused(address: str) -> None:
    database = open_database(address)
    database.change("UPDATE version SET version = 99")
    database.close()
    with pytest.raises(UnknownSchema, match="the tables are of version 99, and this package knows up to"):
        open_database(address)


@pytest.mark.parametrize("table", ["study", "reward", "entry", "version", "identity"])
def test_tables_of_something_else_are_left_alone(address: str, table: str) -> None:
    database = bare(address)
    database.change(f"CREATE TABLE {table} (size BIGINT)")
    database.change(f"INSERT INTO {table} VALUES (7)")
    database.close()
    with pytest.raises(UnknownSchema, match=f"something else: {table}"):
        open_database(address)
    database = bare(address)
    assert database.tables() == {table}
    assert database.rows(f"SELECT size FROM {table}") == [(7,)]
    database.close()


def test_an_empty_table_of_versions_is_something_else(address: str) -> None:
    database = open_database(address)
    database.change("DELETE FROM version")
    database.close()
    with pytest.raises(UnknownSchema, match="something else: version"):
        open_database(address)


def half_done(address: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The tables that a migration leaves that fails in the middle."""
    open_database(address).close()
    known = [*migrate.list_migrations(), (99, "CREATE TABLE half (x BIGINT); INSERT INTO nowhere VALUES (1);")]
    with monkeypatch.context() as patch:
        patch.setattr(migrate, "list_migrations", lambda: known)
        with pytest.raises(StorageFailed):
            open_database(address)
    database = bare(address)
    try:
        assert migrate.read_version(database) < 99
        return database.tables() & {"half"}
    finally:
        database.close()


def test_a_migration_that_fails_leaves_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert half_done(address, monkeypatch) == set()
    open_database(address).close()


def test_a_migration_without_a_transaction_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def none(self: Database) -> Iterator[None]:
        yield

    monkeypatch.setattr(Database, "transaction", none)
    assert half_done(f"sqlite:///{tmp_path}/study.db", monkeypatch) == {"half"}


def test_several_connections_make_the_tables_at_once(address: str) -> None:
    barrier = Barrier(4)

    def connected(_: Any) -> list[Any]:
        barrier.wait(60)
        database = open_database(address)
        found = database.rows("SELECT name, version FROM identity, version")
        database.close()
        return found

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(connected, range(4)))
    assert found == [found[0]] * 4
    assert len(found[0]) == 1


def test_who_was_erased_by_an_older_version_is_scrubbed_too(address: str) -> None:
    database = bare(address)
    migrate.migrate_tables(database, to=5)
    with database.transaction():
        database.change("INSERT INTO loss (loss, text) VALUES (1, 'x')")
        database.change("INSERT INTO project (project, budget) VALUES ('p', 1)")
        for name in ("one", "two"):
            database.change(
                "INSERT INTO study (study, project, state, protocol, seed, people, latest, fence, holder, lease) "
                "VALUES (?, 'p', 'archived', '', '', 0, 0, 0, '', 0)",
                name,
            )
        database.change("INSERT INTO erased (study, person, period, loss) VALUES ('two', 'x', 0, 1)")
    database.close()
    database = open_database(address)
    assert database.rows("SELECT study FROM study WHERE traces > 0") == [("two",)]
    assert Scrubber().scrub(database)
    assert not has_traces(database)
    database.close()


def test_keys_of_an_older_version_hold(address: str) -> None:
    old, rows = bare(address), [("k1", "owner", None, "h1", 1, None), ("k2", "client", "small", "h2", 2, 5)]
    migrate.migrate_tables(old, to=9)
    for row in rows:
        with old.transaction():
            old.change("INSERT INTO api_key (key, role, study, hash, made, ends) VALUES (?, ?, ?, ?, ?, ?)", *row)
    old.close()
    new = open_database(address)
    assert [tuple(key) for key in read_keys(new)] == [(*row, (), None) for row in rows]
    wrong = ("device", None, ""), ("device", "small", None), ("owner", None, "https://a"), ("root", None, None)
    for role, study, origins in wrong:
        insert = "INSERT INTO api_key (key, role, study, hash, made, origins) VALUES ('k3', ?, ?, 'h', 1, ?)"
        with pytest.raises(Corrupted), new.transaction():
            new.change(insert, role, study, origins)
    assert len(read_keys(new)) == 2
    new.close()


@pytest.mark.sparing(1)
def test_a_new_column_in_each_table_is_in_nobodys_way(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Statements name their columns, so a study is played, erased from, brought back, verified and served as before."""
    database = open_database(address)
    columns = [
        f"ALTER TABLE {table} ADD COLUMN added_by_a_test TEXT NOT NULL DEFAULT '';"
        for table in sorted(database.tables())
    ]
    database.close()
    known = [*migrate.list_migrations(), (99, "\n".join(columns))]
    monkeypatch.setattr(migrate, "list_migrations", lambda: known)
    with inside(address, tmp_path / "witness") as service:
        service.begin()
        for i in range(4):
            service.seen(f"person {i}")
        service.tick(21)
        assert service.study("erase", {"unit": "person 0"}, "officer").json == {"places": 1}
        found = service.study("verify", key="officer")
        assert (found.status, found.json["people"], found.json["releases"]) == (200, 4, 2)
        assert service.ask("GET", "/v1/studies/small/results", key="owner").status == 200
        assert service.scoped("client", "small")
    database = open_database(address)
    witness = find_witness(database, tmp_path / "witness")
    export = tmp_path / "export"
    export.write_text("\n".join(export_ledger(database, witness, "small")))
    database.change("DELETE FROM release WHERE study = 'small'")
    database.change("DELETE FROM entry WHERE study = 'small' AND number > 0")
    assert "2 releases were brought back" in bring_back(database, witness, "small", export)
    verify_study(database, witness, "small")
    database.close()

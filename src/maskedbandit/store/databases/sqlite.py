"""Studies in one SQLite file, by way of apsw, which brings its own SQLite.

Some older ones lose commits: 3.7.0 to 3.51.2, when two connections write at once. `synchronous` is FULL, as with less a
loss of power takes back commits that were acknowledged.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

from maskedbandit.errors import Corrupted, InvalidValue, StorageFailed, UnknownStudy
from maskedbandit.store.databases.database import Again, Database, Row, do_again, mark_values

OLDEST = (3, 51, 3)
SETTINGS = (
    "journal_mode = WAL",
    "synchronous = FULL",
    "foreign_keys = ON",
    "cell_size_check = ON",
    "temp_store = MEMORY",  # what undoes a statement of many rows would otherwise be a file
)
PAGES = 8000  # of the log, 32 MB, before they are written to where they belong: a page that changes often is then once
MOST_ROWS = 64  # of a statement
LOCK_WAIT = 10_000  # milliseconds for another connection's transaction


def open_address(address: str, create: bool, patience: float | None = None) -> Database:
    """The database in a file; without `create` the file is there. It needs no patience: nobody is between."""
    path = address.removeprefix("sqlite:///")
    if path in (address, ""):
        raise InvalidValue("database", address, "sqlite:/// and the path of a file, as in sqlite:///study.db")
    if not create and not Path(path).exists():
        raise UnknownStudy(f"there is no file {path}: `maskedbandit study new` makes one")
    return Sqlite(path)


class Sqlite(Database):
    """A connection to one file."""

    random_key = "LOWER(HEX(RANDOMBLOB(16)))"

    def __init__(self, path: str, vfs: str | None = None) -> None:
        import apsw

        super().__init__()
        self._apsw = apsw
        if tuple(map(int, apsw.sqlite_lib_version().split("."))) < OLDEST:
            allowed = f"at least {'.'.join(map(str, OLDEST))}: older ones can lose commits"
            raise InvalidValue("the version of SQLite", apsw.sqlite_lib_version(), allowed)
        if path != ":memory:":
            with suppress(OSError):  # SQLite will say why it cannot be made
                Path(path).touch(mode=0o600)  # it holds rewards; one that is there keeps its mode
        try:
            self._connection = apsw.Connection(path, vfs=vfs)
        except apsw.CantOpenError as why:
            raise InvalidValue("the file of the database", path, "in a folder that is there, and writable") from why
        with self._named_errors():
            self._connection.set_busy_timeout(LOCK_WAIT)
        do_again(self._set)

    def _set(self) -> None:
        with self._named_errors():
            for setting in (*SETTINGS, f"wal_autocheckpoint = {PAGES}"):
                self._connection.execute(f"PRAGMA {setting}")

    def begin(self) -> None:
        with self._named_errors():
            self._connection.execute("BEGIN IMMEDIATE")

    def look(self) -> None:
        with self._named_errors():
            self._connection.execute("BEGIN")

    def commit(self) -> None:
        try:
            with self._named_errors():
                self._connection.execute("COMMIT")
        except BaseException:
            self.rollback()
            raise

    def rollback(self) -> None:
        if self._connection.in_transaction:
            with suppress(self._apsw.Error):  # if the disk fails SQLite undoes the rest when it is opened again
                self._connection.execute("ROLLBACK")

    def rows(self, statement: str, *values: Any) -> list[Row]:
        with self._named_errors():
            return self._connection.execute(statement, values).fetchall()

    def change(self, statement: str, *values: Any) -> int:
        with self._named_errors():
            self._connection.execute(statement, values)
            return self._connection.changes()

    def rows_in(self, statement: str, *values: Any, keys: Sequence[str]) -> list[Row]:
        given = statement.replace("IN keys", "IN (SELECT value FROM json_each(?))")
        return self.rows(given, *values, json.dumps(keys))

    def rows_by(self, table: str, columns: Sequence[str], names: Sequence[str], keys: Sequence[Row]) -> list[Row]:
        wanted = ", ".join(f"{table}.{column}" for column in columns)
        which = " AND ".join(f"{table}.{name} = asked.value ->> {i}" for i, name in enumerate(names))
        return self.rows(f"SELECT {wanted} FROM json_each(?) AS asked CROSS JOIN {table} ON {which}", json.dumps(keys))

    def each(self, statement: str, values: Sequence[Sequence[Any]]) -> int:
        with self._named_errors():
            before = self._connection.total_changes()
            self._connection.executemany(statement, values)
            return self._connection.total_changes() - before

    def insert(self, table: str, columns: str, values: Sequence[Sequence[Any]]) -> None:
        self._insert(f"INSERT INTO {table} ({columns}) VALUES ", values, "")

    def insert_missing(self, table: str, columns: str, values: Sequence[Sequence[Any]]) -> int:
        return self._insert(f"INSERT INTO {table} ({columns}) VALUES ", values, " ON CONFLICT DO NOTHING")

    def _insert(self, start: str, values: Sequence[Sequence[Any]], end: str) -> int:
        """Rows in few statements: with one each, the threads of the process would take turns at every row."""
        changed, done, row = 0, 0, mark_values(values[0])
        while done < len(values):
            many = min(MOST_ROWS, 1 << (len(values) - done).bit_length() - 1)  # a power of two: few texts to prepare
            flat = chain.from_iterable(values[done : done + many])
            changed += self.change(f"{start}{', '.join([row] * many)}{end}", *flat)
            done += many
        return changed

    def script(self, text: str) -> None:
        with self._named_errors():
            self._connection.execute(text)

    def take_time(self) -> None:
        pass  # as long as the process lives

    def rewrite(self) -> None:
        """Write all pages anew: one that was split keeps copies of rows, also when these are deleted."""
        with self._named_errors():
            self._connection.execute("VACUUM")

    def empty_log(self) -> bool:
        """Empty it now or not at all: a study does not wait for those who read older states."""
        with self._named_errors():
            self._connection.set_busy_timeout(0)
            try:
                ((blocked, *_),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            finally:
                self._connection.set_busy_timeout(LOCK_WAIT)
        return not blocked

    def count(self) -> None:
        pass  # it takes the indexes that fit best without

    def alone(self) -> None:
        pass  # as every transaction that may write

    def named(self) -> str:
        return f"SQLite {self._apsw.sqlite_lib_version()}"

    def tables(self) -> set[str]:
        return {name for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def interrupt(self) -> None:
        with suppress(self._apsw.Error):  # it was just closed
            self._connection.interrupt()

    def close(self) -> None:
        if self.own:
            self._connection.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        self.check_own()
        apsw = self._apsw
        try:
            yield
        except (apsw.BusyError, apsw.LockedError) as why:
            raise Again(str(why)) from why
        except (apsw.CorruptError, apsw.NotADBError, apsw.ConstraintError) as why:
            raise Corrupted(f"the database does not keep its own rules: {why}") from why
        except apsw.Error as why:
            raise StorageFailed(f"the database failed: {why}") from why

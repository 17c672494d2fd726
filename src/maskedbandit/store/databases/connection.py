"""A database by its address, with the tables of this version.

sqlite:///study.db          a file below the current folder; sqlite:////var/lib/study.db is an absolute path
postgresql://host/name      a PostgreSQL server, with the extra `postgres`
"""

from importlib import import_module

from maskedbandit.errors import InvalidValue, UnknownStudy
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.migrate import migrate_tables


def open_database(address: str, create: bool = True, patience: float | None = None) -> Database:
    """The database with this address; its tables are those of this version.

    Without `create` it is one that has studies, or `UnknownStudy`. With `patience` a server that says nothing for so
    many seconds has failed: not for what takes long, such as bringing old tables up to date.

    >>> open_database("sqlite:///:memory:").tables() >= {"study", "release"}
    True
    """
    kind = address.partition(":")[0] if isinstance(address, str) else ""
    if kind not in ("sqlite", "postgresql"):
        raise InvalidValue(
            "database", hide_password(address), "an address such as sqlite:///study.db or postgresql://host/name"
        )
    database: Database = import_module(f"maskedbandit.store.databases.{kind}").open_address(address, create, patience)
    try:
        if not create and "version" not in database.tables():
            raise UnknownStudy(
                f"there are no studies in {hide_password(address)}: `maskedbandit study new` makes the first"
            )
        migrate_tables(database)
    except BaseException:
        database.close()
        raise
    return database


def hide_password(address: object) -> object:
    """An address without what may be a password, for messages."""
    if not isinstance(address, str) or "@" not in address:
        return address
    return address.partition(":")[0] + "://...@" + address.rpartition("@")[2]

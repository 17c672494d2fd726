"""The tables of a database, made and brought up to date by the numbered files of `migrations`."""

import re
import secrets
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from maskedbandit.errors import StorageFailed, UnknownSchema
from maskedbandit.store.databases.database import Database, do_again


@cache
def list_migrations() -> tuple[tuple[int, str], ...]:
    """The number and the text of each file.

    >>> [number for number, _ in list_migrations()][:2]
    [1, 2]
    """
    found = (
        path for path in files("maskedbandit.store").joinpath("migrations").iterdir() if path.name.endswith(".sql")
    )
    return tuple(sorted((int(path.name[:4]), path.read_text()) for path in found))


def migrate_tables(database: Database, to: int | None = None) -> None:
    """Bring the tables up to this version, or raise `UnknownSchema` if a later one made them."""
    known = list_migrations()
    newest = known[-1][0] if to is None else to
    if "version" not in database.tables() or read_version(database) != newest:
        do_again(lambda: migrate_to(database, known, newest))


def migrate_to(database: Database, known: Sequence[tuple[int, str]], newest: int) -> None:
    """Do the files that are missing, in one transaction."""
    with database.transaction():
        database.alone()
        tables = database.tables()
        if "version" not in tables:
            if others := tables & {name for _, text in known for name in re.findall(r"CREATE TABLE (\w+)", text)}:
                raise UnknownSchema(f"the database has tables of something else: {', '.join(sorted(others))}")
            database.script("CREATE TABLE version (version BIGINT NOT NULL)")
            database.change("INSERT INTO version (version) VALUES (0)")
        found = read_version(database)
        if found > known[-1][0]:
            raise UnknownSchema(f"the tables are of version {found}, and this package knows up to {known[-1][0]}")
        for number, text in known:
            if found < number <= newest:
                database.script(text.replace("RANDOM_KEY", database.random_key))
                database.change("UPDATE version SET version = ?", number)
        if not database.rows("SELECT name FROM identity"):
            database.change("INSERT INTO identity (name) VALUES (?)", secrets.token_hex(8))


def read_version(database: Database) -> int:
    """The number of the latest file whose tables the database has."""
    try:
        ((found,),) = database.rows("SELECT version FROM version")
        return int(found)
    except (StorageFailed, ValueError):
        raise UnknownSchema("the database has a table of something else: version") from None

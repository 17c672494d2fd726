"""The table of studies: one row each, with its protocol, and how far it has come; lease.py says who holds it."""

from typing import NamedTuple

from maskedbandit.errors import UnknownStudy
from maskedbandit.store.databases.database import Database


class StudyRow(NamedTuple):
    """A study, as it is written down."""

    name: str
    project: str
    state: str
    protocol: str  # the text of it, without arms that were added
    people: int
    reached: int  # the latest time that it has seen


FIND = "SELECT study, project, state, protocol, people, reached FROM study"


def read_study(database: Database, name: str) -> StudyRow:
    """The study of this name, or raise `UnknownStudy`."""
    row = database.one(f"{FIND} WHERE study = ?", name)
    if row is None:
        raise UnknownStudy(f"there is no study {name!r}")
    return StudyRow(*row)


def read_seed(database: Database, name: str) -> str:
    """What all its decisions follow from, with the releases; it is secret."""
    ((seed,),) = database.rows("SELECT seed FROM study WHERE study = ?", name)
    return str(seed)


def read_studies(database: Database) -> list[StudyRow]:
    """All studies, by name."""
    return [StudyRow(*row) for row in database.rows(f"{FIND} ORDER BY study")]

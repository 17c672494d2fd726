"""The studies of a database: a new one, a list of them, and opening one."""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from maskedbandit.errors import BehindWitness, FrozenProtocol, UnknownStudy
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.witness import Witness, standard_folder
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.lease import read_clock
from maskedbandit.store.study import Study
from maskedbandit.store.study_rows import read_studies
from maskedbandit.study.protocol import Protocol

log = logging.getLogger("maskedbandit")
NEEDING_KEYS = "study", "project", "pairing", "invitation"  # tables whose rows are worth nothing with other keys


def read_identity(database: Database) -> str:
    """The name of a database, which a copy of it has as well."""
    (found,) = database.rows("SELECT name FROM identity")[0]
    return str(found)


def find_witness(database: Database, folder: Path | None) -> Witness:
    """The witness of a database, below this folder or the standard one."""
    return Witness((folder or standard_folder()) / read_identity(database))


def prepare_witness(database: Database, folder: Path | None) -> Witness:
    """The witness of a database, with keys; they are made if nothing in the database needs others."""
    witness = find_witness(database, folder)
    if not witness.exists():
        if any(database.rows(f"SELECT 1 FROM {table} LIMIT 1") for table in NEEDING_KEYS):
            raise BehindWitness(
                f"the keys of this database are not in {witness.folder}: name the folder that has them, with --witness"
            )
        witness.create()
        log.info(f"the keys of this database are new, and in {witness.folder}: keep a copy of them")
    return witness


def write_study(protocol: Protocol, address: str, folder: Path | None = None) -> None:
    """Write a study down as a draft, in place of a draft of the same name."""
    with closing(open_database(address)) as database:
        witness = prepare_witness(database, folder)
        witness.add_project(protocol.project)
        do_again(partial(write_draft, database, witness, protocol))


def write_draft(database: Database, witness: Witness, protocol: Protocol) -> None:
    """Write a study down, in place of a draft."""
    with database.transaction():
        found = database.one("SELECT state, fence FROM study WHERE study = ?", protocol.name)
        if found and found[0] != "draft":
            raise FrozenProtocol(f"{protocol.name} is {found[0]}: its protocol cannot be changed")
        witness.expect(protocol.name)
        database.change("DELETE FROM study WHERE study = ?", protocol.name)
        Accounts.create(database, Losses(database), protocol.project, protocol.budget, protocol.period)
        database.change(
            "INSERT INTO study (study, project, state, protocol, seed, people, reached, fence, holder, lease) "
            "VALUES (?, ?, 'draft', ?, ?, 0, 0, ?, '', 0)",
            *(protocol.name, protocol.project, protocol.text, secrets.token_hex(16)),
            found[1] + 1 if found else 0,  # whoever holds the draft that was there is fenced off
        )


def choose_study(database: Database, name: str | None) -> str:
    """The name of the study that is meant: the only one, if none is named."""
    known = [each.name for each in read_studies(database)]
    if name is None and len(known) == 1:
        return known[0]
    if name not in known:
        which = "no study is named" if name is None else f"there is no study {name!r}"
        raise UnknownStudy(f"{which} (in this database there are: {', '.join(known) or 'none'})")
    return str(name)


def open_study(
    address: str, name: str | None = None, folder: Path | None = None, clock: Callable[[], int] = read_clock
) -> Study:
    """The study of this name, or the only one, held by this process."""
    database = open_database(address, create=False)
    try:
        return Study(database, find_witness(database, folder), choose_study(database, name), clock)
    except BaseException:
        database.close()
        raise


@contextmanager
def open_example() -> Iterator[Study]:
    """A running study in a folder that is removed at the end, for the examples of the documents."""
    protocol = Protocol.from_table(
        {
            "name": "example",
            "people": 1000,
            "policy": "successive_elimination",
            "channel": {"name": "central", "epsilon": 1},
            "arms": [{"name": "a"}, {"name": "b"}],
            "budget": {"epsilon": 1},
        }
    )
    with TemporaryDirectory() as folder:
        address = f"sqlite:///{folder}/example.db"
        write_study(protocol, address, Path(folder) / "witness")
        with open_study(address, folder=Path(folder) / "witness") as study:
            study.start()
            yield study

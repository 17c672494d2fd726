"""The studies of a database: a new one, a list of them, and opening one."""

import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from maskedbandit.errors import BehindWitness, Conflict, FrozenProtocol, UnknownStudy
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.witness import Witness, standard_folder
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.lease import read_clock
from maskedbandit.store.states import check_looked_at
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


def write_study(
    protocol: Protocol,
    address: str,
    folder: Path | None = None,
    looked_at: str | None = None,
    along: Callable[[Database], object] | None = None,
) -> None:
    """Write a study down as a draft: a new one, or in place of the draft whose protocol has the hash `looked_at`.

    What goes `along` is written in the same transaction.
    """
    with closing(open_database(address)) as database:
        witness = prepare_witness(database, folder)
        witness.add_project(protocol.project)
        do_again(partial(write_draft, database, witness, protocol, looked_at, along))


def write_draft(
    database: Database,
    witness: Witness,
    protocol: Protocol,
    looked_at: str | None,
    along: Callable[[Database], object] | None,
) -> None:
    """Write a study down, if its name is free, or has the draft that was looked at."""
    with database.transaction():
        seed = secrets.token_hex(16)
        # other than that of whoever holds a draft of this name that was deleted
        fence = int(sha256(seed.encode()).hexdigest()[:12], 16)
        if looked_at is not None:
            fence = take_draft(database, protocol.name, looked_at)
        elif database.one("SELECT study FROM study WHERE study = ?", protocol.name) is not None:
            raise make_taken_error(protocol.name)
        witness.expect(protocol.name)
        Accounts.create(database, Losses(database), protocol.project, protocol.budget, protocol.period)
        new = (
            "INSERT INTO study (study, project, state, protocol, seed, people, reached, fence, holder, lease) "
            "VALUES (?, ?, 'draft', ?, ?, 0, 0, ?, '', 0) ON CONFLICT DO NOTHING"
        )
        if not database.change(new, protocol.name, protocol.project, protocol.text, seed, fence):
            raise make_taken_error(protocol.name)  # by somebody who wrote at the same time
        if along is not None:
            along(database)


def make_taken_error(name: str) -> Conflict:
    """A new study has the name of another one."""
    return Conflict(f"there is a study {name!r} already: change or delete its draft, or choose another name")


def delete_draft(name: str, looked_at: str, address: str) -> None:
    """Delete a draft whose protocol has the hash `looked_at`; nothing of it is kept."""
    with closing(open_database(address)) as database:

        def delete() -> None:
            with database.transaction():
                take_draft(database, name, looked_at)

        do_again(delete)


def take_draft(database: Database, name: str, looked_at: str) -> int:
    """Remove a draft, if it is the one that was looked at; whoever holds it has a smaller fence than is returned."""
    database.change("UPDATE study SET fence = fence + 1 WHERE study = ?", name)  # first: nobody starts it meanwhile
    found = database.one("SELECT state, protocol, fence FROM study WHERE study = ?", name)
    if found is None:
        raise UnknownStudy(f"there is no study {name!r}")
    state, text, fence = found
    if state != "draft":
        raise FrozenProtocol(f"{name} is {state}: its protocol cannot be changed, and the study cannot be deleted")
    check_looked_at(Protocol.from_text(text), looked_at)
    database.change("DELETE FROM approval WHERE study = ?", name)
    database.change("DELETE FROM study WHERE study = ?", name)
    return int(fence)


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

"""Workers that are broken in one place each: what the tests must catch."""

from collections.abc import Callable
from random import Random
from typing import Any, ClassVar

import maskedbandit.store.release as release_module
import maskedbandit.store.session as session_module
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.book.chain import next_link
from maskedbandit.store.book.entries import Release, parse_entry
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.databases.database import Database, Row
from maskedbandit.store.due import do_what_is_due
from maskedbandit.store.members import Member
from maskedbandit.store.session import Session
from maskedbandit.store.study import Study


class Mutant:
    """A worker that is as it should be; the mutants are changed in one place."""

    study: type[Study] = Study
    schema = ""

    def install(self) -> None:
        """Change the modules of this process."""

    def database(self, real: Database) -> Database:
        """The database, as the study gets it."""
        return real

    def operation(self, study: Study, given: tuple[Any, ...], tell: Callable[[Any], None]) -> tuple[Any, ...]:
        """An operation, as the writer gets it; `tell` acknowledges it."""
        return given


class Early(Mutant):
    """Tells the client that an operation is done before the transaction is on disk."""

    def operation(self, study: Study, given: tuple[Any, ...], tell: Callable[[Any], None]) -> tuple[Any, ...]:
        def early(session: Session, verb: str, *given: Any) -> Any:
            result = study.operations[verb](session, *given)
            tell(result)
            return result

        return early, *given


class Keyless(Mutant):
    """Rewards without their primary key, and nobody looks whether a report came before."""

    schema = "CREATE TABLE keyless AS SELECT * FROM reward; DROP TABLE reward; ALTER TABLE keyless RENAME TO reward"

    def database(self, real: Database) -> Database:
        def rows_by(*given: Any) -> list[Row]:
            return []

        def insert_missing(table: str, *given: Any) -> int:
            if table != "reward":
                return write(table, *given)
            real.insert(table, *given)
            return 0

        write = real.insert_missing
        real.rows_by, real.insert_missing = rows_by, insert_missing
        return real


class PublishingStudy(Study):
    """Tells a release within the transaction that writes it."""

    tell_now: Callable[[int | None, Any], None]

    def __init__(self, *given: Any) -> None:
        self.operations = {**Study.operations, "tick": self._tick}
        super().__init__(*given)

    def _tick(self, session: Session) -> list[Release]:
        released = do_what_is_due(session)
        self.tell_now(None, released)
        return released


class Publishing(Mutant):
    """Publish before the commit."""

    study = PublishingStudy


class Seeded(Mutant):
    """Noise from a seed, so that a release is the same when it is made again; so it may be published early."""

    study = PublishingStudy

    def install(self) -> None:
        release_module.Bits = lambda: Bits(Random(7).randbytes)


def twice(member: Member) -> Member:
    """With each report once more, as another event."""
    again = [(value, f"{event} again", proof) for value, event, proof in member.told]
    return member._replace(told=[*member.told, *again])


class Doubling(Mutant):
    """Adds up every report twice; the tables do not show it."""

    def install(self) -> None:
        real = release_module.read_members
        release_module.read_members = lambda *given: [twice(each) for each in real(*given)]


class Unlisted(Mutant):
    """Releases that are not entered in the ledger."""

    def install(self) -> None:
        real = session_module.Session.enter

        def enter(self: session_module.Session, by: str = "", **says: Any) -> Entry:
            if says["kind"] != "released":
                return real(self, by, **says)
            return parse_entry(self.name, next_link(self.name, self.head, {**says, "at": self.now}, self._key))

        session_module.Session.enter = enter


class Counter(Mutant):
    """Which places are dealt is known in memory alone."""

    schema = "DROP INDEX IF EXISTS each_place_is_dealt_once"

    def install(self) -> None:
        real = session_module.check_log
        session_module.check_log = lambda book, dealt: real(book)


def refund(session: Session) -> list[Release]:
    """What is due is done, and charges are given back with the places."""
    released = do_what_is_due(session)
    session.database.change(
        "DELETE FROM account WHERE project = ? AND person IN (SELECT person FROM place WHERE study = ? AND "
        "returned = ?)",
        *(session.project, session.name, session.now),
    )
    return released


class RefundingStudy(Study):
    """Gives the charge back with the place."""

    operations: ClassVar[dict[str, Callable[..., Any]]] = {**Study.operations, "tick": refund}


class Refunding(Mutant):
    """A refund on abort, of a place whose arm was told."""

    study = RefundingStudy


MUTANTS: dict[str, Mutant] = {
    "none": Mutant(),
    "told before the commit": Early(),
    "rewards without a key": Keyless(),
    "published before the commit": Publishing(),
    "noise from a seed": Seeded(),
    "reports added up twice": Doubling(),
    "releases without an entry": Unlisted(),
    "places in memory": Counter(),
    "refund on abort": Refunding(),
}

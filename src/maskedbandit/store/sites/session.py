"""A site's part of a study while one process holds it."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

from maskedbandit.secagg.client import RoundClient
from maskedbandit.store.book.checks import as_corrupted
from maskedbandit.store.book.site_entries import SiteAgreed, SiteJoined
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.holding import Holding
from maskedbandit.store.lease import end_lease
from maskedbandit.store.requests import Done
from maskedbandit.store.sites.book import Attempt, read_site_book
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import Stages


class HeldClient(NamedTuple):
    """The client of a round that is under way, kept while the study is held: it can be made again from what is stored.

    Whatever it answered before this phase is on disk, or a transaction failed and it is not kept any more.
    """

    attempt: int
    phase: int  # which is due, counted from 0
    client: RoundClient


class SiteSession(Holding):
    """The site's part of the study of this name, which no other process holds."""

    silent: bool  # of the operation under way: it is a report, or a question
    joined: dict[Attempt, SiteJoined]
    agreed: dict[Attempt, SiteAgreed]
    held: dict[int, HeldClient]  # by cohort
    stages: Stages  # the lists of the sites to which this one agreed
    shown: Stages  # the same, after the last transaction that is on disk and at the witness
    number: int  # of this one

    def __init__(
        self, database: Database, witness: Witness, name: str, clock: Callable[[], int], holder: str | None
    ) -> None:
        super().__init__(database, witness, name, clock, holder)
        with as_corrupted(name):
            self.protocol = Protocol.from_text(self._written_down[1])
        self.signer, self.silent, self._moved = witness.signing_key(), False, True
        self.apply([])

    def _load(self) -> None:
        book = read_site_book(self.database, self.witness, self.name)
        self.head, self.joined, self.agreed, self.worst = book.head, book.joined, book.agreed, book.worst
        self.stages, self.number, self.held = book.stages, book.number, {}
        self.note_head(book.seen)
        find = "SELECT COALESCE(MAX(position), -1) + 1 FROM site_report WHERE study = ?"
        self.positions = count(int(self.database.rows(find, self.name)[0][0]))

    def _apply(self, operations: Sequence[Callable[[], Any]], *read: Any) -> list[Done]:
        self.silent, self._moved = False, not operations
        done = super()._apply(operations, *read)
        self.shown = self.stages
        return done

    def _do(self, operation: Callable[[], Any]) -> Done:
        before = self.now
        done = super()._do(operation)
        if self.silent:  # what follows from the time is seen by others
            self.now, self.silent = before, False
        else:
            self._moved = True
        return done

    def _read(self) -> None:
        pass  # each operation reads what it asks for, once

    def _keep(self) -> None:
        if not self._moved:
            return  # when somebody reports is an outcome, and leaves no trace here
        keep = "UPDATE study SET state = ?, reached = ?, lease = ? WHERE study = ?"
        self.database.change(keep, self.state, self.now, end_lease(), self.name)


def end_site(session: SiteSession) -> None:
    """The coordinator has archived the study: no round is joined any more, and people's data is erased here too."""
    if session.state != "running":
        return
    session.state = session.enter(kind="site_ended").state
    session.held.clear()
    database, name = session.database, session.name
    for table in ("site_report", "site_place"):
        database.change(f"DELETE FROM {table} WHERE study = ?", name)
    database.change("UPDATE site_round SET value = NULL, seed = NULL WHERE study = ?", name)
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)

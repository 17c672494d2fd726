"""A site's part of a study while one process holds it."""

from collections.abc import Callable
from itertools import count

from maskedbandit.store.book.checks import as_corrupted, check_head
from maskedbandit.store.book.entries import Keys, SiteAgreed, SiteJoined
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.holding import Holding
from maskedbandit.store.lease import end_lease
from maskedbandit.store.sites.book import Attempt, read_site_book
from maskedbandit.study.protocol import Protocol


class SiteSession(Holding):
    """The site's part of the study of this name, which no other process holds."""

    joined: dict[Attempt, SiteJoined]
    agreed: dict[Attempt, SiteAgreed]
    keys: Keys  # of all sites
    number: int  # of this one

    def __init__(
        self, database: Database, witness: Witness, name: str, clock: Callable[[], int], holder: str | None
    ) -> None:
        super().__init__(database, witness, name, clock, holder)
        with as_corrupted(name):
            self.protocol = Protocol.from_text(self._written_down[1])
        self.signer = witness.signing_key()
        self.apply([])

    def _load(self) -> None:
        book = read_site_book(self.database, self.witness, self.name)
        self.head, self.joined, self.agreed, self.worst = book.head, book.joined, book.agreed, book.worst
        self.keys, self.number = book.keys, book.number
        if book.entries:  # what was written of it before may not be on disk, if that failed
            with self.witness.watching(self.database, self.name, book.seen, self.head, self.worst.to_text()):
                pass
        find = "SELECT COALESCE(MAX(position), -1) + 1 FROM site_report WHERE study = ?"
        self.positions = count(int(self.database.rows(find, self.name)[0][0]))

    def _read(self) -> None:
        pass  # each operation reads what it asks for, once

    def _keep(self) -> None:
        keep = "UPDATE study SET state = ?, reached = ?, lease = ? WHERE study = ?"
        self.database.change(keep, self.state, self.now, end_lease(), self.name)


def check_still_newest(session: SiteSession) -> None:
    """Raise `BehindWitness` if the witness has seen another ledger than this one."""
    check_head(session.witness.as_now(), session.name, session.at_witness)

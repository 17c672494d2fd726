"""A ledger while one process holds it: its transactions, and when what is in memory is made again.

Everything in memory follows from the database. So when a transaction fails, for whatever reason, what is in memory is
made again before the next one, and nothing is acknowledged that is not on disk.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import Any, ClassVar

from maskedbandit.errors import FencedOff, MaskedBanditError, StoreError
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.book.chain import ENTRY, Head, next_link
from maskedbandit.store.book.checks import as_corrupted, check_head
from maskedbandit.store.book.entries import parse_entry
from maskedbandit.store.book.entry import Entry
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.lease import Lease, name_holder
from maskedbandit.store.requests import Done
from maskedbandit.store.study_rows import read_seed, read_study
from maskedbandit.study.protocol import Protocol


class Holding(ABC):
    """The study of this name, which no other process holds.

    **Guarantee**: `apply` returns only after what it did is on disk, and the ledger's head at the witness; it does
    nothing at all if another process has taken the study over.
    """

    failures: ClassVar[tuple[type[MaskedBanditError], ...]] = (StoreError,)  # after which a transaction is undone
    state: str
    now: int  # the latest time that the study has seen; it never goes back
    head: Head
    protocol: Protocol
    at_witness: Head  # the head before this transaction, which the witness has seen
    worst: Loss  # what its releases cost the worst person

    def __init__(
        self, database: Database, witness: Witness, name: str, clock: Callable[[], int], holder: str | None
    ) -> None:
        self.database, self.witness, self.name = database, witness, name
        row = read_study(database, name)
        self._written_down = row.project, row.protocol, read_seed(database, name)
        self._key, self._lease = witness.signing_key(), Lease(database, name, holder or name_holder())
        self._clock, self.lock = clock, RLock()
        self._stale = True

    def apply(self, operations: Sequence[Callable[[], Any]], *read: Any) -> list[Done]:
        """Do these in one transaction. A refusal is the result of its operation; a failure of the store undoes all.

        What they will ask for may be named, to be `read` at once, which is faster than one after the other.
        """
        self.database.check_own()  # first: in a fork the lock may be held by a thread that is not there
        with self.lock:
            return do_again(partial(self._apply, operations, *read))

    def enter(self, by: str = "", /, **says: Any) -> Entry:
        """Add an entry to the ledger, within a transaction: what it says, as whoever reads it will.

        `by` is the public part of the key that asked for it, if one did.
        """
        asked = {"by": by} if by else {}
        link = next_link(self.name, self.head, {**says, **asked, "at": self.now}, self._key)
        self.database.insert("entry", ENTRY, [(self.name, *link)])
        self.head = Head(link.number + 1, link.hash)
        return parse_entry(self.name, link)

    def note_head(self, seen: Head) -> None:
        """The witness sees the ledger that was read: what was written of it may not be on disk, if that failed."""
        if self.head.entries:
            with self.witness.watching(self.database, self.name, seen, self.head, self.worst.to_text()):
                pass

    def close(self) -> None:
        """Give up the lease, so that another process need not wait for its end."""
        if not self.database.own:
            return
        with self.lock:
            self._lease.give_back()
            self.database.close()

    @abstractmethod
    def _load(self) -> None:
        """Make what is in memory from what is in the database."""

    @abstractmethod
    def _read(self, *read: Any) -> None:
        """Read what the operations of a transaction will ask for."""

    @abstractmethod
    def _keep(self) -> None:
        """Write what is new, and how far the study has come."""

    def _apply(self, operations: Sequence[Callable[[], Any]], *read: Any) -> list[Done]:
        if self._stale:
            self._take()
        before = self.at_witness = self.head
        try:
            self.database.begin()
            self._lease.check()
            self._read(*read)
            done = [self._do(operation) for operation in operations]
            self._keep()
            if self.head == before:
                self.database.commit()
            else:
                with self.witness.watching(self.database, self.name, before, self.head, self.worst.to_text()):
                    self.database.commit()
        except BaseException:
            self._stale = True
            self.database.rollback()
            raise
        return done

    def _do(self, operation: Callable[[], Any]) -> Done:
        """Do it; what is one of `failures` is no refusal, as something may have been done."""
        self.now = max(self.now, self._clock())
        try:
            return Done(operation())
        except self.failures:
            raise
        except MaskedBanditError as why:
            return Done(None, why)

    def _take(self) -> None:
        """Take the study over, and make what is in memory from what is in the database."""
        database, name = self.database, self.name
        with database.transaction():
            row = self._lease.take()
            self.state, self.now = row.state, row.reached
            if (row.project, row.protocol, read_seed(database, name)) != self._written_down:
                raise FencedOff(f"another process has replaced {name}: open it again")
        try:
            with database.transaction(), as_corrupted(name):  # apart: it may take long, and keeps no row from others
                database.take_time()  # as long as all that was decided takes to be decided again
                self._load()
        except BaseException:
            self._lease.give_back()
            raise
        self._stale = False


def check_still_newest(holding: Holding) -> None:
    """Raise `BehindWitness` if the witness has seen another ledger than this one."""
    check_head(holding.witness.as_now(), holding.name, holding.at_witness)

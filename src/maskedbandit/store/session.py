"""A study while one process holds it: what is in memory, made from what is in the database, and its transactions.

Everything in memory follows from the database. So when a transaction fails, for whatever reason, what is in memory is
made again before the next one, and nothing is acknowledged that is not on disk.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import count
from threading import RLock
from typing import Any, NamedTuple

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import FencedOff, IllegalDecision, MaskedBanditError, ProtocolError, StoreError
from maskedbandit.privacy.loss import ZERO
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.chain import ENTRY, Head, next_link
from maskedbandit.store.book.checks import as_corrupted, check_log, memory_digest, read_book
from maskedbandit.store.book.demand import arms_of_answer
from maskedbandit.store.book.entries import Entry, parse_entry
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Again, Database, do_again
from maskedbandit.store.lease import Lease, end_lease, name_holder
from maskedbandit.store.memory import read_memory
from maskedbandit.store.requests import Done, ReportName
from maskedbandit.store.rows import Rows
from maskedbandit.store.study_rows import read_seed, read_study
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.watch import Watch

FEW = 256  # rows


class Shown(NamedTuple):
    """What may be told of a study: how it was after the last transaction that is on disk and at the witness."""

    state: str
    people: int
    answer: int | None  # of the policy
    named: tuple[int, ...] | None  # the arms of that answer: this one alone, or all arms of a kind
    steps: int  # of the log
    in_play: tuple[int, ...]  # arms


class Session:
    """The study of this name, which no other process holds.

    **Guarantee**: `apply` returns only after what it did is on disk, and the ledger's head at the witness; it does
    nothing at all if another process has taken the study over.
    """

    state: str
    now: int  # the latest time that the study has seen; it never goes back
    arms: Standing
    driver: Driver
    watch: Watch | None  # of the guardrail
    accounts: Accounts
    rows: Rows
    head: Head
    at_witness: Head  # the head before this transaction, which the witness has seen
    others: Mapping[str, Any]  # what the witness had seen of all ledgers when that was found in this database
    price: Callable[[int], int]  # the number of the loss that a place costs, by the size of its cohort
    offers: Callable[[int], tuple[Offer, ...]]  # what is offered to a cohort, one for each outcome, by its size
    memory: Any  # what the channel keeps between releases
    silent: bool  # of the operation under way: it is a report
    _moved: bool  # whether anything but reports came in this transaction
    positions: Iterator[int]  # of the next reports, among those of the study
    _written: int  # steps of the log that are in the database
    _shown: Shown
    exposed: dict[int, tuple[int, int]]  # of each cohort that is not released: places that were seen, and the last time

    def __init__(
        self, database: Database, witness: Witness, name: str, clock: Callable[[], int], holder: str | None
    ) -> None:
        self.database, self.witness, self.name = database, witness, name
        row = read_study(database, name)
        with as_corrupted(name):
            self.project, self.protocol = row.project, Protocol.from_text(row.protocol)
            self.seed = bytes.fromhex(seed := read_seed(database, name))
        self._written_down = row.project, row.protocol, seed
        self.losses, self.worst = Losses(database), ZERO
        self._key, self._lease = witness.signing_key(), Lease(database, name, holder or name_holder())
        self.bits = Bits()
        self._clock, self.lock = clock, RLock()
        self._stale = True
        self._counted, self._since = FEW, 0  # places when they were counted, and since then
        self.apply([])
        self.pseudonym = lru_cache(1024)(witness.pseudonyms(self.project).of)  # which a batch asks for twice

    def apply(
        self,
        operations: Sequence[Callable[[], Any]],
        tickets: Sequence[str] = (),
        people: Sequence[str] = (),
        reports: Sequence[ReportName] = (),
    ) -> list[Done]:
        """Do these in one transaction. A refusal is the result of its operation; a failure of the store undoes all.

        The rows about these tickets, people and reports are read at once, which is faster than one after the other.
        """
        self.database.check_own()  # first: in a fork the lock may be held by a thread that is not there
        with self.lock:
            return do_again(partial(self._apply, operations, tickets, people, reports))

    @property
    def shown(self) -> Shown:
        """What may be told of the study."""
        self.database.check_own()
        return self._shown

    @property
    def people(self) -> int:
        """How many people have a place: each is one person, however often the application asks for them."""
        return self.driver.deck.dealt

    def enter(self, **says: Any) -> Entry:
        """Add an entry to the ledger, within a transaction: what it says, as whoever reads it will."""
        link = next_link(self.name, self.head, {**says, "at": self.now}, self._key)
        self.database.insert("entry", ENTRY, [(self.name, *link)])
        self.head = Head(link.number + 1, link.hash)
        return parse_entry(self.name, link)

    def memory_digest(self, text: str) -> str:
        """What the ledger says of what the channel keeps."""
        return memory_digest(text, self._key)

    def close(self) -> None:
        """Give up the lease, so that another process need not wait for its end."""
        if not self.database.own:
            return
        with self.lock:
            self._lease.give_back()
            self.database.close()

    def _apply(
        self,
        operations: Sequence[Callable[[], Any]],
        tickets: Sequence[str],
        people: Sequence[str],
        reports: Sequence[ReportName],
    ) -> list[Done]:
        if self._stale:
            self._take()
        self.silent, self._moved = False, not operations
        before = self.at_witness = self.head
        try:
            self.database.begin()
            self._lease.check()
            self.accounts.renew()
            self.rows.read(tickets, people, reports)
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
        answer = None if self.arms.is_alone else self.driver.answer  # an arm that is left alone is none
        arms = None if answer is None else arms_of_answer(self.driver)
        self._shown = Shown(self.state, self.people, answer, arms, len(self.driver.log), self.arms.in_play)
        if self._since > self._counted:  # the tables are about twice as large as when they were counted
            self._counted, self._since = self._counted + self._since, 0
            with suppress(StoreError, Again):  # what was asked for is done all the same
                self.database.count()
        return done

    def _do(self, operation: Callable[[], Any]) -> Done:
        """Do it; a failure of the store, the policy or the channel is no refusal, as something may have been done."""
        before, self.now = self.now, max(self.now, self._clock())
        try:
            done = Done(operation())
        except (StoreError, IllegalDecision, ProtocolError):
            raise
        except MaskedBanditError as why:
            done = Done(None, why)
        if self.silent:  # what follows from the time is seen by others
            self.now, self.silent = before, False
        else:
            self._moved = True
        return done

    def write(self) -> None:
        """Write the places, rewards and charges of this transaction."""
        self._since += self.rows.write()
        self.accounts.write()

    def _keep(self) -> None:
        """Write what is new, and how far the study has come."""
        self.write()
        for step in range(self._written, len(self.driver.log)):
            entry = self.driver.log[step]
            if entry[0] == "ask":
                columns = "study, number, step, arm, n, close"
                self.database.insert("decision", columns, [(self.name, entry[1], step, *entry[2:])])
        self._written = len(self.driver.log)
        if self._moved:  # when somebody reports is an outcome, and leaves no trace here
            keep = "UPDATE study SET people = ?, state = ?, reached = ?, lease = ? WHERE study = ?"
            now = self.people, self.state, self.now, end_lease()
            self.database.change(keep, *now, self.name)

    def _take(self) -> None:
        """Take the study over, and make what is in memory from what is in the database."""
        database, name = self.database, self.name
        self.losses.forget()
        with database.transaction():
            row = self._lease.take()
            self.state, self.now = row.state, row.reached
            if (row.project, row.protocol, read_seed(database, name)) != self._written_down:
                raise FencedOff(f"another process has written {name} down anew: open it again")
        try:
            with database.transaction(), as_corrupted(name):  # apart: it may take long, and keeps no row from others
                database.take_time()  # as long as all that was decided takes to be decided again
                self._load()
        except BaseException:
            self._lease.give_back()
            raise
        self._stale = False

    def _load(self) -> None:
        database, name = self.database, self.name
        self.accounts = Accounts(database, self.losses, self.project)
        self.rows = Rows(database, name, self.accounts)
        book = read_book(database, self.witness, name)
        protocol = self.protocol = book.protocol
        self.head, self.arms, self.worst, self.others = book.head, book.standing, book.worst, {}
        self.price = cache(lambda n: self.losses.number(protocol.price(n)))
        self.offers = cache(protocol.offers)
        if book.entries:  # what was written of it before may not be on disk, if that failed
            with self.witness.watching(database, name, book.seen, self.head, self.worst.to_text()):
                pass
        self.memory = protocol.channel.memory(protocol.k)
        if book.releases:
            find = "SELECT memory FROM release WHERE study = ? AND cohort = ?"
            ((text,),) = database.rows(find, name, book.releases[-1].cohort)
            self.memory = read_memory(text, self.memory)
        told = book.released
        since = next(cohort for cohort in range(len(told) + 1) if cohort not in told)  # all before it were released
        live = "FROM place WHERE study = ? AND returned IS NULL AND cohort >= ?"
        dealt = [
            (cohort, place)
            for cohort, place in database.rows(f"SELECT cohort, place {live}", name, since)
            if cohort not in told
        ]
        self.driver, self.watch = check_log(book, dealt)
        self._written = len(self.driver.log)
        find = "SELECT COALESCE(MAX(position), -1) + 1 FROM reward WHERE study = ?"
        self.positions = count(int(database.rows(find, name)[0][0]))
        counts = database.rows(f"SELECT cohort, COUNT(exposed), MAX(exposed) {live} GROUP BY cohort", name, since)
        self.exposed = {cohort: (int(count), latest or 0) for cohort, count, latest in counts if cohort not in told}

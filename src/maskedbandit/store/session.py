"""A study while one process holds it: what is in memory, made from what is in the database, and what it keeps."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from itertools import count
from typing import Any, NamedTuple

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import IllegalDecision, ProtocolError, StoreError
from maskedbandit.privacy.loss import ZERO
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.checks import as_corrupted, check_log, memory_digest, read_book
from maskedbandit.store.book.dealt_again import count_discards, find_burned, find_turn
from maskedbandit.store.book.demand import arms_of_answer
from maskedbandit.store.book.entries import Burned
from maskedbandit.store.book.entry import Keys
from maskedbandit.store.book.site_lists import SiteLists
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Again, Database
from maskedbandit.store.holding import Holding
from maskedbandit.store.lease import end_lease
from maskedbandit.store.lots import StudyLots
from maskedbandit.store.memory import read_memory
from maskedbandit.store.requests import Done, ReportName
from maskedbandit.store.rows import Rows
from maskedbandit.study.cohort_numbers import number_cohort
from maskedbandit.study.driver import Driver
from maskedbandit.study.enrolment import PersonLots
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.site_stages import find_stage
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
    site_lists: SiteLists


class Session(Holding):
    """The study of this name, which no other process holds."""

    failures = (StoreError, IllegalDecision, ProtocolError)  # of the store, the policy or the channel
    arms: Standing
    driver: Driver
    watch: Watch | None  # of the guardrail
    accounts: Accounts
    rows: Rows
    others: Mapping[str, Any]  # what the witness had seen of all ledgers when that was found in this database
    operators: Keys  # the public keys of both, if there are two, once the study is started
    site_lists: SiteLists  # of the sites, if they keep the outcomes, once the study is started
    of_sites: dict[tuple[int, int], int]  # of each cohort that is not released: places of each site
    discards: Counter[int]  # how often each cohort was discarded
    rounds: dict[int, Any] | None  # that are under way, by cohort; None: not read yet (held_rounds.py)
    helper_lost: bool  # the study ended without the second of them
    price: Callable[[int], int]  # the number of the loss that a place costs, by the size of its cohort
    offers: Callable[[int], tuple[Offer, ...]]  # what is offered to a cohort, one for each outcome, by its size
    memory: Any  # what the channel keeps between releases
    silent: bool  # of the operation under way: it is a report
    _burned: tuple[Burned | None, dict[int, Burned | None]]  # since when, and of what was released until when
    _moved: bool  # whether anything but reports came in this transaction
    positions: Iterator[int]  # of the next reports, among those of the study
    _written: int  # steps of the log that are in the database
    _shown: Shown
    lots: Callable[[str], PersonLots]  # of a pseudonym
    began: int | None  # when it was started, by its ledger
    exposed: dict[int, tuple[int, int]]  # of each cohort that is not released: places that were seen, and the last time

    def __init__(
        self, database: Database, witness: Witness, name: str, clock: Callable[[], int], holder: str | None
    ) -> None:
        super().__init__(database, witness, name, clock, holder)
        self.project, text, seed = self._written_down
        with as_corrupted(name):
            self.protocol, self.seed = Protocol.from_text(text), bytes.fromhex(seed)
        self.losses, self.worst = Losses(database), ZERO
        self.bits = Bits()
        self._counted, self._since = FEW, 0  # places when they were counted, and since then
        self.apply([])
        self.pseudonym = lru_cache(1024)(witness.pseudonyms(self.project).of)  # which a batch asks for twice

    @property
    def shown(self) -> Shown:
        """What may be told of the study."""
        self.database.check_own()
        return self._shown

    @property
    def people(self) -> int:
        """How many people have a place: each is one person, however often the application asks for them."""
        return self.driver.deck.dealt

    def protocol_of(self, cohort: int) -> Protocol:
        """The protocol, with the sites of the list that the cohort has, if there are any."""
        stages = self.site_lists.stages
        return self.protocol.among(find_stage(stages, cohort)) if len(stages) > 1 else self.protocol

    def number_of(self, cohort: int) -> int:
        """The number under which sites, or a shuffler and its devices, know a cohort."""
        if self.protocol.sites is None and not self.protocol.shuffled:
            return cohort
        burned, until_released = self._burned
        return number_cohort(cohort, find_turn(until_released.get(cohort, burned), self.discards[cohort]))

    def memory_digest(self, text: str) -> str:
        """What the ledger says of what the channel keeps."""
        return memory_digest(text, self._key)

    def _apply(self, operations: Sequence[Callable[[], Any]], *read: Any) -> list[Done]:
        self.silent, self._moved = False, not operations
        done = super()._apply(operations, *read)
        answer = None if self.arms.is_alone else self.driver.answer  # an arm that is left alone is none
        arms = None if answer is None else arms_of_answer(self.driver)
        decided = answer, arms, len(self.driver.log), self.arms.in_play
        self._shown = Shown(self.state, self.people, *decided, self.site_lists)
        if self._since > self._counted:  # the tables are about twice as large as when they were counted
            self._counted, self._since = self._counted + self._since, 0
            with suppress(StoreError, Again):  # what was asked for is done all the same
                self.database.count()
        return done

    def _read(
        self, tickets: Sequence[str] = (), people: Sequence[str] = (), reports: Sequence[ReportName] = ()
    ) -> None:
        """Read the rows about these."""
        self.accounts.renew()
        self.rows.read(tickets, people, reports)

    def _do(self, operation: Callable[[], Any]) -> Done:
        before = self.now
        done = super()._do(operation)
        if isinstance(done.result, Done):  # a refusal from an operation that knows that nothing was done
            done = done.result
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

    def _load(self) -> None:
        database, name = self.database, self.name
        self.losses.forget()
        self.accounts = Accounts(database, self.losses, self.project)
        book = read_book(database, self.witness, name)
        protocol = self.protocol = book.protocol
        self.rows = Rows(database, name, self.accounts, protocol.operators is not None and not protocol.shuffled)
        self.helper_lost, self.operators = book.helper_lost, book.started.operators if book.started else ()
        self.site_lists = book.site_lists
        self.lots = StudyLots(protocol, self.witness).of
        self.began = book.started.at if book.started else None
        self.head, self.arms, self.worst, self.others = book.head, book.standing, book.worst, {}
        self.price = cache(lambda n: self.losses.number(protocol.price(n)))
        self.offers = cache(protocol.offers)
        self.note_head(book.seen)
        self.memory = protocol.channel.memory(protocol.k)
        if book.releases and self.state != "archived":  # then it was erased
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
        if protocol.rounds is not None:  # devices could not answer while nobody held the study
            away = max(self._clock() - self.now, 0)
            database.change("UPDATE round SET since = since + ? WHERE study = ?", away, name)
        self._written = len(self.driver.log)
        find = "SELECT COALESCE(MAX(position), -1) + 1 FROM reward WHERE study = ?"
        self.positions = count(int(database.rows(find, name)[0][0]))
        counts = database.rows(f"SELECT cohort, COUNT(exposed), MAX(exposed) {live} GROUP BY cohort", name, since)
        self.exposed = {cohort: (int(count), latest or 0) for cohort, count, latest in counts if cohort not in told}
        self.of_sites, self.rounds = {}, None
        self.discards = count_discards(book.entries)
        self._burned = find_burned(book.entries)
        if protocol.sites is not None:
            of = database.rows(f"SELECT cohort, site, COUNT(*) {live} GROUP BY cohort, site", name, since)
            self.of_sites = {(cohort, site): int(count) for cohort, site, count in of if cohort not in told}

"""The part of a study's second operator while one process holds it: a helper adds up, and a shuffler mixes."""

from abc import abstractmethod
from collections.abc import Callable
from functools import cache

from maskedbandit.channels.offers import Offer
from maskedbandit.store.book.checks import as_corrupted
from maskedbandit.store.book.entries import CohortHelped
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.book import find_operators, read_help_book
from maskedbandit.store.helping.people import forget_people
from maskedbandit.store.holding import Holding
from maskedbandit.store.lease import end_lease
from maskedbandit.study.protocol import Protocol


class ServingSession(Holding):
    """The second operator's part of the study of this name, which no other process holds."""

    made: dict[int, CohortHelped]  # by cohort

    def __init__(
        self, database: Database, witness: Witness, name: str, clock: Callable[[], int], holder: str | None
    ) -> None:
        super().__init__(database, witness, name, clock, holder)
        with as_corrupted(name):
            self.protocol = Protocol.from_text(self._written_down[1])
            self.operators = find_operators(name, self.protocol)
        self.digest = bytes.fromhex(self.protocol.digest)
        self.offer: Callable[[int], Offer] = cache(lambda n: self.protocol.offers(n)[0])
        self._prepare()
        self.apply([])
        if self.state == "draft":
            self.apply([self._begin])[0].value()

    @abstractmethod
    def _prepare(self) -> None:
        """Read the keys that it needs."""

    def _begin(self) -> None:
        says = {"protocol": self.protocol.digest, "leader": self.operators.leader.key}
        self.state = self.enter(kind="helping", **says).state

    def _load(self) -> None:
        book = read_help_book(self.database, self.witness, self.name)
        self.head, self.made, self.worst = book.head, book.made, book.worst
        self.note_head(book.seen)

    def _read(self) -> None:
        pass  # each operation reads what it asks for, once

    def _keep(self) -> None:
        keep = "UPDATE study SET state = ?, reached = ?, lease = ? WHERE study = ?"
        self.database.change(keep, self.state, self.now, end_lease(), self.name)


def close_help(session: ServingSession) -> None:
    """The leader says that the study ended: nothing is made of it any more, and what is left of people is erased."""
    if session.state != "running":
        return
    session.state = session.enter(kind="help_closed").state
    forget_people(session.database, session.name)

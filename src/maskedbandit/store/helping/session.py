"""The helper's part of a study while one process holds it."""

from collections.abc import Callable
from functools import cache

from maskedbandit.channels.offers import Offer
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import Corrupted
from maskedbandit.noises.noise import Noise
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import HELPER
from maskedbandit.secagg.uploads import ShareReader
from maskedbandit.store.book.checks import as_corrupted, check_head
from maskedbandit.store.book.entries import Helped
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.book import find_leader_keys, find_operators, read_help_book
from maskedbandit.store.helping.locked_shares import ShareLock
from maskedbandit.store.holding import Holding
from maskedbandit.store.lease import end_lease
from maskedbandit.store.own_keys import derive_share_key, derive_verify_key, read_seal_key
from maskedbandit.study.protocol import Protocol


class HelperSession(Holding):
    """The helper's part of the study of this name, which no other process holds.

    What devices sealed for the helper is not in the database, and its shares of values are locked there: both with keys
    that are at the witness.
    """

    totals: dict[int, Helped]  # by cohort

    def __init__(
        self, database: Database, witness: Witness, name: str, clock: Callable[[], int], holder: str | None
    ) -> None:
        super().__init__(database, witness, name, clock, holder)
        with as_corrupted(name):
            self.protocol = Protocol.from_text(self._written_down[1])
            self.operators = find_operators(name, self.protocol)
        self.digest = bytes.fromhex(self.protocol.digest)
        self.reader = make_reader(database, witness, self.protocol)
        self.share_lock = ShareLock(derive_share_key(witness, self.protocol.digest))
        self.offer: Callable[[int], Offer] = cache(lambda n: self.protocol.offers(n)[0])
        self.apply([])
        if self.state == "draft":
            self.apply([self._begin])[0].value()

    def noise(self, n: int) -> Noise:
        """The noise of the total of a cohort of n."""
        channel = self.protocol.channel
        if not isinstance(channel, TwoServers):
            raise Corrupted(f"the protocol of {self.name} was changed: its channel has no helper")
        return channel.release_noise(n)

    def state_total(self, made: Helped) -> HelperTotal:
        """What the leader is told of a total: the same however often it is asked."""
        return HelperTotal(
            study=self.name,
            protocol=self.protocol.digest,
            cohort=made.cohort,
            n=made.n,
            reports=made.reports,
            digest=made.digest,
            offer=made.offer,
            total=int(made.total),
            entry=made.number,
        ).sign(self._key)

    def _begin(self) -> None:
        says = {"protocol": self.protocol.digest, "leader": self.operators.leader.key}
        self.state = self.enter(kind="helping", **says).state

    def _load(self) -> None:
        book = read_help_book(self.database, self.witness, self.name)
        self.head, self.totals, self.worst = book.head, book.totals, book.worst
        if book.entries:  # what was written of it before may not be on disk, if that failed
            with self.witness.watching(self.database, self.name, book.seen, self.head, self.worst.to_text()):
                pass

    def _read(self) -> None:
        pass  # each operation reads what it asks for, once

    def _keep(self) -> None:
        keep = "UPDATE study SET state = ?, reached = ?, lease = ? WHERE study = ?"
        self.database.change(keep, self.state, self.now, end_lease(), self.name)


def check_still_newest(session: HelperSession) -> None:
    """Raise `BehindWitness` if the witness has seen another ledger than this one."""
    check_head(session.witness.as_now(), session.name, session.at_witness)


def make_reader(database: Database, witness: Witness, protocol: Protocol) -> ShareReader:
    """What opens the helper's shares of a study."""
    leader = find_leader_keys(database, find_operators(protocol.name, protocol))
    return ShareReader(HELPER, read_seal_key(witness), derive_verify_key(witness, leader, protocol.digest))

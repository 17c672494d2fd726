"""The helper's part of a study while one process holds it."""

from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import Corrupted
from maskedbandit.noises.noise import Noise
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import HELPER
from maskedbandit.secagg.uploads import ShareReader
from maskedbandit.store.book.entries import Helped
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.book import find_leader_keys, find_operators
from maskedbandit.store.helping.locked_shares import ShareLock
from maskedbandit.store.helping.serving_session import ServingSession
from maskedbandit.store.own_keys import derive_share_key, derive_verify_key, read_seal_key
from maskedbandit.study.protocol import Protocol


class HelperSession(ServingSession):
    """The helper's part of the study of this name, which no other process holds.

    What devices sealed for the helper is not in the database, and its shares of values are locked there: both with keys
    that are at the witness.
    """

    def _prepare(self) -> None:
        self.reader = make_reader(self.database, self.witness, self.protocol)
        self.share_lock = ShareLock(derive_share_key(self.witness, self.protocol.digest))

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


def make_reader(database: Database, witness: Witness, protocol: Protocol) -> ShareReader:
    """What opens the helper's shares of a study."""
    leader = find_leader_keys(database, find_operators(protocol.name, protocol))
    return ShareReader(HELPER, read_seal_key(witness), derive_verify_key(witness, leader, protocol.digest))

"""The shuffler's part of a study while one process holds it."""

from maskedbandit.channels.mixing_channel import MixingChannel
from maskedbandit.errors import Corrupted
from maskedbandit.shuffle.envelopes import BundleTerms
from maskedbandit.store.book.entries import Mixed
from maskedbandit.store.helping.book import find_leader_keys
from maskedbandit.store.helping.serving_session import ServingSession
from maskedbandit.store.own_keys import read_seal_key
from maskedbandit.study.mix_statement import MixStatement


class ShufflerSession(ServingSession):
    """The shuffler's part of the study of this name, which no other process holds.

    What is stored of a bundle was encrypted for the study's service: the shuffler has no key that opens it.
    """

    def _prepare(self) -> None:
        channel = self.protocol.channel
        if not isinstance(channel, MixingChannel):
            raise Corrupted(f"the protocol of {self.name} was changed: its channel has no shuffler")
        self.channel, self.private = channel, read_seal_key(self.witness)
        self.leader = find_leader_keys(self.database, self.operators)

    def terms(self, cohort: int, n: int, place: int = 0) -> BundleTerms:
        """What a bundle of this place is bound to."""
        return BundleTerms(self.digest, cohort, self.offer(n).digest, place)

    def state_mix(self, made: Mixed) -> MixStatement:
        """What the service is told of a cohort that was mixed: the same however often it is asked."""
        return MixStatement(
            study=self.name,
            protocol=self.protocol.digest,
            cohort=made.cohort,
            n=made.n,
            reports=made.reports,
            messages=made.messages,
            digest=made.digest,
            offer=made.offer,
            entry=made.number,
        ).sign(self._key)

"""What the server of a helper, or of a shuffler, hosts: the studies of other operators that this one helps."""

from collections.abc import Callable
from pathlib import Path

from maskedbandit.service.host.hosting import Hosting
from maskedbandit.service.paired_keys import LEADER_ROLE, PairedKeys
from maskedbandit.service.request.limits import Buckets
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.study import HelperStudy
from maskedbandit.store.lease import read_clock
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.shuffling.study import ShufflerStudy


class ServingHost(Hosting):
    """The second operator's part of the studies of a database, while a server runs."""

    def __init__(
        self, address: str, folder: Path | None, name: str, rate: float = 5000, clock: Callable[[], int] = read_clock
    ) -> None:
        self.name = name  # of this operator, for people
        self.contacts: dict[str, int] = {}  # when each leader asked last, by its fingerprint
        super().__init__(address, folder, rate, clock, PairedKeys(LEADER_ROLE))
        self.own = read_own_keys(self.witness)
        self.guests = Buckets(1, 10)  # requests to pair, by address
        self.devices = Buckets(100, 1000)  # what devices send to a shuffler, by address


class HelperHost(ServingHost):
    """That of a helper, which adds up its shares."""

    role = "helper"

    def _hold(self, database: Database, name: str, holder: str) -> HelperStudy:
        return HelperStudy(database, self.witness, name, self.clock, holder)


class ShufflerHost(ServingHost):
    """That of a shuffler, to which people's devices send."""

    role = "shuffler"

    def answers_page(self, study: str, origin: str) -> bool:
        return True  # of all sites: it has no device keys, and a pass is needed, which is a secret of the person

    def _hold(self, database: Database, name: str, holder: str) -> ShufflerStudy:
        return ShufflerStudy(database, self.witness, name, self.clock, holder)

"""What a server with pages hosts besides: who has signed out, and how often whoever is not signed in may look."""

from collections.abc import Callable
from pathlib import Path

from maskedbandit.service.host.hosting import Hosting
from maskedbandit.service.keys import Keys, SignedOut
from maskedbandit.service.request.limits import Buckets
from maskedbandit.store.databases.database import Database


class HostWithPages(Hosting):
    """The studies of a database, while a server runs that has pages."""

    def __init__(
        self, address: str, folder: Path | None, rate: float, clock: Callable[[], int], keys: Keys | None = None
    ) -> None:
        self.signed_out = SignedOut()
        self.visitors = Buckets(20, 100)  # pages for those who are not signed in
        super().__init__(address, folder, rate, clock, keys)

    def _read_known(self, database: Database) -> None:
        super()._read_known(database)
        self.signed_out.read(database)

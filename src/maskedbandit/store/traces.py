"""What erased data leaves in the files of a database, until they are scrubbed.

That takes long in a large database, and a study waits for it: so it is done at once, and not again before a hundred
times as long has passed.
"""

from __future__ import annotations

from contextlib import suppress
from time import monotonic

from maskedbandit.errors import StoreError
from maskedbandit.store.database import Again, Database

REST = 100  # times as long as scrubbing took


class Traces:
    """Those in one database."""

    def __init__(self, database: Database) -> None:
        self._database, self._rests = database, 0.0
        self.left = False  # what was erased may still be in the files

    def scrub(self, now: bool = False) -> None:
        """Scrub the files, if something is left in them and it is time, or `now`; if it cannot be, try again later."""
        start = monotonic()
        if self.left and (now or start >= self._rests):
            with suppress(StoreError, Again):  # whatever was asked for is done all the same
                self.left = not self._database.scrub()
            self._rests = monotonic() + REST * (monotonic() - start)

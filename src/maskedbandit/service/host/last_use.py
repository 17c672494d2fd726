"""On which day each key was last used: written once a day and key, and never because of a report.

When somebody reports is an outcome. So what reports, or could, moves nothing; and a day is all that is kept, as an
application that asks for arms at once may say when its people come, which is nobody's business here.
"""

import logging
from datetime import UTC, datetime

from maskedbandit.errors import StoreError
from maskedbandit.service.keys import Key, write_change
from maskedbandit.service.logs import is_of_reports
from maskedbandit.store.databases.database import Database

DAY = 86_400_000  # milliseconds
log = logging.getLogger("maskedbandit")


class LastUse:
    """The last day of each key, as this process knows it, and those that are not written yet."""

    def __init__(self) -> None:
        self._days: dict[str, int] = {}
        self.waiting: dict[str, int] = {}

    def note(self, key: Key, route: str, now: int) -> None:
        """Somebody used a key for a route."""
        day = now // DAY
        if self._days.get(key.key) == day or is_of_reports(route):
            return
        self._days[key.key] = day
        if (key.last_used or "") < write_day(day):
            self.waiting[key.key] = day

    def write(self, database: Database) -> None:
        """Write down what waits; what cannot be written now is tried again."""
        for key, day in list(self.waiting.items()):
            change = "UPDATE api_key SET last_used = ? WHERE key = ? AND COALESCE(last_used, '') < ?"
            try:
                write_change(database, change, write_day(day), key, write_day(day))
            except StoreError as why:
                log.info("the day on which a key was used is not written yet", extra={"why": str(why)})
                return
            if self.waiting[key] == day:  # or it was used on the next day meanwhile
                self.waiting.pop(key)


def write_day(day: int) -> str:
    """The date of a day since 1970.

    >>> write_day(20_783)
    '2026-11-26'
    """
    return datetime.fromtimestamp(day * DAY / 1000, UTC).date().isoformat()

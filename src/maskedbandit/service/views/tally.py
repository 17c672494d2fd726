"""The places of a study, counted once: what is settled is kept, and only newer places are counted again.

A place is settled when somebody saw it in time, or when it went back: its row changes no more, except that it may be
erased, or its cohort discarded, which no count depends on that is kept. As the clock of a study never goes back, all
places that were given before the oldest one that is not settled can be counted for ever. So a study of a million people
costs no more to look at than a new one.

The process that holds a study writes down what it counted, each time that many more places are settled, so that a start
need not count them again. What is written follows from rows that change no more, so it is right whenever it is written
and wherever it is read; and `reconcile` alone, which changes them all the same, removes it in the same transaction.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

from msgspec import DecodeError, Struct, json

from maskedbandit.service.views.counted_places import CountedPlaces
from maskedbandit.service.views.early_people import EarlyPeople
from maskedbandit.service.views.sample_ratio import SampleRatio
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.site_entries import Discarded
from maskedbandit.store.databases.database import Database, do_again

KEPT_EVERY = 20_000  # places: when so many more are settled they are written down
KeptValue = TypeVar("KeptValue")


class Settled(Struct):
    """What was counted of a study, all of it settled."""

    places: CountedPlaces
    ratio: SampleRatio  # whether all arms are seen alike
    early: dict[int, EarlyPeople | None] = {}  # who came before a time


class Tally:
    """What is settled of one study in one database, and what was last computed of it, if it is where it was then.

    Whoever looks at a study often keeps one, and nobody sees which.
    """

    def __init__(self) -> None:
        self.lock = Lock()  # held by whoever counts: somebody else may do so at this moment, in another thread
        self._fence = 0  # under which this was counted
        self._settled: Settled | None = None
        self._written: CountedPlaces | None = None  # as far as is known
        self._found: dict[str, tuple[Any, Any]] = {}

    def once(self, what: str, where: Any, find: Callable[[], KeptValue]) -> KeptValue:
        """What is found, which is not looked for again while the study is where it was."""
        kept = self._found.get(what)
        if kept is None or kept[0] != where:
            self._found[what] = kept = where, find()
        found: KeptValue = kept[1]
        return found

    def settle(self, database: Database, book: Book, until: int) -> Settled:
        """All that is settled of what was given before a time, or before an earlier one."""
        study, k = book.study, book.protocol.k
        settled, for_ever = self._begin(database, study)
        if settled is None or settled.places.until > until or len(settled.places.returned) > k:
            settled = Settled(CountedPlaces((0,) * k), SampleRatio(book.draft.k))
        self._settled = settled
        if (until := min(until, for_ever)) > settled.places.until:
            settled.places = settled.places.on(database, study, k, until)
        epochs = [each.epoch for each in book.demand.deck.cohorts]
        discards = [each.at for each in book.entries if isinstance(each, Discarded)]
        settled.ratio.upto(database, study, epochs, k, settled.places.until, discards)
        return settled

    def is_behind(self, people: int) -> bool:
        """Whether much less was written down than there are people."""
        return people - (0 if self._written is None else self._written.people) >= KEPT_EVERY

    def find_next(self, database: Database, study: str) -> int | None:
        """Up to when many more places are settled than were written down, if so many are."""
        settled, for_ever = self._begin(database, study)
        since = 0 if self._written is None else self._written.until
        later = "SELECT assigned FROM place WHERE study = ? AND assigned >= ? AND assigned < ? ORDER BY assigned"
        last = database.one(f"{later} LIMIT 1 OFFSET {KEPT_EVERY - 1}", study, since, for_ever)
        return None if last is None else max(int(last[0]) + 1, settled.places.until if settled else 0)

    def write(self, database: Database, study: str) -> None:
        """Write down what is settled, unless the study was taken over since it was counted."""
        with self.lock:
            fence, settled, text = self._fence, self._settled, json.encode(self._settled).decode()
            places = None if settled is None else settled.places
        lock = "UPDATE study SET fence = fence WHERE study = ? AND fence = ?"
        put = "INSERT INTO tally (study, settled) VALUES (?, ?) "
        put += "ON CONFLICT (study) DO UPDATE SET settled = excluded.settled"

        def once() -> bool:
            with database.transaction():
                return bool(database.change(lock, study, fence) and database.change(put, study, text))

        if do_again(once) and fence == self._fence:
            self._written = places

    def _begin(self, database: Database, study: str) -> tuple[Settled | None, int]:
        """What is settled as far as it was counted, or written down, and up to when all is settled now."""
        fence, reached = database.rows("SELECT fence, reached FROM study WHERE study = ?", study)[0]
        if self._fence != fence or self._settled is None:
            self._fence, self._settled = fence, read_settled(database, study)
            self._written = None if self._settled is None else self._settled.places
        unseen = "FROM place WHERE study = ? AND exposed IS NULL AND returned IS NULL"
        first = database.one(f"SELECT assigned {unseen} ORDER BY assigned, cohort LIMIT 1", study)  # as indexed
        return self._settled, min(int(reached), int(first[0])) if first else int(reached)


def read_settled(database: Database, study: str) -> Settled | None:
    """What was written down of a study; what cannot be read is counted again."""
    row = database.one("SELECT settled FROM tally WHERE study = ?", study)
    try:
        return None if row is None else json.decode(row[0], type=Settled)
    except DecodeError:
        return None

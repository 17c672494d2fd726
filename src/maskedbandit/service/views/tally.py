"""The places of a study, counted once: what is settled is kept, and only newer places are counted again.

A place is settled when somebody saw it in time, or when it went back: its row changes no more, except that it may be
erased, which no count depends on. As the clock of a study never goes back, all places that were given before the oldest
one that is not settled can be counted for ever. So a study of a million people costs no more to look at than a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

from msgspec import Struct

from maskedbandit.service.views.sample_ratio import SampleRatio
from maskedbandit.store.databases.database import Database

DAY_SECONDS = 86_400
COLUMN_STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200]  # seconds; each divides the next
COLUMN_STEPS = [1000 * each for each in (*COLUMN_STEPS, *(DAY_SECONDS << i for i in range(12)))]
FINE_COLUMNS = 480  # columns that are kept, at most about so many
DELAYS = (1, 10, 60, 300, 600, 1800, 3600, 21_600, 86_400)  # seconds, at which the columns of delays end
KeptValue = TypeVar("KeptValue")
PlaceTally = tuple[int, int, int, int | None]  # of a cohort: its arm, places that are kept, seen, and when the last was


class CountedPlaces(Struct, frozen=True):
    """The places that were given before a time; whoever took the study over since then may have changed others."""

    fence: int
    until: int
    step: int  # milliseconds of a column
    columns: dict[int, tuple[int, ...]]  # people of each arm, by the number of the column
    cohorts: dict[int, PlaceTally]
    returned: tuple[int, ...]  # places that went back, by arm
    delays: tuple[int, ...]

    @classmethod
    def nothing(cls, fence: int, k: int) -> CountedPlaces:
        """Before the first place."""
        return cls(fence, 0, COLUMN_STEPS[0], {}, {}, (0,) * k, (0,) * (len(DELAYS) + 1))

    def on(self, database: Database, study: str, until: int) -> CountedPlaces:
        """With the places that were given from then on, before another time."""
        step = self._step(database, study, until)
        columns, cohorts = dict[int, tuple[int, ...]](), dict(self.cohorts)
        returned, delays = list(self.returned), list(self.delays)
        for at, arms in self.columns.items():
            add_to_column(columns, at * self.step // step, arms)
        which, values = "WHERE study = ? AND assigned >= ? AND assigned < ?", (study, self.until, until)
        find = f"SELECT assigned / {step}, arm, COUNT(*), COUNT(returned) FROM place {which} GROUP BY 1, 2"
        for at, arm, count, back in database.rows(find, *values):
            add_to_column(columns, int(at), tuple(int(count) * (i == arm) for i in range(len(returned))))
            returned[arm] += int(back)
        find = (
            f"SELECT cohort, arm, COUNT(*), COUNT(exposed), MAX(exposed) FROM place {which} AND returned IS NULL "
            "GROUP BY cohort, arm"
        )
        for cohort, arm, count, seen, latest in database.rows(find, *values):
            _, count_before, seen_before, before = cohorts.get(cohort, (arm, 0, 0, None))
            latest = max((each for each in (before, latest) if each is not None), default=None)
            cohorts[int(cohort)] = int(arm), count_before + int(count), seen_before + int(seen), latest
        cases = " ".join(f"WHEN exposed - assigned <= {1000 * each} THEN {i}" for i, each in enumerate(DELAYS))
        find = (
            f"SELECT CASE {cases} ELSE {len(DELAYS)} END, COUNT(*) FROM place {which} "
            "AND returned IS NULL AND exposed IS NOT NULL GROUP BY 1"
        )
        for delay, count in database.rows(find, *values):
            delays[delay] += int(count)
        return CountedPlaces(self.fence, until, step, columns, cohorts, tuple(returned), tuple(delays))

    def _step(self, database: Database, study: str, until: int) -> int:
        """The length of a column, now that there are later ones."""
        find = "SELECT {} FROM place WHERE study = ? AND assigned < ?"
        (first,) = database.rows(find.format("MIN(assigned)"), study, until)[0]
        (last,) = database.rows(find.format("MAX(assigned)"), study, until)[0]
        long = 0 if first is None else last - first
        return max(self.step, next((each for each in COLUMN_STEPS if long < FINE_COLUMNS * each), COLUMN_STEPS[-1]))


class Tally:
    """What is settled of one study in one database, and what was last computed of it, if it is where it was then.

    Whoever looks at a study often keeps one, and nobody sees which.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self._settled: CountedPlaces | None = None
        self._found: dict[str, tuple[Any, Any]] = {}
        self._ratio: SampleRatio | None = None

    def ratio(self, k: int) -> tuple[SampleRatio, int]:
        """What is known of how often each of the first k arms is seen, and up to when all is settled."""
        (fence, until), known = self.settled, self._ratio
        if known is None or known.fence != fence or known.scanned > until:
            known = self._ratio = SampleRatio(k, fence)
        return known, until

    @property
    def settled(self) -> tuple[int, int]:
        """Under which fence, and up to when, all places are settled."""
        return (0, 0) if self._settled is None else (self._settled.fence, self._settled.until)

    def once(self, what: str, where: Any, find: Callable[[], KeptValue]) -> KeptValue:
        """What is found, which is not looked for again while the study is where it was."""
        kept = self._found.get(what)
        if kept is None or kept[0] != where:
            self._found[what] = kept = where, find()
        found: KeptValue = kept[1]
        return found

    def upto(self, database: Database, study: str, k: int, until: int) -> CountedPlaces:
        """All places that were given before a time."""
        fence, reached = database.rows("SELECT fence, reached FROM study WHERE study = ?", study)[0]
        unseen = "FROM place WHERE study = ? AND exposed IS NULL AND returned IS NULL"
        first = database.one(f"SELECT assigned {unseen} ORDER BY assigned, cohort LIMIT 1", study)  # as indexed
        oldest = first[0] if first else None
        settled = self._settled
        if settled is None or settled.fence != fence or settled.until > until or len(settled.returned) != k:
            settled = CountedPlaces.nothing(fence, k)
        for_ever = min(until, reached, reached if oldest is None else oldest)
        if for_ever > settled.until:
            settled = settled.on(database, study, for_ever)
        self._settled = settled
        return settled.on(database, study, until)


def add_to_column(columns: dict[int, tuple[int, ...]], at: int, arms: tuple[int, ...]) -> None:
    """Add people to a column."""
    before = columns.get(at)
    columns[at] = arms if before is None else tuple(map(sum, zip(before, arms, strict=True)))

"""Places of a study that were given before a time, counted by arm, by cohort, over time, and until they were seen."""

from __future__ import annotations

from msgspec import Struct

from maskedbandit.store.databases.database import Database

DAY_SECONDS = 86_400
COLUMN_STEPS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10_800, 21_600, 43_200]  # seconds; each divides the next
COLUMN_STEPS = [1000 * each for each in (*COLUMN_STEPS, *(DAY_SECONDS << i for i in range(12)))]
FINE_COLUMNS = 480  # columns that are kept, at most about so many
DELAYS = (1, 10, 60, 300, 600, 1800, 3600, 21_600, 86_400)  # seconds, at which the columns of delays end
KEPT_OR_DISCARDED = "(returned IS NULL OR returned > exposed)"  # who saw the arm of a cohort that was discarded later
PlaceTally = tuple[int, int, int, int | None]  # of a cohort: its arm, places that are kept, seen, and when the last was


class CountedPlaces(Struct, frozen=True):
    """The places that were given before a time: those of discarded cohorts count as kept, as they did before that."""

    returned: tuple[int, ...]  # places that went back, by arm
    delays: tuple[int, ...] = (0,) * (len(DELAYS) + 1)
    until: int = 0
    step: int = COLUMN_STEPS[0]  # milliseconds of a column
    columns: dict[int, tuple[int, ...]] = {}  # people of each arm, by the number of the column in which they came
    exposures: dict[int, tuple[int, ...]] = {}  # how many saw their arms, by the number of the column in which they did
    cohorts: dict[int, PlaceTally] = {}

    @property
    def people(self) -> int:
        """Those who keep their places."""
        return sum(count for _, count, _, _ in self.cohorts.values())

    def on(self, database: Database, study: str, k: int, until: int) -> CountedPlaces:
        """With the places that were given from then on, before another time; arms may have been added, up to k."""
        step, none = self._step(database, study, until), (0,) * (k - len(self.returned))
        columns, exposures, cohorts = dict[int, tuple[int, ...]](), dict[int, tuple[int, ...]](), dict(self.cohorts)
        returned, delays = [*self.returned, *none], list(self.delays)
        for at, arms in self.columns.items():
            add_to_column(columns, at * self.step // step, (*arms, *none))
        for at, seen in self.exposures.items():
            add_to_column(exposures, at * self.step // step, seen)
        which, values = "WHERE study = ? AND assigned >= ? AND assigned < ?", (study, self.until, until)
        back = f"SUM(CASE WHEN {KEPT_OR_DISCARDED} THEN 0 ELSE 1 END)"
        find = f"SELECT assigned / {step}, arm, COUNT(*), {back} FROM place {which} GROUP BY 1, 2"
        given = dict[int, list[int]]()
        for at, arm, count, back in database.rows(find, *values):
            given.setdefault(int(at), [0] * k)[arm] += int(count)
            returned[arm] += int(back)
        for at, counts in given.items():
            add_to_column(columns, at, tuple(counts))
        find = (
            f"SELECT cohort, arm, COUNT(*), COUNT(exposed), MAX(exposed) FROM place {which} AND {KEPT_OR_DISCARDED} "
            "GROUP BY cohort, arm"
        )
        for cohort, arm, count, seen, latest in database.rows(find, *values):
            _, count_before, seen_before, before = cohorts.get(cohort, (arm, 0, 0, None))
            latest = max((each for each in (before, latest) if each is not None), default=None)
            cohorts[int(cohort)] = int(arm), count_before + int(count), seen_before + int(seen), latest
        kept_and_seen = f"{which} AND {KEPT_OR_DISCARDED} AND exposed IS NOT NULL GROUP BY 1"
        for at, count in database.rows(f"SELECT exposed / {step}, COUNT(*) FROM place {kept_and_seen}", *values):
            add_to_column(exposures, int(at), (int(count),))
        cases = " ".join(f"WHEN exposed - assigned <= {1000 * each} THEN {i}" for i, each in enumerate(DELAYS))
        find = f"SELECT CASE {cases} ELSE {len(DELAYS)} END, COUNT(*) FROM place {kept_and_seen}"
        for delay, count in database.rows(find, *values):
            delays[delay] += int(count)
        return CountedPlaces(tuple(returned), tuple(delays), until, step, columns, exposures, cohorts)

    def count_exposed(self, database: Database, study: str, since: int, within: int) -> int:
        """How many saw their arms from a time on, each of them within so long: those of one column are looked at."""
        column = since // self.step
        find = (
            "SELECT COUNT(*) FROM place WHERE study = ? AND assigned >= ? AND assigned < ? "
            f"AND {KEPT_OR_DISCARDED} AND exposed >= ? AND exposed < ?"
        )
        end = (column + 1) * self.step
        ((inside,),) = database.rows(find, study, since - within, min(end, self.until), since, end)
        return int(inside) + sum(count for at, (count,) in self.exposures.items() if at > column)

    def _step(self, database: Database, study: str, until: int) -> int:
        """The length of a column, now that there are later ones."""
        find = "SELECT {} FROM place WHERE study = ? AND assigned < ?"
        (first,) = database.rows(find.format("MIN(assigned)"), study, until)[0]
        (last,) = database.rows(find.format("MAX(assigned)"), study, until)[0]
        long = 0 if first is None else last - first
        return max(self.step, next((each for each in COLUMN_STEPS if long < FINE_COLUMNS * each), COLUMN_STEPS[-1]))


def add_to_column(columns: dict[int, tuple[int, ...]], at: int, arms: tuple[int, ...]) -> None:
    """Add people to a column."""
    before = columns.get(at)
    columns[at] = arms if before is None else tuple(map(sum, zip(before, arms, strict=True)))

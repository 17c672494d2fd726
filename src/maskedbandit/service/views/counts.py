"""Operational numbers of a study: who came, when, and which arm, and how far the cohorts are.

No reward is read here, and nothing that depends on one that was not released: not the time of a report, nor whether one
came. What was dealt by a decision that follows from a release which nobody may see yet is left out too: `Horizon`.
"""

from collections.abc import Mapping

from msgspec import Struct

from maskedbandit.service.views.counted_places import COLUMN_STEPS, CountedPlaces, PlaceTally, add_to_column
from maskedbandit.service.views.early_people import EarlyPeople, find_early_people
from maskedbandit.service.views.health import count_wasted
from maskedbandit.service.views.sample_ratio import RatioEvidence
from maskedbandit.service.views.tally import Tally
from maskedbandit.store.book.book import Book, read_published
from maskedbandit.store.book.dealt_again import count_discards
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.deck import CohortDeck

MOST_COLUMNS, FEWEST, USUAL = 48, 8, 12  # columns of a picture over time, and people in one that is not too short


class CohortStanding(Struct, frozen=True):
    """A cohort: open while places are left, waiting for the last window to end, released, or given up."""

    number: int
    arm: int
    size: int  # places
    dealt: int
    seen: int
    state: str
    deadline: int | None = None  # of the last place that was seen so far
    complete: bool = True  # no places will be added
    epoch: int = 0  # cohorts of the same one were dealt together
    ended: bool = False  # with its stage: the policy is told nothing of it

    @property
    def may_be_released(self) -> bool:
        """Whether everybody whom it needs has a place, and may have seen the arm yet."""
        return self.state == "waiting" or (self.state == "open" and self.complete and self.dealt == self.size)


class ArrivalColumn(Struct, frozen=True):
    """People of each arm who came in a stretch of time."""

    at: int
    arms: tuple[int, ...]


class StudyCounts(Struct, frozen=True):
    """Everything operational; each tuple by arm."""

    placed: int | None  # people with a place; None while it is not known how many may be shown
    dealt: tuple[int, ...]  # people with a place that they keep
    seen: tuple[int, ...]  # those of them who saw the arm
    unseen: int  # those who may still see it
    returned: tuple[int, ...]  # places that nobody saw in time
    wasted: int  # the same of the newest places: see health.py
    inside: int  # people whose window is not over
    cohorts: tuple[CohortStanding, ...]
    step: int  # milliseconds of a column
    columns: tuple[ArrivalColumn, ...]  # of all places that were given, also of those that went back
    delays: tuple[int, ...]  # from assignment to exposure, up to each of DELAYS and more
    ratio: RatioEvidence  # whether all arms are seen alike
    early: EarlyPeople | None  # who came before the policy could know anything, if these are most people
    served: int | None  # the arm with which the policy asks for nobody, if that is its last word
    answer: int | None  # that arm, if it is the final answer


def count_places(database: Database, book: Book, now: int, tally: Tally) -> StudyCounts:
    """The counts of a study, as its book has it."""
    study, horizon, demand, reward = book.study, book.horizon, book.demand, book.protocol.reward
    k, window, over = (
        book.protocol.k,
        reward.taken_for,
        book.state in ("stopped", "archived") or demand.answer is not None,
    )
    with tally.lock:
        settled = tally.settle(database, book, horizon.time)
        counted, seen_alike = settled.places.on(database, study, k, horizon.time), settled.ratio.found
    cohorts = leave_out_discarded(database, book, counted.cohorts)
    dealt, seen = [0] * k, [0] * k
    for arm, count, exposed, _ in cohorts.values():
        dealt[arm] += count
        seen[arm] += exposed
    step, columns = in_columns(counted, k)
    return StudyCounts(
        book.people,
        tuple(dealt),
        tuple(seen),
        sum(dealt) - sum(seen),
        counted.returned,
        count_wasted(database, study, min(horizon.time, now - reward.exposure)),
        counted.count_exposed(database, study, now - window, reward.exposure),
        tuple(list_cohorts(demand.deck, cohorts, book.released, window, over)),
        step,
        columns,
        counted.delays,
        seen_alike,
        find_early_people(book, sum(dealt), settled.early, settled.places.until),
        demand.served,
        demand.answer,
    )


def leave_out_discarded(database: Database, book: Book, cohorts: dict[int, PlaceTally]) -> dict[int, PlaceTally]:
    """The same without the people of cohorts as they were before these were discarded."""
    found = dict(cohorts)
    for cohort in count_discards(book.entries).keys() & cohorts.keys():
        find = "SELECT COUNT(*) FROM place WHERE study = ? AND cohort = ? AND returned > exposed"
        gone = int(database.rows(find, book.study, cohort)[0][0])
        arm, kept, seen, latest = cohorts[cohort]
        found[cohort] = arm, kept - gone, seen - gone, latest if seen > gone else None
    return found


def keep_counts(database: Database, witness: Witness, study: str, people: int, tally: Tally) -> None:
    """Write down what is settled of a study of so many people, once that is many more than was written before.

    Of what was not counted yet it counts so many places at once, so that whoever waits for that waits not long.
    """
    if not tally.is_behind(people):
        return
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with tally.lock, database.still():
        if (until := tally.find_next(database, study)) is None:
            return
        book = read_published(database, witness, study)
        if not book.horizon.whole:
            return
        settled = tally.settle(database, book, until)
        find_early_people(book, settled.places.people, settled.early, settled.places.until)
    tally.write(database, study)


def in_columns(counted: CountedPlaces, k: int) -> tuple[int, tuple[ArrivalColumn, ...]]:
    """How many people of each arm came, in columns of a length that fits the study so far."""
    if not counted.columns:
        return counted.step, ()
    people = sum(map(sum, counted.columns.values()))
    most = min(MOST_COLUMNS, max(FEWEST, people // USUAL))
    first, last, step = min(counted.columns), max(counted.columns), counted.step
    longer = next(each for each in COLUMN_STEPS if each >= step and last * step // each - first * step // each < most)
    found: dict[int, tuple[int, ...]] = {}
    for at, arms in counted.columns.items():
        add_to_column(found, at * step // longer, arms)
    nobody, ends = (0,) * k, (first * step // longer, last * step // longer)
    return longer, tuple(ArrivalColumn(at * longer, found.get(at, nobody)) for at in range(ends[0], ends[1] + 1))


def list_cohorts(
    deck: CohortDeck, counted: Mapping[int, PlaceTally], released: Mapping[int, int], window: int, over: bool
) -> list[CohortStanding]:
    """The state of each cohort. Once its stage has ended, or the study is over, none of its places is dealt."""
    found = []
    for places in deck.cohorts:
        _, dealt, seen, latest = counted.get(places.cohort, (0, 0, 0, None))
        deadline = None if latest is None else latest + window
        if places.cohort in released:
            state, deadline = "released", None
        elif (places.ended or over) and not (places.complete and dealt == places.size):
            state, deadline = "given up", None
        else:
            state = "waiting" if places.complete and dealt == seen == places.size else "open"
        named = places.cohort, places.arm, places.size
        found.append(CohortStanding(*named, dealt, seen, state, deadline, places.complete, places.epoch, places.ended))
    return found

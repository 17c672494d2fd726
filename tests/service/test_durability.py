"""What a client wrote into a journal of its own is in the database, once, whatever is done to the processes and lines.

Each test does real harm at times that differ in every run, and ends when its people have come, so it waits for nothing.
That a sound server fails has no chance: what is checked holds at all times. That a broken one is let through does, and
each mutant says how often it was caught.
"""

import fcntl
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.service.journal import Journaled
from tests.service.live import Live
from tests.service.load import TABLE
from tests.service.own_postgresql import OwnPostgresql, own_postgresql
from tests.service.swallowing_proxy import swallowing_proxy
from tests.store.databases import fresh_postgresql, socket_of, through

pytestmark = pytest.mark.slow
COMMITTED = b"C\0\0\0\x0bCOMMIT\0"  # what a server says of a commit


@pytest.fixture
def postgresql() -> Iterator[OwnPostgresql]:
    with own_postgresql() as made:
        yield made


MORE = 10**6  # people
ENDLESS = {"policy": {"name": "successive_elimination", "least": 10**5}}  # cohorts: whoever comes gets a place


def server(folder: Path, address: str | None, mutant: str) -> Live:
    folder.mkdir(exist_ok=True)
    return Live(folder, address, ("-m", "tests.service.mutant_server", mutant, "serve"))


def until_served(live: Live, tries: int = 3000) -> None:
    """Ask until the study goes on; as a server may refuse at once, not without a pause."""
    probe = {"ticket": "0" * 32}  # of nobody: it is refused, if there is an answer at all
    for _ in range(tries):
        reply = live.study("expose", probe, name=TABLE["name"])
        if reply.status == 404:
            return
        assert reply.code not in ("behind_witness", "corrupted"), "the database is not what it was"
        time.sleep(0.02)
    raise AssertionError("the study does not go on")


def until_ready(live: Live, status: int) -> None:
    """Ask until the server is ready, or until it is not; as it answers at once, not without a pause."""
    for _ in range(30_000):
        if live.ask("GET", "/readyz", None, None).status == status:
            return
        time.sleep(0.02)
    raise AssertionError(f"the server does not come to answer {status}")


def finish(load: Journaled, *servers: Live) -> Journaled:
    """The processes end as they should, and the journal is held against the database."""
    for each in servers:
        assert each.end() == 0, each.said()
        assert "server_error" not in each.said()
        assert "Traceback" not in each.said()
    load.check()
    print(f"{load.answered} answers, {load.unknown} lost, {load.releases} releases")
    return load


def kill_the_server(folder: Path, address: str | None, mutant: str, people: int, times: int) -> Journaled:
    """SIGKILL, and a new start."""
    live = server(folder, address, mutant)
    try:
        live.begin()
        live.start_study(TABLE)
        load = Journaled(live, live.kill_and_begin)
        load.run(people, times)
        return finish(load, live)
    finally:
        live.abandon()


def end_postgresql(folder: Path, own: OwnPostgresql, mutant: str, people: int, times: int) -> Journaled:
    """SIGKILL of its first process, and an immediate stop, in turn."""
    live, ways = server(folder, own.address, mutant), cycle([own.kill, own.stop_at_once])

    def harm() -> None:
        next(ways)()
        own.begin()
        until_served(live)

    try:
        live.begin()
        live.start_study(TABLE)
        load = Journaled(live, harm)
        load.run(people, times)
        return finish(load, live)
    finally:
        live.abandon()


def stop(live: Live) -> None:
    """SIGSTOP, but not while it has the witness to itself: then nobody goes on before it does."""
    assert live.process
    (path,) = live.witness.glob("*/lock")
    with path.open("rb") as lock:
        for _ in range(30_000):
            os.kill(live.process.pid, signal.SIGSTOP)
            _, status = os.waitpid(live.process.pid, os.WUNTRACED)  # until it has stopped
            assert os.WIFSTOPPED(status), live.said()
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                go_on(live)
    raise AssertionError("it always has the witness to itself")


def go_on(live: Live) -> None:
    """SIGCONT."""
    assert live.process
    os.kill(live.process.pid, signal.SIGCONT)


def stop_while(live: Live, seen: str) -> None:
    """SIGSTOP while the database has one session of this kind, of which our own that looks may be it."""
    count = (
        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() "
        f"AND backend_type = 'client backend' AND {seen}"
    )
    with psycopg.connect(live.address, autocommit=True) as looking:
        for _ in range(30_000):
            if looking.execute(count.encode()).fetchall() != [(1,)]:
                continue
            stop(live)
            for _ in range(5):  # the database may not have read yet what it was sent
                time.sleep(0.02)
                if looking.execute(count.encode()).fetchall() != [(1,)]:
                    break
            else:
                return
            go_on(live)
    raise AssertionError(f"there is never one session with {seen}")


def stop_between_transactions(live: Live) -> None:
    """The database ends a transaction whose process is silent, and tells it so: there is none.

    Nobody asks meanwhile, so that what is under way is the clock's alone, and ends while it is waited for.
    """
    stop_while(live, "xact_start IS NOT NULL")  # our own


def stop_within_a_copy(live: Live) -> None:
    """The database keeps to no limit by itself while it waits for the rest of what it was sent."""
    stop_while(live, "state = 'active' AND wait_event = 'ClientRead' AND query LIKE 'COPY%'")


def stop_the_holder(
    folder: Path,
    mutant: str,
    people: int,
    times: int,
    when: Callable[[Live], None] = stop,
    alone: bool = False,
    **changes: Any,
) -> Journaled:
    """SIGSTOP of the process that holds the study until another one has taken it over; then it goes on.

    With `alone` nobody asks while the time to stop it is awaited.
    """
    first = server(folder / "first", fresh_postgresql(), mutant)
    second = server(folder / "second", first.address, mutant)
    second.witness, second.keys = first.witness, first.keys
    holders = cycle([(first, second), (second, first)])

    def harm() -> None:
        holder, other = next(holders)
        with load.nobody_asks() if alone else nullcontext():
            load.left += MORE  # people come for as long as the time to stop it is awaited
            when(holder)
            load.left -= MORE
        try:
            until_served(other)
        finally:
            go_on(holder)
        until_served(holder)

    try:
        first.begin()
        first.start_study(TABLE | changes)
        second.begin()
        load = Journaled(first, harm, (second,))
        load.run(people, times)
        return finish(load, second, first)
    finally:
        for each in (first, second):
            each.abandon()


def swallow(folder: Path, mutant: str, people: int, times: int, at: bytes = b"", **changes: Any) -> Journaled:
    """All that is sent between the server and its database is lost for a while, or the answers to commits are.

    With `at` all is lost from these bytes on.
    """
    address = fresh_postgresql()
    with swallowing_proxy(socket_of(address)) as proxy:
        live = server(folder, through(address, proxy.port) + "&connect_timeout=2", mutant)
        ways = cycle([(), ("answers",)])

        def harm() -> None:
            what = () if at else next(ways)
            proxy.swallow(*what, at=at or (COMMITTED if what else b""))
            until_ready(live, 503)
            proxy.heal()
            until_served(live)
            until_ready(live, 200)

        try:
            live.begin()
            live.start_study(TABLE | changes)
            load = Journaled(live, harm)
            load.run(people, times)
            return finish(load, live)
        finally:
            live.abandon()


def test_one_that_tells_before_the_commit_is_found(tmp_path: Path) -> None:
    """Caught in 2 of 2 runs; with two kills in place of ten in 4 of 5."""
    with pytest.raises(AssertionError):
        kill_the_server(tmp_path, None, "told before the commit", 200, 10)


def test_one_that_does_not_wait_for_commits_is_found(postgresql: OwnPostgresql, tmp_path: Path) -> None:
    """One end was enough in 12 of 13 runs, and there are ten."""
    with pytest.raises(AssertionError):
        end_postgresql(tmp_path, postgresql, "commits lazily", 300, 10)


def test_one_that_writes_when_it_was_replaced_is_found(tmp_path: Path) -> None:
    """Two stops were enough in 43 of 44 runs, four at once on two cores, and there are six.

    Both processes deal the same places, or the database says that they did.
    """
    roomy = {"name": "successive_elimination", "least": 900}
    with pytest.raises(AssertionError, match=r"twice|two|not what it was"):
        stop_the_holder(tmp_path, "writes when replaced", 1800, 6, stop_between_transactions, alone=True, policy=roomy)


def test_one_that_takes_silence_for_a_commit_is_found(tmp_path: Path) -> None:
    """One lost commit was enough in 4 of 4 runs."""
    with pytest.raises(AssertionError):
        swallow(tmp_path, "takes silence for a commit", 150, 10, b"COMMIT\0", **ENDLESS)


def check_it_was_a_load(load: Journaled) -> None:
    assert load.answered > 1000
    assert load.releases > 5


def test_kills_of_the_server(address: str, tmp_path: Path) -> None:
    check_it_was_a_load(kill_the_server(tmp_path, address, "none", 300, 5))


def test_ends_of_postgresql(postgresql: OwnPostgresql, tmp_path: Path) -> None:
    check_it_was_a_load(end_postgresql(tmp_path, postgresql, "none", 400, 4))


def test_stops_past_the_lease(tmp_path: Path) -> None:
    check_it_was_a_load(stop_the_holder(tmp_path, "none", 400, 2))


def test_stops_within_a_copy(tmp_path: Path) -> None:
    check_it_was_a_load(stop_the_holder(tmp_path, "none", 400, 2, stop_within_a_copy))


def test_one_that_waits_for_who_was_stopped_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked 300 times, with pauses that are twice the length of a lease."""
    monkeypatch.setattr(sys.modules[__name__], "until_served", partial(until_served, tries=300))
    with pytest.raises(AssertionError, match="the study does not go on"):
        stop_the_holder(tmp_path, "waits for who was stopped", 400, 1, stop_within_a_copy)


def test_lines_that_swallow(tmp_path: Path) -> None:
    check_it_was_a_load(swallow(tmp_path, "none", 300, 4))

"""The client of a worker that crashes: what was acknowledged to it, and whether the database still says so.

The history is kept here, outside of the worker, from what the worker told. An operation that was under way at a kill is
unknown: it is done again, in its order, with the same unit, ticket and event.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from maskedbandit.privacy.loss import ZERO
from maskedbandit.store.accounts import Losses
from maskedbandit.store.connection import connect
from maskedbandit.store.database import Database, Row
from maskedbandit.store.studies import witness_of
from maskedbandit.store.verify import verify
from maskedbandit.study.protocol import Protocol
from tests.store.crash_worker import At

ROOT = Path(__file__).parents[2]
START = "move", "started", ("draft",), "running"
PAUSE = "move", "paused", ("running",), "paused"
STOP = "move", "stopped", ("running", "paused"), "stopped"


class Nursery:
    """The process that forks workers."""

    def __init__(self) -> None:
        self._line, other = socket.socketpair()
        command = [sys.executable, "-m", "tests.store.crash_worker", str(other.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[other.fileno()], cwd=ROOT)
        other.close()

    def worker(self) -> tuple[int, Connection, Connection]:
        """A new worker's number, what it is told on, and what it tells on."""
        its_told, told = os.pipe()
        tell, its_tell = os.pipe()
        socket.send_fds(self._line, [b"fork"], [its_told, its_tell])
        os.close(its_told)
        os.close(its_tell)
        number = int(self._line.recv(64))
        return number, Connection(told, readable=False), Connection(tell, writable=False)

    def wait(self, worker: int) -> int:
        """How a worker ended."""
        self._line.send(f"wait {worker}".encode())
        return int(self._line.recv(64))

    def close(self) -> None:
        self._line.close()
        self._process.wait()


class History:
    """All that a client was told of one study."""

    def __init__(self, name: str, project: str) -> None:
        self.name, self.project = name, project
        self.acknowledged = 0
        self.people: dict[str, str] = {}  # of each ticket
        self.arms: dict[str, int] = {}
        self.latest: dict[str, str] = {}  # the latest ticket of each person
        self.fresh: list[str] = []  # tickets of which nothing was told yet
        self.shown: set[str] = set()  # tickets whose place cannot go back
        self.reports: dict[tuple[str, str], float] = {}  # by ticket and event
        self.late: set[tuple[str, str]] = set()
        self.erased: set[str] = set()  # people
        self.releases: dict[int, tuple[int, int, float]] = {}
        self.state = "draft"

    def refused(self, why: str, kind: str, given: tuple[Any, ...]) -> None:
        """A refusal."""
        self.acknowledged += 1
        if kind == "report":
            ticket, value, event = given
            before = self.reports.get((ticket, event))
            if why == "Conflict":
                assert before is not None, "a report that was not acknowledged is there"
                assert before != value, "a retry was taken for a contradiction"
            elif why == "UnknownTicket":
                assert self.people[ticket] in self.erased, "an acknowledged place was lost"
            else:
                assert why == "Late", why
                assert before is None, "an acknowledged report was lost"
                self.late.add((ticket, event))
        elif kind == "move":
            assert why == "NotRunning", why  # it was done before the kill
            self.state = given[2]
        elif kind == "expose" and why == "UnknownTicket":
            assert self.people[given[0]] in self.erased, "an acknowledged place was lost"
        else:
            assert (kind, why) in (("assign", "BudgetExceeded"), ("expose", "Late")), (kind, why)

    def done(self, result: Any, kind: str, given: tuple[Any, ...]) -> None:
        """An acknowledgement."""
        self.acknowledged += 1
        if kind == "assign":
            self._assigned(given[0], *result)
        elif kind == "expose":
            self.shown.add(given[0])
        elif kind == "report":
            ticket, value, event = given
            before = self.reports.get((ticket, event))
            assert before is None or (result and before == value), "a report was taken twice"
            self.reports[ticket, event] = value
            self.shown.add(ticket)
        elif kind == "erase":
            self.erased.add(given[0])
        elif kind == "move":
            self.state = given[2]
        else:
            self.told(result)

    def _assigned(self, unit: str, arm: int, ticket: str | None, again: bool) -> None:
        latest = self.latest.get(unit)
        if latest in self.shown and unit not in self.erased:
            assert latest == ticket, "an acknowledged place was lost"
        if ticket is not None:
            if ticket not in self.people:
                self.fresh.append(ticket)
            assert self.people.setdefault(ticket, unit) == unit, "two people have one ticket"
            assert self.arms.setdefault(ticket, arm) == arm, "a person was shown two arms"
            self.latest[unit] = ticket

    def told(self, releases: list[tuple[int, int, int, float]]) -> None:
        """Releases that the client saw; each is what it was before."""
        for cohort, *release in releases:
            before = self.releases.setdefault(cohort, tuple(release))
            assert before == tuple(release), f"a release was drawn again: {before}, then {tuple(release)}"


class Client:
    """Tells workers what to do, and begins another when one was killed."""

    def __init__(self, nursery: Nursery, address: str, folder: Path, mutant: str = "none") -> None:
        self._nursery, self.address, self.folder, self._mutant = nursery, address, folder, mutant
        self.kills, self.now, self._number = 0, 0, 0
        self.pending: dict[int, tuple[Any, ...]] = {}  # in order
        self.histories: list[History] = []
        self._worker: int | None = None

    # one worker

    def begin(self) -> None:
        """A new worker, and the study if there is one."""
        self._worker, self._told, self._tell = self._nursery.worker()
        self._told.send((self.address, str(self.folder), self._mutant))
        if self.histories:
            self.open()

    def new(self, table: dict[str, Any]) -> None:
        """A new study, which the worker opens."""
        self._told.send(("new", table))
        self._answer("new")
        self.histories.append(History(table["name"], table.get("project", table["name"])))
        self.open()

    def open(self) -> None:
        """The worker holds the latest study."""
        self._told.send(("open", self.history.name))
        self._answer("open")

    @property
    def history(self) -> History:
        """What was told of the latest study."""
        return self.histories[-1]

    def send(self, *operation: Any) -> int:
        """Have an operation done, without waiting for it."""
        self._number += 1
        self.pending[self._number] = operation
        self._told.send(("do", self.now, [(self._number, *operation)]))
        return self._number

    def receive(self) -> tuple[int | None, Any]:
        """The next acknowledgement: its number, and the result of an operation that was not refused."""
        what, number, result = self._tell.recv()
        assert what != "failed", f"a worker failed: {result}"
        if number is None:
            self.history.told(result)
            return None, None
        if number not in self.pending:
            return number, None  # a broken twin tells twice
        kind, *given = self.pending.pop(number)
        if what == "refused":
            self.history.refused(result, kind, tuple(given))
            return number, None
        self.history.done(result, kind, tuple(given))
        return number, result

    def do(self, *operation: Any) -> Any:
        """Have an operation done, and wait for it."""
        number = self.send(*operation)
        while True:
            found, result = self.receive()
            if found == number:
                return result

    def drain(self) -> None:
        """Wait for all that was sent."""
        while self.pending:
            self.receive()

    def steps(self, *operation: Any) -> list[str]:
        """The steps of an operation."""
        self._told.send(("arm", None))
        self.do(*operation)
        self._told.send(("steps",))
        return list(self._answer("steps"))

    def arm(self, at: At) -> None:
        """Have the worker die at this step from now on."""
        self._told.send(("arm", at))

    def kill(self) -> None:
        """End the worker by SIGKILL, then hear what it had told."""
        assert self._worker
        os.kill(self._worker, signal.SIGKILL)
        self.bury()

    def bury(self) -> None:
        """Hear what a worker told that is killed, or kills itself, and see that it was so."""
        while True:
            assert self._tell.poll(60), "the worker did not die"
            try:
                self.receive()
            except EOFError:
                break
        self._end(killed=True)

    def retry(self) -> None:
        """Another worker, that is asked for all that is unknown again."""
        self.begin()
        unknown, self.pending = self.pending, {}
        for operation in unknown.values():
            self.send(*operation)
        self.do("releases")
        self.drain()

    def close(self) -> None:
        """End the worker as it should."""
        if self._worker is not None:
            self._told.send(("close",))
            while self._tell.recv()[0] != "close":
                pass
            self._end(killed=False)

    def abandon(self) -> None:
        """Leave no worker behind, whatever happened."""
        if self._worker is not None:
            os.kill(self._worker, signal.SIGKILL)
            self._end(killed=True)

    def _end(self, killed: bool) -> None:
        assert self._worker
        worker, self._worker = self._worker, None
        self._told.close()
        self._tell.close()
        status = self._nursery.wait(worker)
        assert status == (signal.SIGKILL if killed else 0), f"a worker ended by itself: {status}"
        self.kills += killed

    def bury_at_opening(self, at: At) -> None:
        """Have the worker open the study again, and die at this step."""
        self.arm(at)
        self._told.send(("open", self.history.name))
        self.bury()

    def steps_of_opening(self) -> list[str]:
        """The steps of opening the study again."""
        self._told.send(("arm", None))
        self.open()
        self._told.send(("steps",))
        return list(self._answer("steps"))

    def _answer(self, what: str) -> Any:
        try:
            said, *result = self._tell.recv()
        except EOFError:
            raise AssertionError(f"a worker ended when it was told {what}") from None
        assert said == what, (said, result)
        return result[0] if result else None

    # what must hold

    def check(self, history: History | None = None) -> None:
        """What the client was told of a study is what the database says, and the database fits together."""
        history = history or self.history
        database = connect(self.address)
        try:
            witness = witness_of(database, self.folder)
            name = history.name
            find = "SELECT protocol, state FROM study WHERE study = ?"
            protocol, state = database.rows(find, name)[0]
            assert state == history.state, f"the study is {state}, and {history.state} was acknowledged"
            stored = Stored(database, name, Protocol.from_text(protocol))
            pseudonyms = witness.pseudonyms(history.project)
            stored.check_places({ticket: pseudonyms.of(unit) for ticket, unit in history.people.items()}, history)
            stored.check_reports(history)
            stored.check_releases(history)
            together = [each for each in self.histories if each.project == history.project]
            charges = Counter(pseudonyms.of(unit) for each in together for unit in each.people.values())
            stored.check_accounts(history.project, charges)
            verify(database, witness, name)
        finally:
            database.close()


class Stored:
    """What the database says of a study, row by row."""

    def __init__(self, database: Database, name: str, protocol: Protocol) -> None:
        self.database, self.name, self.protocol = database, name, protocol
        self.places = {
            row[0]: row[1:]
            for row in self._rows("ticket, cohort, place, arm, person, exposed, returned, erased FROM place")
        }

    def _rows(self, what: str) -> list[Row]:
        return self.database.rows(f"SELECT {what} WHERE study = ?", self.name)

    def check_places(self, people: dict[str, str], history: History) -> None:
        """No acknowledged place is lost, none is dealt twice, nobody has two."""
        live, holders = Counter[tuple[int, int]](), Counter[str]()
        for ticket, (cohort, place, arm, person, exposed, returned, erased) in self.places.items():
            if returned is None:
                live[cohort, place] += 1
                holders[person] += person is not None
            else:
                assert ticket not in history.shown, "a place went back that was seen"
            if erased is None:
                assert ticket in people, "nobody was told of a place"
                assert exposed is not None or ticket not in history.shown, "an acknowledged exposure was lost"
                assert (people[ticket], history.arms[ticket]) == (person, arm), "a place is another's"
        assert max(live.values(), default=1) == 1, "a place was dealt twice"
        assert max(holders.values(), default=1) == 1, "a person has two places"
        gone = people.keys() - self.places.keys()
        assert all(history.people[ticket] in history.erased for ticket in gone), "an acknowledged place was lost"
        assert len(people) == len(self.places), "a place was lost, or made by nobody"

    def check_reports(self, history: History) -> None:
        """Each acknowledged report is there once, and nothing else is."""
        stored = defaultdict(list)
        for ticket, event, value in self._rows("ticket, event, value FROM reward"):
            stored[ticket, event].append(value)
        assert max(map(len, stored.values()), default=1) == 1, "a report counts twice"
        for (ticket, event), value in history.reports.items():
            kept = history.people[ticket] not in history.erased or ticket in self.places
            assert not kept or stored.get((ticket, event)) == [value], "an acknowledged report was lost"
        assert stored.keys() <= history.reports.keys(), "a report is there that was not acknowledged"

    def check_releases(self, history: History) -> None:
        """Each release has exactly its n people, and is what the client saw; its total is what they reported."""
        of_cohort = defaultdict(list)
        for ticket, (cohort, place, _, _, _, returned, erased) in self.places.items():
            if returned is None:
                of_cohort[cohort].append((place, ticket, erased))
        sums = Counter[str]()
        for (ticket, _), value in history.reports.items():
            sums[ticket] += value
        stored = {row[0]: row[1:] for row in self._rows("cohort, arm, n, total FROM release")}
        for cohort, release in history.releases.items():
            assert stored.get(cohort) == release, f"a release changed: {release}, then {stored.get(cohort)}"
        exact = self.protocol.channel.epsilon > 200  # so that noise cannot hide a report
        for cohort, (_, n, total) in stored.items():
            members = sorted(of_cohort[cohort])
            assert [place for place, _, _ in members] == list(range(n)), "a cohort was released without all its people"
            if exact and not any(erased for _, _, erased in members):
                true = sum(self.protocol.reward.of([sums[ticket]]) for _, ticket, _ in members)
                assert abs(total - true) < 1 / 8, f"a release is {total}, and {true} was reported"

    def check_accounts(self, project: str, charges: Counter[str]) -> None:
        """Every account is the sum of its charges: for each ticket that its person was given."""
        losses, price = Losses(self.database), self.protocol.price(1)
        accounts = dict(self.database.rows("SELECT person, spent FROM account WHERE project = ?", project))
        for number, count in {(accounts.get(person), charges[person]) for person in charges.keys() | accounts.keys()}:
            spent, expected = losses[number] if number else ZERO, count * price if count else ZERO
            assert spent == expected, f"an account has {spent}, and its charges are {expected}"


@contextmanager
def client(nursery: Nursery, address: str, folder: Path, mutant: str = "none") -> Iterator[Client]:
    """A client with its first worker."""
    made = Client(nursery, address, folder, mutant)
    made.begin()
    try:
        yield made
        made.close()
    finally:
        made.abandon()

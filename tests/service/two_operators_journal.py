"""Devices of a study whose operators are killed: a journal outside of both of what was acknowledged, held against both.

There is so little noise that a release tells whether a report was lost or doubled.
"""

import json
import os
import time
from collections import Counter
from http.client import HTTPException
from os import urandom
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any, ClassVar, NamedTuple

from maskedbandit.device.own_place import OwnPlace, read_place
from maskedbandit.device.sealing import seal_upload
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.book import read_help_book
from maskedbandit.store.helping.verify import verify_help
from maskedbandit.store.studies import find_witness
from tests.service.inside import Reply
from tests.service.live import Live
from tests.service.test_helper_processes import HELPS

TABLE: dict[str, Any] = {
    "name": "killed",
    "people": 10**6,
    "policy": {"name": "successive_elimination", "least": 8},
    "channel": {"name": "two_servers", "epsilon": 100, "backend": "prio3"},
    "arms": [{"name": name} for name in "ab"],
    "reward": {"window": "1 second", "grace": "2 seconds", "exposure": "1 hour"},
    "budget": {"epsilon": 100},
}
TURNS = 2  # reports of each device
TRIES = 3000  # at one request: far more than it takes a server to begin again
PAUSE = 0.02  # seconds between two tries


class ToldReport(NamedTuple):
    """What a device sent, and what was said of it."""

    ticket: str
    turn: int
    report: str
    value: int
    said: str  # empty before the first attempt


class HeldAgainst(NamedTuple):
    """What was compared."""

    acknowledged: int
    releases: int
    reports: int  # that are in them


class DeviceJournal:
    """Devices that upload to the leader until they are answered, and what they were told."""

    table: ClassVar[dict[str, Any]] = TABLE
    second: ClassVar[tuple[str, ...]] = HELPS  # the role of the second operator
    stores: ClassVar[str] = "leader"  # whom the devices report to

    def __init__(self, leader: Live, helper: Live, path: Path) -> None:
        self.leader, self.helper, self.over, self.answered, self.came = leader, helper, False, 0, 0
        self.wrong = list[BaseException]()
        self.seen = dict[int, float]()  # releases, by cohort
        self._path, self._file, self._lock = path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), Lock()

    def write(self, told: ToldReport) -> None:
        """On disk before it counts."""
        line = json.dumps(told).encode() + b"\n"
        assert os.write(self._file, line) == len(line)
        os.fsync(self._file)
        self.answered += told.said != ""

    def run(self, name: int) -> None:
        """People come, one after the other, until it is over."""
        random = Random(f"people {name}")
        try:
            while not self.over:
                self.come(random)
        except BaseException as why:
            self.wrong.append(why)
            raise

    def come(self, random: Random) -> None:
        """A person comes, if there is a place, and the device reports at each contact what holds by then."""
        with self._lock:
            self.came += 1
            unit = f"person {self.came}"
        given = self.ask("/assign", {"unit": unit}).json
        if given["ticket"] is None:
            time.sleep(PAUSE)  # the cohorts are full: another comes after their release
            return
        exposed = int(time.time() * 1000)
        if self.ask("/expose", {"ticket": given["ticket"]}).status != 200:
            return
        self.report(read_place(given["device"] | {"exposed": exposed}), random)
        if random.random() < 0.2:
            self.look()

    def report(self, place: OwnPlace, random: Random) -> None:
        """A device that has this place reports."""
        for turn in range(TURNS):
            value = random.randrange(2) if turn else 0
            body = seal_upload(place, value, turn, urandom)
            told = ToldReport(place.ticket, turn, json.loads(body)["report"], value, "")
            self.write(told)
            found = self.ask("/upload", body.encode(), key=None)
            self.write(told._replace(said=found.json["status"] if found.status == 200 else found.code))

    def look(self) -> None:
        """A release that was seen is never another one."""
        said = self.ask("/releases", None, "owner", "GET").json["releases"]
        for each in said:
            assert self.seen.setdefault(each["cohort"], each["total"]) == each["total"], "a release has changed"

    def ask(
        self, path: str, body: Any, key: str | None = "client", method: str = "POST", of: Live | None = None
    ) -> Reply:
        """Ask the leader, or another one, until there is an answer."""
        for _ in range(TRIES):
            try:
                found = (of or self.leader).ask(method, f"/v1/studies/{self.table['name']}{path}", body, key)
            except (OSError, HTTPException):
                time.sleep(PAUSE)
                continue
            if found.status not in (429, 503):
                return found
            time.sleep(PAUSE)
        raise AssertionError("nobody answers")

    def read(self) -> dict[str, list[ToldReport]]:
        """What the file says, by ticket: of each turn the last line."""
        os.close(self._file)
        found = dict[str, dict[int, ToldReport]]()
        with self._path.open() as lines:
            for line in lines:
                told = ToldReport(*json.loads(line))
                found.setdefault(told.ticket, {})[told.turn] = told
        return {ticket: [turns[turn] for turn in sorted(turns)] for ticket, turns in found.items()}

    def hold(self) -> Any:
        """The journal against the database of the leader, and its ledger against that of the helper."""
        name, told = self.table["name"], self.read()
        taken = {
            ticket: [each for each in turns if each.said in ("stored", "duplicate")] for ticket, turns in told.items()
        }
        (database, witness), (other, his) = (
            (made := open_database(each.address), find_witness(made, each.witness))
            for each in (self.leader, self.helper)
        )
        try:
            verify_study(database, witness, name)
            verify_help(other, his, name)
            rows = database.rows("SELECT ticket, report, turn FROM upload WHERE study = ?", name)
            stored = {ticket: (turn, report) for ticket, report, turn in rows}
            assert len(rows) == len(stored)
            for ticket, turns in taken.items():
                if turns:
                    assert ticket in stored, "an upload was lost"
                    sent = {each.turn: each.report for each in told[ticket]}
                    turn, report = stored[ticket]
                    assert turn >= turns[-1].turn, "a newer upload was lost"
                    assert sent[turn] == report, "another upload is stored than was sent"
            cohorts: dict[str, int] = dict(database.rows("SELECT ticket, cohort FROM place WHERE study = ?", name))
            in_cohort = Counter(cohort for ticket, cohort in cohorts.items() if ticket in stored)
            helped = read_help_book(other, his, name).made
            released = read_entries(database, name, "released")
            totals = {each.cohort: each.total for each in released}
            assert len(totals) == len(released), "a cohort was released twice"
            assert self.seen.items() <= totals.items(), "what was seen is not in the ledger"
            for each in released:
                said, his_total = each.helper, helped[each.cohort]
                assert (str(said.total), said.entry) == (his_total.total, his_total.number), "both ledgers differ"
                assert said.reports == in_cohort[each.cohort], "a report was left out, or added"
            values = Counter[int]()
            for ticket, (turn, _) in stored.items():
                values[cohorts[ticket]] += next(each.value for each in told[ticket] if each.turn == turn)
            for cohort, total in totals.items():
                assert total == values[cohort], "a report was lost or doubled"
            assert len(helped) - len(released) in (0, 1), "a total was made of a cohort that is not released"
            return HeldAgainst(sum(map(len, taken.values())), len(released), sum(in_cohort[each] for each in totals))
        finally:
            database.close()
            other.close()

"""A small study for tests of the store, and who remembers all that it acknowledged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.requests import Assigned
from maskedbandit.store.studies import find_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol

SECOND = 1000
WINDOW, EXPOSURE = 20 * SECOND, 10 * SECOND
PROOF = "the-proof-of-who-reports"


def small_protocol(**changes: Any) -> Protocol:
    """Two arms in cohorts of two people and more, each of which is in one cohort."""
    table: dict[str, Any] = {
        "name": "small",
        "people": 1000,
        "policy": {"name": "successive_elimination", "least": 2},
        "channel": {"name": "central", "epsilon": 1},
        "arms": [{"name": "a"}, {"name": "b"}],
        "reward": {"window": "20 seconds", "exposure": "10 seconds"},
        "budget": {"epsilon": 1},
    }
    return Protocol.from_table(table | changes)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def small_study(
    address: str,
    folder: Path,
    clock: Callable[[], int],
    protocol: Protocol | None = None,
    opened: Callable[[], Database] | None = None,
) -> Study:
    """A study that runs, in the database at this address, which `opened` opens."""
    protocol = protocol or small_protocol()
    write_study(protocol, address, folder)
    database = opened() if opened else open_database(address)
    study = Study(database, find_witness(database, folder), protocol.name, clock, "tester")
    study.start()
    return study


class Acknowledged:
    """What a study has acknowledged, and whether its database has all of it, once."""

    def __init__(self) -> None:
        self.assigned: dict[str, Assigned] = {}
        self.reported: dict[tuple[str, str], float] = {}
        self.released: dict[int, Release] = {}

    def note_assigned(self, unit: str, assigned: Assigned) -> None:
        """A person was given an arm; a second answer says what the first one said."""
        assert assigned.ticket is not None
        known = self.assigned.setdefault(unit, assigned)
        assert (known.arm, known.ticket) == (assigned.arm, assigned.ticket), "another place for the same person"

    def note_released(self, releases: list[Release]) -> None:
        """Releases were published; no value ever changes."""
        for release in releases:
            assert self.released.setdefault(release.cohort, release) == release, "a value was drawn again"

    def lost(self, database: Database, study: str = "small") -> list[str]:
        """What the database does not have, or has in another way; the empty list is as it should be."""
        places = dict(database.rows("SELECT ticket, arm FROM place WHERE study = ? AND returned IS NULL", study))
        rewards = {
            (ticket, event): value
            for ticket, event, value in database.rows("SELECT ticket, event, value FROM reward WHERE study = ?", study)
        }
        totals = dict(database.rows("SELECT cohort, total FROM release WHERE study = ?", study))
        return [
            *(f"place of {unit}" for unit, each in self.assigned.items() if places.get(str(each.ticket)) != each.arm),
            *(f"report {which}" for which, value in self.reported.items() if rewards.get(which) != value),
            *(f"release {each}" for each in self.released.values() if totals.get(each.cohort) != each.total),
        ]

    def check(self, database: Database, folder: Path, study: str = "small") -> None:
        """All that was acknowledged is there, nothing twice, and everything fits together."""
        assert self.lost(database, study) == []
        (people,) = database.rows("SELECT people FROM study WHERE study = ?", study)[0]
        (places,) = database.rows("SELECT COUNT(*) FROM place WHERE study = ? AND returned IS NULL", study)[0]
        (rewards,) = database.rows("SELECT COUNT(*) FROM reward WHERE study = ?", study)[0]
        assert (people, places, rewards) == (len(self.assigned), len(self.assigned), len(self.reported)), "doubled"
        verify_study(database, find_witness(database, folder), study)

"""The arms that the service gave before: served again while it is away, and found again when an outcome comes.

A unit is kept as its hash, so that the file lists no names; whoever guesses a name can confirm it.
"""

import hashlib
import json
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from maskedbandit.client.answers import TURNED_AWAY, Assigned
from maskedbandit.private_files import PrivateFile

FORGET_AFTER = 90 * 24 * 3600.0  # seconds after which an arm that was not given again is forgotten
REWRITE_AFTER = 24 * 3600.0  # what is written down again only if it changed, or after this time
# whoever comes without being enrolled, and whomever the protocol turns away: no unit has these hashes
_EVERYBODY, _TURNED_AWAY = "", "turned away"

# what is lost with the machine's power can be asked for again
_SETTINGS = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
_TABLES = """
CREATE TABLE IF NOT EXISTS arm (
    study TEXT, unit TEXT, arm TEXT NOT NULL, payload TEXT NOT NULL, ticket TEXT, propensity TEXT NOT NULL, offer TEXT,
    until REAL NOT NULL, PRIMARY KEY (study, unit)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS arm_of_unit ON arm (unit, until);
CREATE INDEX IF NOT EXISTS arm_of_ticket ON arm (ticket);
CREATE INDEX IF NOT EXISTS arm_until ON arm (until);
CREATE TABLE IF NOT EXISTS on_devices (study TEXT PRIMARY KEY) WITHOUT ROWID;
"""
# of the version before: whose a ticket of local trust was. The outbox, which is opened first, has taken the places
_FORGET_HOLDERS = "DROP TABLE IF EXISTS holder;"
_HOLDERS = """
CREATE TABLE IF NOT EXISTS holder (
    study TEXT, ticket TEXT, unit TEXT NOT NULL, PRIMARY KEY (study, ticket)) WITHOUT ROWID;
"""
_HELD = """
SELECT study, unit, ticket FROM arm WHERE ticket IS NOT NULL AND offer IS NOT NULL
UNION ALL SELECT study, unit, ticket FROM holder
"""
_COLUMNS = "arm, payload, ticket, propensity, offer"


class KnownPlace(NamedTuple):
    """A study in which a unit has a ticket."""

    study: str
    ticket: str


class Offered(NamedTuple):
    """The offer to a person, with a line for each outcome, by the hash of the unit."""

    person: str
    offer: str


class KnownArms:
    """Who was given which arm, for some months.

    >>> from tempfile import mkdtemp
    >>> known = KnownArms(Path(mkdtemp()) / "known.sqlite")
    >>> known.remember("newsletter", "ann", Assigned("bold", ticket="abc", propensity=Fraction(1, 2)))
    >>> known.find("newsletter", "ann").arm, known.find("newsletter", "bob"), known.places("ann")
    ('bold', None, [KnownPlace(study='newsletter', ticket='abc')])
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = PrivateFile(path, _SETTINGS, _TABLES + _FORGET_HOLDERS), clock
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM arm WHERE until < ?", (clock(),))

    def remember(self, study: str, unit: str, given: Assigned) -> None:
        """Write down what the service gave; without a ticket it is what everybody gets who is not enrolled.

        That somebody was turned away is not written down, as it may be otherwise the next time: only the default arm.
        """
        who = hash_unit(unit) if given.ticket else _TURNED_AWAY if given.why in TURNED_AWAY else _EVERYBODY
        columns = given.arm, json.dumps(given.payload), given.ticket, str(given.propensity), given.offer
        until = self._clock() + FORGET_AFTER
        if self._rows(
            f"SELECT {_COLUMNS} FROM arm WHERE study = ? AND unit = ? AND until > ?", study, who, until - REWRITE_AFTER
        ) == [columns]:
            return
        with self._file.transaction() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO arm (study, unit, {_COLUMNS}, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (study, who, *columns, until),
            )

    def find(self, study: str, unit: str) -> Assigned | None:
        """The arm that the unit had."""
        return self._find(study, hash_unit(unit))

    def served(self, study: str) -> Assigned | None:
        """The arm for somebody who is not known: the default, if people of the study are turned away.

        In other studies it is the one that was given last to somebody without a place: the best in what was released.
        """
        return self._find(study, _TURNED_AWAY) or self._find(study, _EVERYBODY)

    def places(self, unit: str) -> list[KnownPlace]:
        """All places of a unit, in the order of the studies' names."""
        find = "SELECT study, ticket FROM arm WHERE unit = ? AND until > ? ORDER BY study"
        return [KnownPlace(*row) for row in self._rows(find, hash_unit(unit), self._clock())]

    def offer(self, study: str, ticket: str) -> Offered | None:
        """What the report of a ticket is made from under local trust, and whose it is."""
        find = "SELECT unit, offer FROM arm WHERE ticket = ? AND study = ? AND offer IS NOT NULL"
        return next((Offered(*row) for row in self._rows(find, ticket, study)), None)

    def keep_on_devices(self, study: str) -> None:
        """Write down that outcomes of a study stay on people's devices, which seal them for two operators."""
        if not self.stays_on_devices(study):
            with self._file.transaction() as connection:
                connection.execute("INSERT OR IGNORE INTO on_devices (study) VALUES (?)", (study,))

    def stays_on_devices(self, study: str) -> bool:
        """Whether `keep_on_devices` was called for a study, by any process of the folder."""
        return bool(self._rows("SELECT 1 FROM on_devices WHERE study = ?", study))

    def forget(self, study: str, ticket: str) -> None:
        """Forget the person with this ticket, who has left."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM arm WHERE study = ? AND ticket = ?", (study, ticket))

    def _find(self, study: str, who: str) -> Assigned | None:
        query = f"SELECT {_COLUMNS} FROM arm WHERE study = ? AND unit = ? AND until > ?"
        for arm, payload, ticket, propensity, offer in self._rows(query, study, who, self._clock()):
            return Assigned(arm, json.loads(payload), ticket, Fraction(propensity), True, offer=offer)
        return None

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        return self._file.rows(query, *values)

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def hash_unit(unit: str) -> str:
    """The hash as which a unit is kept."""
    return hashlib.sha256(unit.encode("utf-8", "surrogatepass")).hexdigest()


def read_held_places(path: Path) -> list[tuple[str, str, str]]:
    """The places of local trust in a file of the version before: study, hash of the unit, and ticket, newest first."""
    file = PrivateFile(path, _SETTINGS, _TABLES + _HOLDERS)
    try:
        return file.rows(_HELD)
    finally:
        file.close()

"""The device's own book: consent, places, what holds of each, and what was sealed and sent, on disk.

A place stands in it for ever, also after the person left: no study gets a second one. What was said of an outcome is
overwritten when the person leaves. Restored from an older copy, it seals turns that the leader has already, and the
leader keeps those that came first.
"""

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from maskedbandit.device.own_place import OwnPlace, read_place, write_place
from maskedbandit.device.sealing import round_outcome
from maskedbandit.device.turns import SealedTurn, choose_turn
from maskedbandit.errors import AlreadySpent
from maskedbandit.privacy.sampling import Bits
from maskedbandit.private_files import PrivateFile

BOOK_FILE = "device.sqlite"
PLACE_LEFT, PLACE_ELSEWHERE = "left", "elsewhere"  # why a place has ended, beside the codes of the leader's refusals

_SETTINGS = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;"
_TABLES = """
CREATE TABLE IF NOT EXISTS consent (id INTEGER PRIMARY KEY CHECK (id = 0), since INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS own_place (
    study TEXT PRIMARY KEY, protocol TEXT NOT NULL UNIQUE, given TEXT NOT NULL, epsilon TEXT NOT NULL,
    joined INTEGER NOT NULL, value REAL, steps INTEGER NOT NULL, ended TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS sealed_turn (
    study TEXT, turn INTEGER, sealed INTEGER NOT NULL, steps INTEGER NOT NULL, size INTEGER NOT NULL,
    answer TEXT NOT NULL, body TEXT, PRIMARY KEY (study, turn)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS farewell (study TEXT PRIMARY KEY, ticket TEXT NOT NULL);
"""
_PLACE = "SELECT study, protocol, given, epsilon, joined, value, steps, ended FROM own_place"
_TURNS = "SELECT turn, sealed, steps, size, answer FROM sealed_turn WHERE study = ? ORDER BY turn"


class BookedPlace(NamedTuple):
    """A place of the book."""

    study: str
    protocol: str
    given: str  # the place as it was handed over; empty after the person left
    epsilon: Fraction
    joined: int
    value: float | None  # the outcome, if one was recorded
    steps: int  # what holds now, as it is reported
    ended: str  # empty as long as there is something to report

    @property
    def place(self) -> OwnPlace:
        """The place, of somebody who did not leave."""
        return read_place(json.loads(self.given))


class DeviceBook:
    """The book in a folder."""

    def __init__(self, folder: Path) -> None:
        self._file = PrivateFile(folder / BOOK_FILE, _SETTINGS, _TABLES)

    @property
    def consent(self) -> bool:
        """Whether the person agreed to take part in studies."""
        return bool(self._file.rows("SELECT 1 FROM consent"))

    def write_consent(self, since: int | None) -> None:
        """The person agreed, or takes it back."""
        with self._file.transaction() as connection:
            if since is None:
                connection.execute("DELETE FROM consent")
            else:
                connection.execute("INSERT OR IGNORE INTO consent (id, since) VALUES (0, ?)", (since,))

    def places(self) -> list[BookedPlace]:
        """All places, as they were taken."""
        return [read_booked_place(row) for row in self._file.rows(f"{_PLACE} ORDER BY joined, study")]

    def find(self, study: str) -> BookedPlace | None:
        """The place in a study."""
        return next((read_booked_place(row) for row in self._file.rows(f"{_PLACE} WHERE study = ?", study)), None)

    def turns(self, study: str) -> list[SealedTurn]:
        """All reports that were sealed in a study."""
        return [SealedTurn(*row) for row in self._file.rows(_TURNS, study)]

    def take_place(
        self, given: Mapping[str, Any], place: OwnPlace, now: int, check: Callable[[Fraction], Fraction], bits: Bits
    ) -> None:
        """Take a place, or raise. `check` says what it costs where others have cost so much.

        **Guarantee**: this file takes one place of a study, whatever the study is called when it comes again, and sends
        nothing for a place that was given before this file knew of it.
        """
        digest, ended = place.protocol.hex(), PLACE_ELSEWHERE if place.again else ""
        with self._file.transaction() as connection:
            rows = connection.execute(f"{_PLACE} WHERE study = ? OR protocol = ?", (place.study, digest)).fetchall()
            had = read_booked_place(rows[0]) if rows else None
            if had is None:
                spent = sum((read_booked_place(row).epsilon for row in connection.execute(_PLACE)), Fraction(0))
                epsilon = check(spent)
                steps = round_outcome(place.scale_outcome(place.default), place.offer.steps, bits)
                row = place.study, digest, write_place(given), str(epsilon), now, steps, ended
                connection.execute(
                    "INSERT INTO own_place (study, protocol, given, epsilon, joined, steps, ended)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
        if had is None and not place.again:
            return
        if had is None or had.ended == PLACE_ELSEWHERE:
            raise AlreadySpent("this device was not the first to have this place: another, or a lost book, may have it")
        if had.ended == PLACE_LEFT:
            raise AlreadySpent("the person left this study: it gets no second place")
        if len(rows) > 1 or had.study != place.study or had.place.ticket != place.ticket:
            raise AlreadySpent("this device has another place in this study: a person has one")

    def record(self, booked: BookedPlace, value: float, bits: Bits) -> None:
        """Write down what holds now; the same value again stays what it was rounded to."""
        place = booked.place
        scaled = place.scale_outcome(value)
        with self._file.transaction() as connection:
            found = "SELECT value FROM own_place WHERE study = ? AND ended = ''"  # another process may have left it
            for (before,) in connection.execute(found, (place.study,)).fetchall():
                if before != value:
                    row = value, round_outcome(scaled, place.offer.steps, bits), place.study
                    connection.execute("UPDATE own_place SET value = ?, steps = ? WHERE study = ?", row)

    def take_turn(
        self, study: str, now: int, standing: bool, seal: Callable[[OwnPlace, int, int], str]
    ) -> tuple[int, str] | None:
        """The turn that a contact sends and the body of its request, sealed now unless it was before; None if none.

        **Guarantee**: of one turn this file gives one body away, for ever.
        """
        with self._file.transaction() as connection:
            booked = read_booked_place(connection.execute(f"{_PLACE} WHERE study = ?", (study,)).fetchone())
            if booked.ended:
                return None
            place, rows = booked.place, connection.execute(f"{_TURNS} DESC LIMIT 1", (study,)).fetchall()
            last = SealedTurn(*rows[0]) if rows else None
            turn = choose_turn(place, last, now, standing)
            if turn is None:
                return None
            if last is not None and turn == last.turn:
                find = "SELECT body FROM sealed_turn WHERE study = ? AND turn = ?"
                return turn, connection.execute(find, (study, turn)).fetchone()[0]
            body = seal(place, booked.steps, turn)
            connection.execute("UPDATE sealed_turn SET body = NULL WHERE study = ?", (study,))
            connection.execute(
                "INSERT INTO sealed_turn (study, turn, sealed, steps, size, answer, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (study, turn, now, booked.steps, len(body), "", body),
            )
        return turn, body

    def settle(self, study: str, turn: int, answer: str, ended: bool) -> None:
        """The leader has answered; if the place has ended, nothing more is sent."""
        with self._file.transaction() as connection:
            change = "UPDATE sealed_turn SET answer = ?, body = NULL WHERE study = ? AND turn = ?"
            connection.execute(change, (answer, study, turn))
            if ended:
                connection.execute("UPDATE own_place SET ended = ? WHERE study = ? AND ended = ''", (answer, study))

    def leave(self, study: str) -> None:
        """Forget all of a study but that the person had a place, and what it cost."""
        with self._file.transaction() as connection:
            ((given, ended),) = connection.execute("SELECT given, ended FROM own_place WHERE study = ?", (study,))
            if ended == PLACE_LEFT:
                return
            forget = "UPDATE own_place SET given = '', value = NULL, steps = 0, ended = ? WHERE study = ?"
            connection.execute(forget, (PLACE_LEFT, study))
            connection.execute("DELETE FROM sealed_turn WHERE study = ?", (study,))
            connection.execute(
                "INSERT INTO farewell (study, ticket) VALUES (?, ?)", (study, json.loads(given)["ticket"])
            )

    def farewells(self) -> list[tuple[str, str]]:
        """Studies that have not heard yet that the person left, with the ticket."""
        rows = self._file.rows("SELECT study, ticket FROM farewell ORDER BY study")
        return [(study, ticket) for study, ticket in rows]

    def settle_farewell(self, study: str) -> None:
        """The leader has erased what it had."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM farewell WHERE study = ?", (study,))

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def read_booked_place(row: tuple[Any, ...]) -> BookedPlace:
    """A place from its row."""
    study, protocol, given, epsilon, *rest = row
    return BookedPlace(study, protocol, given, Fraction(epsilon), *rest)

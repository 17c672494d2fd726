"""The device's own book: consent, places, what holds of each, and what was made of it and sent, on disk.

A place stands in it for ever, also after the person left: no study gets a second one. What was said of an outcome is
overwritten when the person leaves. Restored from an older copy, it makes reports that the service has already, and the
service keeps those that came first; under local trust each of them has cost epsilon.
"""

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from sqlite3 import Connection
from typing import Any, NamedTuple, TypeVar

from maskedbandit.device.book_tables import BOOK_SETTINGS, BOOK_TABLES
from maskedbandit.device.booked_place import FIND_PLACES, BookedPlace, read_booked_place
from maskedbandit.device.own_place import OwnOutcome, OwnPlace, read_place, write_place
from maskedbandit.device.rounding import round_outcome
from maskedbandit.device.shuffled_reports import Withdrawal, write_withdrawal
from maskedbandit.device.turns import KeptReport, choose_turn
from maskedbandit.errors import AlreadySpent, NoConsent
from maskedbandit.privacy.sampling import Bits
from maskedbandit.private_files import PrivateFile

BOOK_FILE = "device.sqlite"
PLACE_LEFT, PLACE_ELSEWHERE = "left", "elsewhere"  # why a place has ended, beside the codes of the service's refusals

_REPORTS = "SELECT turn, made, says, size, answer, metric FROM kept_report WHERE study = ?"


class DueReport(NamedTuple):
    """A report that a contact sends."""

    study: str
    metric: str
    turn: int
    action: str  # upload, bundle, or report under local trust
    body: str
    address: str = ""  # of the shuffler, if it is for that; else it is for the service


class MadeReport(NamedTuple):
    """What a report says, and the body of the request that carries it."""

    says: int
    body: str


Changed = TypeVar("Changed")
Maker = Callable[[OwnPlace, OwnOutcome, BookedPlace, int], MadeReport]  # of a report of this turn


class DeviceBook:
    """The book in a folder."""

    def __init__(self, folder: Path) -> None:
        self._file = PrivateFile(folder / BOOK_FILE, BOOK_SETTINGS, BOOK_TABLES)

    @property
    def consent(self) -> bool:
        """Whether the person agreed to take part in studies."""
        return bool(self._file.rows("SELECT 1 FROM consent"))

    def write_consent(self, since: int) -> None:
        """Write down that the person agreed."""
        with self._file.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO consent (id, since) VALUES (0, ?)", (since,))

    def take_back_consent(self) -> None:
        """Take consent back: the person leaves all studies, and if consent is given again later, is in none of them."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM consent")
            for (study,) in connection.execute("SELECT study FROM own_place").fetchall():
                forget_place(connection, study)

    def places(self) -> list[BookedPlace]:
        """All places, as they were taken."""
        return [read_booked_place(row) for row in self._file.rows(f"{FIND_PLACES} ORDER BY joined, study")]

    def find(self, study: str) -> BookedPlace | None:
        """The place in a study."""
        return next((read_booked_place(row) for row in self._file.rows(f"{FIND_PLACES} WHERE study = ?", study)), None)

    def reports(self, study: str) -> list[KeptReport]:
        """All reports that were made in a study."""
        return [KeptReport(*row) for row in self._file.rows(f"{_REPORTS} ORDER BY turn, metric", study)]

    def take_place(
        self, given: Mapping[str, Any], place: OwnPlace, now: int, check: Callable[[Fraction], Fraction], bits: Bits
    ) -> None:
        """Take a place, or raise. `check` says what it costs where others have cost so much.

        **Guarantee**: this file takes one place of a study, whatever the study is called when it comes again, and sends
        nothing for a place that was given before this file knew of it.
        """
        digest, ended = place.protocol.hex(), PLACE_ELSEWHERE if place.again else ""
        with self._file.transaction() as connection:
            if not connection.execute("SELECT 1 FROM consent").fetchone():
                raise NoConsent("the person took consent back while the place was on its way")
            rows = connection.execute(
                f"{FIND_PLACES} WHERE study = ? OR protocol = ?", (place.study, digest)
            ).fetchall()
            had = read_booked_place(rows[0]) if rows else None
            if had is None:
                spent = sum((read_booked_place(row).epsilon for row in connection.execute(FIND_PLACES)), Fraction(0))
                epsilon, steps = check(spent), count_steps(place, None, bits)
                told = int(place.exposed is not None)
                row = place.study, digest, write_place(given), str(epsilon), now, told, steps, ended
                connection.execute(
                    "INSERT INTO own_place (study, protocol, given, epsilon, joined, told, steps, ended)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
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

    def expose(self, study: str, now: int) -> None:
        """Write down that the person sees the arm now, unless it was seen before."""
        with self._file.transaction() as connection:
            find = "SELECT given FROM own_place WHERE study = ? AND ended = ''"
            for (text,) in connection.execute(find, (study,)).fetchall():
                given = json.loads(text)
                if given["exposed"] is None:
                    row = write_place({**given, "exposed": now}), study
                    connection.execute("UPDATE own_place SET given = ? WHERE study = ?", row)

    def settle_exposure(self, study: str, ended: str) -> None:
        """Write down that the service knows that the arm was seen, or why it is too late."""
        with self._file.transaction() as connection:
            change = "UPDATE own_place SET told = 1, ended = ? WHERE study = ? AND ended = ''"
            connection.execute(change, (ended, study))

    def keep_pass(self, study: str, shown: str) -> None:
        """Write down the pass for the shuffler, with which the report of the place is sent."""
        with self._file.transaction() as connection:
            if connection.execute("SELECT 1 FROM own_place WHERE study = ? AND ended = ''", (study,)).fetchone():
                connection.execute("INSERT OR IGNORE INTO own_pass (study, shown) VALUES (?, ?)", (study, shown))

    def record(self, booked: BookedPlace, metric: str, value: float, bits: Bits) -> None:
        """Write down what holds now; what two operators are told of it is rounded once."""
        place = booked.place
        outcome = place.find_outcome(metric)
        with self._file.transaction() as connection:
            rows = connection.execute(f"{FIND_PLACES} WHERE study = ? AND ended = ''", (place.study,)).fetchall()
            for booked in map(read_booked_place, rows):  # none if another process has left it
                before = booked.held.get(metric)
                held = outcome.add_record(before, value)
                if held != before:
                    row = place.study, metric, str(held)
                    put = "INSERT OR REPLACE INTO held_outcome (study, metric, value) VALUES (?, ?, ?)"
                    connection.execute(put, row)
                    if not metric:
                        steps = count_steps(place, held, bits), place.study
                        connection.execute("UPDATE own_place SET steps = ? WHERE study = ?", steps)

    def take_turn(self, study: str, now: int, standing: bool, make: Maker) -> list[DueReport]:
        """The reports that a contact sends, each made now unless it was before.

        **Guarantee**: of one turn this file gives one body away, for ever. Under local trust there is one turn.
        """
        due = []
        with self._file.transaction() as connection:
            booked = read_booked_place(connection.execute(f"{FIND_PLACES} WHERE study = ?", (study,)).fetchone())
            if booked.ended or not booked.told:
                return []
            place = booked.place
            if place.shuffled and not booked.shown:
                return []
            for outcome in place.outcomes:
                own = study, outcome.metric
                rows = connection.execute(f"{_REPORTS} AND metric = ? ORDER BY turn DESC LIMIT 1", own).fetchall()
                last = KeptReport(*rows[0]) if rows else None
                turn = choose_turn(place, last, now, standing)
                if turn is None:
                    continue
                if last is not None and turn == last.turn:
                    find = "SELECT body FROM kept_report WHERE study = ? AND metric = ? AND turn = ?"
                    body = connection.execute(find, (*own, turn)).fetchone()[0]
                else:
                    says, body = make(place, outcome, booked, turn)
                    connection.execute("UPDATE kept_report SET body = NULL WHERE study = ? AND metric = ?", own)
                    connection.execute(
                        "INSERT INTO kept_report (study, metric, turn, made, says, size, answer, body)"
                        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                        (*own, turn, now, says, len(body), "", body),
                    )
                if place.shuffled:
                    due.append(DueReport(*own, turn, "bundle", body, place.operators[1].address))
                else:
                    due.append(DueReport(*own, turn, "upload" if place.operators else "report", body))
        return due

    def settle(self, sent: DueReport, answer: str, ended: bool) -> None:
        """Write down what the service answered; if the place has ended, nothing more is sent."""
        with self._file.transaction() as connection:
            change = "UPDATE kept_report SET answer = ?, body = NULL WHERE study = ? AND metric = ? AND turn = ?"
            connection.execute(change, (answer, sent.study, sent.metric, sent.turn))
            if ended:
                end = "UPDATE own_place SET ended = ? WHERE study = ? AND ended = ''"
                connection.execute(end, (answer, sent.study))

    def change_place(self, study: str, change: Callable[[Connection, BookedPlace], Changed]) -> Changed | None:
        """Change this in one transaction, with the place as it is now; nothing if it has ended."""
        with self._file.transaction() as connection:
            booked = read_booked_place(connection.execute(f"{FIND_PLACES} WHERE study = ?", (study,)).fetchone())
            return None if booked.ended else change(connection, booked)

    def end_place(self, study: str, why: str) -> None:
        """Write down that nothing more is sent of a place, whose round is over."""
        with self._file.transaction() as connection:
            connection.execute("UPDATE own_place SET ended = ? WHERE study = ? AND ended = ''", (why, study))
            for table in ("own_round", "round_step"):
                connection.execute(f"DELETE FROM {table} WHERE study = ?", (study,))

    def leave(self, study: str) -> None:
        """Forget all of a study but that the person had a place, and what it cost."""
        with self._file.transaction() as connection:
            forget_place(connection, study)

    def farewells(self) -> list[tuple[str, str]]:
        """Studies that have not heard yet that the person left, with the ticket."""
        rows = self._file.rows("SELECT study, ticket FROM farewell ORDER BY study")
        return [(study, ticket) for study, ticket in rows]

    def settle_farewell(self, study: str) -> None:
        """Write down that the service has erased what it had."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM farewell WHERE study = ?", (study,))

    def withdrawals(self) -> list[Withdrawal]:
        """Studies whose shufflers have not heard yet that the person left."""
        return [
            Withdrawal(*row) for row in self._file.rows("SELECT study, address, body FROM withdrawal ORDER BY study")
        ]

    def settle_withdrawal(self, study: str) -> None:
        """Write down that the shuffler has erased what it had."""
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM withdrawal WHERE study = ?", (study,))

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def forget_place(connection: Connection, study: str) -> None:
    """Forget all of a place but that it was there, and what it cost, and have the service told, once."""
    ((given, ended),) = connection.execute("SELECT given, ended FROM own_place WHERE study = ?", (study,))
    if ended == PLACE_LEFT:
        return
    for (shown,) in connection.execute("SELECT shown FROM own_pass WHERE study = ?", (study,)).fetchall():
        place = read_place(json.loads(given))
        row = study, place.operators[1].address, write_withdrawal(place, shown)
        connection.execute("INSERT INTO withdrawal (study, address, body) VALUES (?, ?, ?)", row)
    connection.execute("UPDATE own_place SET given = '', steps = 0, ended = ? WHERE study = ?", (PLACE_LEFT, study))
    for table in ("held_outcome", "kept_report", "own_pass", "own_round", "round_step"):
        connection.execute(f"DELETE FROM {table} WHERE study = ?", (study,))
    connection.execute("INSERT INTO farewell (study, ticket) VALUES (?, ?)", (study, json.loads(given)["ticket"]))


def count_steps(place: OwnPlace, held: Fraction | None, bits: Bits) -> int:
    """What two operators are told of what holds; under local trust the noise is drawn when it is reported."""
    outcome = place.outcomes[0]
    return round_outcome(outcome.scale_outcome(held), outcome.offer.steps, bits) if place.operators else 0

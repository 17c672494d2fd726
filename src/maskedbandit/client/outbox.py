"""What is to be sent: on disk before `report` returns, and there until the service has answered.

SQLite, as several processes of an application share the file, and as a message that was sent is overwritten and not
only forgotten. What is sent first of a ticket stands before what is sent later: of each ticket one message is under way
at a time. One process sends at a time, and sends what all of them wrote.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from maskedbandit.client.device import Noisy
from maskedbandit.client.files import PrivateFile, Turn
from maskedbandit.errors import AlreadySpent

# a journal that is emptied at each commit: a write-ahead log would keep values that were deleted
_SETTINGS = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;"
_TABLES = """
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT, study TEXT NOT NULL, ticket TEXT NOT NULL, kind TEXT NOT NULL,
    event TEXT NOT NULL, value REAL);
CREATE INDEX IF NOT EXISTS message_of_ticket ON message (study, ticket, id);
CREATE TABLE IF NOT EXISTS device_report (
    study TEXT, person TEXT, metric TEXT, value REAL NOT NULL, epsilon TEXT NOT NULL,
    PRIMARY KEY (study, person, metric));
CREATE TABLE IF NOT EXISTS place (
    study TEXT, person TEXT, ticket TEXT NOT NULL, PRIMARY KEY (study, person), UNIQUE (study, ticket));
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 0), bytes BLOB NOT NULL);
"""
_PUT = "INSERT INTO message (study, ticket, kind, event, value) VALUES (?, ?, ?, ?, ?)"
_PLACE = "SELECT 1 FROM place WHERE study = ? AND person = ? AND ticket = ?"
_FIRST_OF_TICKETS = """
SELECT id, study, ticket, kind, event, value FROM message AS one WHERE study = ? AND NOT EXISTS (
    SELECT 1 FROM message WHERE study = one.study AND ticket = one.ticket AND id < one.id) ORDER BY id LIMIT ?
"""


class Message(NamedTuple):
    """An exposure, which has no value, or a report."""

    id: int
    study: str
    ticket: str
    kind: str
    event: str
    value: float | None
    proof: str  # with which the service tells the first to report from others, and tells others nothing

    @property
    def body(self) -> dict[str, object]:
        """What the service is sent: the same whenever it is sent."""
        if self.kind == "expose":
            return {"ticket": self.ticket}
        *metric, event = self.event.split("\n")  # no event has a line break, and no metric either
        body: dict[str, object] = {
            "ticket": self.ticket,
            "value": self.value,
            "event": event,
            "proof": self.proof,
        }
        return {**body, "metric": metric[0]} if metric else body


class Outbox:
    """The messages for one service.

    >>> from tempfile import mkdtemp
    >>> outbox = Outbox(Path(mkdtemp()) / "outbox.sqlite")
    >>> outbox.put("newsletter", "abc", "expose")
    >>> outbox.put("newsletter", "abc", "report", value=1.0)
    >>> [message.kind for message in outbox.next("newsletter", 10)]
    ['expose']
    """

    def __init__(self, path: Path) -> None:
        self._file = PrivateFile(path, _SETTINGS, _TABLES)
        self.turn = Turn(path.with_suffix(".turn"))
        with self._file.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO secret VALUES (0, ?)", (secrets.token_bytes(32),))
            ((self._secret,),) = connection.execute("SELECT bytes FROM secret")

    def put(self, study: str, ticket: str, kind: str, event: str = "", value: float | None = None) -> None:
        """Write a message down."""
        row = study, ticket, kind, event, value
        with self._file.transaction() as connection:
            connection.execute(_PUT, row)

    def take_place(self, study: str, person: str, ticket: str, again: bool) -> bool:
        """Of local trust: whether the person's outcomes may be drawn here.

        They may in the folder that was told of the place when it was new, and of one place of each person. In any other
        they may have been drawn before: the place came again, and this folder may have been lost since, or be another.
        """
        if not again:
            with self._file.transaction() as connection:
                connection.execute("INSERT OR IGNORE INTO place VALUES (?, ?, ?)", (study, person, ticket))
        return bool(self._file.rows(_PLACE, study, person, ticket))

    def put_device_report(
        self, study: str, person: str, ticket: str, metric: str, draw: Callable[[Fraction], Noisy]
    ) -> None:
        """Write down what a person's device sends: drawn once, also if it is asked for again after it was sent.

        `draw` is told what the person's other outcomes have cost.

        **Guarantee**: of each outcome of a person in a study this file gives one draw away, for ever, and none under a
        place that it did not take. So a service gets no second draw by a second ticket for a person, a ticket that was
        another's, or a place of which another folder was told.
        """
        with self._file.transaction() as connection:
            if not connection.execute(_PLACE, (study, person, ticket)).fetchone():
                raise AlreadySpent("this folder was not the first to have this place: another may have reported for it")
            find = "SELECT metric, value, epsilon FROM device_report WHERE study = ? AND person = ?"
            had = {
                name: Noisy(value, Fraction(epsilon))
                for name, value, epsilon in connection.execute(find, (study, person))
            }
            if metric not in had:
                had[metric] = draw(sum((each.epsilon for each in had.values()), Fraction(0)))
                row = study, person, metric, had[metric].value, str(had[metric].epsilon)
                connection.execute("INSERT INTO device_report VALUES (?, ?, ?, ?, ?)", row)
            message = study, ticket, "report", f"{metric}\n" if metric else "", had[metric].value
            connection.execute(_PUT, message)

    def studies(self) -> list[str]:
        """Of which studies something waits."""
        return [str(study) for (study,) in self._file.rows("SELECT DISTINCT study FROM message")]

    def next(self, study: str, most: int) -> list[Message]:
        """The oldest messages of a study, one of each ticket."""
        return [self._message(*row) for row in self._file.rows(_FIRST_OF_TICKETS, study, most)]

    def _message(self, id: int, study: str, ticket: str, kind: str, event: str, value: float | None) -> Message:
        """A row as it is sent, with a proof that whoever shares the file makes too, and nobody else."""
        named = f"{study}\n{ticket}\n{event}".encode()  # none of them has a line break but between metric and event
        proof = hmac.new(self._secret, named, "sha256").hexdigest()[:32]
        return Message(id, study, ticket, kind, event, value, proof)

    def settle(self, messages: Iterable[Message]) -> None:
        """Forget messages, as the service has answered."""
        ids = [(message.id,) for message in messages]
        with self._file.transaction() as connection:
            connection.executemany("DELETE FROM message WHERE id = ?", ids)

    def close(self) -> None:
        """Give the files back."""
        self._file.close()
        self.turn.close()

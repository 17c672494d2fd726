"""What is to be sent: on disk before `report` returns, and there until the service has answered.

SQLite, as several processes of an application share the file, and as a message that was sent is overwritten and not
only forgotten. What is sent first of a ticket stands before what is sent later: of each ticket one message is under way
at a time. One process sends at a time, and sends what all of them wrote.
"""

import hmac
import secrets
from collections.abc import Callable, Iterable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from maskedbandit.client.local_noise import NoisyReport
from maskedbandit.client.places import read_held_places
from maskedbandit.errors import AlreadySpent
from maskedbandit.private_files import PrivateFile, Turn

# a journal that is emptied at each commit: a write-ahead log would keep values that were deleted
_SETTINGS = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;"
_DRAWS = """
CREATE TABLE IF NOT EXISTS device_report (
    study TEXT, person TEXT, metric TEXT, value REAL NOT NULL, epsilon TEXT NOT NULL,
    PRIMARY KEY (study, person, metric));
"""
_TABLES = f"""
CREATE TABLE IF NOT EXISTS message (
    id INTEGER PRIMARY KEY AUTOINCREMENT, study TEXT NOT NULL, ticket TEXT NOT NULL, kind TEXT NOT NULL,
    event TEXT NOT NULL, value REAL);
CREATE INDEX IF NOT EXISTS message_of_ticket ON message (study, ticket, id);
{_DRAWS}
CREATE TABLE IF NOT EXISTS place (
    study TEXT, person TEXT, ticket TEXT NOT NULL, PRIMARY KEY (study, person), UNIQUE (study, ticket));
CREATE TABLE IF NOT EXISTS left_ticket (hash TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 0), bytes BLOB NOT NULL);
"""
# the version before kept the ticket beside each draw, and no places
_OF_BEFORE = "SELECT 1 FROM pragma_table_info('device_report') WHERE name = 'ticket'"
_PLACES_OF_DRAWS = "INSERT OR IGNORE INTO place (study, person, ticket) SELECT study, person, ticket FROM device_report"
# the name stays: the version before, started again, refuses the file, and does not draw into a table that it makes
_KEEP_DRAWS = (
    "ALTER TABLE device_report RENAME TO draw_of_before",
    _DRAWS,
    """INSERT INTO device_report (study, person, metric, value, epsilon)
    SELECT study, person, metric, value, epsilon FROM draw_of_before""",
    "DROP TABLE draw_of_before",
)
_PUT = "INSERT INTO message (study, ticket, kind, event, value) VALUES (?, ?, ?, ?, ?)"
_TAKE = "INSERT OR IGNORE INTO place (study, person, ticket) VALUES (?, ?, ?)"
_DRAWN = "INSERT INTO device_report (study, person, metric, value, epsilon) VALUES (?, ?, ?, ?, ?)"
_PLACE = "SELECT 1 FROM place WHERE study = ? AND person = ? AND ticket = ?"
_PERSON = "SELECT person FROM place WHERE study = ? AND ticket = ?"
_LEFT, _LEAVE = "SELECT 1 FROM left_ticket WHERE hash = ?", "INSERT OR IGNORE INTO left_ticket (hash) VALUES (?)"
_GIVE_UP = "UPDATE place SET ticket = ? WHERE study = ? AND person = ?"  # no ticket has a space
_FIRST_OF_TICKETS = """
SELECT id, study, ticket, kind, event, value FROM message AS one WHERE study = ? AND NOT EXISTS (
    SELECT 1 FROM message WHERE study = one.study AND ticket = one.ticket AND id < one.id) ORDER BY id LIMIT ?
"""


class Message(NamedTuple):
    """An exposure or a leave, which have no value, or a report."""

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
        if self.kind != "report":
            return {"ticket": self.ticket}
        *metric, event = self.event.split("\n")  # no event has a line break, and no metric either
        body: dict[str, object] = {"ticket": self.ticket, "value": self.value, "event": event, "proof": self.proof}
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
        if self._file.rows(_OF_BEFORE):
            self._bring_up_to_date(read_held_places(path.with_suffix(".known")))
        with self._file.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO secret (id, bytes) VALUES (0, ?)", (secrets.token_bytes(32),))
            ((self._secret,),) = connection.execute("SELECT bytes FROM secret")
        self.turn = Turn(path.with_suffix(".turn"))

    def _bring_up_to_date(self, places: list[tuple[str, str, str]]) -> None:
        """Go on with a file of the version before: its draws stand, and its people keep their places, one of each.

        Whoever has drawn comes first: no ticket of a draw is another's. A file that is new takes no places, although
        there may be some of before: it does not know of their draws.
        """
        with self._file.transaction() as connection:
            if connection.execute(_OF_BEFORE).fetchone():  # no other process was faster
                connection.execute(_PLACES_OF_DRAWS)
                connection.executemany(_TAKE, places)
                for statement in _KEEP_DRAWS:
                    connection.execute(statement)

    def put(self, study: str, ticket: str, kind: str, event: str = "", value: float | None = None) -> None:
        """Write a message down, unless whoever has this ticket left."""
        row = study, ticket, kind, event, value
        with self._file.transaction() as connection:
            if not connection.execute(_LEFT, (hash_ticket(study, ticket),)).fetchone():
                connection.execute(_PUT, row)

    def take_place(self, study: str, person: str, ticket: str, again: bool) -> bool:
        """Whether noise for the person's outcomes may be drawn here, under local trust.

        It may in the folder that was told of the place when it was new, and for one place of each person. In any other
        folder noise may have been drawn before: the place came again, and the first folder may be lost, or another one.
        """
        if not again:
            with self._file.transaction() as connection:
                connection.execute(_TAKE, (study, person, ticket))
        return bool(self._file.rows(_PLACE, study, person, ticket))

    def put_device_report(
        self, study: str, person: str, ticket: str, metric: str, draw: Callable[[Fraction], NoisyReport]
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
                name: NoisyReport(value, Fraction(epsilon))
                for name, value, epsilon in connection.execute(find, (study, person))
            }
            if metric not in had:
                had[metric] = draw(sum((each.epsilon for each in had.values()), Fraction(0)))
                row = study, person, metric, had[metric].value, str(had[metric].epsilon)
                connection.execute(_DRAWN, row)
            message = study, ticket, "report", f"{metric}\n" if metric else "", had[metric].value
            connection.execute(_PUT, message)

    def put_leaving(self, study: str, ticket: str) -> None:
        """Write down that a person leaves: nothing else of this ticket is sent, and what was drawn for it is forgotten.

        That it left stays written down, as a hash, also once the service knows: outcomes may come after that. Of local
        trust so does that there was a place, by the hash of the person: there is no second one.
        """
        of_ticket, row = (study, ticket), (study, ticket, "leave", "", None)
        with self._file.transaction() as connection:
            connection.execute("DELETE FROM message WHERE study = ? AND ticket = ?", of_ticket)
            connection.execute(_LEAVE, (hash_ticket(study, ticket),))
            connection.execute(_PUT, row)
            for (person,) in connection.execute(_PERSON, of_ticket).fetchall():
                connection.execute("DELETE FROM device_report WHERE study = ? AND person = ?", (study, person))
                connection.execute(_GIVE_UP, (f"left {person}", study, person))

    def studies(self) -> list[str]:
        """The studies of which something waits."""
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


def hash_ticket(study: str, ticket: str) -> str:
    """The hash of a ticket, by which the outbox knows that its person has left."""
    return sha256(f"{study}\n{ticket}".encode()).hexdigest()

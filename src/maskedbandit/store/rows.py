"""The places and rewards that a transaction touches: read together at its start, and written together at its end.

A server answers one question about a hundred rows in hardly more time than one about a single row.
"""

from collections.abc import Iterable
from itertools import chain
from os import urandom
from typing import NamedTuple

from maskedbandit.errors import UnknownTicket
from maskedbandit.secagg.uploads import Upload
from maskedbandit.store.accounts import Accounts
from maskedbandit.store.databases.database import Database
from maskedbandit.store.requests import ReportName


class Place(NamedTuple):
    """A place that was dealt."""

    ticket: str
    cohort: int
    place: int
    arm: int
    person: str | None
    propensity: str  # a fraction
    loss: int
    period: int
    assigned: int
    exposed: int | None = None
    returned: int | None = None
    site: int | None = None  # whose person it is, if sites keep the outcomes


COLUMNS = ", ".join(Place._fields)
PUT_UPLOAD = (
    "INSERT INTO upload (study, ticket, report, turn, leader, helper, received) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (study, ticket) DO UPDATE SET report = excluded.report, turn = excluded.turn, "
    "leader = excluded.leader, helper = excluded.helper, received = excluded.received"
)
NAME = ", ".join(ReportName._fields)


class Rows:
    """The rows of a study that were read in this transaction, with what will be written at its end."""

    def __init__(self, database: Database, study: str, accounts: Accounts, uploads: bool = False) -> None:
        self._database, self._study, self._accounts = database, study, accounts
        self._uploading = uploads  # whether devices upload sealed reports
        self.clear()

    def clear(self) -> None:
        """Forget all that was read and not written."""
        self._places: dict[str, Place | None] = {}  # by ticket
        self._of_people: dict[str, str | None] = {}  # the ticket of a person's place
        self._erased: set[str] = set()  # people
        self._reports: dict[ReportName, float | None] = {}  # what came before of those that were asked for
        self._uploads: dict[str, Upload | None] = {}  # that stand, by ticket
        self._new_uploads: dict[str, int] = {}  # when they came
        self._new_places: dict[str, Place] = {}
        self._new_exposures: dict[str, int] = {}
        self._new_reports: list[tuple[str, str, str, str, float, int, int]] = []

    def read(self, tickets: Iterable[str], people: Iterable[str], reports: Iterable[ReportName] = ()) -> None:
        """Read all rows about these, so that the operations need not ask for each.

        Of reports those alone are read that are named, with the proof of whoever made them: what is read for somebody,
        and how long it takes, does not depend on what others reported.
        """
        database, study = self._database, self._study
        if people := [person for person in people if person not in self._of_people]:
            self._of_people |= dict.fromkeys(people)
            if charged := self._accounts.tickets(people):  # all others never had a place
                find = f"SELECT {COLUMNS} FROM place WHERE study = ? AND returned IS NULL AND ticket IN keys"
                for row in database.rows_in(find, study, keys=list(chain.from_iterable(charged.values()))):
                    found = Place(*row)
                    self._of_people[str(found.person)] = found.ticket
                    self._places.setdefault(found.ticket, found)
                find = "SELECT person FROM erased WHERE study = ? AND person IN keys"
                self._erased |= {person for (person,) in database.rows_in(find, study, keys=list(charged))}
        tickets = list(tickets)
        if self._uploading:
            self._read_uploads(tickets)
        if tickets := [ticket for ticket in tickets if ticket not in self._places]:
            find = f"SELECT {COLUMNS} FROM place WHERE study = ? AND ticket IN keys"
            self._places = (
                dict.fromkeys(tickets)
                | {row[0]: Place(*row) for row in database.rows_in(find, study, keys=tickets)}
                | self._places
            )
        if reports := [report for report in reports if report.proof and report not in self._reports]:
            self._reports |= dict.fromkeys(reports)
            names, keys = ReportName._fields, [(study, *report) for report in reports]
            for *name, value in database.rows_by("reward", (*names, "value"), ("study", *names), keys):
                self._reports[ReportName(*name)] = value

    def place(self, ticket: str) -> Place:
        """The place with this ticket."""
        if type(ticket) is str and ticket.isalnum():
            if ticket not in self._places:
                self.read([ticket], [])
            if (found := self._places[ticket]) is not None:
                return found
        raise UnknownTicket(f"no place of {self._study} has this ticket")

    def place_of(self, person: str) -> Place | None:
        """The place that a person has."""
        if person not in self._of_people:
            self.read([], [person])
        ticket = self._of_people[person]
        return None if ticket is None else self._places[ticket]

    def was_erased(self, person: str) -> bool:
        """Whether the person's data was erased."""
        if person not in self._of_people:
            self.read([], [person])
        return person in self._erased

    def deal(self, place: Place) -> None:
        """A new place."""
        self._places[place.ticket] = self._new_places[place.ticket] = place
        self._of_people[str(place.person)] = place.ticket

    def add_exposure(self, ticket: str, now: int) -> Place:
        """The place, now that it was seen."""
        seen = self.place(ticket)._replace(exposed=now)
        self._places[ticket] = seen
        if ticket in self._new_places:
            self._new_places[ticket] = seen
        else:
            self._new_exposures[ticket] = now
        return seen

    def add_report(self, report: ReportName, value: float, now: int, position: int) -> float | None:
        """Write a report down, unless it came before: its value then, if whoever made it can prove to have done so.

        It is written by the same statement whether or not there is one of this name.
        """
        if report not in self._reports:
            self.read([], [], [report])
        if (before := self._reports.get(report)) is None:
            self._new_reports.append((self._study, *report, value, now, position))
            if report.proof:
                self._reports[report] = value
        return before

    def add_upload(self, ticket: str, upload: Upload, now: int) -> Upload | None:
        """Write a report of a device down if it is newer than the one that stood before, which is returned."""
        self._read_uploads([ticket])
        before = self._uploads[ticket]
        if before is None or before.turn < upload.turn:
            self._uploads[ticket] = upload
            self._new_uploads[ticket] = now
        return before

    def _read_uploads(self, tickets: Iterable[str]) -> None:
        """Read the reports of devices that stand for these tickets."""
        if tickets := [ticket for ticket in tickets if ticket not in self._uploads]:
            self._uploads |= dict.fromkeys(tickets)
            find = "SELECT ticket, report, turn, leader, helper FROM upload WHERE study = ? AND ticket IN keys"
            for ticket, report, turn, *shares in self._database.rows_in(find, self._study, keys=tickets):
                leader, helper = (bytes.fromhex(each or "") for each in shares)
                self._uploads[ticket] = Upload(bytes.fromhex(report), turn, leader, helper)

    def write(self) -> int:
        """Write what is new, and forget what was read: how many places are new."""
        database, study = self._database, self._study
        written = len(self._new_places)
        if self._new_places:
            new = [(study, *place, urandom(16).hex()) for place in self._new_places.values()]
            database.insert("place", f"study, {COLUMNS}, salt", new)
        if self._new_exposures:
            database.each(
                "UPDATE place SET exposed = ? WHERE study = ? AND ticket = ?",
                [(now, study, ticket) for ticket, now in self._new_exposures.items()],
            )
        if self._new_reports:
            database.insert_missing("reward", f"study, {NAME}, value, received, position", self._new_reports)
        if self._new_uploads:
            found = ((ticket, self._uploads[ticket], now) for ticket, now in self._new_uploads.items())
            sent = [
                (study, ticket, each.report.hex(), each.turn, each.leader.hex(), each.helper.hex(), now)
                for ticket, each, now in found
                if each is not None
            ]
            database.each(PUT_UPLOAD, sent)
        self.clear()
        return written

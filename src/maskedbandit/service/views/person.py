"""What a person is shown who asks what a study has of them: their place, what it costs, and whom they trust.

All of it follows from the protocol, from who came, when, and what that cost. Nothing is said of reports, as whether
there is one may be the outcome; but where devices seal them for two operators they come at times that depend on none.
"""

from msgspec import Struct

from maskedbandit.service.views.describe import protocol_of
from maskedbandit.store.accounts import Accounts, Losses, find_places
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database


class PersonOperator(Struct):
    """One of two operators, with the fingerprint of its keys."""

    name: str
    key: str


class PersonPlace(Struct):
    """A place in a study; times are in milliseconds since 1970, null if the arm was not seen yet."""

    arm: str
    cost: str
    assigned: int
    exposed: int | None
    ends: int | None  # of the window in which an outcome counts
    taken_until: int | None  # when reports are taken no more
    reported: int | None  # of two operators: when the newest sealed report came


class PersonShown(Struct):
    """What a study has of a person: no place, if there is none or the person left."""

    study: str
    about: str
    trust: str
    operators: list[PersonOperator]  # the leader and the helper, if there are two
    spent: str  # in the present period, in all studies of the project
    budget: str
    period: int | None  # of the budget, in milliseconds; null: for ever
    place: PersonPlace | None


def read_person(database: Database, witness: Witness, name: str, unit: str, now: int) -> PersonShown:
    """What a study has of a person."""
    with database.still():
        protocol = protocol_of(database, name)
        person, operators = witness.pseudonyms(protocol.project).of(unit), protocol.operators
        both = [operators.leader, operators.helper] if operators else []
        losses = Losses(database)
        accounts = Accounts(database, losses, protocol.project)
        columns = "ticket, arm, loss, assigned, exposed, returned"
        kept = [row for *row, returned in find_places(database, name, person, columns) if returned is None]
        place = None
        for ticket, number, loss, assigned, exposed in kept:
            book = Book(name, protocol, read_entries(database, name, "arm_"), database)
            place = PersonPlace(
                arm=book.protocol.arms[number][0],
                cost=str(losses[loss]),
                assigned=assigned,
                exposed=exposed,
                ends=None if exposed is None else exposed + protocol.reward.window,
                taken_until=None if exposed is None else exposed + protocol.reward.taken_for,
                reported=None if operators is None else read_report_time(database, name, ticket),
            )
        return PersonShown(
            study=name,
            about=protocol.about,
            trust=protocol.channel.trust,
            operators=[PersonOperator(each.name, each.key) for each in both],
            spent=str(accounts.spent(person, accounts.period(now))),
            budget=str(protocol.budget),
            period=protocol.period,
            place=place,
        )


def read_report_time(database: Database, study: str, ticket: str) -> int | None:
    """When the newest sealed report of a place came."""
    row = database.one("SELECT received FROM upload WHERE study = ? AND ticket = ?", study, ticket)
    return None if row is None else int(row[0])

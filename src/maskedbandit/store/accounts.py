"""What each person has spent, in the database: across the studies of a project, in each period.

A charge is a conditional update: it changes the account only if it is still as it was read; if not, the transaction is
done again. So charges of several processes cannot both fit a budget that has room for one. An account holds the
person's first charge, which decides by which rule further ones are judged (privacy/budget.py), and the sum of all. Both
are exact; the text of each loss stands in the database once.

An account also names the places that were charged, by their tickets: it is how the places of a person are found.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from maskedbandit.errors import Corrupted, InvalidValue
from maskedbandit.privacy.budget import Account, Budget
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store.databases.database import Again, Database, Row

FOREVER = 0  # the number of the only period
COLUMNS, ONE = "project, person, period, first, spent, tickets", "project = ? AND person = ? AND period = ?"


def number_loss(text: str) -> int:
    """The number of the loss with this text: the first 63 bits of its hash."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


@lru_cache(maxsize=64)
def read_loss(text: str) -> Loss:
    """The loss with this text: studies that are opened again and again have the same few."""
    return Loss.from_text(text)


class Losses:
    """The losses of a database, each with a number."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[int, Loss] = {}
        self._numbers: dict[str, int] = {}

    def number(self, loss: Loss) -> int:
        """The number of a loss, which is written down if it is new."""
        text = loss.to_text()
        if text not in self._numbers:
            number = number_loss(text)
            new = "INSERT INTO loss (loss, text) VALUES (?, ?) ON CONFLICT DO NOTHING"
            self._database.change(new, number, text)
            if self[number] != loss:
                raise Corrupted(f"loss {number} of the database is not {loss}")
            self._numbers[text] = number
        return self._numbers[text]

    def __getitem__(self, number: int) -> Loss:
        if number not in self._known:
            found = self._database.one("SELECT text FROM loss WHERE loss = ?", number)
            if found is None or number_loss(found[0]) != number:
                raise Corrupted(f"the text of loss {number} was changed or removed")
            self._known[number] = read_loss(found[0])
        return self._known[number]

    def forget(self) -> None:
        """Forget what was written in a transaction that was undone."""
        self._numbers.clear()
        self._known.clear()


def find_places(database: Database, study: str, person: str, columns: str) -> list[Row]:
    """These columns of all places that a person was ever given in a study, as the person's accounts name them."""
    named = "SELECT tickets FROM account WHERE person = ? AND project = (SELECT project FROM study WHERE study = ?)"
    tickets = [ticket for (tickets,) in database.rows(named, person, study) for ticket in tickets.split()]
    find = f"SELECT {columns} FROM place WHERE study = ? AND person = ? AND ticket IN keys"
    return database.rows_in(find, study, person, keys=tickets)


def forget_ticket(database: Database, study: str, person: str, ticket: str) -> None:
    """Take a ticket of a study out of the account that names it, as the person's data is erased."""
    where = "person = ? AND project = (SELECT project FROM study WHERE study = ?)"
    database.change(f"UPDATE account SET tickets = REPLACE(tickets, ?, '') WHERE {where}", f"{ticket} ", person, study)


def add_charge(database: Database, losses: Losses, which: tuple[str, str, int], loss: int, tickets: str = "") -> None:
    """Charge a person of a project, in a period, whether or not it fits the budget."""
    before = database.one(f"SELECT spent FROM account WHERE {ONE}", *which)
    if before is None:
        database.insert("account", COLUMNS, [(*which, loss, loss, tickets)])
    else:
        more = losses.number(losses[before[0]] + losses[loss])
        add = f"UPDATE account SET spent = ?, tickets = tickets || ? WHERE {ONE}"
        database.change(add, more, tickets, *which)


class Terms(NamedTuple):
    """What a project promises its people."""

    budget: int  # the number of a loss
    period: int | None
    burned: int | None


class Accounts:
    """The accounts of a project."""

    def __init__(self, database: Database, losses: Losses, project: str) -> None:
        self._database, self._losses, self.project = database, losses, project
        found = database.one("SELECT budget, period, burned FROM project WHERE project = ?", project)
        if found is None:
            raise Corrupted(f"project {project} was removed: nobody knows what its people were promised")
        self.terms = Terms(*found)
        self.budget = Budget(losses[self.terms.budget])
        self._found: dict[str, dict[int, Row]] = {}  # accounts as they were read, by person and period
        self._new: dict[tuple[str, int], tuple[int, int, str]] = {}  # as they are to be, and tickets that are new
        self._after: dict[tuple[Row | None, int], tuple[int, int]] = {}  # what accounts become

    @staticmethod
    def create(database: Database, losses: Losses, project: str, budget: Loss, period: int | None) -> None:
        """Make a project, or raise `InvalidValue` if there is one with studies and another budget."""
        without = "NOT EXISTS (SELECT study FROM study WHERE study.project = project.project)"
        database.change(f"DELETE FROM project WHERE project = ? AND {without}", project)
        number = losses.number(budget)
        new = "INSERT INTO project (project, budget, period) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
        if not database.change(new, project, number, period):
            terms = Accounts(database, losses, project).terms
            if (terms.budget, terms.period) != (number, period):
                allowed = f"that of project {project}, {losses[terms.budget]} with a period of {terms.period} ms"
                raise InvalidValue("budget", f"{budget} with a period of {period} ms", allowed)

    def renew(self) -> None:
        """Read what was burned: another process may have burned more."""
        found = self._database.rows("SELECT burned FROM project WHERE project = ?", self.project)[0][0]
        if found != self.terms.burned:
            self.terms = self.terms._replace(burned=found)
            self._after.clear()

    def period(self, now: int) -> int:
        """The number of the period in which a time lies."""
        return FOREVER if self.terms.period is None else now // self.terms.period

    def tickets(self, people: Sequence[str]) -> dict[str, list[str]]:
        """The tickets of the places of these people, in all studies of the project, if they were ever charged.

        The accounts are read at once.
        """
        missing = [person for person in people if person not in self._found]
        if missing:
            find = "SELECT person, period, first, spent, tickets FROM account WHERE project = ? AND person IN keys"
            self._found |= {person: {} for person in missing}
            for person, period, *account in self._database.rows_in(find, self.project, keys=missing):
                self._found[person][period] = tuple(account)
        return {
            person: [ticket for *_, named in found.values() for ticket in named.split()]
            for person in people
            if (found := self._found[person])
        }

    def charge(self, person: str, period: int, loss: int, ticket: str) -> None:
        """Add a loss to what the person has spent in a period, or raise `BudgetExceeded` and change nothing.

        The ticket is that of the place. It is written, and certain, only after `write`.
        """
        if person not in self._found:
            self.tickets([person])
        new = self._new.get((person, period))
        account = new or self._found[person].get(period)
        tickets = f"{new[2] if new else ''}{ticket} "
        self._new[person, period] = *self._charged(account and account[:2], loss), tickets

    def write(self) -> None:
        """Write the charges, or raise `Again` if another process charged one of these people since they were read."""
        first, more = list[Row](), list[Row]()
        for (person, period), (start, spent, tickets) in self._new.items():
            who = self.project, person, period
            if (found := self._found[person].get(period)) is None:
                first.append((*who, start, spent, tickets))
            else:
                more.append((spent, tickets, *who, *found[:2]))
        done = self._database.insert_missing("account", COLUMNS, first) if first else 0
        if more:
            update = f"UPDATE account SET spent = ?, tickets = tickets || ? WHERE {ONE} AND first = ? AND spent = ?"
            done += self._database.each(update, more)
        if done != len(self._new):
            raise Again("another process charged the same person")
        self._found, self._new = {}, {}

    def spent(self, person: str, period: int) -> Loss:
        """What the person has spent in a period, and what was burned."""
        found = self._database.one(f"SELECT spent FROM account WHERE {ONE}", self.project, person, period)
        return self._burned() + (self._losses[found[0]] if found else ZERO)

    def burn(self, loss: Loss) -> None:
        """Charge this to everybody, in every period, whether or not it fits their budgets."""
        number = self._losses.number(self._burned() + loss)
        self._database.change("UPDATE project SET burned = ? WHERE project = ?", number, self.project)
        self.terms = self.terms._replace(burned=number)
        self._after.clear()

    def forget(self) -> None:
        """Forget what was read and written in a transaction that was undone."""
        self._after, self._found, self._new = {}, {}, {}

    def _burned(self) -> Loss:
        return ZERO if self.terms.burned is None else self._losses[self.terms.burned]

    def _charged(self, account: Row | None, loss: int) -> tuple[int, int]:
        """The first charge and the sum of an account after a charge; None is that of a person never charged."""
        key = account, loss
        if key not in self._after:
            losses = self._losses
            start = account[0] if account else self.terms.burned
            own = losses[account[1]] if account else ZERO
            before = None if start is None else Account(losses[start], self._burned() + own)
            after = self.budget.after(before, losses[loss])
            self._after[key] = losses.number(after.first), losses.number(own + losses[loss])
        return self._after[key]

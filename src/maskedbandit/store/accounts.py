"""What each person has spent, in the database: across the studies of a project, in each period.

A charge is a conditional update: it changes the account only if it is still as it was read; if not, the transaction is
done again. So charges of several processes cannot both fit a budget that has room for one. An account holds the
person's first charge, which decides by which rule further ones are judged (privacy/budget.py), and the sum of all. Both
are exact; the text of each loss stands in the database once.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from maskedbandit.errors import Corrupted, InvalidValue
from maskedbandit.privacy.budget import Account, Budget
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.store.database import Again, Database, Row

FOREVER = 0  # the number of the only period


def number_of(text: str) -> int:
    """The number of the loss with this text: the first 63 bits of its hash."""
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big") >> 1


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
            number = number_of(text)
            self._database.change("INSERT INTO loss VALUES (?, ?) ON CONFLICT DO NOTHING", number, text)
            if self[number] != loss:
                raise Corrupted(f"loss {number} of the database is not {loss}")
            self._numbers[text] = number
        return self._numbers[text]

    def __getitem__(self, number: int) -> Loss:
        if number not in self._known:
            found = self._database.one("SELECT text FROM loss WHERE loss = ?", number)
            if found is None or number_of(found[0]) != number:
                raise Corrupted(f"the text of loss {number} was changed or removed")
            self._known[number] = Loss.from_text(found[0])
        return self._known[number]

    def forget(self) -> None:
        """After a transaction was undone: nothing that it wrote is there."""
        self._numbers.clear()
        self._known.clear()


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
        self._found: dict[tuple[str, int], Row | None] = {}  # accounts as they were read
        self._new: dict[tuple[str, int], tuple[int, int]] = {}  # and as they are to be
        self._after: dict[tuple[Row | None, int], tuple[int, int]] = {}  # what accounts become

    @staticmethod
    def create(database: Database, losses: Losses, project: str, budget: Loss, period: int | None) -> None:
        """Make a project, or raise `InvalidValue` if there is one with another budget."""
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

    def read(self, people: Sequence[str], period: int) -> None:
        """Read the accounts of these people, so that charges need not ask for each."""
        find = "SELECT person, first, spent FROM account WHERE project = ? AND period = ? AND person IN keys"
        missing = [person for person in people if (person, period) not in self._found]
        if not missing:
            return
        self._found |= dict.fromkeys((person, period) for person in missing)
        for person, *account in self._database.rows_in(find, self.project, period, keys=missing):
            self._found[person, period] = tuple(account)

    def charge(self, person: str, period: int, loss: int) -> None:
        """Add a loss to what the person has spent in a period, or raise `BudgetExceeded` and change nothing.

        It is written, and certain, only after `write`.
        """
        who = person, period
        if who not in self._found:
            self.read([person], period)
        self._new[who] = self._charged(self._new.get(who, self._found[who]), loss)

    def write(self) -> None:
        """Write the charges, or raise `Again` if another process charged one of these people since they were read."""
        found, new = self._found, self._new
        first = [(self.project, *who, *account) for who, account in new.items() if found[who] is None]
        more = [(account[1], self.project, *who, *(found[who] or ())) for who, account in new.items() if found[who]]
        columns, where = "project, person, period, first, spent", "project = ? AND person = ? AND period = ?"
        done = self._database.insert_missing("account", columns, first) if first else 0
        if more:
            update = f"UPDATE account SET spent = ? WHERE {where} AND first = ? AND spent = ?"
            done += self._database.each(update, more)
        if done != len(new):
            raise Again("another process charged the same person")
        self._found, self._new = {}, {}

    def spent(self, person: str, period: int) -> Loss:
        """What the person has spent in a period, and what was burned."""
        where = "WHERE project = ? AND person = ? AND period = ?"
        found = self._database.one(f"SELECT spent FROM account {where}", self.project, person, period)
        return self._burned() + (self._losses[found[0]] if found else ZERO)

    def burn(self, loss: Loss) -> None:
        """Take it that everybody has spent this too, in every period, whether or not it fits their budgets."""
        number = self._losses.number(self._burned() + loss)
        self._database.change("UPDATE project SET burned = ? WHERE project = ?", number, self.project)
        self.terms = self.terms._replace(burned=number)
        self._after.clear()

    def forget(self) -> None:
        """After a transaction was undone: nothing that it read or wrote is there."""
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

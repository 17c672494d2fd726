"""Whether many of the newest people could not be in another study like this one: what they were charged is no outcome.

How many these are is not said: it would tell that one of them left, or is in another study now.
"""

from typing import NamedTuple

from maskedbandit.errors import BudgetExceeded
from maskedbandit.privacy.budget import Account, Budget
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.service.views.health import MANY_WASTED, NEWEST_PLACES
from maskedbandit.store.accounts import Accounts, Losses
from maskedbandit.store.book.book import Book

MANY_SPENT = MANY_WASTED  # of the newest people


class SpentBudgets(NamedTuple):
    """Many of the newest people have less left than another place costs."""

    ends: int | None  # of the period, in milliseconds; None: for ever


def find_spent_budgets(book: Book, now: int) -> SpentBudgets | None:
    """If many have less left than another place costs, in the period that it is; None if they have not.

    Where the budget has room for one place, that is as it was planned, and nothing is said.
    """
    if (database := book.database) is None:
        return None
    losses, protocol = Losses(database), book.protocol
    accounts = Accounts(database, losses, protocol.project)
    newest = (
        "SELECT person, period, loss FROM place WHERE study = ? AND assigned < ? AND person IS NOT NULL "
        "AND returned IS NULL ORDER BY assigned DESC, cohort, place LIMIT ?"
    )
    find = (
        f"SELECT first, spent, loss, COUNT(*) FROM ({newest}) AS newest JOIN account USING (person, period) "
        "WHERE project = ? AND period = ? GROUP BY first, spent, loss"
    )
    period, span = accounts.period(now), accounts.terms.period
    given = book.study, book.horizon.time, NEWEST_PLACES, protocol.project, period
    burned = ZERO if accounts.terms.burned is None else losses[accounts.terms.burned]
    many = 0
    for first, spent, loss, count in database.rows(find, *given):
        place = losses[loss]
        if has_room(accounts.budget, Account(place, place), place):
            many += count * (not has_room(accounts.budget, Account(losses[first], burned + losses[spent]), place))
    return SpentBudgets(None if span is None else (period + 1) * span) if many >= MANY_SPENT else None


def has_room(budget: Budget, account: Account, loss: Loss) -> bool:
    """Whether another charge fits."""
    try:
        budget.after(account, loss)
    except BudgetExceeded:
        return False
    return True

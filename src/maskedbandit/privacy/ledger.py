"""Who has spent how much: charged before data is collected, refused over budget."""

from threading import Lock
from typing import Any

from maskedbandit.errors import InvalidValue
from maskedbandit.privacy.budget import Account, Budget
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.user import User, checked_user


class Ledger:
    """What each user has spent of a `Budget` that is the same for all.

    **Guarantee**: what is released about a user stays within the budget, however the charges are chosen and
    from however many threads they come, if every release is charged first, with a loss that bounds it.

    >>> ledger = Ledger(Loss.pure(1))
    >>> for _ in range(10):
    ...     ledger.charge("ann", Loss.pure(0.1))
    >>> ledger.charge("ann", Loss.pure(0.1))
    Traceback (most recent call last):
    maskedbandit.errors.BudgetExceeded: over the budget of ε = 1: pure ε would be 1.1 where 1 is allowed
    >>> ledger.spent("ann"), ledger.spent("bob")
    (Loss(ε = 1), Loss(ε = 0))
    """

    def __init__(self, budget: Loss) -> None:
        self._rules = Budget(budget)
        self.budget = self._rules.loss
        self._accounts: dict[User, Account] = {}
        self._worst = ZERO
        self._lock = Lock()

    def charge(self, user: User, loss: Loss) -> None:
        """Add `loss` to what the user has spent, or raise `BudgetExceeded` and change nothing."""
        if not isinstance(loss, Loss):
            raise InvalidValue("loss", loss, "a Loss, such as Loss.pure(0.1)")
        with self._lock:
            before = self._accounts.get(checked_user(user))
            if loss == ZERO:
                return
            after = self._rules.after(before, loss)
            self._worst |= after.spent  # first, so that an interrupt in between leaves it too large
            self._accounts[user] = after

    def spent(self, user: User) -> Loss:
        """The sum of the user's charges; `ZERO` for a user never charged."""
        account = self._accounts.get(checked_user(user))
        return account.spent if account else ZERO

    def worst(self) -> Loss:
        """The smallest loss that bounds every user's."""
        return self._worst

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which cannot be pickled and does not belong to a copy."""
        with self._lock:
            return {**self.__dict__, "_accounts": dict(self._accounts), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

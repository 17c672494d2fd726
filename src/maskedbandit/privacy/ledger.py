"""Who has spent how much: charged before data is collected, refused over budget."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock
from typing import Any

from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.privacy.exact import exact
from maskedbandit.privacy.filters import Filter, compared, filters
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.renyi_divergences import INF
from maskedbandit.privacy.user import User, checked_user


class Ledger:
    """What each user has spent of a budget that is the same for all.

    A budget with a pure ε is a guarantee of (ε, δ)-privacy, whatever tighter curve it has: of 1000 times ε = 0.01 it is
    the sum, 10, that may be spent. A budget without one is a guarantee of its curve and δ. If
    a budget is the loss of a single release, that part is ignored, as it says nothing of sums: see
    `Loss.without_single`.

    Charges add up as `filters` says. The rule for a user is the one that allows most charges like the first. A first
    charge that fits only on its own, at its own best order or as a single release, is accepted, and is the user's last.

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
        if not isinstance(budget, Loss):
            raise InvalidValue("budget", budget, "a Loss, such as Loss.pure(1)")
        self.budget = budget.without_single()
        self._rules = filters(self.budget)
        self._accounts: dict[User, tuple[Loss, Filter | None]] = {}  # without a rule: nothing more fits
        self._worst = ZERO
        self._lock = Lock()

    def charge(self, user: User, loss: Loss) -> None:
        """Add `loss` to what the user has spent, or raise `BudgetExceeded` and change nothing."""
        if not isinstance(loss, Loss):
            raise InvalidValue("loss", loss, "a Loss, such as Loss.pure(0.1)")
        with self._lock:
            account = self._accounts.get(checked_user(user))
            if loss == ZERO:
                return
            if account is None:
                account = loss, self._first_rule(loss)
            else:
                account = account[0] + loss, account[1]
                reason = account[1].refusal(account[0]) if account[1] else "the user's first charge has used it up"
                if reason:
                    raise self._exceeded(reason)
            self._worst |= account[0]  # first, so that an interrupt in between leaves it too large
            self._accounts[user] = account

    def _first_rule(self, loss: Loss) -> Filter | None:
        """The rule for a user whose first charge this is; None if the charge fits but nothing may be added to it."""
        rule = self._rules[0] if len(self._rules) == 1 else max(self._rules, key=lambda rule: rule.times(loss))
        reason = rule.refusal(loss)
        if reason is None:
            return rule
        epsilon, delta = self.budget.pure_epsilon, self.budget.delta
        if epsilon < INF and delta > 0:
            found = replace(loss, pure_epsilon=INF).epsilon(delta)
            if found < INF and exact("epsilon", found, strict=False) <= epsilon:
                return None
            at = f"ε at δ = {float(delta):.4g}"
            reason = self._rules[-1].refusal(loss) if found == INF else compared(at, loss.epsilon(delta), epsilon)
        raise self._exceeded(reason)

    def _exceeded(self, reason: str | None) -> BudgetExceeded:
        return BudgetExceeded(f"over the budget of {self.budget}: {reason}")

    def spent(self, user: User) -> Loss:
        """The sum of the user's charges; `ZERO` for a user never charged."""
        account = self._accounts.get(checked_user(user))
        return account[0] if account else ZERO

    def worst(self) -> Loss:
        """The smallest loss that bounds every user's."""
        return self._worst

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which cannot be pickled and does not belong to a copy."""
        with self._lock:
            return {**self.__dict__, "_accounts": dict(self._accounts), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

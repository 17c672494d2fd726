"""Who has spent how much: charged before data is collected, refused over budget.

A ledger is a privacy filter: it holds even if each loss is chosen after seeing what the earlier ones bought.

* If the budget is pure, the sum of the ε stays within it. The log-ratio of a history is the sum of those of
  its steps, each at most the ε of its step: on every path it is within the budget [RRUV16].
* Otherwise the sum of the curves stays within the budget's curve, wherever that is finite. At one order,
  fixed in advance, that is a valid filter [FZ21]; hence at each of them, hence at all.
* The sum of the δ stays within the budget's δ: a union bound [WRRW23].

It would not be valid to ask only that the ε at some δ, converted at whatever order turns out best, stay
below a target: the best order differs from path to path, none is kept on all of them, and the theorem needs
one.
"""

from __future__ import annotations

from collections.abc import Hashable
from threading import Lock
from typing import Any

from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.privacy.divergences import INF, ORDERS
from maskedbandit.privacy.loss import ZERO, Loss


class Ledger:
    """What each user has spent of a budget that is the same for all.

    **Guarantee**: no user's loss exceeds the budget (its pure ε, or else its curve; and its δ), however the
    charges are chosen and from however many threads they come.

    >>> ledger = Ledger(Loss.pure(1))
    >>> for _ in range(10):
    ...     ledger.charge("ann", Loss.pure(0.1))
    >>> ledger.charge("ann", Loss.pure(0.1))
    Traceback (most recent call last):
    maskedbandit.errors.BudgetExceeded: user 'ann' spent ε = 1 and asks for ε = 0.1: over ε = 1, in pure ε
    >>> ledger.spent("ann"), ledger.spent("bob")
    (Loss(ε = 1), Loss(ε = 0))
    """

    def __init__(self, budget: Loss) -> None:
        if not isinstance(budget, Loss):
            raise InvalidValue("budget", budget, "a Loss, such as Loss.pure(1)")
        self.budget = budget
        self._spent: dict[Hashable, Loss] = {}
        self._worst = ZERO
        self._lock = Lock()

    def charge(self, user: Hashable, loss: Loss) -> None:
        """Add `loss` to what the user has spent, or raise `BudgetExceeded` and change nothing."""
        if not isinstance(loss, Loss):
            raise InvalidValue("loss", loss, "a Loss, such as Loss.pure(0.1)")
        with self._lock:
            spent = self.spent(user)
            total = spent + loss
            broken = _broken(total, self.budget)
            if broken is None:
                self._spent[user] = total
                self._worst |= total
                return
        raise BudgetExceeded(f"user {user!r} spent {spent} and asks for {loss}: over {self.budget}, in {broken}")

    def spent(self, user: Hashable) -> Loss:
        """The sum of the user's charges; `ZERO` for a user never charged."""
        return self._spent.get(user, ZERO)

    def worst(self) -> Loss:
        """The smallest loss that bounds every user's."""
        return self._worst

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which neither pickles nor belongs to a copy."""
        with self._lock:
            return {"budget": self.budget, "_spent": dict(self._spent), "_worst": self._worst}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())


def _broken(total: Loss, budget: Loss) -> str | None:
    """What of the budget the total exceeds."""
    if total.delta > budget.delta:
        return "δ"
    if budget.pure_epsilon < INF:
        return "pure ε" if total.pure_epsilon > budget.pure_epsilon else None
    for order, spent, allowed in zip(ORDERS, total.curve, budget.curve, strict=True):
        if spent > allowed:
            return f"Rényi divergence of order {float(order):g}"
    return None

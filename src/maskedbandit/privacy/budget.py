"""Which charges fit a budget, one after the other: what a ledger in memory and one on disk share."""

from dataclasses import replace
from typing import NamedTuple

from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.privacy.exact import exact
from maskedbandit.privacy.filters import Filter, compared, filters
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.renyi_divergences import INF


class Account(NamedTuple):
    """What one user has spent; the first charge decides by which rule further ones are judged."""

    first: Loss
    spent: Loss


class Budget:
    """A budget for each user, and which charges fit it.

    A budget with a pure ε is a guarantee of (ε, δ)-privacy, whatever tighter curve it has: of 1000 times ε = 0.01 it is
    the sum, 10, that may be spent. A budget without one is a guarantee of its curve and δ. If
    a budget is the loss of a single release, that part is ignored, as it says nothing of sums: see
    `Loss.without_single`.

    Charges add up as `filters` says. The rule for a user is the one that allows most charges like the first. A first
    charge that fits only on its own, at its own best order or as a single release, is accepted, and is the user's last.

    **Guarantee**: what is released about a user stays within the budget, however the charges are chosen, if every
    release is charged first, with a loss that bounds it.

    >>> budget = Budget(Loss.pure(1))
    >>> half = budget.after(None, Loss.pure(0.5))
    >>> budget.after(half, Loss.pure(0.5)).spent
    Loss(ε = 1)
    """

    def __init__(self, loss: Loss) -> None:
        if not isinstance(loss, Loss):
            raise InvalidValue("budget", loss, "a Loss, such as Loss.pure(1)")
        self.loss = loss.without_single()
        self._filters = filters(self.loss)
        self._rules: dict[Loss, Filter | None] = {}  # by first charge; None: nothing may be added to it

    def after(self, account: Account | None, loss: Loss) -> Account:
        """The account after this charge, or raise `BudgetExceeded`; None is the account of a user never charged."""
        if not isinstance(loss, Loss):
            raise InvalidValue("loss", loss, "a Loss, such as Loss.pure(0.1)")
        if account is None:
            self._rule(loss)
            return Account(loss, loss)
        if loss == ZERO:
            return account
        rule, spent = self._rule(account.first), account.spent + loss
        reason = rule.refusal(spent) if rule else "the user's first charge has used it up"
        if reason:
            raise self._exceeded(reason)
        return Account(account.first, spent)

    def _rule(self, first: Loss) -> Filter | None:
        """The rule for a user whose first charge this is; None if the charge fits but nothing may be added to it."""
        if first not in self._rules:
            self._rules[first] = self._found(first)
        return self._rules[first]

    def _found(self, first: Loss) -> Filter | None:
        rule = self._filters[0] if len(self._filters) == 1 else max(self._filters, key=lambda rule: rule.times(first))
        reason = rule.refusal(first)
        if reason is None:
            return rule
        epsilon, delta = self.loss.pure_epsilon, self.loss.delta
        if epsilon < INF and delta > 0:
            found = replace(first, pure_epsilon=INF).epsilon(delta)
            if found < INF and exact("epsilon", found, strict=False) <= epsilon:
                return None
            at = f"ε at δ = {float(delta):.4g}"
            if found == INF:
                reason = self._filters[-1].refusal(first)
            else:
                reason = compared(at, first.epsilon(delta), epsilon)
        raise self._exceeded(reason)

    def _exceeded(self, reason: str | None) -> BudgetExceeded:
        return BudgetExceeded(f"over the budget of {self.loss}: {reason}")

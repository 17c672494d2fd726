"""Privacy accounting: how much each user has spent, and which charges still fit. Charges over budget are refused.

Another charge fits by a rule that holds even if each loss is chosen after seeing earlier releases: a privacy filter.
Let L be the log-ratio of the two distributions of all that is released about a user, and R_t and δ_t the divergence of
order α and the δ of charge t, which may depend on all that was released before it.

**Sums of ε.** L is at most the sum of the pure ε of the charges, on every path [RRUV16].

**Divergences at one order.** For an α that is fixed in advance, exp((α − 1) (L − Σ R_t)) has mean at most 1 when the
charges stop. So if Σ R_t ≤ B on every path, everything released has divergence at most B [FZ21]. If that holds at each
order of a curve, the curve holds.

**Either of the two.** Let c(δ) be the addition of order α in `epsilon_additions`. It is such that (1 − e^(ε − L))^+ is
at most δ e^((α − 1) (L − ε + c(δ))) for every L [CKS20, proof of Prop. 12]. If every path ends with Σ ε_t ≤ ε or with Σ
R_t ≤ ε − c(δ), then everything released is (ε, δ)-private: paths of the first kind have (1 − e^(ε − L))^+ = 0, and on
the others it is at most δ exp((α − 1) (L − Σ R_t)), of mean at most δ.

**Sums of δ.** Losses that hold outside events of probability δ_t hold together outside one of probability Σ δ_t
[WRRW23]. The part of δ that is needed for the conversion must be set aside in advance: it cannot be used for charges on
some of the paths, as it is needed on others.

It would not be valid to choose on each path the order at which ε is least in the end. The mean of the largest of the
exponentials above, over all orders, is more than 1. So no theorem covers a path of charges that fits a budget in (ε, δ)
at its own best order.

A rule may be chosen when a user is charged for the first time: then nothing about that user has been released.
"""

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import starmap
from threading import Lock
from typing import Any, NamedTuple

from maskedbandit.checks import User, check_user
from maskedbandit.errors import BudgetExceeded, InvalidValue
from maskedbandit.privacy.exact import to_fraction
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.renyi_divergences import INF, ORDERS, Exact, epsilon_additions, round_up

MOST_SUMS = 512  # that are kept: each is some kilobytes


class Filter(NamedTuple):
    """Charges fit while Σ δ ≤ `delta`, and Σ ε ≤ `pure` or the sum of the curves is at most `curve` at every order.

    None for `pure` or `curve` leaves that alternative out.
    """

    delta: Exact
    pure: Exact | None = None
    curve: tuple[Exact, ...] | None = None

    def refusal(self, total: Loss) -> str | None:
        """Why charges may not add up to this total; None if they may."""
        if total.delta > self.delta:
            return compare_bounds("δ", total.delta, self.delta)
        reasons = []
        if self.pure is not None:
            if total.pure_epsilon <= self.pure:
                return None
            reasons.append(compare_bounds("pure ε", total.pure_epsilon, self.pure))
        if self.curve is not None:
            over = [at for at in zip(ORDERS, total.curve, self.curve, strict=True) if at[1] > at[2]]
            if not over:
                return None
            order, found, allowed = over[0]
            reasons.append(compare_bounds(f"the Rényi divergence of order {float(order):g}", found, allowed))
        return ", and ".join(reasons)

    def times(self, loss: Loss) -> Exact | int:
        """The number of charges of this loss that fit, one after the other."""
        alternatives: list[Exact | int] = []
        if self.pure is not None:
            alternatives.append(_times(self.pure, loss.pure_epsilon))
        if self.curve is not None:
            alternatives.append(min(starmap(_times, zip(self.curve, loss.curve, strict=True))))
        return min(_times(self.delta, loss.delta), max(alternatives))


@lru_cache(maxsize=64)
def filters(budget: Loss) -> tuple[Filter, ...]:
    """The rules that keep a user within the budget. One of them is chosen at the user's first charge.

    A pure budget bounds Σ ε, and one without a pure ε its curve. An (ε, δ) budget has two rules. The first one keeps
    half of δ for the conversion of divergences, at the order where most Gaussian noise fits, and bounds Σ ε or the
    divergence. The other one bounds Σ ε and leaves all of δ to the charges.

    **Guarantee**: charges that fit one of these rules, chosen before the first, leave a user within the budget.

    >>> [rule.times(Loss.gaussian(1000)) for rule in filters(Loss.approximate(3, 1e-6))]
    [350, 0]
    >>> [rule.times(Loss.approximate(1, 1e-6)) for rule in filters(Loss.approximate(3, 1e-6))]
    [0, 1]
    """
    if budget.pure_epsilon == INF:
        return (Filter(budget.delta, curve=budget.curve),)
    basic = Filter(budget.delta, pure=budget.pure_epsilon)
    half = budget.delta / 2
    left = [budget.pure_epsilon - Fraction(more) if more < INF else -1 for more in epsilon_additions(half)]
    chosen = max(range(len(ORDERS)), key=lambda i: left[i] / ORDERS[i])
    if left[chosen] <= 0:
        return (basic,)
    curve = tuple(left[i] if i == chosen else INF for i in range(len(ORDERS)))
    return Filter(half, budget.pure_epsilon, curve), basic


def _times(limit: Exact, part: Exact) -> Exact | int:
    if part == 0 or limit == INF:
        return INF
    return 0 if part == INF else limit // part


def compare_bounds(what: str, found: Exact, allowed: Exact) -> str:
    """Both numbers, with as many digits as needed to see that one is larger."""
    x, y = round_up(found), round_up(allowed)
    pairs = [(f"{x:.{digits}g}", f"{y:.{digits}g}") for digits in (4, 8, 17)]
    shown = next((f"{large} where {small}" for large, small in pairs if large != small), f"a little above {y:g}, which")
    return f"{what} would be {shown} is allowed"


class Account(NamedTuple):
    """How much one user has spent. The first charge decides which rule judges the later ones."""

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
        self._sums: dict[
            tuple[Account, Loss], Account
        ] = {}  # that fit: people of a study spend the same again and again

    def after(self, account: Account | None, loss: Loss) -> Account:
        """The account after this charge, or raise `BudgetExceeded`; None is the account of a user never charged."""
        if not isinstance(loss, Loss):
            raise InvalidValue("loss", loss, "a Loss, such as Loss.pure(0.1)")
        if account is None:
            self._rule(loss)
            return Account(loss, loss)
        if loss == ZERO:
            return account
        known = self._sums.get((account, loss))
        if known is not None:
            return known
        rule, spent = self._rule(account.first), account.spent + loss
        reason = rule.refusal(spent) if rule else "the user's first charge has used it up"
        if reason:
            raise self._exceeded(reason)
        if len(self._sums) >= MOST_SUMS:
            self._sums = {}
        self._sums[account, loss] = after = Account(account.first, spent)
        return after

    def __getstate__(self) -> dict[str, Any]:
        """All but the sums, which are found again."""
        return {**self.__dict__, "_sums": {}}

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
            if found < INF and to_fraction("epsilon", found, strict=False) <= epsilon:
                return None
            at = f"ε at δ = {float(delta):.4g}"
            if found == INF:
                reason = self._filters[-1].refusal(first)
            else:
                reason = compare_bounds(at, first.epsilon(delta), epsilon)
        raise self._exceeded(reason)

    def _exceeded(self, reason: str | None) -> BudgetExceeded:
        return BudgetExceeded(f"over the budget of {self.loss}: {reason}")


class Ledger:
    """How much each user has spent of a `Budget` that is the same for all.

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
        self._bounded: set[Loss] = set()  # sums that the worst one is known to bound: it only grows
        self._lock = Lock()

    def charge(self, user: User, loss: Loss) -> None:
        """Add `loss` to what the user has spent, or raise `BudgetExceeded` and change nothing."""
        if not isinstance(loss, Loss):
            raise InvalidValue("loss", loss, "a Loss, such as Loss.pure(0.1)")
        with self._lock:
            before = self._accounts.get(check_user(user))
            if loss == ZERO:
                return
            after = self._rules.after(before, loss)
            if after.spent not in self._bounded:
                self._worst |= after.spent  # first, so that an interrupt in between leaves it too large
                if len(self._bounded) >= MOST_SUMS:
                    self._bounded = set()
                self._bounded.add(after.spent)
            self._accounts[user] = after

    def spent(self, user: User) -> Loss:
        """The sum of the user's charges; `ZERO` for a user never charged."""
        account = self._accounts.get(check_user(user))
        return account.spent if account else ZERO

    def worst(self) -> Loss:
        """The smallest loss that bounds every user's."""
        return self._worst

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which cannot be pickled and does not belong to a copy."""
        with self._lock:
            return {**self.__dict__, "_accounts": dict(self._accounts), "_bounded": set(), "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=Lock())

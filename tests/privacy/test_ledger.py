"""The ledger: exact, all or nothing, valid against whoever chooses the losses, safe between threads."""

import copy
import pickle
import random
import sys
from dataclasses import replace
from fractions import Fraction
from threading import Barrier, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import BudgetExceeded, InvalidValue, PersonalValue
from maskedbandit.privacy.budget import Ledger
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.renyi_divergences import INF
from tests.for_each import for_each
from tests.store.racers import LATE

fixed = settings(max_examples=60)


def accepted(ledger, losses, user="ann"):
    """How many of the charges the ledger accepts."""
    count = 0
    for loss in losses:
        try:
            ledger.charge(user, loss)
            count += 1
        except BudgetExceeded:
            pass
    return count


# --- exactness --------------------------------------------------------------------------------------------

EXACT = [
    (Loss.pure(1), Loss.pure(0.1), 10),
    (Loss.pure(1), Loss.pure("1/3"), 3),
    (Loss.pure(0.3), Loss.discrete_laplace(10), 3),
    (Loss.zcdp(1), Loss.zcdp(0.1), 10),
    (Loss.zcdp(1), Loss.zcdp("1/3"), 3),
    (Loss.gaussian(10), Loss.gaussian(100), 10),
    (7 * Loss.skellam(3), Loss.skellam(3), 7),
    (Loss.approximate(5, 1e-6), Loss.approximate(0.5, 1e-7), 10),
    (Loss.approximate(50, 1e-6), Loss.approximate(0.5, 1e-7), 10),  # δ runs out first
]


@for_each(("budget", "loss", "times"), EXACT)
def test_charges_fill_the_budget_exactly(budget, loss, times):
    assert accepted(Ledger(budget), [loss] * (times + 5)) == times


# --- sums that are kept -----------------------------------------------------------------------------------

OFTEN = [Loss.pure("0.25"), Loss.pure("0.5"), Loss.gaussian(1000), Loss.approximate("0.25", "1e-7"), ZERO]


class ForgetfulLedger(Ledger):
    """It computes every sum anew, and looks at all of them for the worst."""

    def charge(self, user, loss):
        self._rules._sums, self._bounded = {}, set()
        super().charge(user, loss)


class CarelessLedger(Ledger):
    """Broken: it knows a sum by the account alone."""

    def charge(self, user, loss):
        before = self._accounts.get(user)
        for (account, _), after in list(self._rules._sums.items()):
            if account == before:
                self._rules._sums[account, loss] = after
        super().charge(user, loss)


def check_kept_sums(kind, charges, monkeypatch, most):
    monkeypatch.setattr("maskedbandit.privacy.budget.MOST_SUMS", most)
    quick, slow = kind(Loss.approximate(2, "1e-6")), ForgetfulLedger(Loss.approximate(2, "1e-6"))
    for user, which in charges:
        found = [accepted(each, [OFTEN[which]], user) for each in (quick, slow)]
        assert found[0] == found[1]
        assert quick.spent(user) == slow.spent(user)
        assert quick.worst() == slow.worst()
    again = pickle.loads(pickle.dumps(quick))
    assert (again.worst(), again.spent("ann")) == (slow.worst(), slow.spent("ann"))


@for_each("most", [1, 2, 512])
def test_sums_that_are_kept_are_those_that_would_be_computed(most, monkeypatch):
    luck = random.Random(most)
    charges = [(luck.choice(("ann", "bob", "cyd")), luck.randrange(len(OFTEN))) for _ in range(60)]
    check_kept_sums(Ledger, charges, monkeypatch, most)


def test_sums_of_another_loss_are_rejected(monkeypatch):
    with pytest.raises(AssertionError):
        check_kept_sums(CarelessLedger, [("ann", 0), ("ann", 0), ("bob", 0), ("bob", 1)], monkeypatch, 512)


class FloatLedger:
    """Broken: its sums are floats."""

    def __init__(self, budget):
        self.budget, self.total = float(budget.pure_epsilon), 0.0

    def charge(self, user, loss):
        if self.total + float(loss.pure_epsilon) > self.budget:
            raise BudgetExceeded
        self.total += float(loss.pure_epsilon)


def test_a_ledger_of_floats_fails_the_same_check():
    assert accepted(FloatLedger(Loss.pure(0.3)), [Loss.pure(0.1)] * 5) == 2
    with pytest.raises(AssertionError):
        assert accepted(FloatLedger(Loss.pure(0.3)), [Loss.pure(0.1)] * 5) == 3


# --- refusal ----------------------------------------------------------------------------------------------


def test_a_refusal_changes_nothing_and_locks_nobody_out():
    ledger = Ledger(Loss.pure(1))
    ledger.charge("ann", Loss.pure(0.9))
    for _ in range(3):
        with pytest.raises(BudgetExceeded):
            ledger.charge("ann", Loss.pure(0.2))
        assert ledger.spent("ann") == Loss.pure(0.9)
    ledger.charge("ann", Loss.pure(0.1))
    assert ledger.spent("ann").pure_epsilon == 1
    with pytest.raises(BudgetExceeded):
        ledger.charge("bob", Loss.pure(2))
    assert ledger.spent("bob") == ZERO
    assert ledger.worst() == ledger.spent("ann")


@for_each(
    ("budget", "loss", "message"),
    [
        (Loss.pure(1), Loss.pure(2), "over the budget of ε = 1: pure ε would be 2 where 1 is allowed"),
        (Loss.pure(1), Loss.pure("1.0000001"), "pure ε would be 1.0000001 where 1 is allowed"),
        (Loss.pure(1), Loss.zcdp(0.001), "pure ε would be inf where 1 is allowed"),
        (Loss.zcdp(1), Loss.zcdp(2), "the Rényi divergence of order 1.125 would be 2.25 where 1.125 is allowed"),
        (Loss.zcdp(1), Loss.approximate(0.1, 1e-9), "δ would be 1e-09 where 0 is allowed"),
        (Loss.approximate(3, 1e-6), Loss.zcdp(1), "ε at δ = 1e-06 would be 7.772 where 3 is allowed"),
        (Loss.approximate(3, 1e-6), Loss.pure(4), "ε at δ = 1e-06 would be 4 where 3 is allowed"),
        (Loss.approximate(3, 1e-6), Loss.approximate(1, 2e-6), "δ would be 2e-06 where 1e-06 is allowed"),
    ],
)
def test_a_refusal_says_what_is_too_much_and_not_whose(budget, loss, message):
    with pytest.raises(BudgetExceeded, match=message) as caught:
        Ledger(budget).charge("ann-7", loss)
    assert "ann" not in str(caught.value)


def test_a_later_refusal_says_what_both_ways_of_counting_would_need():
    ledger = Ledger(Loss.approximate(3, 1e-6))
    for _ in range(5):
        ledger.charge("ann", Loss.gaussian(16))
    with pytest.raises(BudgetExceeded, match=r"inf where 3 is allowed, and the Rényi .* order 9 would be 1\.688 where"):
        ledger.charge("ann", Loss.gaussian(16))


# --- findings of an audit ----------------------------------------------------------------------------------


@for_each("noise", [Loss.discrete_gaussian, Loss.skellam])
def test_a_budget_of_one_release_is_its_curve(noise):
    """Two releases of half the price were accepted; together their ε was above the one that the budget printed."""
    once, half = noise(9), noise(18)
    ledger = Ledger(once)
    assert not ledger.budget.single
    spent = accepted(ledger, [half] * 3) * half
    assert spent.epsilon(1e-6) <= ledger.budget.epsilon(1e-6)
    assert once.epsilon(1e-6) < once.without_single().epsilon(1e-6) == ledger.budget.epsilon(1e-6)
    assert accepted(Ledger(once), [once]) == 1


def test_a_loss_below_nothing_would_be_a_refund():
    ledger = Ledger(Loss.pure(1))
    ledger.charge("ann", Loss.pure(1))
    with pytest.raises(InvalidValue, match="a Fraction of at least 0"):
        ledger.charge("ann", replace(ZERO, pure_epsilon=Fraction(-1)))
    with pytest.raises(BudgetExceeded):
        ledger.charge("ann", Loss.pure("1e-9"))


@for_each("user", [float("nan"), 7, None, ("carl", 3), b"ann", "", "ann smith", "a\n", "é", "a" * 129])
def test_a_user_has_a_name_that_can_be_found_again(user):
    ledger = Ledger(Loss.pure(1))
    for ask in (lambda: ledger.charge(user, Loss.pure(1)), lambda: ledger.spent(user)):
        with pytest.raises(PersonalValue, match="user must be a str of 1 to 128 visible ASCII characters") as caught:
            ask()
        assert not user or str(user) not in str(caught.value).replace("a str", "")
    assert ledger.worst() == ZERO


@for_each("budget", [Loss.pure(100), Loss.zcdp(100), Loss.skellam(1), Loss.approximate(1, 0.9)])
def test_no_finite_budget_allows_an_unbounded_loss(budget):
    assert accepted(Ledger(budget), [Loss.unbounded()]) == 0


def test_an_unbounded_budget_allows_everything():
    ledger = Ledger(Loss.unbounded())
    assert accepted(ledger, [Loss.pure(99), Loss.zcdp(99), Loss.approximate(1, 0.9), Loss.unbounded()] * 3) == 12


@pytest.mark.slow
def test_a_budget_known_at_some_orders_is_kept_at_those():
    curve = tuple(Fraction(1) if i == 20 else INF for i in range(len(ZERO.curve)))
    ledger = Ledger(Loss(curve, INF, Fraction(0)))
    assert accepted(ledger, [replace(ZERO, curve=tuple(x / 4 for x in Loss.pure(9).curve), pure_epsilon=INF)]) == 0
    assert accepted(ledger, [Loss.pure(0.2)] * 1000) == int(1 / Loss.pure(0.2).curve[20])


def test_users_have_budgets_of_their_own():
    ledger = Ledger(Loss.pure(1))
    for user, epsilon in [("ann", 0.4), ("2", 0.7), ("a" * 128, 1)]:
        ledger.charge(user, Loss.pure(epsilon))
    assert ledger.worst() == Loss.pure(1)
    assert Ledger(Loss.pure(1)).worst() == ZERO


def test_the_worst_loss_bounds_every_users():
    ledger = Ledger(Loss.unbounded())
    ledger.charge("ann", Loss.zcdp(0.1))
    for _ in range(2):
        ledger.charge("bob", Loss.pure(0.7))
    assert ledger.worst() == Loss.zcdp(0.1) | 2 * Loss.pure(0.7)


# --- an adversary who adapts ------------------------------------------------------------------------------

menu = [
    Loss.pure(0.3),
    Loss.pure("1/7"),
    Loss.zcdp(0.02),
    Loss.gaussian(5),
    Loss.skellam(4),
    Loss.discrete_laplace(6, 2),
    Loss.approximate(0.1, 1e-7),
]


@given(st.sampled_from([Loss.pure(2), Loss.zcdp(0.5), 5 * Loss.skellam(4), Loss.approximate(2, 3e-7)]), st.data())
@settings(max_examples=20, deadline=None)
def test_no_adversary_exceeds_the_budget(budget, data):
    ledger, total = Ledger(budget), ZERO
    for _ in range(12):
        # which losses still fit is what an adversary learns; prefer them, and ask for the others as well
        fits = [loss for loss in menu if accepted(copy.copy(ledger), [loss])]
        loss = data.draw(st.sampled_from(fits + menu)) * data.draw(st.integers(1, 4))
        if accepted(ledger, [loss]):
            total = total + loss
        assert ledger.spent("ann") == total
        assert total.delta <= budget.delta
        if budget.pure_epsilon == INF:
            assert within(total, budget)
        else:
            assert total.pure_epsilon <= budget.pure_epsilon or total.epsilon(budget.delta) <= budget.pure_epsilon


class BestOrderLedger:
    """Broken: it asks only that the ε at the order that is best by then be within that of the budget."""

    def __init__(self, budget):
        self.budget, self.total = budget, ZERO

    def charge(self, user, loss):
        if (self.total + loss).epsilon(1e-6) > self.budget.epsilon(1e-6):
            raise BudgetExceeded
        self.total = self.total + loss


def within(total, budget):
    return all(x <= y for x, y in zip(total.curve, budget.curve, strict=True))


def test_a_filter_on_the_best_order_overspends_the_curve():
    budget, losses = Loss.zcdp(0.01), [Loss.pure(0.04)] * 40
    broken, ledger = BestOrderLedger(budget), Ledger(budget)
    assert accepted(broken, losses) > accepted(ledger, losses) > 0
    assert not within(broken.total, budget)
    assert within(ledger.spent("ann"), budget)


# --- threads, copies --------------------------------------------------------------------------------------


def charge_together(ledger, loss, threads, times):
    """Charge from many threads that start at once; how many charges were accepted in all."""
    start, counts = Barrier(threads, timeout=LATE), []

    def work():
        start.wait()
        counts.append(accepted(ledger, [loss] * times))

    workers = [Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LATE)
    return sum(counts)


def test_threads_together_never_overspend():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            ledger = Ledger(Loss.pure(1))
            assert charge_together(ledger, Loss.pure(0.02), threads=8, times=20) == 50
            assert ledger.spent("ann").pure_epsilon == 1
    finally:
        sys.setswitchinterval(interval)


class LocklessLedger:
    """Broken: two threads may both look before either writes (here they always do)."""

    def __init__(self, budget):
        self.budget, self.total, self.looked = budget, ZERO, Barrier(2, timeout=LATE)

    def charge(self, user, loss):
        fits = (self.total + loss).pure_epsilon <= self.budget.pure_epsilon
        self.looked.wait()
        if not fits:
            raise BudgetExceeded
        self.total = self.total + loss


def test_the_check_of_threads_rejects_a_ledger_without_a_lock():
    assert charge_together(Ledger(Loss.pure(1)), Loss.pure(0.7), threads=2, times=1) == 1
    assert charge_together(LocklessLedger(Loss.pure(1)), Loss.pure(0.7), threads=2, times=1) == 2


@for_each("duplicate", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_remembers_and_is_independent(duplicate):
    ledger = Ledger(Loss.pure(1))
    ledger.charge("ann", Loss.pure(0.9))
    copied = duplicate(ledger)
    assert copied.spent("ann") == copied.worst() == Loss.pure(0.9)
    assert accepted(copied, [Loss.pure(0.1)] * 2) == 1
    assert ledger.spent("ann") == ledger.worst() == Loss.pure(0.9)


def test_what_is_no_loss_is_neither_a_budget_nor_a_charge() -> None:
    with pytest.raises(InvalidValue, match="budget is 1"):
        Ledger(budget=1)
    ledger = Ledger(budget=Loss.pure(1))
    with pytest.raises(InvalidValue, match=r"loss is 0\.5"):
        ledger.charge("ann", 0.5)
    assert ledger.spent("ann") == ZERO

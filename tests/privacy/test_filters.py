"""Budgets in (ε, δ): whoever chooses the charges, on every path of answers, the whole game is (ε, δ)-private.

A game is a tree: at each node the adversary, who saw the answers so far, picks a mechanism, given by its two
distributions; the ledger charges its loss or ends the path. The δ of the game at the ε of the budget is summed over all
leaves, exactly but for floats. Three broken filters must be caught by adversaries who are made for them.
"""

import copy
import math
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import NamedTuple

import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.errors import BudgetExceeded
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.budget import Filter, Ledger, filters
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.renyi_divergences import INF, ORDERS, epsilon_additions
from tests.for_each import for_each

EPSILON, DELTA = 8, Fraction(1, 100)
BUDGET = Loss.approximate(EPSILON, DELTA)
MOST = float(DELTA) * (1 + 1e-9)  # the sums are floats
GAPS = [float(order - 1) for order in ORDERS]


class Mechanism(NamedTuple):
    """Two distributions on a few answers, and what the mechanism costs; `seen` is the chance that one tells all."""

    p: tuple[float, ...]
    q: tuple[float, ...]
    seen: Fraction = Fraction(0)

    @property
    def loss(self) -> Loss:
        logs = [math.log(x / y) for x, y in zip(self.p, self.q, strict=True)]
        forth = [divergence(self.p, logs, gap) for gap in GAPS]
        back = [divergence(self.q, [-x for x in logs], gap) for gap in GAPS]
        curve = tuple(Fraction(max(0.0, x, y)) * Fraction(1000001, 1000000) for x, y in zip(forth, back, strict=True))
        return Loss(curve, Fraction(max(map(abs, logs))) * Fraction(1000001, 1000000), self.seen)

    def branches(self):
        """(P, Q) of each answer that leaves something to tell; and of the one that does not."""
        rest = float(1 - self.seen)
        return [(rest * p, rest * q) for p, q in zip(self.p, self.q, strict=True)], float(self.seen)


def divergence(p, logs, gap):
    """ln Σ P e^(gap log P/Q) / gap."""
    largest = max(logs)
    return (
        largest + math.log(math.fsum(x * math.exp(gap * (log - largest)) for x, log in zip(p, logs, strict=True))) / gap
    )


def response(epsilon):
    p = 1 / (1 + math.exp(-epsilon))
    return Mechanism((p, 1 - p), (1 - p, p))


def telling(chance):
    """Tells all with this chance, and nothing else."""
    return Mechanism((1.0,), (1.0,), Fraction(chance))


def spike(chance, size):
    """Log-ratio `size` with this probability, and nearly none otherwise."""
    return Mechanism((chance, 1 - chance), (chance * math.exp(-size), 1 - chance * math.exp(-size)))


def sharpest(i, left, epsilon):
    """Of the spikes whose divergence at order i is at most `left`: the one of the largest δ at this ε."""

    def fits(chance, size):
        mechanism = spike(chance, size)
        logs = [math.log(x / y) for x, y in zip(mechanism.p, mechanism.q, strict=True)]
        back = divergence(mechanism.q, [-x for x in logs], GAPS[i])
        return max(divergence(mechanism.p, logs, GAPS[i]), back) * 1.000002 <= left

    found, best = None, 0.0
    for step in range(1, 60):
        size = epsilon + step / 15 * max(1.0, 2 / GAPS[i])
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle, size) else (low, middle)
        if low * -math.expm1(epsilon - size) > best:
            found, best = spike(low, size), low * -math.expm1(epsilon - size)
    return found


def delta_of(strategy, ledger, path=(), p=1.0, q=1.0):
    """The δ of the game at EPSILON: P - e^ε Q, where that is positive, summed over all leaves."""
    mechanism = strategy(path, math.log(p / q))
    if mechanism is not None:
        ledger = copy.copy(ledger)
        try:
            ledger.charge("ann", mechanism.loss)
        except BudgetExceeded:
            mechanism = None
    if mechanism is None:
        return max(0.0, p - math.exp(EPSILON) * q)
    answers, released = mechanism.branches()
    return p * released + math.fsum(
        delta_of(strategy, ledger, (*path, answer), p * x, q * y) for answer, (x, y) in enumerate(answers)
    )


def the_order():
    """Which order the first rule of the budget bounds, and by how much."""
    return next((i, bound) for i, bound in enumerate(filters(BUDGET)[0].curve) if bound < INF)


def at_order(gap):
    return min(range(len(GAPS)), key=lambda i: abs(GAPS[i] - gap))


class Greedy(Ledger):
    """Broken: a rule for totals alone, which takes no part in how they came about."""

    def __init__(self, fits):
        super().__init__(BUDGET)
        self.fits = fits

    def charge(self, user, loss):
        total = self._accounts.get(user, (ZERO, None))[0] + loss
        if not self.fits(total):
            raise BudgetExceeded
        self._accounts[user] = total, None


def best_order(total):
    return replace(total, pure_epsilon=INF).epsilon(DELTA) <= EPSILON


def either_rule(total):
    return any(rule.refusal(total) is None for rule in filters(BUDGET))


def delta_twice(total):
    i, _ = the_order()
    return total.delta <= DELTA and total.curve[i] <= EPSILON - Fraction(epsilon_additions(DELTA)[i])


def change_of_order(path, log):
    """After an answer that speaks for P all that is left at a high order, after the other one at a low order."""
    first = response(0.15)
    if not path:
        return first
    if len(path) > 1:
        return None
    i = at_order(10 if path[0] == 0 else 1)
    left = EPSILON - Fraction(epsilon_additions(DELTA)[i]) - first.loss.curve[i]
    return sharpest(i, left, EPSILON - log)


def change_of_rule(path, log):
    """A rare answer that speaks for P, and then all divergence that is left; after all other answers the whole δ."""
    i, bound = the_order()
    first = spike(0.05, 4.0)
    if not path:
        return first
    if len(path) > 1:
        return None
    return sharpest(i, bound - first.loss.curve[i], EPSILON - log) if path[0] == 0 else telling(DELTA)


def both_at_once(path, log):
    """The whole δ, and then all divergence that the conversion with the same δ leaves."""
    i, _ = the_order()
    left = EPSILON - Fraction(epsilon_additions(DELTA)[i])
    return [telling(DELTA), sharpest(i, left, EPSILON), None][len(path)]


MADE_FOR = [(best_order, change_of_order), (either_rule, change_of_rule), (delta_twice, both_at_once)]


@for_each(("fits", "strategy"), MADE_FOR, ids=lambda it: it.__name__)
def test_a_broken_filter_is_overspent_and_the_ledger_is_not(fits, strategy):
    assert delta_of(strategy, Greedy(fits)) > 1.05 * DELTA
    assert delta_of(strategy, Ledger(BUDGET)) <= MOST


def test_the_rule_is_not_too_strict():
    """One spike at the order of the rule, and charges that tell with half of δ, take nearly all of δ."""

    def strategy(path, log):
        i, bound = the_order()
        return [sharpest(i, bound, EPSILON), telling(DELTA / 2), None][len(path)]

    assert 0.9 * DELTA < delta_of(strategy, Ledger(BUDGET)) <= MOST


@pytest.mark.sparing(1)
@pytest.mark.parametrize("seed", range(12))
def test_no_adversary_at_random_overspends(seed):
    """Any mechanism after any answers, also those that fill the two rules exactly."""
    i, bound = the_order()
    menu = [response(e) for e in (0.1, 1, 4, 8)] + [spike(c, s) for c, s in ((0.05, 4), (0.01, 9), (0.3, 1))]
    menu += [telling(DELTA / k) for k in (1, 2, 4)] + [sharpest(i, bound * Fraction(k, 4), EPSILON) for k in (1, 2, 4)]

    def strategy(path, log):
        choice = Random(f"{seed} {path}")
        return None if len(path) == 5 or choice.random() < 0.1 else choice.choice(menu)

    assert delta_of(strategy, Ledger(BUDGET)) <= MOST


# --- what is accepted --------------------------------------------------------------------------------------


def fitted(budget, *losses):
    """How many charges of a cycle of losses fit before one is refused."""
    ledger, count = Ledger(budget), 0
    while count < 10**4:
        try:
            ledger.charge("ann", losses[count % len(losses)])
        except BudgetExceeded:
            return count
        count += 1
    return count


def test_an_approximate_budget_accepts_every_kind_of_loss():
    """The first of these was refused: "spent ε = 0 and asks for ε = 1.063: over ε = 3"."""
    losses = [
        Central(epsilon="0.25", noise=DiscreteGaussian()).loss(1000),
        Distributed(epsilon="0.25", noise=Skellam()).loss(1000),
        Shuffled(epsilon="0.25", delta="1e-8").loss(10**6),
        Loss.pure("0.1"),
        Loss.zcdp("0.01"),
        Loss.gaussian(100),
        Loss.skellam_of_vector(100, 2, 4),
        Loss.zcdp("0.01") + Loss.approximate("0.01", 1e-9),
    ]
    assert [fitted(Loss.approximate(3, 1e-6), loss) >= 5 for loss in losses] == [True] * len(losses)
    assert fitted(Loss.approximate(3, 1e-6), *losses) >= len(losses)
    for first in losses:
        ledger = Ledger(Loss.approximate(4, 1e-6))
        for loss in (first, *losses):
            ledger.charge("ann", loss)


@for_each(
    ("loss", "least"),
    [
        (Loss.zcdp("0.001"), 175),
        pytest.param(Loss.pure("0.01"), 3500, marks=pytest.mark.slow),
        (Loss.approximate("0.5", 1e-7), 6),
        (Loss.pure(1), 3),
    ],
)
def test_nearly_as_many_charges_fit_as_the_best_order_would_prove(loss, least):
    budget = Loss.approximate(3, 1e-6)
    found = fitted(budget, loss)
    assert found >= least
    assert ((found * loss).epsilon(1e-6)) <= 3
    assert (math.ceil(1.1 * found + 1) * loss).epsilon(1e-6) > 3


@for_each("loss", [Loss.discrete_gaussian(1), Loss.zcdp("0.2"), Loss.skellam(3, 2)])
def test_one_charge_fits_a_budget_of_its_own_epsilon_and_no_second_one(loss):
    epsilon = loss.epsilon(1e-6)
    ledger = Ledger(Loss.approximate(epsilon, 1e-6))
    with pytest.raises(BudgetExceeded, match="ε at δ = 1e-06 would be"):
        Ledger(Loss.approximate(epsilon * 0.9999, 1e-6)).charge("ann", loss)
    ledger.charge("ann", loss)
    for more in (loss, Loss.pure(1e-9), Loss.approximate(1e-9, 1e-12)):
        with pytest.raises(BudgetExceeded, match="the user's first charge has used it up"):
            ledger.charge("ann", more)
    assert ledger.spent("ann") == loss


def test_the_rule_of_a_user_is_chosen_once():
    """Which rule it is depends on the first charge alone; later ones cannot change it, nor can a copy forget it."""
    budget = Loss.approximate(5, 1e-6)
    ledger = Ledger(budget)
    ledger.charge("ann", Loss.approximate(1, 5e-7))  # fits twice if all of δ is for charges
    ledger.charge("bob", Loss.zcdp("0.1"))
    for book in (ledger, copy.deepcopy(ledger), copy.copy(ledger)):
        with pytest.raises(BudgetExceeded, match="pure ε would be inf where 5 is allowed"):
            book.charge("ann", Loss.zcdp("1e-9"))
        with pytest.raises(BudgetExceeded, match="δ would be 6e-07 where 5e-07 is allowed"):
            book.charge("bob", Loss.approximate(1, 6e-7))
    ledger.charge("ann", Loss.approximate(1, 5e-7))
    ledger.charge("bob", Loss.approximate(1, 5e-7))


def test_charging_nothing_chooses_nothing():
    ledger = Ledger(Loss.approximate(5, 1e-6))
    ledger.charge("ann", ZERO)
    ledger.charge("ann", Loss.approximate(5, 1e-6))
    ledger.charge("ann", ZERO)
    with pytest.raises(BudgetExceeded):
        ledger.charge("ann", Loss.pure(1e-9))


def test_rules():
    assert filters(Loss.pure(1)) == (Filter(Fraction(0), pure=Fraction(1)),)
    assert filters(Loss.zcdp(1)) == (Filter(Fraction(0), curve=Loss.zcdp(1).curve),)
    assert filters(Loss.approximate("0.001", 1e-6)) == (Filter(Fraction(1, 10**6), pure=Fraction(1, 1000)),)
    first, second = filters(Loss.approximate(3, 1e-6))
    assert second == Filter(Fraction(1, 10**6), pure=Fraction(3))
    assert first.delta == Fraction(1, 2 * 10**6)
    assert sum(bound < INF for bound in first.curve) == 1


@for_each("rule", [*filters(BUDGET), *filters(Loss.pure(1)), *filters(Loss.zcdp(1))])
@for_each("loss", [Loss.pure("1/3"), Loss.zcdp("0.07"), Loss.approximate("0.1", "0.001"), ZERO])
def test_times_is_how_often_charges_fit(rule, loss):
    times = rule.times(loss)
    if times < INF:
        assert rule.refusal(times * loss) is None
        assert rule.refusal((times + 1) * loss) is not None
    else:
        assert rule.refusal(10**6 * loss) is None

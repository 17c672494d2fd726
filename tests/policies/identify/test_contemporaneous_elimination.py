"""Elimination over the same users: a better reward of an arm never counts against it, and one arm is always left."""

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.law import LAPLACE, NO_NOISE, Law
from maskedbandit.policies.identify import contemporaneous_elimination as elimination
from maskedbandit.policies.parts.epochs import NEXT, fold_epochs, launch_epoch, store_arrival
from tests.for_each import for_each

EXACT = Law(NO_NOISE, grid=1)
QUIET = Law(LAPLACE, scale=0.05, grid=1, per_release=1)
N = 20


def against(law: Law, totals: tuple[float, float]) -> float:
    """The evidence against the first of two arms after one epoch, in which each had N users and these totals."""
    s, rng = mb.policies.ContemporaneousElimination(least=N).init(2, 1e-6), np.random.default_rng(1)
    while s.clock[NEXT] >= 2 or not s.flight.awaited.any():
        elimination.ContemporaneousElimination.ask(s, law, rng)
    for arm, total in enumerate(totals):
        store_arrival(s.flight, arm, N, total)
    s.clock[elimination.RELEASED] += fold_epochs(s.pairs, law, s.flight, s.n, s.total, s.flying)
    return elimination.order_evidence(s, law, 0, 1)


def check_better_is_better(law: Law, most: int) -> None:
    """With every reward more of the first arm there is no more evidence against it; releases may be above N."""
    for other in range(N, most + 1):
        found = [against(law, (total, other)) for total in range(N + 1)]
        assert found == sorted(found, reverse=True), f"a better arm has more evidence against it: {found}"


@for_each("law", [EXACT, QUIET], ids=["exact", "quiet"])
def test_a_better_reward_never_counts_against_an_arm(law):
    check_better_is_better(law, N if law is EXACT else N + 5)


def test_a_test_with_larger_tilts_is_rejected(monkeypatch):
    """The step of the proof that needs lam <= 1: where noise is small, rewards near 1, and the variance their own."""
    monkeypatch.setattr(elimination, "LARGEST_TEST_LAM", 40.0)
    with pytest.raises(AssertionError, match="better arm"):
        check_better_is_better(QUIET, N + 5)


def test_one_arm_is_left_though_each_is_worse_than_another():
    """Means that change between epochs, and devices that drop out, can make a circle."""
    s, rng = mb.policies.ContemporaneousElimination().init(3, 0.1), np.random.default_rng(1)
    s.clock[NEXT], s.asked[0] = 3, 3000
    for epoch in range(3):
        launch_epoch(s.flight, epoch, epoch + 1, np.full(3, 1000 + epoch), s.flying)
        worst, best, few = epoch, (epoch + 1) % 3, (epoch + 2) % 3
        s.flight.n[epoch, [worst, best, few]] = 1000, 1000, 10
        s.flight.total[epoch, [worst, best, few]] = 0, 1000, 5
        s.flight.awaited[epoch] = 0
    answer = mb.policies.ContemporaneousElimination.ask(s, EXACT, rng)
    assert (s.left.sum(), answer.n) == (1, 0)
    assert answer.arm >= 0

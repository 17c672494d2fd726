"""Near ties: how often a search is wrong there, that a lower threshold would be wrong more often than δ, and all bets.

A correct search fails a test with probability at most ALPHA = 1e-9 under a new seed (tests/statistics.py).
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.theory.evidence import Bets, evidence_at
from maskedbandit.theory.likelihood import ArmReleases
from tests.statistics import at_most
from tools.unspent_error import TIED, compare_stops, count_wrong, find_stops, least_evidence

TWO, RUNS = (0.5, 0.5 - TIED), 600
RAW = mb.channels.Raw()
LAW = RAW.law()


def wrong_runs(lower: float, delta: float = 0.05) -> int:
    """Runs of two tied arms that are wrong, with a threshold that is lower by so many nats."""
    return round(RUNS * count_wrong(TWO, RAW, 2.0, delta * math.exp(lower), RUNS).share)


@pytest.mark.slow
def test_near_ties_are_wrong_as_often_as_promised_and_with_a_lower_threshold_more_often() -> None:
    at_most(wrong_runs(0.0), RUNS, 0.05)
    with pytest.raises(AssertionError, match=r"is more than 0\.05"):
        at_most(wrong_runs(2.7), RUNS, 0.05)


def released(*arms: tuple[float, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One release of each arm: totals, users, releases and means."""
    total, users = np.zeros((len(arms), 256)), np.zeros((len(arms), 256), np.int64)
    total[:, 0], users[:, 0] = np.array(arms).T
    return total, users, np.ones(len(arms), np.int64), total[:, 0] / users[:, 0]


def test_the_evidence_of_the_leader_alone_is_that_of_the_rule() -> None:
    total, users, m, mean = released((80.0, 100), (50.0, 100))
    known = [ArmReleases(total[a], users[a], 1) for a in (0, 1)]
    points = np.linspace(0.5 - 0.06, 0.8 + 0.06, 41)
    of_rule = min(evidence_at(LAW, *known, Bets(1.0, 1.0, False), 0.3, float(z))[0] for z in points)
    alone, together = least_evidence(LAW, total, users, m, mean, 0)
    assert alone == pytest.approx(of_rule)
    assert together == alone


def test_all_bets_together_are_more_where_several_arms_are_better() -> None:
    alone, together = least_evidence(LAW, *released((80.0, 100), (79.0, 100), (50.0, 100)), 0)
    assert alone < 0  # against the second arm there is none
    alone, together = least_evidence(LAW, *released((80.0, 100), (20.0, 100), (10.0, 100)), 0)
    assert together >= alone
    rows = np.array([[0, 100, 80.0, 0], [1, 100, 79.0, 1], [2, 100, 50.0, 2], [1, 900, 500.0, 3], [0, 900, 720.0, 4]])
    assert find_stops(LAW, rows, 3, 6.0) == (2100.0, 2100.0)


@pytest.mark.slow
def test_hardly_any_users_are_saved_by_them() -> None:
    saved = compare_stops((0.75, 0.625, 0.5, 0.375, 0.25), 0.5, 0.05, 12)
    assert 0 <= saved.share < 0.05

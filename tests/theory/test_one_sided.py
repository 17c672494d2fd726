"""Evidence about one arm and a value that is known: fair by enumeration, and large where the mean is far from it."""

import math

import numpy as np
import pytest

from maskedbandit.law import Law
from maskedbandit.theory.evidence import evidence_beyond
from maskedbandit.theory.likelihood import ArmReleases, likeliest_mean, log_allowance
from tests.policies.mutants import mutant
from tests.theory.test_evidence import LAWS, chances


def check_mean(law: Law, assumed: Law, kernel=evidence_beyond, n: int = 6) -> None:
    """If the mean is at z, or on the other side, what is seen for a side gains nothing on average."""
    for z in (0.25, 0.5, 0.8):
        for mean in (z - 0.2, z, z + 0.2):
            up, down = 0.0, 0.0
            for r, p in chances(law, n, mean).items():
                known = ArmReleases(np.array([r]), np.array([n]), 1)
                up += p * math.exp(kernel(assumed, known, z, z + 0.1)[0])
                down += p * math.exp(kernel(assumed, known, z, z - 0.1)[0])
            assert mean > z or up <= 1 + 1e-9, f"that the mean is above {z} gains {up} at {mean}"
            assert mean < z or down <= 1 + 1e-9, f"that the mean is below {z} gains {down} at {mean}"


SLOW = ("skellam", "lossy laplace")


@pytest.mark.sparing(1)
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in LAWS])
def test_it_is_fair(name):
    check_mean(LAWS[name], LAWS[name])


def test_forgetting_the_noise_is_not_fair():
    with pytest.raises(AssertionError, match="gains"):
        check_mean(LAWS["laplace"], LAWS["none"]._replace(grid=1.0))


def test_bets_that_are_not_paid_for_are_not_fair():
    broken = mutant(evidence_beyond, "log_weight(j) +", "0.0 +")
    with pytest.raises(AssertionError, match="gains"):
        check_mean(LAWS["none"], LAWS["none"], broken)


def test_it_pays_for_draws_that_may_be_lost():
    law, known = LAWS["lossy laplace"], ArmReleases(np.linspace(38.0, 42.0, 9), np.full(9, 50), 9)
    free = mutant(evidence_beyond, "[0] + log_allowance(law, known)", "[0]")
    more = log_allowance(law, known)
    assert more > 0.5
    assert evidence_beyond(law, known, 0.5, 0.8)[0] == pytest.approx(free(law, known, 0.5, 0.8)[0] - more)


def test_the_side_is_that_of_the_estimate_and_evidence_is_symmetric():
    law = LAWS["laplace"]
    high, low = ArmReleases(np.array([70.0]), np.array([100]), 1), ArmReleases(np.array([30.0]), np.array([100]), 1)
    for z in (0.4, 0.5):
        above, below = evidence_beyond(law, high, z, 0.7), evidence_beyond(law, low, 1 - z, 0.3)
        assert above == pytest.approx(below, rel=1e-5)
        assert above[0] > 3


def test_bets_are_beyond_a_threshold_that_is_nearly_0():
    """Half of all rewards are 1, so a bet that the mean is below 1e-12 loses."""
    known = ArmReleases(np.array([500.0]), np.array([1000]), 1)
    assert evidence_beyond(LAWS["none"], known, 1e-12, 1e-13)[0] < 0, "that the mean is still less"
    assert evidence_beyond(LAWS["none"], known, 1e-12, 0.5)[0] > 0


def test_little_is_lost_beside_the_best_bet():
    """All weights together cost some three nats."""
    for total in (520.0, 600.0, 900.0):
        known = ArmReleases(np.array([total]), np.array([1000]), 1)
        mean = likeliest_mean(LAWS["none"], known, 0.6)
        kl = mean * math.log(mean / 0.5) + (1 - mean) * math.log((1 - mean) / 0.5)
        assert evidence_beyond(LAWS["none"], known, 0.5, mean)[0] > 0.88 * 1000 * kl - 3.5

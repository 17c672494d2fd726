"""DP-SE for the best arm: its counts are nearly always the same, so they are tested as numbers."""

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import TOGETHER, WAIT
from maskedbandit.errors import InvalidValue
from maskedbandit.policies.regret.dpse import epoch_size
from tests.for_each import for_each
from tests.golden import interpreted

BestArmDPSE = mb.policies.BestArmDPSE
MU1, LINEAR = (0.95, 0.9, 0.9, 0.9, 0.5), (0.0, 0.25, 0.5, 0.75, 1.0)


def central(decade: float) -> mb.channels.Central:
    """epsilon = 10^decade; the published grid is logspace(-3, 3, 10)."""
    return mb.channels.Central(epsilon=10**decade)


def users(policy: BestArmDPSE, channel: mb.channels.Central, means: tuple[float, ...], runs: int = 20) -> np.ndarray:
    """Users of each arm until the policy stops with the best one, [runs, k]; delta is 0.01."""
    law, rng, pulls = channel.law(), np.random.Generator(np.random.PCG64(1)), np.zeros((runs, len(means)), np.int64)
    for run in range(runs):
        s = policy.init(len(means), 0.01)
        while (decision := policy.ask(s, law, rng)).n > 0:
            arm, n, _ = decision
            pulls[run, arm] += n
            policy.tell(s, arm, n, rng.binomial(n, means[arm]) + channel.draws(law.scale, 1.0, rng))
        assert decision.arm == np.argmax(means)
    return pulls


def test_without_noise_its_users_are_those_of_three_epochs():
    """5 R_1 + 4 R_2 + 4 R_3 = 5310 + 4 (4843 + 21030) = 108 802: 4 arms are left; few runs lose one of them early."""
    assert np.all(users(BestArmDPSE(), central(3), LINEAR) == 1062)
    found = users(BestArmDPSE(), central(3), MU1)
    assert np.median(found.sum(axis=1)) == 108_802
    assert np.all(found[found.sum(axis=1) == 108_802] == [1062 + 4843 + 21030] * 4 + [1062])


@for_each(
    ("means", "decade", "number"),
    [
        (LINEAR, -1 / 3, 5310),
        (LINEAR, -5 / 3, 28_225),
        (LINEAR, -7 / 3, 131_010),
        (LINEAR, -3, 608_080),
        (MU1, 3, 108_800),
        (MU1, -5 / 3, 549_390),
        (MU1, -3, 9_378_000),
    ],
)
def test_figures_of_the_published_program(means, decade, number):
    """Read off the figures of [AJMB24], whose right panels show an instance with a least gap of about 1/4."""
    found = users(BestArmDPSE(counts="published"), central(decade), means)
    assert np.median(found.sum(axis=1)) == pytest.approx(number, rel=1e-4)


@for_each(("decade", "number"), [(-1, 109_577), (-5 / 3, 549_393), (-3, 4_181_071)])
def test_counts_of_one_epoch_need_fewer_users(decade, number):
    assert np.median(users(BestArmDPSE(), central(decade), MU1).sum(axis=1)) == number


def test_published_counts_are_those_of_all_epochs():
    policy, law = BestArmDPSE(counts="published"), central(0).law()
    s = policy.init(2, 0.1)
    first, second = (epoch_size(law, 2, e, 0.1) for e in (1, 2))
    for n in (first, second):
        for arm in range(2):
            assert policy.ask(s, law, None) == (arm, n, 1 if arm == 1 else TOGETHER)
            policy.tell(s, arm, n, n / 2)
    assert s.mean.tolist() == [second / (2 * (first + second))] * 2
    s = BestArmDPSE().init(2, 0.1)
    BestArmDPSE.tell(s, 0, 100, 50.0)
    BestArmDPSE.tell(s, 0, 300, 150.0)
    assert s.mean[0] == 0.5


def test_cohorts_of_an_epoch_are_dealt_together():
    law, rng = central(0).law(), np.random.Generator(np.random.PCG64(1))
    s = BestArmDPSE().init(3, 0.1)
    n = epoch_size(law, 3, 1, 0.1)
    assert [BestArmDPSE.ask(s, law, rng) for _ in range(4)] == [(0, n, TOGETHER), (1, n, TOGETHER), (2, n, 1), WAIT]
    for arm, mean in ((2, 0.1), (0, 0.2), (1, 0.9)):
        assert BestArmDPSE.ask(s, law, rng) == WAIT
        BestArmDPSE.tell(s, arm, n, mean * n)
    assert [BestArmDPSE.ask(s, law, rng) for _ in range(2)] == [(1, 0, 0)] * 2


def test_equal_arms_go_on_until_they_are_cut_off():
    found = interpreted(BestArmDPSE(), central(0), mb.Bernoulli([0.5, 0.5]), 10**6)
    assert sum(found.pulls) == 10**6


def test_parameters_out_of_range_are_refused():
    with pytest.raises(InvalidValue, match=r"^counts is "):
        BestArmDPSE(counts="all")

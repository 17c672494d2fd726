"""All arms above a threshold: right as often as it says on every channel, and mutants that are not.

Counts of errors are exact tests: a correct policy fails one with probability at most ALPHA = 1e-9.
"""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.policies.select import arms_above as subject
from maskedbandit.policies.select.arms_above import ABOVE, BELOW, OPEN, ArmsAbove
from maskedbandit.theory.evidence import evidence_beyond
from tests.for_each import for_each
from tests.policies.identify.test_released_likelihood import CHANNELS, RAW, silent
from tests.policies.mutants import mutant
from tests.statistics import at_most

HARD = [0.52, 0.52, 0.48, 0.48, 0.53, 0.9]


def errors(policy, channel, means: list[float], delta: float, runs: int) -> int:
    """Answers that are wrong in any arm; a run that takes very long counts as right."""
    found = mb.select(policy, channel, mb.Bernoulli(means), delta=delta, runs=runs, seed=2, max_pulls=10**6)
    return int((found.stopped & ~found.correct).sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANNELS)
def test_it_is_right_as_often_as_it_says(name):
    """So many runs would show a probability of errors above 0.53, but for one time in a thousand."""
    at_most(errors(ArmsAbove(), CHANNELS[name], HARD, 0.3, 400), 400, 0.3)
    at_most(errors(ArmsAbove(theta=0.1), CHANNELS[name], [0.13, 0.08, 0.02], 0.3, 400), 400, 0.3)
    at_most(errors(ArmsAbove(tolerance=0.02), CHANNELS[name], HARD, 0.3, 400), 400, 0.3)


@pytest.mark.slow
def test_rewards_that_are_not_bits():
    """Rounded to bits by a private channel, and as they are without privacy."""
    for channel in (RAW, mb.channels.Central(epsilon=1)):
        instance = mb.Beta([2.0, 2.0], [2.2, 1.8])
        found = mb.select(ArmsAbove(), channel, instance, delta=0.1, runs=500, seed=1, max_pulls=10**6)
        at_most(int((found.stopped & ~found.correct).sum()), 500, 0.1)
        assert found.correct.mean() > 0.8


class NoUnion(ArmsAbove):
    """A mutant: every arm may err with probability delta."""

    def init(self, k, delta):
        return super().init(k, delta)._replace(threshold=math.log(1 / delta))


class Deaf(ArmsAbove):
    """A mutant: its likelihood takes what was released for the rewards themselves."""

    think = mutant(subject.think, "evidence_beyond(law,", "evidence_beyond(silent(law),", silent=silent)
    ask = staticmethod(mutant(ArmsAbove.ask, think=think))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "channel", "means", "delta"),
    [(NoUnion(), RAW, [0.51] * 40, 0.3), (Deaf(), mb.channels.Central(epsilon=0.05), [0.51] * 3, 0.1)],
    ids=["no union", "deaf"],
)
def test_mutants_are_wrong_more_often(broken, channel, means, delta):
    at_most(errors(ArmsAbove(), channel, means, delta, 200), 200, delta)
    wrong = errors(broken, channel, means, delta, 200)
    with pytest.raises(AssertionError):
        at_most(wrong, 200, delta)


def state(mean: float, **how: float) -> subject.State:
    """Two arms of this mean, of 1000 users each."""
    s = ArmsAbove(**how).init(2, 0.1)
    for arm in range(2):
        s.asked[arm], s.flight[arm] = 1000, 1
        ArmsAbove.tell(s, arm, 1000, 1000 * mean)
    return s


@for_each(("mean", "side"), [(0.4, BELOW), (0.49, OPEN), (0.52, OPEN), (0.6, ABOVE)])
def test_an_arm_is_decided_once_the_evidence_suffices(mean, side):
    s = state(mean)
    subject.think(s, RAW.law())
    assert s.side.tolist() == [side, side]
    z, found = 0.5, float(s.found[0])
    assert found == evidence_beyond(RAW.law(), subject.arm_releases(s, 0), z, mean)[0]
    assert (found >= math.log(2 / 0.1)) == (side != OPEN)


def test_within_the_tolerance_the_farther_side_is_looked_at():
    low, high = state(0.49, tolerance=0.05), state(0.51, tolerance=0.05)
    for s, z, side in ((low, 0.55, BELOW), (high, 0.45, ABOVE)):
        subject.think(s, RAW.law())
        assert subject.rejected(s, 0) == pytest.approx(z)
        assert s.side[0] == side


def test_what_is_decided_stays_decided_and_gets_no_more_users():
    s, rng = state(0.6), np.random.default_rng(1)
    subject.think(s, RAW.law())
    s.side[1] = OPEN
    assert ArmsAbove.ask(s, RAW.law(), rng).arm == 1
    ArmsAbove.tell(s, 0, 1000, 400.0)
    subject.think(s, RAW.law())
    assert s.side[0] == ABOVE


def test_the_arm_with_the_fewest_users_is_next():
    s, rng = ArmsAbove().init(3, 0.1), np.random.default_rng(1)
    s.asked[:] = 30, 10, 20
    assert subject.next_arm(s, rng) == 1
    s.side[1] = ABOVE
    assert subject.next_arm(s, rng) == 2
    s.side[:] = ABOVE, BELOW, ABOVE
    assert subject.next_arm(s, rng) == -1

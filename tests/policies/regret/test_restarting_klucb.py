"""What was learned is forgotten when a window is over or an arm has changed, and that pays off. Seeds are fixed."""

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import LAPLACE, NO_NOISE, Law
from maskedbandit.policies.regret.noise_aware_klucb import FIRST_BATCH, MOST_KEPT, NoiseAwareKLUCB, first_batch, index
from maskedbandit.policies.regret.restarting_klucb import (
    COHORTS,
    LENGTH,
    NUMBER,
    QUICK,
    RESTART_PATIENCE,
    RestartingKLUCB,
    any_changed,
    renew,
    within,
)
from maskedbandit.theory.bounds import minimax
from maskedbandit.theory.chernoff import has_changed
from tests.for_each import for_each
from tests.policies.mutants import mutant

CENTRAL = mb.channels.Central(epsilon=1)
FALLS = mb.Changing([[0.6, 0.5, 0.4], [0.2, 0.5, 0.4]], every=90_000)
RISES = mb.Changing([[0.5, 0.2], [0.5, 0.8]], every=90_000)
STAYS = mb.Bernoulli([0.6, 0.5, 0.4])


class Story:
    """A policy that is driven by hand, without noise."""

    def __init__(self, policy, k: int, horizon: int) -> None:
        self.policy, self.s, self.law, self.t = policy, policy.init(k, horizon), Law(NO_NOISE), 0
        self.rng = np.random.Generator(np.random.PCG64(2))
        self.windows = []  # users before each, and its length

    def cohort(self, means, tell: bool = True):
        """One cohort, whose release is told."""
        before = self.t, int(self.s.clock[NUMBER]), int(self.s.clock[LENGTH]), int(self.s.known.n.sum())
        decision = self.policy.ask(self.s, self.law, self.rng)
        if self.s.known.n.sum() < before[3] or not self.windows:
            self.windows.append((before[0], int(self.s.clock[LENGTH])))
        self.t += decision.n
        if tell and decision.n > 0:
            total = float(self.rng.binomial(decision.n, means[decision.arm]))
            self.policy.tell(self.s, decision.arm, decision.n, total)
        return decision


def test_windows_grow_while_nothing_changes():
    story = Story(RestartingKLUCB(), 3, 10**5)
    first = COHORTS * 3 * QUICK
    while story.t < 95_000:
        story.cohort((0.6, 0.5, 0.4))
        assert story.s.known.m.max() <= MOST_KEPT
    lengths, last = [length for _, length in story.windows], 10**5 - story.windows[-1][0]
    assert lengths == [first, 2 * first, 3 * first, 4 * first, 5 * first, last]  # the last one ends with the horizon
    starts = [start for start, _ in story.windows]
    for i, (start, length) in enumerate(story.windows[:-1]):  # a window counts from its first releases on
        assert length <= starts[i + 1] - start <= 1.1 * length


def test_a_window_that_is_given_stays():
    story = Story(RestartingKLUCB(window=5000), 2, 10**6)
    while story.t < 30_000:
        story.cohort((0.6, 0.4))
    assert {length for _, length in story.windows} == {5000}


def test_first_windows_are_longer_where_there_is_more_noise():
    s = RestartingKLUCB().init(2, 10**6)
    law = mb.channels.Central(epsilon=0.1).law()
    renew(s, law, 1)
    assert s.clock[LENGTH] == COHORTS * 2 * first_batch(NoiseAwareKLUCB().init(2, 10**6), law) > COHORTS * 2 * QUICK


def test_in_a_window_it_is_the_default_with_its_length_as_horizon():
    """Cohorts grow more slowly only where they would be longer than a fortieth of the window."""
    story, default = Story(RestartingKLUCB(window=20_000), 3, 10**6), NoiseAwareKLUCB()
    s, rng = default.init(3, 20_000), np.random.Generator(np.random.PCG64(2))
    for _ in range(80):
        mine, own = story.cohort((0.6, 0.5, 0.4), tell=False), default.ask(s, story.law, rng)
        assert mine == own
        if mine.n > 20_000 // 40 // 2:
            return
        total = float(round(mine.n * (0.6, 0.5, 0.4)[mine.arm]))
        RestartingKLUCB.tell(story.s, mine.arm, mine.n, total)
        NoiseAwareKLUCB.tell(s, mine.arm, mine.n, total)
    raise AssertionError("no cohort was large enough to end the test")


def test_a_change_of_the_arm_that_is_served_begins_a_new_window():
    story = Story(RestartingKLUCB(), 3, 10**6)
    while story.t < 30_000:
        story.cohort((0.6, 0.5, 0.4))
    assert story.s.clock[NUMBER] == 3
    windows, now = len(story.windows), story.t
    while len(story.windows) == windows:
        story.cohort((0.2, 0.5, 0.4))
    assert story.t < now + 2000
    assert story.s.clock[NUMBER] == 1
    assert story.s.clock[LENGTH] == COHORTS * 3 * QUICK
    assert story.s.known.n.sum() == 0 or story.s.known.n.sum() <= story.s.known.asked.sum()


def test_releases_from_before_a_window_are_dropped():
    s = RestartingKLUCB(window=1000).init(2, 10**6)
    law, rng = Law(NO_NOISE), np.random.default_rng(1)
    first = [RestartingKLUCB.ask(s, law, rng) for _ in range(2)]
    for decision in first:
        RestartingKLUCB.tell(s, decision.arm, decision.n, 0.0)
    late = RestartingKLUCB.ask(s, law, rng)
    renew(s, law, 2)
    new = [RestartingKLUCB.ask(s, law, rng) for _ in range(2)]
    assert [each.arm for each in new] == [0, 1]
    RestartingKLUCB.tell(s, late.arm, late.n, float(late.n))  # of the window before
    assert s.known.n.tolist() == [0, 0]
    for decision in new:
        RestartingKLUCB.tell(s, decision.arm, decision.n, 0.0)
    assert s.known.n.tolist() == [each.n for each in new]
    assert s.known.total.tolist() == [0, 0]


def test_windows_are_long_where_releases_are_late():
    """Until the first releases arms get users in turn; a tenth of the window, or less, is spent like that."""
    s, law, rng = RestartingKLUCB().init(3, 10**6), Law(NO_NOISE), np.random.default_rng(1)
    early = []
    while sum(each.n for each in early) < 3000:
        early.append(RestartingKLUCB.ask(s, law, rng))
    for decision in early:
        RestartingKLUCB.tell(s, decision.arm, decision.n, 0.0)
    RestartingKLUCB.ask(s, law, rng)
    assert s.clock[LENGTH] == RESTART_PATIENCE * sum(each.n for each in early) > COHORTS * 3 * QUICK
    users = [sum(each.n for each in early if each.arm == arm) for arm in range(3)]
    assert max(users) < 1.5 * min(users)
    known = np.flatnonzero(~np.isnan(s.known.value))
    assert known.size == 2  # and their indices are for the longer window from the first choice on
    for arm in known:
        assert s.known.value[arm] == index(within(s, s.clock[LENGTH]), law, arm, 1.0)


def test_the_first_batch_stays_that_which_was_asked_for_where_windows_become_longer():
    """It would be larger in a window that was as long from the first."""
    s, law = RestartingKLUCB().init(3, 10**7), Law(LAPLACE, scale=10.0, grid=1, per_release=1)
    rng = np.random.default_rng(1)
    early = [RestartingKLUCB.ask(s, law, rng) for _ in range(60)]
    short = s.clock[LENGTH]
    for decision in early:
        RestartingKLUCB.tell(s, decision.arm, decision.n, decision.n / 2)
    RestartingKLUCB.ask(s, law, rng)
    assert s.clock[LENGTH] > short
    assert s.known.clock[FIRST_BATCH] == early[0].n < first_batch(within(s, s.clock[LENGTH]), law)


def regret(policy, world, horizon=200_000, runs=10, channel=CENTRAL, **how) -> float:
    return float(mb.simulate(policy, channel, world, horizon, runs=runs, seed=5, **how).regret[:, -1].mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    "channel",
    [
        CENTRAL,
        mb.channels.Central(epsilon=0.2),
        mb.channels.Central(epsilon=1, noise=mb.noises.DiscreteGaussian()),
        mb.channels.Distributed(epsilon=1),
        mb.channels.Shuffled(epsilon=1),
        mb.channels.PureShuffled(epsilon=0.9),
        mb.channels.Response(epsilon=2),
        mb.channels.Raw(),
    ],
    ids=lambda channel: f"{type(channel).__name__}-{channel.noise if hasattr(channel, 'noise') else ''}",
)
@pytest.mark.parametrize("world", [FALLS, RISES], ids=["falls", "rises"])
def test_changes_cost_a_part_of_what_they_cost_others(world, channel):
    mine = regret(RestartingKLUCB(), world, channel=channel)
    for other in (NoiseAwareKLUCB(), mb.policies.ContemporaneousKLUCB()):
        assert mine < 0.5 * regret(other, world, channel=channel)
    assert mine > minimax(len(world.means[0]), 200_000)


@pytest.mark.slow
def test_never_noticing_a_change_costs_more():
    """The mutant has windows, and no test."""

    class Blind(RestartingKLUCB):
        ask = mutant(RestartingKLUCB.ask, any_changed=mutant(any_changed, "return True", "return False"))

    assert regret(Blind(), FALLS, 600_000) > 1.3 * regret(RestartingKLUCB(), FALLS, 600_000)


@pytest.mark.slow
def test_a_test_without_the_noise_in_it_sees_changes_where_nothing_changes():
    class Nervous(RestartingKLUCB):
        deaf = mutant(has_changed, "found <= level", "False")
        ask = mutant(
            RestartingKLUCB.ask,
            any_changed=mutant(
                any_changed, arm_changed=mutant(any_changed.function.__globals__["arm_changed"], has_changed=deaf)
            ),
        )

    loud = mb.channels.Central(epsilon=0.05)
    assert regret(Nervous(), STAYS, 10**6, channel=loud) > 1.2 * regret(RestartingKLUCB(), STAYS, 10**6, channel=loud)


@pytest.mark.slow
def test_late_rewards_cost_little():
    """A delay of 300 costs each window as many users, and with every change of the seven one more delay."""
    now, late = (regret(RestartingKLUCB(), FALLS, 600_000, delay=mb.delays.Constant(delay)) for delay in (0, 300))
    assert late < 2 * now + 7 * 300


@for_each("window", [0, 2.5, "long"])
def test_a_window_that_is_none_is_refused(window):
    with pytest.raises(InvalidValue, match="window is"):
        RestartingKLUCB(window=window)


def test_it_goes_on_after_a_short_horizon():
    story = Story(RestartingKLUCB(), 2, 100)
    while story.t < 1000:
        assert story.cohort((0.6, 0.4)).n >= 1
    assert {length for _, length in story.windows} == {100}

"""Worlds whose means move: their shapes, what is refused, and what regret is there.

What all worlds promise is in tests/contracts/test_world.py. Random assertions have a false-alarm probability of
ALPHA = 1e-9 each; all others are exact.
"""

from copy import copy

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.worlds.instance import Expected
from tests.for_each import for_each
from tests.golden import interpreted
from tests.lab.delays.test_delays import FILE, Scripted
from tests.statistics import mean_is

ARMS = mb.Bernoulli([0.5, 0.6, 0.4])
RAW = mb.channels.Raw()
UP = mb.Drifting(ARMS, amplitude=1, period=8, shape=[0.4, 0.1, -0.1, 0.3])  # on average not 0


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def shifts(world, users) -> list[float]:
    """How far means are from where they are without drift."""
    parts = world.parameters()
    found = [[world.expected(parts, arm, t).mean - world.true_means()[arm] for t in range(users)] for arm in range(3)]
    np.testing.assert_allclose(found, np.tile(found[0], (3, 1)), atol=1e-12)  # the same for all arms
    return [round(float(each), 9) for each in found[0]]


def test_shapes() -> None:
    assert shifts(mb.Drifting(ARMS, 0.2, period=4), 6) == [0, 0.2, 0, -0.2, 0, 0.2]
    assert shifts(mb.Drifting(ARMS, 0.2, 4, "step"), 6) == [0.2, 0.2, -0.2, -0.2, 0.2, 0.2]
    assert shifts(mb.Drifting(ARMS, 0.2, 5, "linear"), 7) == [-0.2, -0.1, 0, 0.1, 0.2, 0.2, 0.2]
    assert shifts(UP, 10) == [0.4, 0.4, 0.1, 0.1, -0.1, -0.1, 0.3, 0.3, 0.4, 0.4]
    assert shifts(mb.Drifting(ARMS, 0.2, period=1), 3) == [0, 0, 0]
    default = mb.Drifting(ARMS)
    assert (default.amplitude, default.period, default.shape) == (0.2, 20_000, "sine")


@for_each(
    ("make", "said"),
    [
        (
            lambda: mb.Drifting(mb.Bernoulli([0.5, 0.9])),
            "amplitude is 0.2: .* arm 1 would move from 0.9 to 1.1, outside",
        ),
        (lambda: mb.Drifting(mb.Bernoulli([0.5, 0.1]), 0.2), "arm 1 would move from 0.1 to -0.1, outside"),
        (lambda: mb.Drifting(ARMS, amplitude=-0.1), "amplitude is -0.1: it must be a number from 0 to 1"),
        (lambda: mb.Drifting(ARMS, period=0), "period is 0"),
        (lambda: mb.Drifting(ARMS, period=10**8), "period is 100000000"),
        (lambda: mb.Drifting(ARMS, shape="saw"), "shape is 'saw': it must be 'sine', 'step', 'linear' or a list"),
        (lambda: mb.Drifting(ARMS, shape=[]), r"shape is \[\]"),
        (lambda: mb.Drifting(ARMS, shape=[0, 2]), "shape is 2: it must be a number from -1 to 1"),
        (lambda: mb.Drifting(mb.Beta([1, 1], [1, 2])), "instance is Beta"),
        (lambda: mb.Drifting(mb.Drifting(ARMS, 0.1), 0.1), "whose means stay"),
        (lambda: mb.Drifting([0.5, 0.6]), r"instance is \[0.5, 0.6\]"),
        (lambda: mb.Changing([[0.5, 0.6], [0.5, 0.6, 0.7]], 5), "means is .*: it must be at least two lists"),
        (lambda: mb.Changing([[0.5, 0.6]], 5), "at least two lists"),
        (lambda: mb.Changing(0.5, 5), "means is 0.5: it must be a list of lists"),
        (lambda: mb.Changing([[0.5, 0.6], [0.5, 1.6]], 5), r"means is \[0.5, 1.6\]"),
        (lambda: mb.Changing([[0.5, 0.6], [0.5, 0.4]], 0), "every is 0"),
    ],
)
def test_what_is_no_moving_world_is_refused(make, said) -> None:
    with pytest.raises(InvalidValue, match=said):
        make()


def test_an_arm_may_move_to_the_very_end() -> None:
    for mean, amplitude in ((0.7, 0.3), (0.9, 0.1), (0.45, 0.45), (1 / 3, 1 / 3)):
        mb.Drifting(mb.Bernoulli([mean, 0.5]), amplitude)


CHANGE = mb.Changing([[0.5, 0.6, 0.4], [0.5, 0.1, 0.9]], every=40)
TURNS = Scripted((Decision(0, 20, 1), Decision(1, 30, 1), Decision(2, 70, 1), Decision(0, 15, 1), Decision(1, 5, 1)))


def gaps(world, decisions, horizon):
    """Regret, user by user, by the means that the world says."""
    arms = np.concatenate([np.full(n, arm) for arm, n, _ in decisions])[:horizon]
    expected = [world.expected(world.parameters(), int(arm), t) for t, arm in enumerate(arms)]
    return sum(each.best - each.mean for each in expected)


@for_each("world", [UP, CHANGE], ids=["drifting", "changing"])
def test_regret_is_against_the_arm_that_is_best_for_each_user(world) -> None:
    found = interpreted(TURNS, RAW, world, 300)
    assert found.regret[-1] == pytest.approx(gaps(world, found.decisions, 300))
    lost = np.dot(found.pulls, world.true_means().max() - world.true_means())
    assert (found.regret[-1] == pytest.approx(lost)) == (world is UP)  # the control: no other world has the same means


def realised(policy, world, runs=60):
    """Realised regret minus regret of independent runs, at the end."""
    found = [interpreted(policy, RAW, world, 150, seed=seed) for seed in range(runs)]
    return np.array([each.realised[-1] - each.regret[-1] for each in found])


def leveled(world):
    """The same world, where the best arm is said to be as good as ever: as if policies had earned what drift brings."""

    def expected(numbers, arm, t):
        found, best = world.expected(numbers, arm, t), max(numbers.means)
        return Expected(found.mean - (found.best - best), best)

    twin = copy(world)
    object.__setattr__(twin, "expected", kernel(expected))
    return twin


DECK = Scripted((Decision(0, 40, 2), Decision(1, 20, 2), Decision(2, 10, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("policy", [TURNS, DECK], ids=["arm by arm", "decks"])
@pytest.mark.parametrize("world", [UP, CHANGE], ids=["drifting", "changing"])
def test_realised_regret_has_the_mean_of_regret(world, policy) -> None:
    mean_is(realised(policy, world), 0)
    with pytest.raises(AssertionError, match="the mean is"):
        mean_is(realised(policy, leveled(world)), 0)


class Forgetful(mb.Drifting):
    """A world that does not say that its means move, so that it is asked for sums."""

    moves = False


def test_a_sum_that_cannot_be_is_noticed() -> None:
    policy, channel = mb.policies.SuccessiveElimination(), mb.channels.Central(epsilon=1)
    assert mb.simulate(policy, channel, UP, 2000).releases[0] > 0
    with pytest.raises(InvalidValue, match="size of a cohort"):
        mb.simulate(policy, channel, Forgetful(ARMS, 0.1), 2000)


@pytest.mark.slow
def test_compiled_is_python_where_means_move(monkeypatch) -> None:
    for world, policy in (
        (UP, mb.policies.ContemporaneousKLUCB()),
        (mb.Drifting(ARMS, 0.2, 100, "linear"), mb.policies.NoiseAwareKLUCB()),
        (CHANGE, mb.policies.ContemporaneousKLUCB()),
    ):
        channel = mb.channels.Central(epsilon=1)
        python = interpreted(policy, channel, world, 5000, seed=5)
        monkeypatch.setenv("MASKEDBANDIT_KERNELS", "compiled")
        run = mb.simulate(policy, channel, world, 5000, seed=5)
        assert run.pulls[0].tolist() == python.pulls
        assert run.regret[0].tolist() == python.regret
        assert run.realised_regret[0].tolist() == python.realised


def test_means_change_in_turn() -> None:
    world = mb.Changing([[0.5, 0.6, 0.4], [0.5, 0.1, 0.9], [0.2, 0.2, 0.2]], every=10)
    expected = [[tuple(world.expected(world.parameters(), arm, t)) for arm in range(3)] for t in range(40)]
    for t, found in enumerate(expected):
        now = world.means[t // 10 % 3]
        assert found == [(mean, max(now)) for mean in now]


@pytest.mark.slow
def test_most_policies_are_not_protected_from_an_arm_that_changes() -> None:
    """The best arm becomes the worst: who serves it still pays for all who come after."""
    world = mb.Changing([[0.6, 0.5, 0.4], [0.2, 0.5, 0.4]], every=5000)
    channel = mb.channels.Central(epsilon=1)
    for policy in (mb.policies.NoiseAwareKLUCB(), mb.policies.ContemporaneousKLUCB()):
        still = mb.Bernoulli(world.means[0])
        found, control = (interpreted(policy, channel, each, 10_000, seed=1) for each in (world, still))
        assert found.regret[-1] > 5 * control.regret[-1]


def test_files_ask_for_worlds_that_move(tmp_path) -> None:
    (tmp_path / "days.txt").write_text("0.5\n-1\n")
    inner = {"name": "bernoulli", "means": "C1"}
    drifting = {"name": "drifting", "instance": inner, "amplitude": 0.1, "file": str(tmp_path / "days.txt")}
    changing = {"name": "changing", "means": [[0.2, 0.8], [0.8, 0.2]], "every": 100}
    found = [
        expand_settings("x", "", {**FILE, "instance": each, "curves": [{}]}).settings[0]
        for each in (drifting, changing)
    ]
    assert found[0].instance == mb.Drifting(mb.Bernoulli([0.75, 0.7, 0.7, 0.7, 0.7]), 0.1, shape=[0.5, -1])
    assert found[1].instance == mb.Changing([[0.2, 0.8], [0.8, 0.2]], 100)
    varied = {**FILE, "instance": drifting, "curves": [{}], "vary": {"instance.amplitude": [0, 0.2]}}
    assert [each.instance.amplitude for each in expand_settings("x", "", varied).settings] == [0, 0.2]
    for wrong in ("/nowhere", str(tmp_path / "no_numbers.txt")):
        (tmp_path / "no_numbers.txt").write_text("a\n")
        with pytest.raises(InvalidValue, match="text file of numbers"):
            expand_settings("x", "", {**FILE, "instance": {**drifting, "file": wrong}, "curves": [{}]})


def test_bounds_and_rehearsals_are_refused_where_means_move() -> None:
    bound = {**FILE, "instance": {"name": "drifting", "instance": {"name": "bernoulli", "means": [0.2, 0.7]}}}
    with pytest.raises(InvalidValue, match=r"instance is Drifting.*: it must be one whose means stay, for a curve"):
        expand_settings("x", "", {**bound, "curves": [{"theory": "no_privacy"}]})
    channel = mb.channels.Distributed(epsilon=1, backend=mb.backends.SecAgg())
    with pytest.raises(InvalidValue, match="one whose means stay, where SecAgg carries the sums"):
        mb.simulate(mb.policies.SuccessiveElimination(), channel, UP, 100)


@for_each("world", [mb.Changing([[0.8, 0.3], [1.0, 0.0]], every=50), mb.Drifting(ARMS, 0.1, period=40)])
def test_where_means_move_no_lower_bound_is_stated(world) -> None:
    """It is one for means that stay, and a search can end long before: here in users of the second, easier list."""
    searches = (mb.identify, mb.policies.ReleasedLikelihood()), (mb.select, mb.policies.TopArms(m=1))
    for search, policy in searches:
        found = search(policy, RAW, world, delta=0.4, seed=1)
        assert found.to_frame()["bound"].to_list() == [None]
        stays = search(policy, RAW, mb.Bernoulli([0.8, 0.3]), delta=0.4, seed=1)
        assert stays.to_frame()["bound"][0] > 0

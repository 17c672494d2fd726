"""Replays of policies without contexts: they have the distribution of a real study, however the log chose its arms.

Each comparison of two distributions, and each test of a mean, rejects a correct replay with probability ALPHA = 1e-9
under a new seed (tests/statistics.py).
"""

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import BiasedLog, InvalidValue
from maskedbandit.lab.goals.replay import log_arms
from maskedbandit.lab.goals.replay.log_arms import LogArms
from tests.for_each import for_each
from tests.statistics import mean_is, same_distribution_of_two

RATES = np.array([[0.0, 0.4], [1.0, 1.0]])  # of rewards, by group and arm
TRUTH, SEEMS = [0.5, 0.7], [0.8, 0.52]  # half of the visitors are of each group; and the means in the log
SHOWN = np.array([[0.2, 0.8], [0.8, 0.2]])  # arm 0 to those who bring more
RAW = mb.channels.Raw()


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and would take longer to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def visit(n: int, seed: int = 1) -> dict[str, np.ndarray]:
    """A log in which an arm is shown by what is known of the visitor."""
    rng = np.random.Generator(np.random.PCG64([23, seed]))
    group = rng.integers(0, 2, n)
    arm = (rng.random(n) < SHOWN[group, 1]).astype(int)
    reward = (rng.random(n) < RATES[group, arm]).astype(int)
    return {"arm": arm, "reward": reward, "propensity": SHOWN[group, arm], "group": group}


# --- the distribution of a replay ---------------------------------------------------------------------------------

HORIZON, LOGS = 60, 500
LEARNS = mb.policies.UCB1()


def replay_logs() -> np.ndarray:
    """What a policy that learns earned in replays of so many logs."""
    earned = []
    for seed in range(LOGS):
        found = mb.replay(LEARNS, RAW, mb.FrameLog(visit(700, seed)), horizon=HORIZON, seed=seed)
        assert found.users.tolist() == [
            HORIZON
        ]  # 140 ± 11 visits are kept for each arm: always enough with these seeds
        earned.append(int(found.clicks[0]))
    return np.array(earned)


def live(means: list[float]) -> np.ndarray:
    """The same in real studies."""
    found = mb.simulate(LEARNS, RAW, mb.Bernoulli(means), HORIZON, LOGS, seed=3)
    return np.rint(max(means) * HORIZON - found.realised_regret[:, -1]).astype(int)


@pytest.mark.slow
def test_a_replay_has_the_distribution_of_a_real_study() -> None:
    same_distribution_of_two(replay_logs(), live(TRUTH))


@pytest.mark.slow
def test_a_replay_of_all_visits_has_another_one(monkeypatch) -> None:
    """The control: without regard to probabilities arm 0 seems the better one."""
    monkeypatch.setattr(log_arms, "find_least_propensities", lambda log: np.ones(log.k))
    everything = replay_logs()
    with pytest.raises(AssertionError, match="two distributions"):
        same_distribution_of_two(everything, live(TRUTH))
    same_distribution_of_two(everything, live(SEEMS))


@pytest.mark.slow
def test_what_an_arm_brings_is_its_mean_over_all_visitors() -> None:
    rewards = LogArms(mb.FrameLog(visit(200_000))).rewards
    for arm, mean in enumerate(TRUTH):
        mean_is(rewards[:, arm], mean)
        with pytest.raises(AssertionError, match="the mean is"):
            mean_is(rewards[:, arm], SEEMS[arm])
    assert abs(np.corrcoef(rewards.T)[0, 1]) < 6.2 / np.sqrt(len(rewards))  # of two visitors, who are independent


def test_it_is_not_known_from_rewards_which_visits_are_used() -> None:
    table = visit(5000)
    one = LogArms(mb.FrameLog(table), seed=5).rewards
    other = LogArms(mb.FrameLog(table | {"reward": 1 - table["reward"]}), seed=5).rewards
    assert np.array_equal(one, 1 - other)
    assert 900 < len(one) < 1000  # a fifth, as the least probability is 0.2
    assert not np.array_equal(one, LogArms(mb.FrameLog(table), seed=6).rewards[: len(one)])


def test_no_visit_is_used_twice_and_all_come_in_order() -> None:
    """Each visit has a number, in bits that further arms bring at the same time."""
    n, bits = 3000, 12
    arm = np.tile(np.arange(bits + 1), n)  # shown in turn; arm j < bits brings bit j of the round's number
    number = np.repeat(np.arange(n), bits + 1)
    reward = np.where(arm < bits, (number >> np.minimum(arm, bits - 1)) & 1, 0)
    keep = (arm < bits) | (number % 3 == 0)  # the last arm is rarer, so that only a third of the visits is used
    chance = np.where(arm < bits, 3 / (3 * bits + 1), 1 / (3 * bits + 1))
    log = mb.FrameLog({"arm": arm[keep], "reward": reward[keep], "propensity": chance[keep]})
    order = [log.names.index(str(j)) for j in range(bits)]
    seen = LogArms(log).rewards[:, order].astype(int) @ (1 << np.arange(bits))
    assert seen.tolist() == list(range(0, n, 3))
    assert all(a < b for a, b in pairwise(seen))


def test_drift_is_replayed_as_it_was() -> None:
    half = np.arange(4000) >= 2000
    table = {"arm": np.arange(4000) % 2, "reward": half.astype(int), "propensity": np.full(4000, 0.5)}
    found = mb.replay(mb.policies.Uniform(), RAW, mb.FrameLog(table), seed=1)
    assert found.users[0] == 2000
    assert found.reward[0, found.t <= 1000].tolist() == [0] * int((found.t <= 1000).sum())
    assert found.clicks[0] == 1000


# --- what a replay is besides -------------------------------------------------------------------------------------


def test_its_loss_and_releases_are_those_of_the_study_it_imitates() -> None:
    log, channel = mb.FrameLog(visit(4000)), mb.channels.Central(epsilon=0.5)
    found = mb.replay(mb.policies.SuccessiveElimination(), channel, log, runs=2, seed=3, delay=mb.delays.Constant(20))
    assert found.loss == mb.Loss.pure(0.5)
    assert (found.releases > 0).all()
    assert (found.pulls.sum(axis=1) == found.users).all()
    assert (found.rate == found.clicks / found.users).all()
    assert found.random[0] == pytest.approx(np.mean(TRUTH), abs=0.06)
    assert "weighted" not in found.to_frame().columns
    assert found.outcome().error() != ""  # runs share the visits: their error is that of one


def test_threads_and_other_runs_change_nothing() -> None:
    log = mb.FrameLog(visit(3000))
    found = mb.replay(LEARNS, RAW, log, runs=4, seed=3)
    with ThreadPoolExecutor(2) as executor:
        again = mb.replay(LEARNS, RAW, log, runs=2, seed=3, runs_from=2, executor=executor)
    assert (again.reward == found.reward[2:]).all()
    assert not np.array_equal(found.reward, mb.replay(LEARNS, RAW, log, runs=4, seed=4).reward)


@pytest.mark.slow
def test_it_is_compared_with_a_contextual_policy() -> None:
    table = visit(3000)
    log = mb.FrameLog(table, contexts=["group"])
    found = mb.compare({"plain": LEARNS, "contextual": mb.policies.LinUCB()}, RAW, log, runs=2, seed=3)
    frame = found.to_frame()
    assert frame["label"].to_list() == ["plain", "plain", "contextual", "contextual"]
    assert frame["weighted"].null_count() == 2
    assert "click rate" in repr(found)


@for_each(
    ("change", "said"),
    [
        ({"log": mb.Newsroom(events=600)}, "a recorded log all of whose arms could be shown to every visitor"),
        ({"context": "product"}, "context is 'product': it must be left out for a policy without contexts"),
        ({"policy": mb.policies.TTUCB()}, "a policy whose goal is 'regret', not 'identify'; mb.identify takes it"),
        ({"channel": mb.channels.Distributed(epsilon=1, backend=mb.backends.SecAgg())}, "ideal in a replay"),
        ({"horizon": 0}, "horizon is 0"),
        ({"log": 3}, "log is 3: it must be a recorded log"),
    ],
)
def test_what_cannot_be_replayed_is_named(change, said) -> None:
    given = {"policy": LEARNS, "channel": RAW, "log": mb.FrameLog(visit(100))}
    with pytest.raises(InvalidValue, match=re.escape(said)):
        mb.replay(**given | change)


def test_a_log_whose_probabilities_are_wrong_is_refused() -> None:
    table = visit(20_000)
    with pytest.raises(BiasedLog, match="standard deviations off"):
        mb.replay(LEARNS, RAW, mb.FrameLog(table | {"propensity": np.full(20_000, 0.5)}, contexts=["group"]))

"""Delays: distributions of single ones, the heap of what is in flight, and what the engine tells and when.

What all delays promise is in tests/contracts/test_delay.py. Random assertions have a false-alarm probability of
ALPHA = 1e-9 each; all others are exact.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskedbandit as mb
from maskedbandit.core import TOGETHER, WAIT, Decision, kernel
from maskedbandit.errors import IllegalDecision, InvalidValue, UnknownName
from maskedbandit.lab.delays import recorded
from maskedbandit.lab.delays.constant import AT_ONCE, Constant
from maskedbandit.lab.delays.delay import Delay, draw_delay, last
from maskedbandit.lab.delays.geometric import Geometric
from maskedbandit.lab.delays.recorded import Recorded
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.engine.in_flight import (
    NEVER,
    first_due,
    in_flight,
    is_full,
    open_in_flight,
    pop_due_slot,
    push_slot,
)
from maskedbandit.lab.engine.outcomes import BAD_ARM, DONE, Out, blank_out
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.goals import drive
from maskedbandit.lab.goals.drive import bind_kernels
from maskedbandit.lab.streams import Streams
from maskedbandit.policies.policy import Policy
from maskedbandit.reports.audit.runs import Twin, break_nothing, run_loop
from tests.audit.twins import tell_again, tell_early, tell_late, wait_the_same
from tests.contracts.rules import LONG, RAW, of_goal
from tests.for_each import for_each
from tests.golden import channel_for, interpreted
from tests.statistics import mean_is, same_distribution

INSTANCE = mb.Bernoulli([0.2, 0.8])


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def test_a_geometric_delay_has_the_geometric_distribution() -> None:
    for mean in (2.5, 0.1):
        d, generator, q = Geometric(mean=mean).parameters(), rng(), mean / (1 + mean)
        sample = np.array([draw_delay(d, generator) for _ in range(20_000)])
        same_distribution(sample, lambda z, q=q: np.where(z >= 0, (1 - q) * q ** np.maximum(z, 0.0), 0))
        mean_is(sample, mean)


def test_recorded_delays_are_drawn_as_often_as_they_were_measured() -> None:
    d, generator = Recorded([0, 0, 1, 4, 9]).parameters(), rng()
    sample = np.array([draw_delay(d, generator) for _ in range(20_000)])
    same_distribution(sample, lambda z: np.array([[0, 0, 1, 4, 9].count(each) / 5 for each in z.tolist()]))


def test_cohorts_of_a_billion_cost_no_more() -> None:
    class Counting:
        calls = 0

        def __getattr__(self, name):
            Counting.calls += 1
            return getattr(source, name)

    source = rng()
    for delay in (Constant(1000), Geometric(mean=1000), Recorded(range(1000))):
        Counting.calls = 0
        for _ in range(20):
            assert last(delay.parameters(), 10**9, Counting()) <= delay.parameters().longest
        assert Counting.calls < 20 * 100


def test_a_constant_delay_is_that_of_the_last_user() -> None:
    assert {last(Constant(7).parameters(), n, rng()) for n in (1, 2, 1000, 10**15)} == {7}
    assert {last(Recorded([0, 0]).parameters(), n, rng()) for n in (1, 10**15)} == {0}


@given(st.lists(st.one_of(st.integers(0, 20), st.none()), max_size=80))
@settings(max_examples=60, deadline=None)
def test_the_heap_gives_the_first_due_and_of_equals_the_first_pushed(steps) -> None:
    """None pops; a list is the slow reference. Slots in use are never given out twice."""
    flight, reference = open_in_flight(40), []
    for turn, due in enumerate(steps):
        if due is not None:
            assert is_full(flight) == (len(reference) == flight.capacity)
            if is_full(flight):
                continue
            slot = push_slot(flight, due)
            assert 0 <= slot < flight.capacity
            assert slot not in [other for _, _, other in reference]
            reference = sorted([*reference, (due, turn, slot)])
        elif reference:
            assert pop_due_slot(flight) == reference.pop(0)[2]
        assert first_due(flight) == (reference[0][0] if reference else NEVER)
    assert [pop_due_slot(flight) for _ in reference] == [slot for _, _, slot in reference]


def test_there_is_room_for_one_thing_a_round() -> None:
    for delay in (Constant(5), Geometric(mean=0.3)):
        d = delay.parameters()
        flight = in_flight(d)
        for t in range(200):
            while first_due(flight) <= t:
                pop_due_slot(flight)
            assert not is_full(flight)
            push_slot(flight, t + 1 + d.longest)
    assert in_flight(Constant(10**12).parameters(), horizon=50).capacity == 52


def same(a, b) -> bool:
    pairs = [(a.regret, b.regret), (a.realised_regret, b.realised_regret), (a.pulls, b.pulls), (a.releases, b.releases)]
    return all((one == other).all() for one, other in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("policy", [mb.policies.UCB1(), mb.policies.AdaPUCB()], ids=lambda each: type(each).__name__)
def test_no_delay_is_the_same_whether_it_is_compiled_in_or_drawn(policy, monkeypatch) -> None:
    channel, how = channel_for(policy), {"horizon": 3000, "runs": 3, "seed": 5}
    without = mb.simulate(policy, channel, INSTANCE, **how)
    assert same(without, mb.simulate(policy, channel, INSTANCE, delay=Constant(0), **how))
    monkeypatch.setattr(Constant, "late", last)
    assert same(without, mb.simulate(policy, channel, INSTANCE, delay=Constant(0), **how))
    assert not same(without, mb.simulate(policy, channel, INSTANCE, delay=Constant(20), **how))


class Kept(NamedTuple):
    """What a scripted policy asks for, and what it was told."""

    asks: list
    released: list


@dataclass(frozen=True)
class Scripted(Policy):
    """Asks for what its script says, one decision after the other, then for the last of them again and again."""

    script: tuple
    goal: ClassVar = "regret"

    def init(self, k, aim):
        return Kept(list(self.script), [])

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return s.asks.pop(0) if len(s.asks) > 1 else s.asks[0]

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.released.append((arm, n))


class Heard(NamedTuple):
    """One run of the loop, as Python: what was decided and told, and after how many users."""

    status: int
    asked: list[tuple[int, Decision]]
    released: list[tuple[int, int, int, float]]  # users, arm, n, total
    waits: list[tuple[int, int, int]]  # users at the closing of a cohort, its size, the delay drawn for it
    out: Out


def hear(policy: Policy, delay: Delay, horizon: int, twin: Twin = break_nothing, channel: Any = RAW) -> Heard:
    """The loop, with its ears open."""
    k = 2
    asked, released, waits, deck = [], [], [], []  # deck: sizes of cohorts that were asked for together
    marks = list_checkpoints(horizon)
    out = blank_out(k, marks)

    def ask(*args):
        decision = Decision(*policy.ask(*args))
        if decision.close == TOGETHER or deck:
            deck.append(decision.n)
        asked.append((int(out.pulls.sum()), decision))
        return decision

    def tell(s, arm, n, total):
        released.append((int(out.pulls.sum()), int(arm), int(n), float(total)))
        policy.tell(s, arm, n, total)

    def late(d, n, generator):
        wait = int(last(d, n, generator))
        assert not deck or sum(deck) == n, "not the places of the deck"
        waits.extend((int(out.pulls.sum()), int(size), wait) for size in deck or [n])
        deck.clear()
        return wait

    hooks = {**bind_kernels(policy, channel, INSTANCE, delay), "ask": ask, "tell": tell, "late": late}
    parts = policy.init(k, horizon), channel, INSTANCE.parameters(), delay, policy.goal == "regret"
    status = run_loop(*parts, marks, out, Streams(3, "").of(0), hooks, twin)
    return Heard(status, asked, released, waits, out)


def check_times(found: Heard, horizon: int) -> None:
    """Each release is told once, no sooner than it is due and before anything is asked after that; in order."""
    assert found.status == DONE
    assert found.out.releases[0] == len(found.released)
    due = sorted((t + wait, i, n) for i, (t, n, wait) in enumerate(found.waits))
    there = [each for each in due if each[0] <= horizon]
    assert len(found.released) <= len(there), "more was released than is there"
    for (when, _, n), (t, _, users, _) in zip(there, found.released, strict=False):
        assert users == n, "released out of order"
        assert t >= when, "released too soon"
        assert not any(when <= asked < t for asked, _ in found.asked), "released too late"
    if not any(decision.n == 0 and decision.arm >= 0 for _, decision in found.asked):  # a stop ends it all
        assert len(found.released) == len(there), "never released"


ONE = Decision(0, 1, 1)
CASES = [
    (Scripted((ONE, Decision(1, 1, 1))), Constant(100)),
    (Scripted((ONE,)), Geometric(mean=30)),
    (Scripted((Decision(0, 7, 1), Decision(1, 2, 1), Decision(0, 1, 0))), Recorded([0, 0, 50, 90])),
    (Scripted((Decision(1, 5, 1), Decision(0, 3, 1), WAIT, WAIT, ONE)), Constant(40)),
]


@pytest.mark.slow
@for_each(("policy", "delay"), CASES)
def test_releases_are_told_when_their_last_reward_is_there(policy, delay) -> None:
    found = hear(policy, delay, 1000)
    check_times(found, 1000)
    assert found.out.pulls.sum() == 1000


@for_each(
    ("twin", "said"),
    [
        (tell_early, "too soon|more was released"),
        (tell_late, "too late|never released"),
        (wait_the_same, "out of order|too soon|too late|more was released|never released"),
        (tell_again, "released too|more was released|never released|out of order"),
    ],
)
def test_an_engine_that_tells_at_the_wrong_time_is_rejected(twin, said) -> None:
    with pytest.raises((AssertionError, IndexError), match=said):
        check_times(hear(*CASES[1], 300, twin), 300)


def test_a_run_with_more_in_flight_than_there_is_room_for_is_made_again_with_more(monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    given = mb.policies.UCB1(), RAW, INSTANCE, 300
    with_room = [interpreted(*given, seed=5, run=run, delay=Constant(100)).pulls for run in range(2)]
    assert mb.simulate(*given, seed=5, runs=2, delay=Constant(100)).pulls.tolist() == with_room
    monkeypatch.setattr(drive, "MORE_SLOTS", -1)  # the control: the run ends where there is no room
    assert mb.simulate(*given, seed=5, runs=2, delay=Constant(100)).pulls.sum(axis=1).tolist() == [9, 9]


def test_rewards_that_are_later_are_told_later() -> None:
    found = hear(Scripted((ONE,)), Constant(100), 250)
    assert [t for t, *_ in found.released] == list(range(101, 251))


def test_out_of_order_cohorts_keep_their_sums() -> None:
    """Every cohort of n users of a mean of 1 has a sum of n, whenever it is told."""
    script = tuple(Decision(1, n, 1) for n in range(1, 40))
    policy = Scripted(script)
    names = mb.Bernoulli([0.5, 1.0])
    found = interpreted(policy, RAW, names, 2000, delay=Geometric(mean=100))
    assert [n for _, n, _ in found.released] != sorted(n for _, n, _ in found.released)
    assert all(total == n for _, n, total in found.released)


def test_who_comes_while_the_policy_waits_is_served_and_nobody_asks_for_the_reward() -> None:
    script = Decision(0, 10, 1), Decision(1, 10, 1), WAIT, WAIT, Decision(0, 0, 0)
    found = hear(Scripted(script), Constant(30), 1000)
    assert [users for users, _ in found.asked] == [0, 10, 20, 40, 50]
    assert [each[:3] for each in found.released] == [(40, 0, 10), (50, 1, 10)]
    before, after = 20, 10  # until the first release arms come in turn, then the best one that was released
    assert found.out.pulls.tolist() == [10 + before // 2 + after + 950, 10 + before // 2]
    assert set(found.out.sizes.tolist()) == {0, 10}  # nobody else pays


def test_users_served_while_waiting_join_no_cohort() -> None:
    script = Decision(1, 4, 0), Decision(0, 10, 1), WAIT, Decision(1, 4, 1), WAIT, Decision(0, 0, 0)
    found = hear(Scripted(script), Constant(30), 1000)
    assert [each[1:3] for each in found.released] == [(0, 10), (1, 8)]
    assert all(total <= n for _, _, n, total in found.released)


def test_users_of_no_arm_are_no_way_to_wait() -> None:
    for close in (0, 1):
        assert hear(Scripted((Decision(0, 5, 1), Decision(-1, 5, close))), Constant(20), 60).status == BAD_ARM


def test_waiting_for_nothing_is_still_a_mistake(as_python) -> None:
    with pytest.raises(IllegalDecision, match="waits, but it already has every release"):
        scripted(Constant(50), stuck=1)


@pytest.mark.slow
def test_what_is_in_flight_at_the_horizon_is_never_told_but_paid_for() -> None:
    early, late = (hear(Scripted((Decision(0, 100, 1), WAIT)), Constant(wait), 200) for wait in (100, 101))
    assert [len(found.released) for found in (early, late)] == [1, 0]
    assert late.out.sizes[0] == 100
    run = mb.simulate(mb.policies.SuccessiveElimination(), mb.channels.Central(epsilon=1), INSTANCE, 1000, delay=AGES)
    assert (run.releases[0], run.loss.epsilon(), run.pulls.sum()) == (0, 1.0, 1000)


AGES = Constant(10**9)


class Waiting(NamedTuple):
    """A policy of one cohort."""

    clock: np.ndarray
    stuck: int


class OneCohort(Policy):
    """One cohort, then it waits; told, it stops with arm 1, or waits for nothing."""

    goal: ClassVar = "identify"

    def __init__(self, stuck: int) -> None:
        self.stuck = stuck

    def init(self, k, aim):
        return Waiting(np.zeros(2, np.int64), self.stuck)

    @staticmethod
    @kernel
    def ask(s, law, rng):
        if s.clock[0] == 0:
            s.clock[0] = 1
            return Decision(0, 10, 1)
        if s.clock[1] == 1 and s.stuck == 0:
            return Decision(1, 0, 0)
        return WAIT

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.clock[1] = 1


@pytest.fixture
def as_python(monkeypatch) -> None:
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def scripted(delay: Delay, stuck: int = 0, **how: Any) -> Any:
    return mb.identify(OneCohort(stuck), RAW, INSTANCE, delay=delay, **how)


def test_samples_count_who_was_served_while_the_policy_waited(as_python) -> None:
    found = scripted(Constant(50), runs=2)
    assert found.samples.tolist() == [60, 60]
    assert found.answer.tolist() == [1, 1]
    cut = scripted(Constant(50), max_pulls=59)
    assert (cut.samples[0], cut.stopped[0], cut.answer[0]) == (59, False, -1)


def test_single_user_policies_do_not_wait_for_late_rewards() -> None:
    for name in (
        "ucb1",
        "klucb",
        "thompson_sampling",
        "ldp_ucb",
        "dpucb",
        "gaussian_thompson",
        "capped_thompson",
        "dpucb_int",
        "uniform",
    ):
        policy = mb.policies.room[name]()
        found = interpreted(policy, channel_for(policy), mb.Bernoulli([0.2, 0.4, 0.6]), 250, delay=Constant(100))
        assert [-1, 0, 0] not in found.decisions
        first = [arm for arm, _, _ in found.decisions[:100]]
        assert min(first.count(arm) for arm in range(3)) >= 15, f"{name} stalls on one arm"


@pytest.mark.parametrize(
    ("policy", "rounds"),
    [pytest.param(mb.policies.UCB1(), (0, 100, 1000), marks=pytest.mark.slow), (mb.policies.AdaPUCB(), (0, 1000))],
    ids=["UCB1", "AdaPUCB"],
)
def test_later_rewards_cost_more(policy, rounds, as_python) -> None:
    """By so much that no seed would hide it."""
    how = {"horizon": 4000, "runs": 3, "seed": 1} if len(rounds) == 3 else {"horizon": 10_000, "runs": 20, "seed": 1}
    channel = RAW if len(rounds) == 3 else channel_for(policy)
    regret = [mb.simulate(policy, channel, INSTANCE, delay=Constant(d), **how).regret[:, -1].mean() for d in rounds]
    assert regret == sorted(regret)
    assert regret[-1] > 2 * regret[0]


@for_each(
    ("make", "said"),
    [
        (lambda: Constant(-1), "rounds is -1: it must be a whole number of rounds"),
        (lambda: Constant(1.5), "rounds is 1.5"),
        (lambda: Constant(True), "rounds is True"),
        (lambda: Geometric(0), "mean is 0"),
        (lambda: Geometric(1e10), "mean is 10000000000.0: it must be at most"),
        (lambda: Recorded([]), r"rounds is \[\]"),
        (lambda: Recorded("12"), "rounds is '12'"),
        (lambda: Recorded([1, -2]), "rounds is -2"),
        (lambda: mb.simulate(mb.policies.UCB1(), RAW, INSTANCE, 10, delay=100), "delay is 100: it must be a delay"),
        (lambda: recorded.read_rounds("/nowhere"), "file is '/nowhere'"),
    ],
)
def test_what_is_no_delay_is_refused(make, said) -> None:
    with pytest.raises(InvalidValue, match=said):
        make()


def test_a_rehearsal_has_no_delays() -> None:
    channel = mb.channels.Distributed(epsilon=1, backend=mb.backends.SecAgg())
    said = r"delay is Constant\(rounds=5\): it must be left out, or 0, where SecAgg carries the sums: its devices"
    with pytest.raises(InvalidValue, match=said):
        mb.simulate(mb.policies.SuccessiveElimination(), channel, INSTANCE, 100, delay=Constant(5))


FILE = {"horizon": 500, "instance": {"name": "bernoulli", "means": [0.2, 0.8]}, "policy": "ucb1", "channel": "raw"}


def test_files_ask_for_delays(tmp_path) -> None:
    own = tmp_path / "delays.txt"
    own.write_text("3\n0\n5\n")
    given = [0, 100, {"name": "geometric", "mean": 100}, {"name": "recorded", "file": str(own)}]
    expected = [AT_ONCE, Constant(100), Geometric(100), Recorded([3, 0, 5])]
    assert [
        expand_settings("x", "", {**FILE, "delay": each, "curves": [{}]}).settings[0].delay for each in given
    ] == expected
    assert [
        each.delay for each in expand_settings("x", "", {**FILE, "curves": [{}], "vary": {"delay": given}}).settings
    ] == (expected)
    both = {**FILE, "delay": 7, "curves": [{"label": "a", "delay": 8}, {"label": "b"}]}
    assert [each.delay for each in expand_settings("x", "", both).settings] == [Constant(8), Constant(7)]
    bound = {**FILE, "curves": [{}, {"theory": "no_privacy"}], "vary": {"delay": [0, 5]}}
    assert len(expand_settings("x", "", bound).settings) == 3  # the bound is drawn once


@for_each("wrong", [-1, "soon", {"name": "geometric", "rate": 1}, {"name": "uniform"}])
def test_files_that_ask_for_no_delay_are_refused(wrong) -> None:
    with pytest.raises((InvalidValue, UnknownName), match=r"delay|rounds|geometric"):
        expand_settings("x", "", {**FILE, "delay": wrong, "curves": [{}]})


@pytest.mark.slow
def test_tables_and_summaries_hold_the_delay(tmp_path) -> None:
    from maskedbandit.lab.experiments.table import collect_results
    from maskedbandit.lab.goals.cells import format_summary
    from maskedbandit.lab.goals.regret.rows import cells, summary

    vary = {"delay": [0, {"name": "geometric", "mean": 9}]}
    experiment = expand_settings("x", "", {**FILE, "runs": 2, "curves": [{}, {"theory": "no_privacy"}], "vary": vary})
    table = collect_results(experiment, experiment.settings, tmp_path / "out")
    assert set(table["delay"].to_list()) == {"0", "geometric, mean = 9", None}
    rows = summary(table)
    assert rows["ratio"].to_list()[:2] == [1, 1]  # each is compared with what is as late
    assert "geometric, mean = 9" in format_summary(rows, cells)
    experiment.draw(table)
    frame = mb.simulate(mb.policies.UCB1(), RAW, INSTANCE, 10, delay=Constant(3)).to_frame()
    assert frame["delay"].unique().to_list() == ["3"]
    assert "delay" not in mb.simulate(mb.policies.UCB1(), RAW, INSTANCE, 10).to_frame().columns


@pytest.mark.sparing(2)
@pytest.mark.parametrize("delay", [pytest.param(Constant(100), marks=pytest.mark.slow), Geometric(mean=50)], ids=str)
@pytest.mark.parametrize("name", of_goal("regret"))
def test_every_policy_keeps_the_times(name, delay) -> None:
    policy = mb.policies.room[name]()
    found = hear(policy, delay, 1000, channel=channel_for(policy))
    check_times(found, 1000)
    assert found.out.pulls.sum() == 1000


@pytest.mark.slow
def test_compiled_is_python_with_delays() -> None:
    for policy in (mb.policies.UCB1(), mb.policies.AdaPUCB()):
        where = channel_for(policy), INSTANCE, LONG
        for delay in (Geometric(mean=50), Recorded([0, 10, 200])):
            python = interpreted(policy, *where, seed=5, delay=delay)
            run = mb.simulate(policy, *where, seed=5, delay=delay)
            assert run.pulls[0].tolist() == python.pulls
            assert run.releases[0] == python.releases
            assert run.regret[0].tolist() == python.regret


@pytest.mark.slow
@pytest.mark.parametrize("policy", [mb.policies.UCB1(), mb.policies.KLUCB(), mb.policies.DPUCB(), mb.policies.LDPUCB()])
def test_an_arm_whose_first_reward_is_late_is_not_forgotten(policy):
    """One reward in ten comes after the study: an arm whose first one does must be asked again."""
    delay, means = Recorded([0] * 9 + [10**6]), [0.9, 0.1, 0.1, 0.1]
    found = mb.simulate(policy, RAW, mb.Bernoulli(means), 4000, runs=60, seed=3, delay=delay)
    assert found.pulls[:, 0].min() > 2000  # a mutant that asks once forgets the best arm in one run of ten

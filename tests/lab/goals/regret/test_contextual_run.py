"""What contextual simulations and replays give back, and that `simulate` leads to the former."""

from functools import partial

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.regret.simulate import ContextualRun
from maskedbandit.lab.goals.result import describe_run
from tests.for_each import for_each

POLICY, RAW, CONTEXTS = mb.policies.LinUCB(alpha=0.3), mb.channels.Raw(), mb.LinearContexts(d=3, k=4)
LATE = mb.delays.Constant(5)


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.mark.slow
def test_simulate_runs_contextual_policies_on_contexts() -> None:
    how = {"horizon": 300, "runs": 3, "seed": 5, "study": "s", "executor": partial(Threads, 2), "delay": LATE}
    calls: list[None] = []
    found = mb.simulate(POLICY, RAW, CONTEXTS, **how, advance=lambda: calls.append(None))
    again = mb.simulate(POLICY, RAW, CONTEXTS, **{**how, "executor": partial(Threads, 1)})
    assert isinstance(found, ContextualRun)
    assert found.delay == LATE
    assert len(calls) == 3
    np.testing.assert_array_equal(found.regret, again.regret)
    np.testing.assert_array_equal(found.reward, again.reward)
    at_once = mb.simulate(POLICY, RAW, CONTEXTS, **{**how, "delay": mb.delays.Constant(0)})
    assert (at_once.regret != found.regret).any()  # so the delay reached the loop


def test_a_contextual_run_is_rows_without_the_luck_it_does_not_know() -> None:
    found = mb.simulate(POLICY, RAW, CONTEXTS, 100, runs=2, seed=1, delay=LATE)
    rows = found.to_frame()
    assert rows.height == 2 * found.t.size
    assert "realised_regret" not in rows.columns
    assert rows["reward"].to_list() == found.reward.ravel().tolist()
    assert rows["regret"].to_list() == found.regret.ravel().tolist()
    assert set(rows["delay"]) == {"5"}
    multi = mb.simulate(mb.policies.UCB1(), RAW, mb.Bernoulli([0.2, 0.4]), 100).to_frame()
    assert "realised_regret" in multi.columns
    assert not {"reward", "delay"} & set(multi.columns)


@pytest.mark.slow
def test_a_replay_says_who_ran_over_what_and_how_late() -> None:
    late = mb.replay(POLICY, RAW, mb.Newsroom(events=2000, seed=3), seed=1, delay=LATE)
    assert late.delay == LATE
    assert describe_run(late) == {**describe_run(mb.replay(POLICY, RAW, late.log, seed=1)), "delay": "5"}
    assert describe_run(late)["policy"] == "LinUCB"


@for_each(
    ("parts", "said"),
    [
        ((POLICY, RAW, mb.Bernoulli([0.2, 0.4])), "instance is Bernoulli.*: it must be one with contexts"),
        ((mb.policies.UCB1(), RAW, CONTEXTS), "instance is LinearContexts.*: it must be one of arms without contexts"),
        ((POLICY, "raw", CONTEXTS), "channel is 'raw': it must be a channel, such as"),
        (("lin_ucb", RAW, CONTEXTS), "policy is 'lin_ucb': it must be a policy, such as"),
    ],
)
def test_parts_that_do_not_go_together_are_named(parts, said) -> None:
    with pytest.raises(InvalidValue, match=said):
        mb.simulate(*parts, 100)


def test_a_delay_is_one() -> None:
    for go in (lambda: mb.simulate(POLICY, RAW, CONTEXTS, 100, delay=5), lambda: mb.replay(POLICY, RAW, LOG, delay=5)):
        with pytest.raises(InvalidValue, match="delay is 5: it must be a delay, such as"):
            go()


LOG = mb.Newsroom(events=10)


def test_only_logs_are_replayed_in_contexts_that_there_are() -> None:
    with pytest.raises(InvalidValue, match=r"log is 'news': it must be a log, such as RecordedLog"):
        mb.replay(POLICY, RAW, "news")
    with pytest.raises(InvalidValue, match="context is 'articles': it must be 'user' or 'product'"):
        mb.replay(POLICY, RAW, LOG, context="articles")

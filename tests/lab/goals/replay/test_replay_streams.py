"""Replay reads a log as a stream, in whatever pieces and on however many threads; and rewards wait for their delay."""

import tracemalloc
from functools import partial
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import kernel
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.delays.geometric import Geometric
from maskedbandit.lab.engine import context_play as contextual
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.replay.replay import replay
from maskedbandit.lab.goals.replay.replayed import ReplayedContexts
from maskedbandit.lab.logs.log import CHUNK
from maskedbandit.lab.logs.newsroom import Newsroom
from maskedbandit.policies.contextual.fixed_weights import FixedWeights
from maskedbandit.policies.contextual.lin_ucb import LinUCB
from tests.lab.corner import Corner

RAW, LEARNS = mb.channels.Raw(), LinUCB(alpha=0.5)


def numbers_of(found: ReplayedContexts) -> list[Any]:
    names = "reward", "users", "clicks", "matched", "weighted", "normalised", "random", "releases", "weighted_error"
    return [getattr(found, name) for name in names]


@pytest.fixture
def as_python(monkeypatch):
    """Short logs do not have to wait for the compiler."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.mark.slow
@pytest.mark.usefixtures("as_python")
def test_threads_and_other_runs_change_nothing():
    alone, both = (replay(LEARNS, RAW, Corner(), runs=5, seed=3, executor=partial(Threads, jobs)) for jobs in (1, 3))
    for mine, other in zip(numbers_of(alone), numbers_of(both), strict=True):
        np.testing.assert_array_equal(mine, other)
    first = replay(LEARNS, RAW, Corner(), seed=3)
    np.testing.assert_array_equal(first.clicks, alone.clicks[:1])
    assert np.unique(alone.clicks).size > 1
    assert replay(LEARNS, RAW, Corner(), seed=4).clicks[0] != alone.clicks[0]


@pytest.mark.usefixtures("as_python")
@pytest.mark.parametrize("delay", [Constant(0), Geometric(5)], ids=str)
def test_the_pieces_in_which_a_log_is_read_change_nothing(delay):
    whole, pieces = (replay(LEARNS, RAW, Corner(pieces=n), seed=3, delay=delay) for n in (1, 7))
    for mine, other in zip(numbers_of(whole)[:-3], numbers_of(pieces)[:-3], strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_log():
    peaks = []
    for chunks in (1, 2, 6):  # the first compiles
        tracemalloc.start()
        log = Newsroom(chunks * CHUNK, size=2)
        replay(FixedWeights(np.eye(log.k, 6)), RAW, log, horizon=1000 * CHUNK)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.2 * peaks[1]


# --- delays ----------------------------------------------------------------------------------------------------


def waits(delay: Any) -> list[int]:
    """How many users were served after each user whose reward arrived, and before it did."""
    served: list[bytes] = []
    found: list[int] = []

    class Listens(LinUCB):
        @staticmethod
        @kernel
        def direction(s, arm, x, z):  # the second number says who it is
            LinUCB.direction(s, arm, x, z)
            served.append(z.tobytes())

        @staticmethod
        @kernel
        def arrived(s, arm, z):
            found.append(len(served) - 1 - served.index(z.tobytes()))

    class Known(Corner):
        def chunks(self, seed=0):
            for chunk in super().chunks(seed):
                chunk.user[:, 1] = np.arange(len(chunk.user)) / len(chunk.user)
                yield chunk

    replay(Listens(), RAW, Known(180, least=1 / 3), seed=8, delay=delay)
    assert len(served) > 25
    assert len(set(served)) == len(served)
    return found


@pytest.mark.usefixtures("as_python")
@pytest.mark.parametrize("rounds", [0, 3, 20])
def test_a_reward_is_told_when_so_many_more_users_were_served(rounds):
    assert set(waits(Constant(rounds))) == {rounds}


@pytest.mark.usefixtures("as_python")
def test_random_delays_are_waited_for(monkeypatch):
    asked: list[int] = []
    drawn = contextual.run_contexts.__globals__["draw_delay"]

    def late(delay: Any, rng: Any) -> int:
        asked.append(int(drawn(delay, rng)))
        return asked[-1]

    monkeypatch.setitem(contextual.run_contexts.__globals__, "draw_delay", late)
    found = waits(Geometric(4))
    there = sorted((t + 1 + wait, t) for t, wait in enumerate(asked))
    assert found == [asked[t] for _, t in there][: len(found)]
    assert max(found) > 4

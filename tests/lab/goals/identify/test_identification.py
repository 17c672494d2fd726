"""`identify`: every user counts, no run is dropped, and numbers do not depend on how it is run.

The policies here are throw-away ones; those of the room are in the contracts.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import IllegalDecision, InvalidValue
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.identify.identify import Found
from maskedbandit.policies.policy import Policy
from tests.for_each import for_each

INSTANCE = mb.Bernoulli([0.2, 0.8])
RAW = mb.channels.Raw()


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


class Book(NamedTuple):
    """What `Turns` remembers."""

    total: np.ndarray
    n: np.ndarray
    least: int
    open: int  # users of the last arm whose cohort is open when it stops


@dataclass(frozen=True)
class Turns(Policy):
    """The arms in turn, until both have `least` users; then `open` more of the last one, and it stops."""

    least: int = 30
    open: int = 0
    goal = "identify"

    def init(self, k, delta):
        assert 0 < delta < 1
        return Book(np.zeros(k), np.zeros(k, np.int64), self.least, self.open)

    @staticmethod
    @kernel
    def ask(s, law, rng):
        if s.n.min() < s.least:
            return Decision(int(np.argmin(s.n)), 1, 1)
        if s.n[-1] < s.least + s.open:
            s.n[-1] += s.open
            return Decision(s.n.size - 1, s.open, 0)
        return Decision(int(np.argmax(s.total / s.n)), 0, 0)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.total[arm] += total
        s.n[arm] += n

    def findings(self, s):
        return {"best": float(s.total.max())}


class UntilAhead(Turns):
    """Stops as soon as the totals of two arms are five apart: at a time of its own in every run."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        if abs(s.total[0] - s.total[1]) >= 5:
            return Decision(int(np.argmax(s.total)), 0, 0)
        return Decision(int(np.argmin(s.n)), 1, 1)


class AnswersNobody(Turns):
    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(2, 0, 0)


def same(a: Found, b: Found) -> bool:
    names = ("samples", "answer", "correct", "stopped", "pulls", "releases")
    return all((getattr(a, name) == getattr(b, name)).all() for name in names)


def test_every_user_counts_also_those_of_an_open_cohort() -> None:
    found = mb.identify(Turns(least=30, open=7), mb.channels.Response(epsilon=9), INSTANCE, runs=3)
    assert found.samples.tolist() == [67] * 3
    assert found.pulls.tolist() == [[30, 37]] * 3
    assert found.releases.tolist() == [60] * 3
    assert found.answer.tolist() == [1] * 3
    assert (found.correct & found.stopped).all()
    assert (found.loss.epsilon(), found.delta, found.max_pulls) == (9.0, 0.01, 10**8)
    assert set(found.findings) == {"best"}
    assert found.findings["best"].shape == (3,)


def test_nobody_is_served_after_the_answer() -> None:
    found = mb.identify(Turns(), RAW, INSTANCE)
    assert (found.samples[0], found.pulls[0].tolist()) == (60, [30, 30])


@pytest.mark.slow
def test_runs_that_do_not_stop_are_kept() -> None:
    """Some stop before, some do not: both are there, and those that stop did so without the limit."""
    free = mb.identify(UntilAhead(), RAW, INSTANCE, runs=200, seed=2)
    cut = mb.identify(UntilAhead(), RAW, INSTANCE, runs=200, seed=2, max_pulls=20)
    late = free.samples >= 20
    assert free.stopped.all()
    assert 10 < late.sum() < 190
    assert (cut.stopped == ~late).all()
    assert (cut.samples == np.minimum(free.samples, 20)).all()
    assert (cut.answer == np.where(late, -1, free.answer)).all()
    assert not cut.correct[late].any()
    assert (cut.samples == cut.pulls.sum(axis=1)).all()
    assert cut.to_frame().height == 200


def test_a_cohort_that_the_limit_cuts_off_is_not_released() -> None:
    found = mb.identify(Turns(least=5, open=100), RAW, INSTANCE, max_pulls=50)
    assert (found.samples[0], found.releases[0], found.stopped[0], found.answer[0]) == (50, 10, False, -1)


@pytest.mark.slow
def test_wrong_answers_are_told_from_right_ones() -> None:
    found = mb.identify(UntilAhead(), RAW, mb.Bernoulli([0.5, 0.48]), runs=200, seed=1)
    assert found.stopped.all()
    assert (found.correct == (found.answer == 0)).all()
    assert 50 < found.correct.sum() < 150


@pytest.mark.slow
def test_numbers_do_not_depend_on_threads_or_on_how_many_runs_there_are() -> None:
    one = mb.identify(UntilAhead(), RAW, INSTANCE, runs=100, seed=3, executor=partial(Threads, 1))
    four = mb.identify(UntilAhead(), RAW, INSTANCE, runs=100, seed=3, executor=partial(Threads, 4))
    few = mb.identify(UntilAhead(), RAW, INSTANCE, runs=11, seed=3, executor=partial(Threads, 3))
    assert same(one, four)
    assert (few.samples == one.samples[:11]).all()
    assert not same(one, mb.identify(UntilAhead(), RAW, INSTANCE, runs=100, seed=4))
    assert not same(one, mb.identify(UntilAhead(), RAW, INSTANCE, runs=100, seed=3, study="b"))


def test_every_run_is_reported() -> None:
    ended: list[int] = []
    mb.identify(Turns(), RAW, INSTANCE, runs=25, executor=partial(Threads, 2), advance=lambda: ended.append(1))
    assert len(ended) == 25


def test_a_table_has_a_row_for_each_run() -> None:
    found = mb.identify(UntilAhead(), RAW, INSTANCE, 0.1, runs=7)
    frame = found.to_frame()
    assert frame.height == 7
    assert frame["samples"].to_list() == found.samples.tolist()
    assert frame["bound"].to_list() == [mb.theory.least_samples("no_privacy", [0.2, 0.8], 0.1)] * 7
    assert {"answer", "correct", "stopped", "releases", "delta", "best", "pure_epsilon"} <= set(frame.columns)


@for_each(
    ("wrong", "said"),
    [
        ({"delta": 0}, "delta is 0: it must be a number of at least 1e-100 and below 1"),
        ({"delta": 9e-101}, "delta is 9e-101"),
        ({"delta": 1 - Fraction(1, 10**20)}, "delta is Fraction"),
        ({"delta": 1}, "delta is 1"),
        ({"delta": -0.1}, "delta is -0.1"),
        ({"delta": float("nan")}, "delta is nan"),
        ({"delta": "0.1"}, "delta is '0.1'"),
        ({"delta": True}, "delta is True"),
        ({"max_pulls": 1}, "max_pulls is 1: it must be a whole number of at least 2"),
        ({"max_pulls": 0}, "max_pulls is 0"),
        ({"max_pulls": 10.5}, "max_pulls is 10.5"),
        ({"max_pulls": 10**16}, "max_pulls is 10000000000000000: it must be at most"),
        ({"runs": 0}, "runs is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"executor": partial(Threads, 0)}, "jobs is 0"),
        (
            {"policy": mb.policies.UCB1()},
            "policy is UCB1.*: it must be a policy whose goal is 'identify', not 'regret'",
        ),
        ({"policy": "ttucb"}, "policy is 'ttucb'"),
        ({"channel": None}, "channel is None"),
        ({"instance": [0.1, 0.2]}, r"instance is \[0.1, 0.2\]"),
        ({"instance": mb.Bernoulli([0.5, 0.7, 0.7])}, r"instance is .*single best arm: arms \[1, 2\] have equal means"),
    ],
)
def test_bad_values_are_named(wrong, said) -> None:
    good = {"policy": Turns(), "channel": RAW, "instance": INSTANCE}
    with pytest.raises(InvalidValue, match=said):
        mb.identify(**{**good, **wrong})


def test_delta_is_any_real_number_as_a_float() -> None:
    for delta in (Fraction(1, 10), np.float64(0.1), 1e-100):
        found = mb.identify(Turns(), RAW, INSTANCE, delta)
        assert (type(found.delta), found.delta) == (float, float(delta))


def test_means_that_theory_cannot_tell_apart_are_tied() -> None:
    with pytest.raises(InvalidValue, match=r"arms \[0, 2\] have equal means"):
        mb.identify(Turns(), RAW, mb.Bernoulli([0.5, 0.4, 0.5 + 1e-13]))
    assert mb.identify(Turns(), RAW, mb.Bernoulli([0.5, 0.4, 0.5 + 1e-11])).to_frame().height == 1


def test_a_channel_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"channel is Central.*: it must be one that gives UniformGLR"):
        mb.identify(mb.policies.UniformGLR(), mb.channels.Central(1), INSTANCE)


def test_a_single_arm_is_refused() -> None:
    class Alone(mb.Bernoulli):
        def true_means(self):
            return np.array([0.5])

    with pytest.raises(InvalidValue, match="at least two arms"):
        mb.identify(Turns(), RAW, Alone([0.5, 0.6]))
    with pytest.raises(InvalidValue, match="at least two arms"):
        mb.identify(Turns(), RAW, mb.Bernoulli([0.5]))


def test_simulate_refuses_policies_that_search() -> None:
    with pytest.raises(InvalidValue, match=r"a policy whose goal is 'regret', not 'identify'; mb\.identify takes it"):
        mb.simulate(Turns(), RAW, INSTANCE, 100)


def test_an_answer_that_is_no_arm_is_refused() -> None:
    with pytest.raises(IllegalDecision, match="asked for arm 2, which does not exist"):
        mb.identify(AnswersNobody(), RAW, INSTANCE)

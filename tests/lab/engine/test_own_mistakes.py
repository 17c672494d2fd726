"""What is wrong with a policy of one's own is said with its file and line, and not with those of the engine."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Decision, kernel
from maskedbandit.errors import KernelError
from maskedbandit.policies.policy import Policy


class State(NamedTuple):
    """Nothing that changes."""

    size: int


@dataclass(frozen=True)
class Half(Policy):
    """A policy that computes its arm, and forgets to make it whole."""

    goal = "regret"

    def init(self, k: int, horizon: int) -> State:
        return State(4)

    @staticmethod
    @kernel
    def ask(s: State, law: Any, rng: np.random.Generator) -> Decision:
        return Decision(s.size / 4, s.size, 1)

    @staticmethod
    @kernel
    def tell(s: State, arm: int, n: int, total: float) -> None:
        pass


@dataclass(frozen=True)
class Unmarked(Half):
    """A policy with a function that is no kernel."""

    @staticmethod
    def tell(s: State, arm: int, n: int, total: float) -> None:
        pass


@dataclass(frozen=True)
class Unasked(Half):
    """The same, of the function that is looked at first."""

    @staticmethod
    def ask(s: State, law: Any, rng: np.random.Generator) -> Decision:
        return Decision(1, s.size, 1)


@dataclass(frozen=True)
class Broken(Half):
    """A policy whose `ask` fails by itself."""

    @staticmethod
    @kernel
    def ask(s: State, law: Any, rng: np.random.Generator) -> Decision:
        return Decision(s.no_such_thing, s.size, 1)


def said(policy: Policy) -> str:
    with pytest.raises(KernelError) as found:
        mb.simulate(policy, mb.channels.Raw(), mb.Bernoulli([0.2, 0.8]), 10)
    return str(found.value)


def line_of(function: Any) -> str:
    return f"test_own_mistakes.py, line {function.__code__.co_firstlineno}: "


WAYS = pytest.mark.parametrize("way", ["python", pytest.param("compiled", marks=pytest.mark.slow)])


@WAYS
def test_a_function_without_a_mark(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", way)
    for policy, function in ((Unmarked(), Unmarked.tell), (Unasked(), Unasked.ask)):
        named = f"{line_of(function)}{type(policy).__name__}.{function.__name__}"
        assert said(policy).endswith(f"{named} is not a kernel: put @kernel above its definition")


@WAYS
def test_an_arm_that_is_not_whole(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", way)
    returned = "Half.ask returns Decision(arm=1.0, n=4, close=1), whose arm must be a whole number"
    assert f"{line_of(Half.ask.function)}{returned}" in said(Half())


@pytest.mark.slow
def test_what_fails_by_itself_is_said_as_the_compiler_says_it() -> None:
    line = Broken.ask.function.__code__.co_firstlineno + 3
    assert f"test_own_mistakes.py, line {line}: Unknown attribute 'no_such_thing'" in said(Broken())

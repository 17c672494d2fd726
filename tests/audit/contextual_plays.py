"""Runs of the contextual loop on a table of users, with everything that audits look at written down.

The loop itself plays them, as Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.channels.tree import Tree, perturbed_with
from maskedbandit.core import kernel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay, draw_delay
from maskedbandit.lab.engine.compiler import bind_hooks
from maskedbandit.lab.engine.context_loop import DONE, run_contexts
from maskedbandit.lab.engine.context_play import CONTEXT_KERNELS, ContextPlay
from maskedbandit.lab.worlds.contexts import ArmAnswer, Contexts
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.privacy.statistics import Factors, clip_vector
from maskedbandit.reports.audit.runs import Twin, break_nothing

KEYS = np.zeros(2, np.uint64)


class GuestParameters(NamedTuple):
    """The table, and the pools."""

    starts: np.ndarray
    arms: np.ndarray
    contexts: np.ndarray
    rewards: np.ndarray
    pool: np.ndarray


@dataclass(frozen=True)
class Guests(Contexts):
    """The contexts [users, rows, d] and rewards [users, k] of all users, whose pools are known to all.

    The arms of the first pool are all but the last, those of the second all but the first; one pool has all arms.
    """

    contexts: Any
    rewards: Any
    pool: Any = None
    signed: bool = True

    bare: ClassVar[bool] = False  # the loop does not clip either
    d = property(lambda self: self.contexts.shape[2])
    rows = property(lambda self: self.contexts.shape[1])
    k = property(lambda self: self.rewards.shape[1])

    def parameters(self):
        k = self.k
        if self.pool is None:
            return GuestParameters(
                np.array([0, k]), np.arange(k), self.contexts, self.rewards, np.zeros(len(self.rewards), np.int64)
            )
        both = np.concatenate([np.arange(k - 1), np.arange(1, k)])
        return GuestParameters(np.array([0, k - 1, 2 * k - 2]), both, self.contexts, self.rewards, np.array(self.pool))

    @staticmethod
    @kernel
    def present(numbers, i, t, x, stream):
        for row in range(x.shape[0]):
            x[row] = numbers.contexts[i, row]
            clip_vector(x[row], True)
        return numbers.pool[i]

    @staticmethod
    @kernel
    def answer(numbers, i, t, x, arm, stream):
        return ArmAnswer(1.0, numbers.rewards[i, arm], 0.0, 0.0)

    def pools(self) -> list[list[int]]:
        """The arms that each user could have had."""
        numbers = self.parameters()
        return [numbers.arms[numbers.starts[p] : numbers.starts[p + 1]].tolist() for p in numbers.pool]

    def instead(self, user: int, contexts: Any, rewards: Any) -> Guests:
        """The table with one user's row changed."""
        mine, theirs = self.contexts.copy(), self.rewards.copy()
        mine[user], theirs[user] = contexts, rewards
        return type(self)(mine, theirs, self.pool, self.signed)


class Wild(Guests):
    """Contexts of norm 3: only the loop clips them."""

    @staticmethod
    @kernel
    def present(numbers, i, t, x, stream):
        for row in range(x.shape[0]):
            norm = np.sqrt((numbers.contexts[i, row] * numbers.contexts[i, row]).sum())
            x[row] = numbers.contexts[i, row] * (3 / max(norm, 1e-9))
        return numbers.pool[i]


class Bare(Wild):
    """The same where not even the loop does."""

    bare = True


class Sent(NamedTuple):
    """One release."""

    model: int
    n: int
    sums: np.ndarray  # in steps, before noise
    noises: list[tuple[float, int]]  # width, in steps, and value of each draw
    released: np.ndarray


class Heard(NamedTuple):
    """One run."""

    play: ContextPlay
    arms: list[int]  # of each user
    sent: list[Sent]
    closed: list[tuple[int, int]]  # model and size of the cohorts that the policy closed
    arrived: list[int]  # users in the order in which their rewards did
    weighed: list[Factors]  # of each of them


def written(state: Any) -> list[Any]:
    """A state, part by part, to compare."""
    if isinstance(state, tuple):
        return [written(part) for part in state]
    return [np.asarray(state).tobytes()]


def listen(
    policy: ContextualPolicy,
    channel: Channel,
    guests: Guests,
    rng: np.random.Generator,
    delay: Delay = AT_ONCE,
    like: Heard | None = None,
    arms: Sequence[int] | None = None,
    twin: Twin = break_nothing,
    horizon: int | None = None,
) -> Heard:
    """A run of all users; if it is `like` another, its delays and what is told are those of that one.

    Then, or if `arms` are given, arms are not asked for.
    """
    horizon = len(guests.rewards) if horizon is None else horizon
    play = ContextPlay(policy, channel, guests, horizon, np.array([horizon]), delay)
    size = play.progress.release.size
    served: list[int] = []
    closed: list[tuple[int, int]] = []
    streams: list[tuple[int, int, float]] = []
    noises: list[tuple[float, int]] = []
    sent: list[Sent] = []
    delays: list[int] = []
    weighed: list[Factors] = []

    def unchanged(do: Any, *args: Any) -> Any:
        before = written(play.state)
        found = do(*args)
        assert policy.protects == "rewards" or written(play.state) == before, "the state of the policy has changed"
        return found

    def ask(*args: Any) -> int:
        public = policy.protects == "rewards"  # then what was asked for may be remembered
        asked = int(unchanged(policy.ask, *args)) if arms is None or public else -1
        served.append(asked if arms is None else arms[len(served)])
        return served[-1]

    def due(s: Any, law: Any, model: int, n: int) -> bool:
        found = bool(unchanged(policy.due, s, law, model, n))
        if found:
            closed.append((int(model), int(n)))
        return found

    def noise(wide: float, count: float, of_noise: Any) -> int:
        found = int(play.channel.draws(wide, count, of_noise))
        if wide > 0 and not isinstance(channel, Tree):
            noises.append((wide, found))
        return found

    def draws(scale: float, count: float, of_noise: Any) -> int:
        found = int(channel.noise.draws(scale, count, of_noise))
        noises.append((scale, found))
        return found

    def perturb(parameters: Any, memory: Any, law: Any, stream: int, total: float, n: int, *rest: Any) -> float:
        streams.append((int(stream), int(n), float(total)))
        return float(sums(parameters, memory, law, stream, total, n, *rest))

    def tell(s: Any, law: Any, model: int, n: int, released: np.ndarray) -> None:
        assert [stream for stream, _, _ in streams] == list(range(model * size, (model + 1) * size))
        assert {each for _, each, _ in streams} == {n}
        vector = np.array([total for _, _, total in streams])
        sent.append(Sent(int(model), int(n), vector, noises.copy(), released.copy()))
        streams.clear()
        noises.clear()
        known = like is not None and len(sent) <= len(like.sent)
        policy.tell(s, law, model, n, like.sent[len(sent) - 1].released if known else released)

    def arrived(s: Any, arm: int, z: np.ndarray) -> None:
        unchanged(policy.arrived, s, arm, z)

    def factors(*args: Any) -> Factors:
        weighed.append(unchanged(policy.factors, *args))
        return weighed[-1]

    def late(numbers: Any, of_delays: Any) -> int:
        delays.append(int(draw_delay(numbers, of_delays)))
        return delays[-1]

    sums = perturbed_with(draws) if isinstance(channel, Tree) else play.channel.perturb
    kernels = {name: getattr(policy, name) for name in CONTEXT_KERNELS}
    heard = {"ask": ask, "due": due, "tell": tell, "arrived": arrived, "noise": noise, "perturb": perturb}
    heard |= {"factors": factors}
    shown = {"present": guests.present, "answer": guests.answer, "draw_delay": late}
    calls = {**run_contexts.__globals__, **kernels, **heard, **shown}
    bare = {"clip_vector": lambda z, signed: None} if type(guests).bare else {}
    go = bind_hooks(run_contexts, calls | bare | twin(calls))
    signed = guests.signed or policy.protects == "rewards"
    how = horizon, horizon, 1.0, float(policy.products), signed, play.marks, play.progress
    parts = play.state, play.law, play.parameters, play.memory, guests.parameters(), play.delay
    of_delays = np.random.Generator(np.random.PCG64(len(guests.rewards)))
    with np.errstate(over="ignore"):
        assert go(*parts, *how, KEYS, rng, rng, rng, of_delays) == DONE
    there = sorted((t + 1 + delays[t], t) for t in range(horizon))
    return Heard(play, served, sent, closed, [t for at, t in there if at < horizon], weighed)

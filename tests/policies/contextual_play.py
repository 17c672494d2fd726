"""A run of the contextual loop as Python, and what the policy was told in it."""

from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine import context_play as contextual
from maskedbandit.lab.engine.compiler import bind_hooks
from maskedbandit.lab.engine.python_first import PythonFirst
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.policies.contextual_policy import ContextualPolicy


class Told(NamedTuple):
    """A call of `tell`."""

    model: int
    n: int
    sums: np.ndarray
    users: int  # who had been served by then


class Served(NamedTuple):
    """A user."""

    arm: int
    x: np.ndarray
    reward: float


class Trail(NamedTuple):
    """One run."""

    play: contextual.ContextPlay
    released: list[Told]
    served: list[Served]

    @property
    def regret(self) -> float:
        return float(self.play.progress.totals[0])


class AsPython(PythonFirst):
    """The loop as Python, from its first to its last run; what it is bound to need not be kernels."""

    def run(self, given: tuple[Any, ...], done: Any) -> Any:
        return np.errstate(over="ignore")(bind_hooks(self.function, self.bound))(*given)


def played(
    policy: ContextualPolicy,
    channel: Channel,
    contexts: Contexts,
    horizon: int,
    seed: int = 0,
    delay: Delay = AT_ONCE,
    run: int = 0,
) -> Trail:
    """What `simulate` compiles, run as Python."""
    released: list[Told] = []
    served: list[Served] = []

    def answer(numbers: Any, i: int, t: int, x: Any, arm: int, stream: Any) -> Any:
        found = contexts.answer(numbers, i, t, x, arm, stream)
        served.append(Served(int(arm), x[arm if len(x) > 1 else 0].copy(), found.reward))
        return found

    def tell(s: Any, law: Any, model: int, n: int, sums: Any) -> None:
        released.append(Told(model, int(n), sums.copy(), len(served)))
        policy.tell(s, law, model, n, sums)

    loop = contextual.make_context_loop(policy, channel, contexts, delay)
    loop = AsPython(contextual.run_contexts, loop.bound | {"answer": answer, "tell": tell}, {}, False)
    play = contextual.ContextPlay(policy, channel, contexts, horizon, np.array([horizon]), delay)
    assert play.go(loop, contexts.parameters(), horizon, 1.0, Streams(seed, "").of(run))
    return Trail(play, released, served)

"""How fast contextual policies are, d = 6 and 20 arms: replays of a log, and simulations, beside two libraries.

`python -m bench.contextual` measures these alone. The libraries choose and learn one user at a time, without privacy,
as ours does over the raw channel. They are given contexts and rewards that are drawn already; ours draws them, too.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from contextualbandits.online import LinUCB
from mabwiser.mab import MAB, LearningPolicy

import maskedbandit as mb
from bench.least import ONE, least
from bench.report import row
from maskedbandit.core import Floats, Integers
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.engine.context_play import ContextPlay, make_context_loop
from maskedbandit.lab.goals.replay.log_contexts import LogContexts
from maskedbandit.lab.logs.log import Chunk, Log
from maskedbandit.lab.logs.newsroom import Newsroom, write_log
from maskedbandit.lab.logs.recorded_log import RADIUS
from maskedbandit.lab.logs.text_conversion import convert_logs
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.linear_contexts import draw_context

EVENTS, USERS, FEW = 500_000, 100_000, 1000
CONTEXTS = mb.LinearContexts(d=6, k=20)
RAW = mb.channels.Raw()
GAUSSIAN = mb.channels.Central(epsilon=0.55, noise=mb.noises.DiscreteGaussian())


@dataclass(frozen=True)
class Held(Log):
    """A log in memory: reading it costs nothing."""

    recorded = True
    radius = article_radius = RADIUS

    drawn: Newsroom
    kept: list[Chunk] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", list(self.drawn.chunks()))
        for name in ("events", "k", "d", "least"):
            object.__setattr__(self, name, getattr(self.drawn, name))

    def pools(self) -> tuple[Integers, Integers]:
        return self.drawn.pools()

    def articles(self) -> tuple[Integers, Floats]:
        return self.drawn.articles()

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        return iter(self.kept)


def unchecked(policy: Any, log: Log) -> None:
    """A replay that believes the log: the loop alone."""
    contexts = LogContexts(log, "user")
    play = ContextPlay(policy, RAW, contexts, log.events, list_checkpoints(log.events), AT_ONCE)
    loop, streams = make_context_loop(policy, RAW, contexts, AT_ONCE), Streams(0, "").of(0)
    for chunk in log.chunks():
        play.go(loop, contexts.page(chunk), chunk.arm.size, log.least, streams)


def replays() -> None:
    """Millions of events per second."""
    made, policy, goal = Newsroom(EVENTS), mb.policies.LinUCB(alpha=0.2), "goal: at least 1"

    def speed(work: Callable[[], object]) -> float:
        return EVENTS / least(work, repeats=3) / 1e6

    def whole(policy: Any, log: Log, channel: Any = RAW) -> float:
        return speed(lambda: mb.replay(policy, channel, log, executor=ONE))

    held = Held(made)
    row("LinUCB, replay of a log in memory", whole(policy, held), "M/s", None, goal)
    row("  without its scrutiny", speed(lambda: unchecked(policy, held)), "M/s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(made, folder / "log.txt")
        convert_logs([folder / "log.txt"], folder / "log")
        row("  from its folder", whole(policy, mb.RecordedLog(folder / "log")), "M/s")
    row("  with its generator", whole(policy, made), "M/s")
    row("  private, central, growing cohorts", whole(policy, held, GAUSSIAN), "M/s", None, goal)
    thompson = mb.policies.LinThompson(alpha=0.1)
    row("LinThompson, replay of a log in memory", whole(thompson, held), "M/s")


def simulated(policy: Any, channel: Any, horizon: int = USERS) -> float:
    """Microseconds per step."""
    return 1e6 * least(lambda: mb.simulate(policy, channel, CONTEXTS, horizon, executor=ONE), repeats=3) / horizon


def served(step: Callable[[Floats], int], learn: Callable[[Floats, int, float], object]) -> None:
    """Serve a few users by a library: a choice, a reward and an update for each of them."""
    luck, weights = np.random.default_rng(1), CONTEXTS.parameters().weights
    x = np.zeros((FEW, CONTEXTS.d))
    for t in range(FEW):
        draw_context(x, t, luck)
    rewards = (luck.random((FEW, CONTEXTS.k)) < x @ weights.T).astype(np.float64)
    for t in range(FEW):
        z = x[t : t + 1]
        arm = step(z)
        learn(z, arm, rewards[t, arm])


def in_mabwiser() -> float:
    """Microseconds per step of MABWiser."""

    def work() -> None:
        mab = MAB(list(range(CONTEXTS.k)), LearningPolicy.LinUCB(alpha=0.2))
        mab.fit([0], [0.0], np.zeros((1, CONTEXTS.d)))  # it wants to have been taught before it chooses
        served(mab.predict, lambda z, arm, reward: mab.partial_fit([arm], [reward], z))

    return 1e6 * least(work, repeats=2) / FEW


def in_contextualbandits() -> float:
    """Microseconds per step of contextualbandits."""

    def work() -> None:
        one = LinUCB(CONTEXTS.k, alpha=0.2, fit_intercept=False, random_state=1)
        served(
            lambda z: int(one.predict(z)[0]),
            lambda z, arm, reward: one.partial_fit(z, np.array([arm]), np.array([reward])),
        )

    return 1e6 * least(work, repeats=2) / FEW


def contextual() -> None:
    """Replays and simulations."""
    replays()
    ours = simulated(mb.policies.LinUCB(alpha=0.2), RAW)
    row("LinUCB, simulated, without privacy", ours, "µs/step")
    for name, base in (("MABWiser", in_mabwiser()), ("contextualbandits", in_contextualbandits())):
        row(f"  {name}", base, "µs/step", None, f"{base / ours:.0f} times ours")
    tree = mb.channels.Tree(epsilon=0.55, noise=mb.noises.DiscreteGaussian(), length=2**14)
    studies = {"central, growing cohorts": GAUSSIAN, "tree, cohorts of 64": tree}
    for kind in (mb.policies.LinUCB, mb.policies.LinThompson):
        for name, channel in studies.items():
            row(f"{kind.__name__}, simulated, {name}", simulated(kind(alpha=0.2), channel), "µs/step", 5)
    binary = mb.channels.Tree(epsilon=2.7, counter="binary", length=2**14)
    single = simulated(mb.policies.LinUCB(alpha=0.2, first=1), binary, 3000)
    row("LinUCB, simulated, binary tree, a release per user", single, "µs/step")


if __name__ == "__main__":
    contextual()

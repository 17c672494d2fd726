"""Golden trajectories: what every multi-armed policy did when it was last looked at. `make golden` writes them anew.

The engine's own loop makes them, run as Python: kernels are functions there, so their calls can be written down.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.engine.outcomes import DONE, blank_out
from maskedbandit.lab.goals.drive import bind_kernels
from maskedbandit.lab.streams import Streams
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.reports.audit.runs import choose_aim, run_loop

FILE = Path(__file__).with_name("policies.json")
INSTANCE, HORIZON, SEED = mb.Bernoulli([0.2, 0.8]), 3000, 7
CHANNELS = (
    mb.channels.Central(epsilon=1),
    mb.channels.Central(epsilon=1, noise=mb.noises.DiscreteGaussian()),
    mb.channels.Response(epsilon=1),
    mb.channels.Raw(),
)
FIRST = 10  # decisions that are kept
MULTI_ARMED = [name for name in mb.policies.room if mb.policies.room[name].goal != "contextual"]


def channel_for(policy: Policy) -> Channel:
    """The first of CHANNELS that the policy can use."""
    return next(channel for channel in CHANNELS if not policy.needs(channel.law()))


def instance_for(policy: Policy) -> Instance:
    """Two arms, and a third one if several are to be named."""
    return mb.Bernoulli([0.2, 0.8, 0.7]) if policy.goal == "select" else INSTANCE


class Trail(NamedTuple):
    """One run of the loop as Python."""

    status: int
    decisions: list[list[int]]  # arm, n, close
    released: list[tuple[int, int, float]]  # arm, n, total
    pulls: list[int]
    releases: int
    regret: list[float]
    realised: list[float]
    last: list[int]  # arm and users of the last decision


def interpreted(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    horizon: int,
    seed: int = 0,
    run: int = 0,
    delay: Delay = AT_ONCE,
) -> Trail:
    """What `simulate` or `identify` compiles, run as Python on the streams of one of its runs."""
    decisions: list[list[int]] = []
    released: list[tuple[int, int, float]] = []

    def ask(*args: Any) -> Any:
        decision = policy.ask(*args)
        decisions.append([int(number) for number in decision])
        return decision

    def tell(s: Any, arm: int, n: int, total: float) -> None:
        released.append((int(arm), int(n), float(total)))
        policy.tell(s, arm, n, total)

    limit = horizon + delay.parameters().longest + 1 if policy.goal == "answer" else horizon
    marks = list_checkpoints(horizon) if policy.goal == "regret" else np.array([limit])
    k = len(instance.true_means())
    hooks = {**bind_kernels(policy, channel, instance, delay), "ask": ask, "tell": tell}
    state, out = policy.init(k, choose_aim(policy, horizon)), blank_out(k, marks)
    parts = state, channel, instance.parameters(), delay, policy.goal == "regret"
    status = run_loop(*parts, marks, out, Streams(seed, "").of(run), hooks)
    curves = out.regret.tolist(), out.realised.tolist()
    return Trail(status, decisions, released, out.pulls.tolist(), int(out.releases[0]), *curves, out.last.tolist())


@cache
def trail(name: str, seed: int = SEED) -> Trail:
    """The golden run of a policy."""
    policy = mb.policies.room[name]()
    return interpreted(policy, channel_for(policy), instance_for(policy), HORIZON, seed)


def trajectory(name: str, seed: int = SEED) -> dict[str, Any]:
    """What is kept of it."""
    found = trail(name, seed)
    assert found.status == DONE
    end = {"regret": found.regret[::8] + found.regret[-1:]}
    if mb.policies.room[name].goal != "regret":
        end = {"last": found.last}
    return {
        "first": found.decisions[:FIRST],
        "asked": len(found.decisions),
        "pulls": found.pulls,
        "releases": found.releases,
        "released": [list(release) for release in found.released[-FIRST:]],
        **end,
    }


def kept() -> dict[str, dict[str, Any]]:
    """The trajectories in the file."""
    answer: dict[str, dict[str, Any]] = json.loads(FILE.read_text())
    return answer


def write() -> None:
    """One line for each thing that is kept, so that a change is seen in the diff."""
    blocks = []
    for name in MULTI_ARMED:
        lines = [f"    {json.dumps(key)}: {json.dumps(value)}" for key, value in trajectory(name).items()]
        blocks.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(lines) + "\n  }")
    FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n")

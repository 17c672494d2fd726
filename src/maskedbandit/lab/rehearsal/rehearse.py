"""A study over a real protocol, all parties in one process: the loop of the engine, in which every user has a device.

A user is shown an arm, gets a reward and keeps it on the device. When the cohort closes, each device checks what it is
offered and adds its noise, and the channel's `backend` carries the sum; the policy gets the released sum and how many
values are in it, and nothing else. What the compiled loop draws at once has the same distribution, unless devices are
lost: then fewer values are in a sum, and on a fixed grid no more noise than `channel.law()` allows for. (On a grid that
follows the size of the cohort, its distribution is that on the survivors' grid, which is a little coarser than the one
that was used.)

A user is charged before an arm is shown, so before there is a reward. Server and device both write down in which cohort
the user takes part. A cohort whose protocol fails is tried again with the same users, see `study.cohorts`. After
`backend.attempts` failures it is thrown away, with its users, and others are asked instead. So is a cohort whose sum
is implausible, at once.

Each decision of the policy has a random stream of its own, see `study.decisions`. (The compiled loop has one stream for
all decisions of a run, which is faster: a policy that draws decides otherwise there.)

**Guarantee**: no user is charged more than `channel.loss(n)`, n the size of the user's one cohort.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit import policies
from maskedbandit.channels.channel import Channel, real
from maskedbandit.core import Decision
from maskedbandit.errors import AlreadySpent, InvalidValue, ProtocolError
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.account import marked
from maskedbandit.lab.engine.outcomes import BAD_ARM, BAD_COUNT, DEADLOCK, DONE, UNSIZED, Out
from maskedbandit.lab.streams import Rewards
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.privacy.user import User
from maskedbandit.study.cohorts import Cohorts
from maskedbandit.study.decisions import decision_generator
from maskedbandit.study.device import Device


def refuse_late(channel: Channel, delay: Delay) -> None:
    """All devices of a rehearsal have their rewards when their cohort closes."""
    if (backend := real(channel)) and delay != AT_ONCE:
        allowed = f"left out, or 0, where {type(backend).__name__} carries the sums"
        raise InvalidValue("delay", str(delay), allowed)


def rehearse(
    policy: Policy,
    channel: Channel,
    instance: Instance,
    state: Any,
    name: str,
    horizon: int,
    serve: bool,
    marks: npt.NDArray[np.int64],
    out: Out,
    keys: npt.NDArray[np.uint64],
    of_rewards: np.random.Generator,
    of_noise: np.random.Generator,
    of_policy: np.random.Generator,
) -> tuple[int, Loss, int]:
    """One run, as `loop` in arm_loop.py: how it ended, what the worst user was charged, and cohorts thrown away."""
    law, world, k, bits = channel.law(), instance.parameters(), out.pulls.size, Bits(of_noise.bytes)
    means, best, stream = instance.true_means(), instance.true_means().max(), Rewards(of_rewards, keys)
    cohorts, devices = Cohorts(channel, k, name, bits), dict[User, Device]()
    seed, decisions = of_policy.bytes(32), 0
    t, mark, regret, rewards = 0, 0, 0.0, 0.0
    again: Decision | None = None
    while t < horizon:
        if again is None:
            arm, n, close = map(int, policy.ask(state, law, decision_generator(seed, decisions)))
            decisions += 1
        else:
            arm, n, close = again
        out.last[0], out.last[1] = arm, n
        if arm == -1:
            return DEADLOCK, ZERO, 0
        if arm < 0 or arm >= k:
            return BAD_ARM, ZERO, 0
        if n < 0:
            return BAD_COUNT, ZERO, 0
        stop = n == 0
        if stop and not serve:
            break
        waiting = len(cohorts.waiting[arm])
        planned = waiting + n
        if waiting and cohorts.price(waiting) != cohorts.price(planned):
            return UNSIZED, ZERO, 0  # waiting users were charged for a different cohort size
        if law.root > 0.0 and not stop and (close == 0 or waiting):
            return UNSIZED, ZERO, 0
        if close == 1 and not stop:
            with advised(policy, planned):
                channel.check_size(planned, cohorts.memory, arm)
        end = horizon if stop else min(t + n, horizon)
        out.pulls[arm] += end - t
        while t < end:
            users = int(min(end, marks[mark])) - t
            if stop:  # they are served, and nobody asks for their rewards
                rewards += instance.many(world, arm, users, 0, stream)
            for user in range(t, t if stop else t + users):
                cohorts.charge(str(user), planned)
                reward = float(instance.one(world, arm, user, 0, stream))
                devices[str(user)] = Device(str(user), reward, channel, planned)
                cohorts.join(arm, str(user))
                rewards += reward
            regret += (best - means[arm]) * users
            t += users
            mark = marked(marks, mark, t, regret, best * t - rewards, out.regret, out.realised)
        if stop:
            break
        again = None
        if close == 1 and len(cohorts.waiting[arm]) == planned:  # one cut off by the horizon is never released
            with advised(policy, planned):
                found = carried(cohorts, arm, devices, bits)
            if found is None:
                again = Decision(arm, planned, 1)
                continue
            out.releases[0] += 1
            policy.tell(state, arm, *found)
    if cohorts.thrown_away and not out.releases[0]:
        cohorts.give_up()
    return DONE, cohorts.loss(), cohorts.thrown_away


def carried(cohorts: Cohorts, arm: int, devices: dict[User, Device], bits: Bits) -> tuple[int, float] | None:
    """How many values are in the sum of the arm's whole cohort, and the released sum; None if it was thrown away."""
    cohort, more = cohorts.close(arm), True
    here = {user: devices.pop(user) for user in set(cohort.users)}
    while more:
        cohorts.begin(cohort)
        name, attempt, offer = cohort.name, cohort.attempt, cohort.offer
        try:
            sent = [here[user].send(name, attempt, offer.at(i), bits) for i, user in enumerate(cohort.users)]
            return cohorts.analyze(cohort, cohorts.sum(cohort, sent))
        except AlreadySpent:
            raise
        except ProtocolError as why:
            more = cohorts.fail(cohort, why)
    return None


@contextmanager
def advised(policy: Policy, n: int) -> Iterator[None]:
    """Adds to a refusal of a cohort of n, which is most often too small, what to do about it."""
    try:
        yield
    except InvalidValue as wrong:
        wrong.args = (f"{wrong} ({advice(policy, n)})",)
        raise


def advice(policy: Policy, n: int) -> str:
    """What to do about a cohort that a protocol refuses."""
    said = f"{type(policy).__name__} asked for a cohort of {n}"
    if "least" in parameters(policy):
        return f"{said}: its `least` is the size of its smallest cohort"
    sized = [name for name in policies.room if policies.room[name].goal == policy.goal]
    sized = [name for name in sized if "least" in parameters(policies.room[name])]
    return f"{said}; policies with a smallest cohort to set, `least`: {', '.join(sized)}"


def parameters(policy: Any) -> list[str]:
    """Names of the parameters of a policy."""
    return [each.name for each in fields(policy)] if hasattr(policy, "__dataclass_fields__") else []

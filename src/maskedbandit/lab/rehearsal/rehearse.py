"""A study over a real protocol, all parties in one process: the driver of a live study, and a device for every user.

A user is shown an arm, gets a reward and keeps it on the device. When the cohort closes, each device checks what it is
offered and adds its noise, and the channel's `backend` carries the sum; the policy gets the released sum and how many
values are in it, and nothing else. What the compiled loop draws at once has the same distribution, unless devices are
lost: then fewer values are in a sum, and on a fixed grid no more noise than `channel.law()` allows for. (On a grid that
follows the size of the cohort, its distribution is that on the survivors' grid, which is a little coarser than the one
that was used.)

A user is charged before an arm is shown, so before there is a reward. Server and device both write down in which cohort
the user takes part. A cohort whose protocol fails is tried again with the same users (cohorts.py). After
`backend.attempts` failures it is thrown away, with its users, and its places are dealt to others. So is a cohort whose
sum is implausible, at once.

What the policy is asked, and who gets which arm, is up to the driver (study/driver.py). Each decision has a random
stream of its own there. (The compiled loop has one stream for all decisions of a run, which is faster: a policy that
draws decides otherwise there.) Rewards come at once: a cohort is closed when it is full, and told before the next ask.

**Guarantee**: no user is charged more than `channel.loss(n)`, n the size of the user's one cohort.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from maskedbandit import policies
from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.core import Integers
from maskedbandit.errors import AlreadySpent, InvalidValue, ProtocolError
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.checkpoints import marked
from maskedbandit.lab.engine.outcomes import Out
from maskedbandit.lab.rehearsal.cohorts import Cohorts
from maskedbandit.lab.streams import Rewards
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study.driver import Driver
from maskedbandit.study.illegal import unknown_size
from maskedbandit.study.rehearsed_device import RehearsedDevice


def refuse_unrehearsed(channel: Channel, instance: Any, delay: Delay) -> None:
    """In a rehearsal with arms all devices have their rewards when their cohort closes, and means stay."""
    backend = find_backend(channel)
    if backend and not isinstance(instance, Contexts):
        where = f"where {type(backend).__name__} carries the sums"
        if delay != AT_ONCE:
            said = f"left out, or 0, {where}: its devices have their rewards when their cohort closes"
            raise InvalidValue("delay", delay, f"{said}, and ideal sums alone wait for late ones")
        if isinstance(instance, Instance) and instance.moves:
            raise InvalidValue("instance", instance, f"one whose means stay, {where}")


def rehearse_run(
    driver: Driver,
    channel: Channel,
    instance: Instance,
    name: str,
    horizon: int,
    marks: Integers,
    out: Out,
    keys: npt.NDArray[np.uint64],
    of_rewards: np.random.Generator,
    of_noise: np.random.Generator,
) -> tuple[Loss, int]:
    """One run, as `loop` in arm_loop.py: what the worst user was charged, and cohorts thrown away."""
    policy, world, k, bits = driver.policy, instance.parameters(), out.pulls.size, Bits(of_noise.bytes)
    gaps, best = instance.true_means().max() - instance.true_means(), instance.true_means().max()
    stream, cohorts = Rewards(of_rewards, keys), Cohorts(channel, k, name, bits)
    devices = defaultdict[int, list[RehearsedDevice]](list)  # of each cohort, by place
    t, mark, rewards = 0, 0, 0.0

    def noted(arm: int, users: int, reward: float) -> None:
        nonlocal t, mark, rewards
        out.pulls[arm] += users
        t, rewards = t + users, rewards + reward
        mark = marked(marks, mark, t, float(gaps @ out.pulls), best * t - rewards, out.regret, out.realised)

    while t < horizon:
        driver.ask()
        if (arm := driver.answer) is not None:
            if not policy.purpose.serves:
                break
            users = 1 if instance.moves else int(marks[mark]) - t  # they are served, and nobody asks for their rewards
            one = users == 1
            x = instance.one(world, arm, t, 0, stream) if one else instance.many(world, arm, users, 0, stream)
            noted(arm, users, x)
            continue
        dealt = driver.deck.dealing
        for places in dealt:
            waiting = len(devices[places.cohort])
            if waiting and cohorts.price(waiting) != cohorts.price(places.size):
                raise unknown_size(type(policy).__name__)
            if places.complete:
                with explain_refusal(policy, places.size):
                    channel.check_size(places.size, cohorts.memory, places.arm)
        while t < horizon and driver.deck.left:
            arm, number, *_ = driver.assign(bits)
            assert number is not None  # there are places left
            user, size = str(t), driver.deck.cohort(number).size
            cohorts.charge(user, size)
            reward = float(instance.one(world, arm, t, 0, stream))
            devices[number].append(RehearsedDevice(user, reward, channel, size))
            noted(arm, 1, reward)
        for places in dealt:
            if places.full:  # one cut off by the horizon is never released
                driver.close(places.cohort)
                with explain_refusal(policy, places.size):
                    found = carry_cohort(cohorts, places.arm, devices.pop(places.cohort), bits)
                if found is None:
                    driver.reopen(places.cohort)
                else:
                    out.releases[0] += 1
                    driver.tell(places.cohort, *found)
    out.last[:] = next(entry[2:4] for entry in reversed(driver.log) if entry[0] == "ask")
    if cohorts.thrown_away and not out.releases[0]:
        cohorts.give_up()
    return cohorts.loss(), cohorts.thrown_away


def carry_cohort(
    cohorts: Cohorts, arm: int, devices: Sequence[RehearsedDevice], bits: Bits, size: int = 0
) -> tuple[int, Any] | None:
    """The number of values in the sum of a cohort of the arm, and the released sum; None if it was discarded.

    If devices add vectors of so many numbers, it is the released sum of each number.
    """
    cohort, more = cohorts.close(arm, [each.user for each in devices]), True
    while more:
        cohorts.begin(cohort)
        name, attempt, offer = cohort.name, cohort.attempt, cohort.offer
        try:
            sent = [each.send(name, attempt, offer.at(place), bits) for place, each in enumerate(devices)]
            return cohorts.analyze(cohort, cohorts.sum(cohort, sent, size))
        except AlreadySpent:
            raise
        except ProtocolError as why:
            more = cohorts.fail(cohort, why)
    return None


@contextmanager
def explain_refusal(policy: Policy, n: int) -> Iterator[None]:
    """Adds to a refusal of a cohort of n, which is most often too small, what to do about it."""
    try:
        yield
    except InvalidValue as wrong:
        wrong.args = (f"{wrong} ({advice(policy, n)})",)
        raise


def advice(policy: Policy, n: int) -> str:
    """Advice on a cohort that a protocol refuses."""
    said = f"{type(policy).__name__} asked for a cohort of {n}"
    if "least" in list_parameters(policy):
        return f"{said}: its `least` is the size of its smallest cohort"
    sized = [name for name in policies.room if policies.room[name].goal == policy.goal]
    sized = [name for name in sized if "least" in list_parameters(policies.room[name])]
    return f"{said}; policies with a smallest cohort to set, `least`: {', '.join(sized)}"


def list_parameters(policy: Any) -> list[str]:
    """Names of the parameters of a policy."""
    return [each.name for each in fields(policy)] if hasattr(policy, "__dataclass_fields__") else []

"""The rewards of users, and those that the policy is told: fewer where rewards are lost."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.core import Kernel
from maskedbandit.lab.delays.delay import Delays, default_sum
from maskedbandit.lab.engine.compiler import HOOK, bind_hooks
from maskedbandit.lab.streams import Rewards, draw_binomial

one = many = HOOK  # of a world, see `make_earn_kernel`


class Earned(NamedTuple):
    """Sums over some users."""

    rewards: float  # what they earned
    told: float  # what their cohort gets


def all_told(
    instance: Any, delay: Delays, arm: int, t: int, users: int, g: int, stream: Rewards, rng: np.random.Generator
) -> Earned:
    """The rewards of so many users of an arm, in steps of 1/g, from user t on; every reward is told."""
    x = one(instance, arm, t, g, stream) if users == 1 else many(instance, arm, users, g, stream)
    return Earned(x, x)


def some_lost(
    instance: Any, delay: Delays, arm: int, t: int, users: int, g: int, stream: Rewards, rng: np.random.Generator
) -> Earned:
    """As `all_told`, where each reward is lost with the probability `delay.lost`, and counts as the default then.

    Who loses a reward does not depend on the reward, so those who do earn a sum of their own.
    """
    lost = draw_binomial(users, delay.lost, rng)
    instead = default_sum(delay, lost, g, rng)
    if users == 1:
        x = one(instance, arm, t, g, stream)
        return Earned(x, x if lost == 0 else instead)
    kept = many(instance, arm, users - lost, g, stream)
    return Earned(kept + many(instance, arm, lost, g, stream), kept + instead)


@cache
def make_earn_kernel(one: Kernel[Any, float], many: Kernel[Any, float], loses: bool) -> Kernel[Any, Earned]:
    """The kernel of what users earn in a world with these kernels, and with a delay that loses rewards or does not."""
    kind = some_lost if loses else all_told
    return Kernel(bind_hooks(kind, {"one": one, "many": many}))

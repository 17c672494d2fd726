"""The goal of identification: find the best arm, with a fixed probability of error, and stop."""

from functools import partial
from typing import Any

import numpy as np

from maskedbandit import theory
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.drive import LONGEST, check_compatible
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.identify.identify import best_arm, identify, probability
from maskedbandit.lab.goals.planned import Planned, play_search
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.privacy.exact import whole


def asked(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The probability of an error, and where a run is cut off; raises unless the instance has a single best arm."""
    if not isinstance(instance, Instance):
        raise InvalidValue("instance", instance, "one of arms without contexts, such as Bernoulli([0.9, 0.8])")
    best_arm(instance)
    most = whole("max_pulls", given["max_pulls"], len(instance.true_means()), LONGEST)
    return {"delta": probability("delta", given["delta"]), "max_pulls": most}


def difference(world: Instance) -> tuple[str, float]:
    """By how much the best arm is better."""
    low, high = np.sort(world.true_means())[-2:]
    return "difference", round(float(high - low), 12)


GOAL = Goal(
    name="identify",
    verb=identify,
    aim="delta",
    worlds=(Instance,),
    policies=("identify",),
    asks=("delta", "max_pulls"),
    asked=asked,
    check=lambda policy, channel, instance, delay, asked: check_compatible(
        policy, channel, instance, "identify", delay
    ),
    planned=Planned(
        play=partial(play_search, identify, difference), bound=lambda policy, *which: theory.least_samples(*which)
    ),
    options=("caption",),
    theories=theory.SAMPLES,
    bounds=theory.SAMPLES,
    publishes=True,
)

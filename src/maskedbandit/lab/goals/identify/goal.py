"""The goal of identification: find the best arm, with a fixed probability of error, and stop."""

from functools import partial
from typing import Any

import numpy as np

from maskedbandit import theory
from maskedbandit.lab.goals.drive import check_arms
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.identify.identify import best_arm, identify
from maskedbandit.lab.goals.plans import Planned
from maskedbandit.lab.goals.search import check_search, play_search
from maskedbandit.lab.worlds.instance import Instance


def read_task(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The task of a search; raises unless the instance has a single best arm."""
    best_arm(check_arms(instance))
    return check_search(given, instance)


def difference(world: Instance) -> tuple[str, float]:
    """By how much the best arm is better."""
    low, high = np.sort(world.true_means())[-2:]
    return "difference", round(float(high - low), 12)


GOAL = Goal(
    name="identify",
    verb=identify,
    asks=("delta", "max_pulls"),
    read_task=read_task,
    planned=Planned(
        play=partial(play_search, identify, difference), bound=lambda policy, *which: theory.least_samples(*which)
    ),
    theories=theory.SAMPLES + theory.UPPER_SAMPLES,
    bounds=theory.SAMPLES,
    publishes=True,
)

"""By how much adaptive assignment biases estimates: the same policy runs many times where the truth is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.identify.identify import identify
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.lab.worlds.bernoulli import Bernoulli
from maskedbandit.policies.policy import Policy

Floats = npt.NDArray[np.float64]
LONGER = 10  # times as many people as there were: searches that take longer are cut off
APART = 1e-6  # of means that are equal: a search needs a best arm


class Played(NamedTuple):
    """How a study went on, as far as that can be simulated."""

    policy: Policy
    aim: float  # the horizon, or the probability of a wrong answer
    delay: Delay
    people: int


def bias(
    played: Played,
    channel: Channel,
    means: Floats,
    differences: Floats,
    found: Callable[[Floats], Floats],
    runs: int,
    advance: Callable[[], object],
) -> Floats:
    """The mean of what is `found` from the releases of a run, minus the truth, for means and for differences."""
    world = Bernoulli((means - APART * np.arange(means.size)).tolist())
    how: dict[str, Any] = {"runs": runs, "seed": 1, "delay": played.delay, "advance": advance, "keep_releases": True}
    if played.policy.goal == "regret":
        recorded = simulate(played.policy, channel, world, int(played.aim), **how).recorded
    else:
        most = max(LONGER * played.people, means.size)
        recorded = identify(played.policy, channel, world, played.aim, max_pulls=most, **how).recorded
    all_found = np.array([found(rows) for rows in recorded or ()])
    wrong: Floats = all_found.mean(axis=0) - np.stack([means, differences])
    return wrong

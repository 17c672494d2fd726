"""By how much adaptive assignment biases estimates: the same policy runs many times where the truth is known.

The bias depends on how far a study has come: at its beginning it differs from that at its end. So simulations end where
the study did. If a study goes on, or was stopped, each simulated run is cut at as many people as the study has
released.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.core import Floats
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.drive import check_compatible, drive_runs
from maskedbandit.lab.goals.runs import Runs
from maskedbandit.lab.worlds.bernoulli import Bernoulli
from maskedbandit.policies.policy import Policy

LONGER = 10  # times as many people as there were: runs that take longer are cut off
BIAS_APART = 1e-6  # of means that are equal: a search needs a best arm


class PlayedStudy(NamedTuple):
    """How a study went on, as far as that can be simulated."""

    policy: Policy
    aim: float  # the horizon, or the probability of a wrong answer
    delay: Delay
    most: int  # people of a run: it ends there, which its policy does not know
    released: float = math.inf  # people in releases: later ones were not there yet

    def until(self) -> str:
        """The point at which simulations end."""
        return "to the end" if math.isinf(self.released) else f"until {int(self.released):,} people were released"

    def cut(self, rows: Floats) -> Floats:
        """The releases of a run that were there at that time."""
        return rows[np.cumsum(rows[:, 1]) <= self.released]


def measure_bias(
    played: PlayedStudy,
    channel: Channel,
    means: Floats,
    differences: Floats,
    found: Callable[[Floats], Floats],
    runs: int,
    advance: Callable[[], object],
) -> tuple[Floats, int]:
    """The mean error of what `found` computes from the releases of a run, for means and for differences.

    It also returns the number of runs: a run in which an arm has no release yet is left out. The bias is nan if no run
    is left.
    """
    world = Bernoulli((means - BIAS_APART * np.arange(means.size)).tolist())
    check_compatible(played.policy, channel, world, played.policy.goal, played.delay)
    how = Runs(runs, seed=1, advance=advance, delay=played.delay, keep_releases=True)
    recorded = drive_runs(played.policy, channel, world, played.aim, [played.most], how).shared["recorded"]
    all_found = np.array([found(played.cut(rows)) for rows in recorded])
    usable = all_found[np.isfinite(all_found).all(axis=(1, 2))]
    if not len(usable):
        return np.full((2, means.size), math.nan), 0
    wrong: Floats = usable.mean(axis=0) - np.stack([means, differences])
    return wrong, len(usable)

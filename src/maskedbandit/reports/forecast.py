"""What a study would probably bring: its policy runs in the lab many times, with the delay that its window makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.goals.identify.identify import identify
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.lab.worlds.bernoulli import Bernoulli
from maskedbandit.policies.policy import Policy

RUNS = 200
MOST = 10**9  # people in a simulated search
LOST = 0.001  # runs of a search that may not end


class Forecast(NamedTuple):
    """Means over simulated studies with their standard errors, and the people that nine of ten studies need at most."""

    people: float
    people_error: float
    people_most: float
    regret: float
    regret_error: float
    equal: float  # the regret if as many people got all arms in equal shares
    wrong: float  # the share of studies that end with another arm than the best


def forecast(
    policy: Policy,
    channel: Channel,
    means: Sequence[float],
    aim: int | float,
    delay: int,
    runs: int = RUNS,
    advance: Callable[[], object] = lambda: None,
) -> Forecast:
    """Simulate a study whose rewards are `delay` people late; `aim` is the number of people, or δ of a search.

    >>> from maskedbandit.channels.central import Central
    >>> from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination
    >>> found = forecast(SuccessiveElimination(), Central(epsilon=1), [0.6, 0.4], 10_000, delay=0, runs=20)
    >>> found.people, round(found.equal), 0 < found.regret < found.equal
    (10000.0, 1000, True)
    """
    world, late, best = Bernoulli(list(means)), Constant(delay), max(means)
    gaps = best - np.asarray(means)
    if policy.goal == "regret":
        run = simulate(policy, channel, world, int(aim), runs, seed=1, delay=late, advance=advance)
        people, pulls = np.full(runs, float(aim)), run.pulls
        wrong = float(np.mean(gaps[pulls.argmax(axis=1)] > 0))
    else:
        found = identify(policy, channel, world, float(aim), runs, 1, MOST, delay=late, advance=advance)
        if np.mean(~found.stopped) > LOST:
            raise InvalidValue(
                "difference", round(float(np.sort(gaps)[1]), 12), f"one that fewer than {MOST:.0e} people can show"
            )
        people, pulls, wrong = found.samples.astype(float), found.pulls, 1 - float(found.correct.mean())
    regret, root = pulls @ gaps, runs**0.5
    return Forecast(
        float(people.mean()),
        float(people.std() / root),
        float(np.quantile(people, 0.9)),
        float(regret.mean()),
        float(regret.std() / root),
        float(people.mean() * gaps.mean()),
        wrong,
    )

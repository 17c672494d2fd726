"""The probable results of a study: its policy runs in the lab many times, with the delay that its window causes.

A policy with phases for a fixed number of people is simulated without a delay. In a live study, people who come while
it waits for outcomes have no place and do not count, so the delay costs days and no people: see `count_waits`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import UnknownName
from maskedbandit.lab.delays.constant import AT_ONCE, Constant
from maskedbandit.lab.goals import list_goals
from maskedbandit.lab.goals.plans import Forecast, Planned
from maskedbandit.lab.worlds.bernoulli import Bernoulli
from maskedbandit.law import Law
from maskedbandit.policies.parts.fixed_phases import FixedPhases
from maskedbandit.policies.policy import Policy


def find_planned(name: str) -> Planned:
    """How studies with this goal are planned."""
    known = {each.name: each.planned for each in list_goals().values() if each.planned is not None}
    if name not in known:
        raise UnknownName("goal", name, known)
    return known[name]


def count_waits(policy: Policy, channel: Channel, arms: int, people: int) -> int:
    """The number of times a study waits for all outcomes of people with a place: at its end, and after fixed phases.

    >>> from maskedbandit.channels.central import Central
    >>> from maskedbandit.policies.answer.equal_split import EqualSplit
    >>> from maskedbandit.policies.answer.sequential_halving import SequentialHalving
    >>> [count_waits(policy, Central(epsilon=1), 8, 10_000) for policy in (EqualSplit(), SequentialHalving())]
    [1, 3]
    """
    if not isinstance(policy, FixedPhases):
        return 1
    return max(sum(size > 0 for size in policy.plan(arms, people, Law(*channel.law())).sizes), 1)


def forecast_study(
    policy: Policy,
    channel: Channel,
    means: Sequence[float],
    aim: int | float,
    delay: int,
    runs: int | None = None,
    advance: Callable[[], object] = lambda: None,
) -> Forecast:
    """Simulate a study whose rewards are `delay` people late; `aim` is the number of people, or δ of a search.

    >>> from maskedbandit.channels.central import Central
    >>> from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination
    >>> found = forecast_study(SuccessiveElimination(), Central(epsilon=1), [0.6, 0.4], 10_000, delay=0, runs=20)
    >>> found.people, round(found.equal), 0 < found.regret < found.equal
    (10000.0, 1000, True)
    """
    planned, world = find_planned(policy.goal), Bernoulli(list(means))
    runs = planned.runs if runs is None else runs
    late = Constant(delay) if planned.delayed else AT_ONCE
    people, pulls, wrong, at_most = planned.play(
        policy, channel, world, aim, runs=runs, seed=1, delay=late, advance=advance
    )
    gaps = max(means) - np.asarray(means)
    regret, root = pulls @ gaps, runs**0.5
    return Forecast(
        float(people.mean()),
        float(people.std() / root),
        float(np.quantile(people, 0.9)),
        float(regret.mean()),
        float(regret.std() / root),
        float(people.mean() * gaps.mean()),
        wrong,
        at_most,
    )

"""What a study would probably bring: its policy runs in the lab many times, with the delay that its window makes.

A policy with a fixed number of people is simulated without a delay. In a live study whoever comes while it waits for
outcomes has no place and does not count, so the delay costs days and no people: see `waits`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.goals.answer.answer import answer, bound
from maskedbandit.lab.goals.identify.identify import identify
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.lab.goals.select.select import select
from maskedbandit.lab.worlds.bernoulli import Bernoulli
from maskedbandit.law import Law
from maskedbandit.policies.parts.fixed_phases import FixedPhases
from maskedbandit.policies.policy import Policy

# simulated studies: of an answer only a share is unknown, which is less certain than a mean
RUNS = {"identify": 200, "select": 200, "regret": 200, "answer": 2000}
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
    wrong: float  # the share of studies that end with another arm than the best, or with a wrong selection
    at_most: float | None = None  # what is proved of that, for policies of phases of fixed sizes, if nobody drops out


def waits(policy: Policy, channel: Channel, arms: int, people: int) -> int:
    """How often a study waits for the outcomes of all who had a place: at its end, and after each phase of fixed size.

    >>> from maskedbandit.channels.central import Central
    >>> from maskedbandit.policies.answer.equal_split import EqualSplit
    >>> from maskedbandit.policies.answer.sequential_halving import SequentialHalving
    >>> [waits(policy, Central(epsilon=1), 8, 10_000) for policy in (EqualSplit(), SequentialHalving())]
    [1, 3]
    """
    if not isinstance(policy, FixedPhases):
        return 1
    return max(sum(size > 0 for size in policy.plan(arms, people, Law(*channel.law())).sizes), 1)


def forecast(
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
    >>> found = forecast(SuccessiveElimination(), Central(epsilon=1), [0.6, 0.4], 10_000, delay=0, runs=20)
    >>> found.people, round(found.equal), 0 < found.regret < found.equal
    (10000.0, 1000, True)
    """
    runs = RUNS[policy.goal] if runs is None else runs
    world, late, best = Bernoulli(list(means)), Constant(delay), max(means)
    gaps, at_most = best - np.asarray(means), None
    if policy.goal == "regret":
        run = simulate(policy, channel, world, int(aim), runs, seed=1, delay=late, advance=advance)
        people, pulls = np.full(runs, float(aim)), run.pulls
        wrong = float(np.mean(gaps[pulls.argmax(axis=1)] > 0))
    elif policy.goal == "answer":
        answered = answer(policy, channel, world, int(aim), runs, seed=1, advance=advance)
        pulls, wrong, at_most = answered.pulls, 1 - float(answered.correct.mean()), bound(answered)
        people = pulls.sum(axis=1).astype(float)
    else:
        search: Callable[..., Any] = select if policy.goal == "select" else identify
        found = search(policy, channel, world, float(aim), runs, seed=1, max_pulls=MOST, delay=late, advance=advance)
        if np.mean(~found.stopped) > LOST:
            allowed = f"one that fewer than {MOST:.0e} people can show"
            if policy.goal == "select":
                raise InvalidValue("instance", world, allowed)
            raise InvalidValue("difference", round(float(np.sort(gaps)[1]), 12), allowed)
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
        at_most,
    )

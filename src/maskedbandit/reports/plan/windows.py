"""Whether a study is in effect an A/B test: whether most of its people come before the first outcome is known.

People who come within the first window get an arm before any outcome is known, whatever the policy. If most people do,
the policy only splits them evenly. If they are spread over several windows, the policy learns from the earlier ones for
the later ones. The number of windows is found by simulating the study with shorter delays.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from maskedbandit.channels.channel import Channel
from maskedbandit.lab.goals.plans import Forecast
from maskedbandit.policies.policy import Policy
from maskedbandit.reports.plan.forecast import find_planned, forecast_study
from maskedbandit.words import say_count, say_part

WINDOWS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
ENOUGH_SAVED = 0.8  # of what could be saved if outcomes were there at once
LITTLE_SAVED = 0.1  # of the cost: what is less is not worth it


class Spread(NamedTuple):
    """The gain from spreading the people of a study over several windows."""

    early: int  # people who come before the first outcome is there
    people: int  # of all
    cost: float  # what the study costs as it is: regret, or people
    windows: int | None  # over which the people are to be spread; None if no number of them helps much
    then: float  # what it would cost


def find_spread(
    policy: Policy,
    channel: Channel,
    means: Sequence[float],
    aim: int | float,
    late: int,
    found: Forecast,
    runs: int | None = None,
    advance: Callable[[], object] = lambda: None,
) -> Spread | None:
    """The number of windows over which to spread the people of a study, if most come within one; else None.

    >>> from maskedbandit.channels.central import Central
    >>> from maskedbandit.policies.regret.successive_elimination import SuccessiveElimination
    >>> given = SuccessiveElimination(), Central(epsilon=1), [0.6, 0.4], 10_000
    >>> spread = find_spread(*given, 10_000, forecast_study(*given, delay=10_000, runs=20), runs=20)
    >>> spread.early, spread.then < spread.cost
    (10000, True)
    >>> find_spread(*given, 1000, forecast_study(*given, delay=1000, runs=20)) is None
    True
    """
    planned, people = find_planned(policy.goal), round(found.people)
    if not planned.delayed or 2 * late < people:
        return None

    def cost(delay: int) -> float:
        if delay == late:
            return float(getattr(found, planned.curve.name))
        return float(getattr(forecast_study(policy, channel, means, aim, delay, runs, advance), planned.curve.name))

    now, least = cost(late), cost(0)
    spread = Spread(min(late, people), people, now, None, least)
    if now - least < LITTLE_SAVED * now:
        return spread
    low, high = 0, len(WINDOWS) - 1  # of the numbers of windows that are not enough, and that may be
    costs = dict[int, float]()
    while low < high:
        middle = (low + high) // 2
        costs[middle] = cost(min(late, -(-people // WINDOWS[middle])))
        if now - costs[middle] >= ENOUGH_SAVED * (now - least):
            high = middle
        else:
            low = middle + 1
    then = costs[high] if high in costs else cost(min(late, -(-people // WINDOWS[high])))
    return spread._replace(windows=WINDOWS[high], then=then)


def say_spread(spread: Spread, goal: str, window: str) -> str:
    """The advice, in sentences.

    >>> say_spread(Spread(900, 900, 95.0, 8, 21.0), "regret", "6 hours").partition(". ")[2]
    'Spread the people over 8 windows: then the policy loses about 21.0 outcomes in place of 95.0.'
    """
    said = (
        f"This is an A/B test, not a bandit: {say_part(spread.early, spread.people)} people come within "
        f"{window}, before the first outcome is there, so the policy can learn nothing in time for them."
    )
    if spread.windows is None:
        return f"{said} To spread the people over several windows would hardly help."
    name = find_planned(goal).curve.name
    if name == "people":
        then = f"needs about {say_count(round(spread.then))} people in place of {say_count(round(spread.cost))}"
    else:
        then = f"loses about {spread.then:,.1f} outcomes in place of {spread.cost:,.1f}"
    return f"{said} Spread the people over {spread.windows} windows: then the policy {then}."

"""The goal of regret: serve every user up to a horizon, with little regret."""

from typing import Any

import numpy as np

from maskedbandit import theory
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.goals.drive import LONGEST, check_compatible
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.plans import DAYS, FIRST, LOST_REWARDS, MOST_PEOPLE, WRONG, Curve, Planned, Played
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.privacy.exact import to_whole


def read_task(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The horizon."""
    return {"horizon": to_whole("horizon", given["horizon"], 1, LONGEST)}


def refuse_misfits(policy: Any, channel: Any, instance: Any, delay: Any, task: Any) -> None:
    """Raise unless a contextual policy has contexts, and any other policy arms without contexts."""
    if isinstance(policy, ContextualPolicy):
        context_play.check_contextual_play(policy, channel, instance, delay)
    else:
        check_compatible(policy, channel, instance, "regret", delay)


def play(policy: Any, channel: Any, world: Instance, people: int, **how: Any) -> Played:
    """Studies of as many people; which arm they got most tells how a study ends."""
    pulls = simulate(policy, channel, world, people, **how).pulls
    gaps = world.true_means().max() - world.true_means()
    return Played(np.full(len(pulls), float(people)), pulls, float(np.mean(gaps[pulls.argmax(axis=1)] > 0)))


GOAL = Goal(
    name="regret",
    verb=simulate,
    worlds=(Instance, Contexts),
    policies=("regret", "contextual"),
    asks=("horizon",),
    read_task=read_task,
    refuse_misfits=refuse_misfits,
    planned=Planned(
        play=play,
        columns=(*FIRST, MOST_PEOPLE, DAYS, *LOST_REWARDS, WRONG),
        curve=Curve("regret", "", "", lambda row, runs: (*(row.expected.regret,) * 3, np.nan)),
        unbounded="No lower bound is stated: those on regret are proved of ever more people, and not of so many.",
        finds=False,
        finish="; later if people come while the policy waits, as they have no place",
    ),
    options=("value",),
    theories=theory.CURVES,
    bounds=theory.LOWER,
)

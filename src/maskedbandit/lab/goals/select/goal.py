"""The goal of a selection: name all arms of a kind, with a fixed probability of error, and stop.

Tables and figures are those of the best arm: samples until it stops.
"""

from functools import partial
from typing import Any

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.drive import LONGEST
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.identify.identify import probability
from maskedbandit.lab.goals.planned import Planned, play_search
from maskedbandit.lab.goals.select.select import check_question, select
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.privacy.exact import whole


def asked(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The probability of an error, and where a run is cut off."""
    if not isinstance(instance, Instance):
        raise InvalidValue("instance", instance, "one of arms without contexts, such as Bernoulli([0.9, 0.8])")
    most = whole("max_pulls", given["max_pulls"], len(instance.true_means()), LONGEST)
    return {"delta": probability("delta", given["delta"]), "max_pulls": most}


GOAL = Goal(
    name="select",
    verb=select,
    aim="delta",
    worlds=(Instance,),
    policies=("select",),
    asks=("delta", "max_pulls"),
    asked=asked,
    check=lambda policy, channel, instance, delay, asked: check_question(policy, channel, instance, delay),
    planned=Planned(
        play=partial(play_search, select, lambda world: ("instance", world)),
        bound=lambda policy, *which: policy.question.least_samples(*which),
        wrong="Wrong answers",
    ),
    alike="identify",
    options=("caption",),
)

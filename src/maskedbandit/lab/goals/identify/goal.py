"""The goal of identification: find the best arm, with a fixed probability of error, and stop."""

from typing import Any

from maskedbandit import theory
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.drive import LONGEST, check_compatible
from maskedbandit.lab.goals.goal import Goal, how
from maskedbandit.lab.goals.identify import boxes, figure, rows
from maskedbandit.lab.goals.identify.identify import best_arm, identify, probability
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.privacy.exact import whole


def asked(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The probability of an error, and where a run is cut off; raises unless the instance has a single best arm."""
    if not isinstance(instance, Instance):
        raise InvalidValue("instance", instance, "one of arms without contexts, such as Bernoulli([0.9, 0.8])")
    best_arm(instance)
    most = whole("max_pulls", given["max_pulls"], len(instance.true_means()), LONGEST)
    return {"delta": probability("delta", given["delta"]), "max_pulls": most}


GOAL = Goal(
    name="identify",
    asks=("delta", "max_pulls"),
    asked=asked,
    check=lambda policy, channel, instance, asked: check_compatible(policy, channel, instance, "identify"),
    run=lambda setting, **more: identify(setting.policy, setting.channel, setting.instance, **how(setting), **more),
    drawn=rows.drawn,
    summary=rows.summary,
    cells=rows.cells,
    figures={
        "samples": lambda table, labels: figure.samples(table, labels.title, labels.caption),
        "cost": lambda table, labels: figure.cost(table, labels.title, labels.caption),
    },
    plot=boxes.boxes,
    options=("caption",),
    theories=theory.SAMPLES,
    bounds=theory.SAMPLES,
    publishes=True,
)

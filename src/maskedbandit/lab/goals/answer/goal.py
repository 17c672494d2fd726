"""The goal of an answer: name the best arm, with a fixed number of people."""

from typing import Any

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.goals.answer import figure, rows
from maskedbandit.lab.goals.answer.answer import answer
from maskedbandit.lab.goals.drive import LONGEST, check_compatible
from maskedbandit.lab.goals.goal import Goal, how
from maskedbandit.lab.goals.identify.identify import best_arm
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.privacy.exact import whole
from maskedbandit.theory.bounds import INFORMATION


def asked(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The number of users; raises unless the instance has a single best arm."""
    if not isinstance(instance, Instance):
        raise InvalidValue("instance", instance, "one of arms without contexts, such as Bernoulli([0.9, 0.8])")
    best_arm(instance)
    return {"horizon": whole("horizon", given["horizon"], len(instance.true_means()), LONGEST)}


GOAL = Goal(
    name="answer",
    asks=("horizon",),
    asked=asked,
    check=lambda policy, channel, instance, asked: check_compatible(policy, channel, instance, "answer"),
    run=lambda setting, **more: answer(setting.policy, setting.channel, setting.instance, **how(setting), **more),
    drawn=rows.drawn,
    summary=rows.summary,
    cells=rows.cells,
    figures={"wrong": lambda table, labels: figure.wrong(table, labels.title, labels.caption)},
    plot=figure.plot,
    options=("caption",),
    theories=tuple(INFORMATION),
    bounds=tuple(INFORMATION),
)

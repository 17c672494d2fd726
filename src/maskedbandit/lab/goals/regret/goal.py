"""The goal of regret: serve every user up to a horizon, with little regret."""

from typing import Any

from maskedbandit import theory
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.goals.drive import LONGEST, check_compatible
from maskedbandit.lab.goals.goal import Goal, how
from maskedbandit.lab.goals.regret import curves, league, rows, varied
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.privacy.exact import whole


def asked(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The horizon."""
    return {"horizon": whole("horizon", given["horizon"], 1, LONGEST)}


def check(policy: Any, channel: Any, instance: Any, asked: dict[str, Any]) -> None:
    """Raise unless a contextual policy has contexts, and any other policy arms without contexts."""
    if policy.goal == "contextual":
        context_play.check_compatible(policy, channel, instance)
    else:
        check_compatible(policy, channel, instance, "regret")


GOAL = Goal(
    name="regret",
    asks=("horizon",),
    asked=asked,
    check=check,
    run=lambda setting, **more: simulate(setting.policy, setting.channel, setting.instance, **how(setting), **more),
    drawn=rows.drawn,
    summary=rows.summary,
    cells=rows.cells,
    figures={
        "regret": lambda table, labels: curves.regret(table, labels.title),
        "average": lambda table, labels: curves.average(table, labels.title),
        "value": lambda table, labels: curves.values(table, labels.columns, labels.title),
        "league": lambda table, labels: league.league(table, labels.title),
        "varied": lambda table, labels: varied.varied(table, labels.title),
    },
    plot=curves.plot,
    options=("value",),
    theories=theory.CURVES,
    bounds=theory.LOWER,
)

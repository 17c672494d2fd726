"""The goal of replay: what a policy would have earned, from the log of another one."""

from typing import Any

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.goals.goal import Goal, how
from maskedbandit.lab.goals.replay import figure, rows
from maskedbandit.lab.goals.replay.log_contexts import LogContexts
from maskedbandit.lab.goals.replay.replay import replay
from maskedbandit.lab.goals.setting import PublishedPoint, TheoryCurve


def no_theory(curve: TheoryCurve | PublishedPoint) -> Any:
    """Raise: there are no curves of theory for a log."""
    raise InvalidValue("curve", curve.label, "a curve of a policy: there are no curves of theory for a log")


GOAL = Goal(
    name="replay",
    asks=("context",),
    asked=lambda given, log: {"context": given["context"] if given["context"] is not None else "user"},
    check=lambda policy, channel, log, asked: context_play.check_compatible(policy, channel, LogContexts(log, **asked)),
    run=lambda setting, **more: replay(setting.policy, setting.channel, setting.instance, **how(setting), **more),
    drawn=no_theory,
    summary=rows.summary,
    cells=rows.cells,
    figures={
        "delays": lambda table, labels: figure.rates(table, "delays", labels.title, labels.caption),
        "privacy": lambda table, labels: figure.rates(table, "privacy", labels.title, labels.caption),
    },
    plot=figure.points,
    options=("caption",),
)

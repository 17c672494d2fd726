"""The goal of replay: what a policy would have earned, from the log of another one."""

from collections.abc import Mapping
from typing import Any

from maskedbandit.lab.engine import context_play
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.replay.log_arms import refuse_arms_misfits
from maskedbandit.lab.goals.replay.log_contexts import LogContexts
from maskedbandit.lab.goals.replay.replay import replay
from maskedbandit.lab.logs.log import Log
from maskedbandit.policies.contextual_policy import ContextualPolicy


def refuse_misfits(policy: Any, channel: Any, log: Any, delay: Any, task: Mapping[str, Any]) -> None:
    """Raise unless the policy can choose by what the log says."""
    context = task.get("context", "user")
    if isinstance(policy, ContextualPolicy):
        context_play.check_contextual_play(policy, channel, LogContexts(log, context), delay)
    else:
        refuse_arms_misfits(policy, channel, log, context, delay)


GOAL = Goal(
    name="replay",
    verb=replay,
    worlds=(Log,),
    policies=("contextual", "regret"),
    asks=("context",),
    read_task=lambda given, log: {"context": given["context"] if given["context"] is not None else "user"},
    refuse_misfits=refuse_misfits,
)

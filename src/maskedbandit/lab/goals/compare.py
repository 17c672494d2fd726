"""Compare policies and channels: every policy over every channel, on the same instance and the same random streams."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine import context_play
from maskedbandit.lab.engine.each_run import Workers
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals import drive
from maskedbandit.lab.goals.answer.answer import answer
from maskedbandit.lab.goals.comparison import Comparison
from maskedbandit.lab.goals.identify.identify import identify
from maskedbandit.lab.goals.regret.simulate import simulate
from maskedbandit.lab.goals.replay.log_contexts import LogContexts
from maskedbandit.lab.goals.replay.replay import replay
from maskedbandit.lab.goals.select.select import check_question, select
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.contextual_policy import ContextualPolicy
from maskedbandit.policies.policy import Policy


def compare(
    policies: Policy | Sequence[Policy] | Mapping[str, Policy],
    channels: Channel | Sequence[Channel] | Mapping[str, Channel],
    instance: Instance | Contexts | Log,
    *,
    horizon: int | None = None,
    delta: float | None = None,
    runs: int = 20,
    seed: int = 0,
    executor: Workers = Threads,
    advance: Callable[[], object] = lambda: None,
    delay: Delay = AT_ONCE,
    **more: Any,
) -> Comparison:
    """Run every policy over every channel: up to a `horizon`, or until it stops with an error of at most `delta`.

    Policies whose goal is an answer name the best arm after at most `horizon` users; those of a selection name all arms
    of a kind, with an error of at most `delta`.

    Run i of all pairs has the same random streams, so that differences between pairs have less variance than each of
    them. A mapping names its policies or channels; otherwise their classes do. `executor`,
    `advance` and `delay` are those of `simulate`, and `more` what else it, `identify`, `select`, `answer`
    or, if the instance is a log, `replay` has.

    >>> import maskedbandit as mb
    >>> channels = [mb.channels.Raw(), mb.channels.Central(epsilon=0.5)]
    >>> mb.compare(mb.policies.SuccessiveElimination(), channels, mb.Bernoulli([0.9, 0.5]), horizon=10**6, seed=7)
    Comparison of 2, 20 runs each
    curve     mean regret  minus the first  loss of a user
    ───────  ────────────  ───────────────  ──────────────
    Raw      409.6 ± 23.5                          ε = inf
    Central  880.6 ± 28.2    +471.0 ± 30.1         ε = 0.5
    """
    named, carried = labels("policies", policies, Policy), labels("channels", channels, Channel)
    how: dict[str, Any] = {"runs": runs, "seed": seed, "delay": delay, **more}
    how |= {"executor": executor, "advance": advance}
    asked = {getattr(policy, "goal", "") for policy in named.values()}
    usual, other = ("regret", "answer") if delta is None else ("identify", "select")
    goal = other if other in asked else usual
    if isinstance(instance, Log):
        if delta is not None:
            raise InvalidValue("delta", delta, "left out for a log: nothing is searched for in it")
        run: Any = partial(replay, log=instance, horizon=horizon, **how)
    elif (horizon is None) == (delta is None):
        raise InvalidValue("horizon and delta", (horizon, delta), "one of them: serve so many users, or search")
    else:
        does: Any = {"regret": simulate, "answer": answer, "identify": identify, "select": select}[goal]
        aim = {"horizon": horizon} if delta is None else {"delta": delta}
        run = partial(does, **how | aim | {"instance": instance})
    pairs = {pair(p, c, named, carried): (named[p], carried[c]) for p in named for c in carried}
    for policy, channel in pairs.values():  # all of them before the first is run
        check(policy, channel, instance, goal, delay, more)
    return Comparison({label: run(policy, channel) for label, (policy, channel) in pairs.items()})


def check(policy: Any, channel: Any, instance: Any, goal: str, delay: Delay, more: dict[str, Any]) -> None:
    """Raise unless they fit together."""
    if isinstance(instance, Log):
        context_play.check_compatible(policy, channel, LogContexts(instance, more.get("context", "user")), delay)
    elif goal == "regret" and isinstance(policy, ContextualPolicy):
        context_play.check_compatible(policy, channel, instance, delay)
    elif goal == "select":
        check_question(policy, channel, instance, delay)
    else:
        drive.check_compatible(policy, channel, instance, goal, delay)


def pair(policy: str, channel: str, policies: Mapping[str, Any], channels: Mapping[str, Any]) -> str:
    """What a pair is called: what all have in common is left out."""
    return (
        ", ".join(name for name, all_of in ((policy, policies), (channel, channels)) if len(all_of) > 1)
        or f"{policy}, {channel}"
    )


def labels(name: str, given: Any, kind: Any) -> dict[str, Any]:
    """What is compared, by its labels: those given, or the classes with the parameters in which they differ."""
    if isinstance(given, Mapping):
        found = dict(given)
    else:
        each = [given] if isinstance(given, kind) else list(given) if isinstance(given, Sequence) else []
        found = {own_label(one, each): one for one in each}
        if len(found) < len(each):
            raise InvalidValue(name, given, "all different")
    if not found or not all(isinstance(one, kind) and isinstance(label, str) for label, one in found.items()):
        raise InvalidValue(name, given, f"a {kind.__name__.lower()}, a list of them, or a mapping from labels to them")
    return found


def own_label(one: Any, among: Sequence[Any]) -> str:
    """The class, and what others of that class have different.

    >>> from maskedbandit.channels.central import Central
    >>> own_label(Central(epsilon=2), [Central(epsilon=2), Central()])
    'Central, epsilon 2'
    """
    alike = [each for each in among if type(each) is type(one)]
    names = [field.name for field in fields(one)] if is_dataclass(one) else []
    differ = [name for name in names if any(getattr(each, name) != getattr(one, name) for each in alike)]
    return ", ".join([type(one).__name__, *(f"{name} {getattr(one, name)}" for name in differ)])

"""Compare policies and channels: every policy over every channel, on the same instance and the same random streams."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue, UnknownName
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.engine.each_run import Workers
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals import list_goals
from maskedbandit.lab.goals.cells import Cells, format_table
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.result import Result
from maskedbandit.lab.goals.tidy import Block, Tidy
from maskedbandit.lab.logs.log import Log
from maskedbandit.lab.worlds.contexts import Contexts
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy


@dataclass(frozen=True, repr=False)
class Comparison(Tidy):
    """The result of `compare`: the results of all pairs by their labels, in the order of policies and channels."""

    results: dict[str, Result]

    def __getitem__(self, label: str) -> Result:
        if label not in self.results:
            raise UnknownName("label", str(label), self.results)
        return self.results[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    @property
    def goal(self) -> str:
        """The goal of all policies."""
        return next(iter(self.results.values())).goal

    def title(self) -> str:
        """The title of a comparison."""
        runs = next(iter(self.results.values())).outcome().values.size
        return f"Comparison of {len(self.results)}, {runs:,} run{'s' * (runs != 1)} each"

    def __repr__(self) -> str:
        return f"{self.title()}\n{format_table(self.lines(), 1)}"

    def blocks(self) -> list[Block]:
        """The rows of all pairs, with a label of each."""
        return [{"label": label, **block} for label, result in self.results.items() for block in result.blocks()]

    def lines(self) -> list[Cells]:
        """A line for each pair; differences are those of the same runs, with which they share the random streams."""
        first, *_ = (each.outcome() for each in self.results.values())
        lines = []
        for i, (label, result) in enumerate(self.results.items()):
            found = result.outcome()
            less = found._replace(values=found.values - first.values, cut=found.cut + first.cut)
            more = "" if i == 0 or less.cut else f"{less.values.mean():+,.{less.digits}f}"
            alone = found.own_error is not None or np.size(found.values) < 2
            lines.append(
                {
                    "curve": label,
                    f"mean {found.name}": found.mean() + found.error(),
                    "minus the first": more + ("" if alone or not more else less.error()),
                    "loss of a user": str(result.loss),
                }
            )
        return lines


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
    them. A mapping names its policies or channels; otherwise their classes do. The result of a pair is found by its
    label, as `comparison["Central"]`. `executor`, `advance` and `delay` are those of `simulate`, and `more` holds
    further arguments of it, of `identify`, `select` or `answer`, or, if the instance is a log, of `replay`.

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
    if isinstance(instance, Log):
        if delta is not None:
            raise InvalidValue("delta", delta, "left out for a log: nothing is searched for in it")
    elif (horizon is None) == (delta is None):
        raise InvalidValue("horizon and delta", (horizon, delta), "one of them: serve so many users, or search")
    aim, value = ("horizon", horizon) if delta is None else ("delta", delta)
    goal = choose_goal(named, instance, aim)
    pairs = {pair(p, c, named, carried): (named[p], carried[c]) for p in named for c in carried}
    for policy, channel in pairs.values():  # all of them before the first is run
        goal.check(policy, channel, instance, delay, more)
    how: dict[str, Any] = {"runs": runs, "seed": seed, "executor": executor, "advance": advance, "delay": delay, **more}
    how[aim] = value
    return Comparison({label: goal.verb(*parts, instance, **how) for label, parts in pairs.items()})


def choose_goal(policies: Mapping[str, Policy], instance: Any, aim: str) -> Goal:
    """The goal of these policies on an instance; if they differ, that of the first which can be given the aim."""
    could = [each for each in list_goals().values() if each.aim == aim and isinstance(instance, each.worlds)]
    known = {name: each for each in could for name in each.policies}
    for policy in policies.values():
        if policy.goal in known:
            return known[policy.goal]
    if not known:
        raise InvalidValue("instance", instance, f"one on which policies can be run that are given a {aim}")
    said = f"policies whose goal is {' or '.join(map(repr, known))}, as they are given a {aim}"
    raise InvalidValue("policies", list(policies.values()), said)


def pair(policy: str, channel: str, policies: Mapping[str, Any], channels: Mapping[str, Any]) -> str:
    """The label of a pair; parts that all pairs have in common are left out."""
    return (
        ", ".join(name for name, all_of in ((policy, policies), (channel, channels)) if len(all_of) > 1)
        or f"{policy}, {channel}"
    )


def labels(name: str, given: Any, kind: Any) -> dict[str, Any]:
    """The compared objects by their labels: those given, or the classes with the parameters in which they differ."""
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

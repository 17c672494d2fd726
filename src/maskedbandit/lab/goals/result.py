"""The common parts of the results of one policy, whatever the goal."""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy.typing as npt

from maskedbandit.channels.channel import Channel, find_backend
from maskedbandit.core import Floats, Integers
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.delays.delay import Delay
from maskedbandit.lab.goals.cells import Cells
from maskedbandit.lab.goals.tidy import Tidy
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import Loss

DELTA = 1e-6  # the δ of losses that are not pure
LOSSES = ("pure_epsilon", f"epsilon_at_{DELTA:g}")


class Outcome(NamedTuple):
    """The main number of a result, for each run."""

    name: str
    values: npt.NDArray[Any]  # [runs]
    digits: int = 1
    own_error: float | None = None  # of their mean, where runs are not independent
    cut: int = 0  # runs that were cut off: their values are too small

    def mean(self) -> str:
        """The mean, as text."""
        return f"{'≥ ' * (self.cut > 0)}{self.values.mean():,.{self.digits}f}"

    def error(self) -> str:
        """± its standard error; nothing where it is not known."""
        runs = self.values.size
        if self.cut or (runs < 2 and self.own_error is None):
            return ""
        error = self.values.std(ddof=1) / runs**0.5 if self.own_error is None else self.own_error
        return f" ± {error:,.{self.digits}f}"


@dataclass(frozen=True, repr=False, kw_only=True)
class Result(Tidy):
    """The result of any number of runs of a policy."""

    policy: Policy
    channel: Channel
    releases: Integers  # [runs] sums that were released
    loss: Loss  # of one user, the worst over the cohorts that occurred
    findings: dict[str, Floats]  # [runs] from the policy's state at the end
    delay: Delay = AT_ONCE
    runs_from: int = 0  # the number of the first run

    @abstractmethod
    def outcome(self) -> Outcome:
        """The main number of each run."""

    def title(self) -> str:
        """Policy, channel and the number of runs."""
        runs = self.outcome().values.size
        names = ", ".join(type(each).__name__ for each in (self.policy, self.channel))
        return f"{type(self).__name__}: {names}, {runs:,} run{'s' * (runs != 1)}"

    def __repr__(self) -> str:
        found = self.outcome()
        mean = found.mean().replace("≥", "at least")
        stopped = f" ({found.values.size - found.cut:,} stopped)" * (found.cut > 0)
        return f"<{self.title()}, mean {found.name} {mean}{stopped}, {self.loss}>"

    def lines(self) -> list[Cells]:
        """One line."""
        found = self.outcome()
        cells = {"policy": type(self.policy).__name__, "channel": type(self.channel).__name__}
        return [cells | {f"mean {found.name}": found.mean() + found.error(), "loss of a user": str(self.loss)}]


@dataclass(frozen=True, repr=False, kw_only=True)
class ArmResult(Result):
    """The result of a policy on arms without contexts."""

    instance: Instance
    pulls: Integers  # [runs, k] users of each arm
    recorded: tuple[Floats, ...] | None = None  # [runs] of [releases, 4], if they were kept


def private_bound(run: Result) -> tuple[str, float]:
    """The trust model whose lower bound holds for a run, and ε; if the loss is not pure, that is none."""
    epsilon = run.loss.epsilon()
    return "no_privacy" if math.isinf(epsilon) else "local" if run.channel.trust == "local" else "central", epsilon


def describe_run(run: Result) -> dict[str, Any]:
    """The columns that are the same in all rows of a run: policy, channel, trust model and loss of a user."""
    over = f", over {type(backend).__name__}" if (backend := find_backend(run.channel)) else ""
    return {
        **({} if run.delay == AT_ONCE else {"delay": str(run.delay)}),
        "trust": run.channel.trust,
        "policy": type(run.policy).__name__,
        "channel": type(run.channel).__name__,
        "sees": run.channel.sees + over,
        **dict(zip(LOSSES, (run.loss.epsilon(), run.loss.epsilon(DELTA)), strict=True)),
    }

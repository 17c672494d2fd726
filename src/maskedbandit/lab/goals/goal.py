"""The record of a goal: the question to a policy, how it is run and planned, and how its results are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from maskedbandit.lab.goals.drive import check_compatible
from maskedbandit.lab.goals.plans import Planned
from maskedbandit.lab.goals.result import Result
from maskedbandit.lab.goals.setting import Setting
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.policies.parts.purposes import find_purpose

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Labels(NamedTuple):
    """The texts that an experiment puts into its figure."""

    title: str = ""
    caption: str = ""
    columns: Mapping[str, str] = {}  # the columns of the table that it shows, by their labels


UNLABELLED = Labels()


class Plotted(NamedTuple):
    """The contents of a figure's only panel, needed by what is drawn around it."""

    note: str  # what bands and marks mean
    height: float  # inches that it takes
    look: Mapping[str, Any] = {}  # how each curve looks, by its label, if curves still need labels
    ends: Mapping[str, float] = {}  # where they end


@dataclass(frozen=True)
class Shown:
    """The tables and figures of a goal: `SHOWN` in the `figure.py` of its folder, which needs the extra `lab`."""

    tabulate_curve: Callable[[Any], pl.DataFrame]  # a curve of theory or a published point, as rows like those of runs
    summary: Callable[[pl.DataFrame], pl.DataFrame]  # one row for each curve and all that varied
    cells: Callable[[dict[str, Any]], dict[str, str]]  # a row of the summary as text, by column heading
    figures: Mapping[str, Callable[[pl.DataFrame, Labels], Figure]]  # the first is the default
    plot: Callable[[Axes, pl.DataFrame], Plotted]  # one figure of results without anything that varies


@dataclass(frozen=True, kw_only=True)
class Goal:
    """Everything that depends on the goal: `GOAL` in the `goal.py` of its folder."""

    name: str
    verb: Callable[..., Result]  # runs a policy: `simulate`, `identify`, ...
    asks: tuple[str, ...]  # keys of an experiment that define the task of a policy
    read_task: Callable[[dict[str, Any], Any], dict[str, Any]]  # their checked values, for an instance
    worlds: tuple[type, ...] = (Instance,)  # of what it is run on
    policies: tuple[str, ...] = ()  # the purposes of the policies that it runs, if not its own
    refuse_misfits: Callable[..., None] | None = None  # in place of `check_compatible`, see `check`
    planned: Planned | None = None  # how studies are planned, if they can be
    alike: str = ""  # the goal whose tables and figures it has, if they are not its own
    options: tuple[str, ...] = ("caption",)  # further keys of an experiment, about the figure
    theories: Collection[str] = ()  # names of its curves of theory
    bounds: Collection[str] = ()  # those that are bounds for rewards that are bits
    publishes: bool = False  # whether a curve may be published points

    def __post_init__(self) -> None:
        object.__setattr__(self, "policies", self.policies or (self.name,))

    @property
    def shown(self) -> Shown:
        """The tables and figures of its results."""
        found: Shown = import_module(f"{__package__}.{self.alike or self.name}.figure").SHOWN
        return found

    @property
    def aim(self) -> str:
        """The argument of the verb that `compare` is given."""
        return "delta" if find_purpose(self.policies[0]).aim == "delta" else "horizon"

    def check(self, policy: Any, channel: Any, instance: Any, delay: Any, task: Mapping[str, Any]) -> None:
        """Raise unless all of them fit together."""
        if self.refuse_misfits is None:
            check_compatible(policy, channel, instance, self.name, delay)
        else:
            self.refuse_misfits(policy, channel, instance, delay, task)

    def run(self, setting: Setting, **how: Any) -> Result:
        """Run a setting, whose id names the random streams."""
        named = {"runs": setting.runs, "seed": setting.seed, "study": setting.id, "delay": setting.delay}
        return self.verb(setting.policy, setting.channel, setting.instance, **named, **setting.task, **how)

"""The record of a goal: what a policy is asked for, how it is run and planned, and how its results are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from maskedbandit.lab.goals.planned import Planned
from maskedbandit.lab.goals.result import Result
from maskedbandit.lab.goals.setting import Setting

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
    """What was drawn into a figure's only panel, for what is drawn around it."""

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
    aim: str  # the argument of the verb that `compare` is given: "horizon" or "delta"
    worlds: tuple[type, ...]  # of what it is run on
    policies: tuple[str, ...]  # the goals of the policies that it runs
    asks: tuple[str, ...]  # keys of an experiment that define the task of a policy
    read_task: Callable[[dict[str, Any], Any], dict[str, Any]]  # their checked values, for an instance
    check: Callable[[Any, Any, Any, Any, Mapping[str, Any]], None]  # raise if a policy, a channel, an instance, a delay
    # and more of the task do not fit
    planned: Planned | None = None  # how studies are planned, if they can be
    alike: str = ""  # the goal whose tables and figures it has, if they are not its own
    options: tuple[str, ...] = ()  # further keys of an experiment, about the figure
    theories: Collection[str] = ()  # names of its curves of theory
    bounds: Collection[str] = ()  # those that are bounds for rewards that are bits
    publishes: bool = False  # whether a curve may be published points

    @property
    def shown(self) -> Shown:
        """How its results are shown."""
        found: Shown = import_module(f"{__package__}.{self.alike or self.name}.figure").SHOWN
        return found

    def run(self, setting: Setting, **how: Any) -> Result:
        """Run a setting, whose id names the random streams."""
        named = {"runs": setting.runs, "seed": setting.seed, "study": setting.id, "delay": setting.delay}
        return self.verb(setting.policy, setting.channel, setting.instance, **named, **setting.task, **how)

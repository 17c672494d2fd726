"""The record of a goal: what a policy is asked for, how an experiment is run, and how its results are shown."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maskedbandit.lab.goals.result import Result
from maskedbandit.lab.goals.setting import Setting
from maskedbandit.lab.goals.style import Plotted


class Labels(NamedTuple):
    """The texts that an experiment puts into its figure."""

    title: str = ""
    caption: str = ""
    columns: Mapping[str, str] = {}  # the columns of the table that it shows, by their labels


@dataclass(frozen=True)
class Goal:
    """Everything that depends on the goal of an experiment."""

    name: str
    asks: tuple[str, ...]  # keys of an experiment that define the task of a policy
    asked: Callable[[dict[str, Any], Any], dict[str, Any]]  # their checked values, for an instance
    check: Callable[[Any, Any, Any, dict[str, Any]], None]  # policy, channel, instance, asked: raise if they do not fit
    run: Callable[..., Result]  # the setting and its options; the setting's id names the random streams
    drawn: Callable[[Any], pl.DataFrame]  # a curve of theory or a published point, as rows like those of runs
    summary: Callable[[pl.DataFrame], pl.DataFrame]  # one row for each curve and all that varied
    cells: Callable[[dict[str, Any]], dict[str, str]]  # a row of the summary as text, by column heading
    figures: Mapping[str, Callable[[pl.DataFrame, Labels], Figure]]  # the first is the default
    plot: Callable[[Axes, pl.DataFrame], Plotted]  # one figure of results without anything that varies
    options: tuple[str, ...] = ()  # further keys of an experiment, about the figure
    theories: Collection[str] = ()  # names of its curves of theory
    bounds: Collection[str] = ()  # those that are bounds for rewards that are bits
    publishes: bool = False  # whether a curve may be published points


def how(setting: Setting) -> dict[str, Any]:
    """The arguments that every goal passes to a simulation: the task, the number of runs and the random streams."""
    return setting.asked | {
        "runs": setting.runs,
        "seed": setting.seed,
        "study": setting.id,
        "delay": setting.delay,
    }

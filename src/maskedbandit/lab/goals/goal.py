"""A goal: what policies are asked for, how a setting of an experiment is run, and what its results are shown as."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl
from matplotlib.figure import Figure

from maskedbandit.lab.goals.result import Result
from maskedbandit.lab.goals.setting import Setting


class Labels(NamedTuple):
    """What an experiment writes into its figure."""

    title: str = ""
    caption: str = ""
    columns: Mapping[str, str] = {}  # the columns of the table that it shows, by what it calls them


@dataclass(frozen=True)
class Goal:
    """Everything that depends on the goal of an experiment."""

    name: str
    asks: tuple[str, ...]  # keys of an experiment that say what is asked of a policy
    asked: Callable[[dict[str, Any], Any], dict[str, Any]]  # their values, checked, for an instance
    check: Callable[[Any, Any, Any, dict[str, Any]], None]  # policy, channel, instance, asked: raise if they do not fit
    run: Callable[..., Result]  # the setting, and how it is run; the setting's id names the random streams
    drawn: Callable[[Any], pl.DataFrame]  # a curve of theory or a published point, as rows like those of runs
    summary: Callable[[pl.DataFrame], pl.DataFrame]  # one row for each curve and all that varied
    cells: Callable[[dict[str, Any]], dict[str, str]]  # a row of the summary as text, under what it says
    figures: Mapping[str, Callable[[pl.DataFrame, Labels], Figure]]  # the first is the default
    options: tuple[str, ...] = ()  # keys of an experiment that say more about the figure
    theories: Collection[str] = ()  # names of its curves of theory
    bounds: Collection[str] = ()  # those of them that hold for rewards that are bits
    publishes: bool = False  # whether a curve may be what others published


def how(setting: Setting) -> dict[str, Any]:
    """What every goal tells the simulation: what was asked, and how often and with which random streams it runs."""
    return setting.asked | {
        "runs": setting.runs,
        "seed": setting.seed,
        "study": setting.id,
        "delay": setting.delay,
    }

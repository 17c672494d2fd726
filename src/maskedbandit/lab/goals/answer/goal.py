"""The goal of an answer: name the best arm, with a fixed number of people."""

from typing import Any

import numpy as np

from maskedbandit.lab.goals.answer.answer import answer
from maskedbandit.lab.goals.drive import LONGEST, check_arms
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.identify.identify import best_arm
from maskedbandit.lab.goals.interval import LEVEL
from maskedbandit.lab.goals.plans import (
    DAYS,
    FIRST,
    LEAST,
    LOST_REWARDS,
    Column,
    Curve,
    Planned,
    Played,
    Row,
    bound_wrong_share,
)
from maskedbandit.lab.worlds.instance import Instance
from maskedbandit.privacy.exact import to_whole
from maskedbandit.theory.bounds import INFORMATION
from maskedbandit.theory.wrong_answers import least_wrong


def read_task(given: dict[str, Any], instance: Any) -> dict[str, Any]:
    """The number of users; raises unless the instance has a single best arm."""
    best_arm(check_arms(instance))
    return {"horizon": to_whole("horizon", given["horizon"], len(instance.true_means()), LONGEST)}


def play(policy: Any, channel: Any, world: Instance, people: int, **how: Any) -> Played:
    """Studies of as many people."""
    found = answer(policy, channel, world, people, **how)
    return Played(found.pulls.sum(axis=1).astype(float), found.pulls, 1 - float(found.correct.mean()), found.bound)


def wrong_share(row: Row, runs: int) -> tuple[float, float, float, float]:
    """The share of wrong answers, its interval, and what is proved of it; no share is drawn where none was wrong."""
    at_most = row.expected.at_most
    return row.expected.wrong or np.nan, *bound_wrong_share(row, runs), np.nan if at_most is None else at_most


COLUMNS = (
    *FIRST,
    DAYS,
    Column("wrong", 8, ".2%", lambda row, runs: row.expected.wrong),
    Column(f"{LEVEL:.0%} interval", 14, "", lambda row, runs: "{:.2%}-{:.2%}".format(*bound_wrong_share(row, runs))),
    LEAST._replace(form=".2%"),
    Column("at most", 8, ".2%", lambda row, runs: row.expected.at_most),
    *LOST_REWARDS,
)
GOAL = Goal(
    name="answer",
    verb=answer,
    asks=("horizon",),
    read_task=read_task,
    planned=Planned(
        play=play,
        columns=COLUMNS,
        curve=Curve(
            "wrong answers", "bands: 99 % intervals; ", "dotted: proved of this policy", wrong_share, share=True
        ),
        bound=lambda policy, *which: least_wrong(*which),
        runs=2000,  # only a share is unknown, which is less certain than a mean
        delayed=False,
        finish="; it waits for the outcomes of each phase, and who comes meanwhile has no place",
        wrong="Wrong answers",
    ),
    theories=tuple(INFORMATION),
    bounds=tuple(INFORMATION),
)

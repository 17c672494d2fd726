"""The goal of a selection: name all arms of a kind, with a fixed probability of error, and stop.

Tables and figures are those of the best arm: samples until it stops.
"""

from functools import partial

from maskedbandit.lab.goals.drive import check_arms
from maskedbandit.lab.goals.goal import Goal
from maskedbandit.lab.goals.plans import Planned
from maskedbandit.lab.goals.search import check_search, play_search
from maskedbandit.lab.goals.select.select import check_question, select

GOAL = Goal(
    name="select",
    verb=select,
    asks=("delta", "max_pulls"),
    read_task=lambda given, instance: check_search(given, check_arms(instance)),
    refuse_misfits=lambda policy, channel, instance, delay, task: check_question(policy, channel, instance, delay),
    planned=Planned(
        play=partial(play_search, select, lambda world: ("instance", world)),
        bound=lambda policy, *which: policy.question.least_samples(*which),
        wrong="Wrong answers",
    ),
    alike="identify",
)

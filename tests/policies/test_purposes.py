"""Purposes: every policy has one, and those of live studies and of the lab's goals lead to policies that there are."""

import pytest

from maskedbandit import policies
from maskedbandit.errors import UnknownName
from maskedbandit.lab.goals import list_goals
from maskedbandit.policies.parts.purposes import find_purpose, list_purposes


def test_every_policy_has_a_purpose_and_every_purpose_policies() -> None:
    assert {policies.room[name].goal for name in policies.room} == set(list_purposes())
    with pytest.raises(UnknownName, match="did you mean 'regret'"):
        find_purpose("regrets")


def test_the_policy_of_live_studies_has_the_goal() -> None:
    for goal, purpose in list_purposes().items():
        if purpose.live:
            assert policies.room[purpose.live]().goal == goal
            assert purpose.choice, "the form says what it is for"


def test_every_purpose_is_run_by_a_goal_of_the_lab() -> None:
    assert {name for goal in list_goals().values() for name in goal.policies} == set(list_purposes())
    for name, goal in list_goals().items():
        assert goal.name == name
        assert (goal.planned is None) == (name not in list_purposes())

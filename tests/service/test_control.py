"""A control arm over HTTP: how the study and its arms stand, what they are compared with, and what is foreseen."""

from datetime import UTC, datetime
from typing import Any

import pytest

from maskedbandit.cli.parts import forecast, trust_plan
from maskedbandit.cli.parts.forecast import expected_means, in_words
from maskedbandit.lab.goals.plans import Forecast
from maskedbandit.service.page.sentences import say_preview
from maskedbandit.study.protocol import Protocol
from tests.service.inside import Inside

ARMS = [{"name": "a", "payload": 1}, {"name": "plain", "payload": 2, "share": "1/3"}, {"name": "b"}]
SURE = {"channel": {"name": "central", "epsilon": 1000}, "budget": {"epsilon": 1000}}
MEANS = {"a": 0.9, "plain": 0.1, "b": 0.7}
OWNER = "owner"


@pytest.mark.slow
def test_all_is_compared_with_the_control(service: Inside) -> None:
    service.begin(arms=ARMS, policy={"name": "successive_elimination", "least": 20}, **SURE)
    for day in range(3):
        for i in range(70):
            given = service.assign(f"person {i} of day {day}")
            if given["ticket"]:
                service.study("expose", {"ticket": given["ticket"]})
                value = float(i % 10 < 10 * MEANS[given["arm"]])
                service.study("report", {"ticket": given["ticket"], "value": value})
        service.tick(21)
    state = service.ask("GET", "/v1/studies/small", key=OWNER).json
    assert (state["arms"], state["in_play"], state["control"]) == (["a", "plain", "b"], ["a", "b"], "plain")
    found = service.ask("GET", "/v1/studies/small/results", key=OWNER).json
    arms = {each["arm"]: each for each in found["arms"]}
    assert {name: each["stands"] for name, each in arms.items()} == {"a": "in play", "plain": "control", "b": "in play"}
    assert arms["plain"]["compared"] is None
    assert arms["plain"]["surely_best"] is None
    assert {arms[name]["compared"]["minus"] for name in "ab"} == {"plain"}
    assert 0.5 < arms["a"]["compared"]["difference"] < 1
    gain = found["gain"]
    assert gain["minus"] == "plain"
    assert arms["b"]["compared"]["difference"] < gain["difference"] < arms["a"]["compared"]["difference"]
    assert gain["low"] < gain["difference"] < gain["high"]
    assert service.ask("POST", "/v1/studies/small/verify", key=OWNER).status == 200
    for verb in ("pause", "resume"):
        refused = service.study("arms/plain/" + verb, key=OWNER)
        assert (refused.status, refused.code) == (409, "conflict")


def test_a_study_without_a_control_says_nothing_of_one(service: Inside) -> None:
    service.begin()
    assert service.ask("GET", "/v1/studies/small", key=OWNER).json["control"] is None
    assert service.ask("GET", "/v1/studies/small/results", key=OWNER).json["gain"] is None


@pytest.mark.parametrize(
    "arms", [[*ARMS[:2]], [*ARMS, {"name": "c", "share": "1/4"}], [{"name": "a", "share": 2}, *ARMS[1:]]]
)
def test_controls_that_cannot_be_are_refused_by_name(service: Inside, arms: Any) -> None:
    table = {"name": "x", "people": 100, "channel": "central", "arms": arms, "budget": {"epsilon": 1}}
    refused = service.ask("POST", "/v1/studies", table, OWNER)
    assert refused.status == 422
    assert "share" in refused.json["detail"]


# --- what is foreseen -------------------------------------------------------------------------------------------------


def protocols(**changes: Any) -> tuple[Protocol, Protocol]:
    """A study with a control, and one of the others alone, with the people who are left to them."""
    table = {"name": "x", "people": 3000, "channel": "central", "budget": {"epsilon": 1}, **changes}
    others = [{"name": each["name"]} for each in ARMS if "share" not in each]
    return Protocol.from_table(table | {"arms": ARMS}), Protocol.from_table(table | {"people": 2000, "arms": others})


def test_a_forecast_is_of_the_people_who_are_left_to_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(forecast, "forecast_study", lambda *what: asked.append(what))
    held, alone = protocols()
    forecast.foreseen(held, 0.3, 0.05, 900)
    forecast.foreseen(alone, 0.3, 0.05, 600)
    assert asked[0][2:] == asked[1][2:] == ([0.35, 0.3], 2000, 600)
    assert expected_means(held, 0.3, 0.05) == [0.35, 0.3]
    question = trust_plan.question(held, 0.3, 0.05, 900)
    assert question == trust_plan.question(alone, 0.3, 0.05, 600)


def test_a_forecast_says_that_there_is_a_control() -> None:
    held, alone = protocols()
    found = Forecast(2000, 0, 2000, 10, 1, 50, 0.1, None)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    said, other = dict(in_words(held, found, 900, now)), dict(in_words(alone, found, 600, now))
    assert said.pop("Control arm").startswith("One in 3 people who take part is given the control arm, plain,")
    assert said["Finish"].split(",")[0] == other["Finish"].split(",")[0]
    assert "whatever the policy does" in dict(say_preview(held))["People"]
    assert "whatever" not in dict(say_preview(alone))["People"]

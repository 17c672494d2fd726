"""The plan of a study on its page: what it would take under each trust model."""

import asyncio
import re
from collections.abc import Awaitable
from datetime import UTC, datetime

import pytest

import maskedbandit as mb
from maskedbandit.cli.parts import trust_plan
from maskedbandit.cli.parts.forecast import in_words
from maskedbandit.cli.parts.own_process import compute_apart
from maskedbandit.cli.parts.trust_plan import TrustPlan, cells, main, question
from maskedbandit.errors import InvalidValue, StorageFailed
from maskedbandit.lab.goals import list_goals
from maskedbandit.lab.goals.plans import Forecast, Row
from maskedbandit.reports.plan.plan import TRUST
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.service.inside import TABLE, Inside
from tests.service.test_site import Eyes

NUMBERS = {"baseline": "0.4", "difference": "0.05", "per_day": "2000"}
ROWS = [{"Trust": each, "Days": "20.0"} for each in TRUST]
SEARCH = {"people": None, "policy": "contemporaneous_elimination", "delta": 0.1}
ANSWER = {"policy": "sequential_halving"}
SELECT = {"people": None, "policy": {"name": "top_arms", "m": 1}, "delta": 0.1}


def of(**changes: object) -> Protocol:
    return Protocol.from_table({key: each for key, each in (TABLE | changes).items() if each is not None})


def test_what_is_asked_is_the_study_s() -> None:
    asked = question(of(), 0.4, 0.05, 2000)
    assert (asked.goal, asked.people, asked.arms, asked.epsilon) == ("regret", 1000, 2, 1)
    assert asked.window == pytest.approx(20 / 86_400)
    asked = question(of(**SEARCH), 0.4, 0.05, 2000)
    assert (asked.goal, asked.people, asked.delta) == ("identify", None, 0.1)
    asked = question(of(**ANSWER), 0.4, 0.05, 2000)
    assert (asked.goal, asked.people, asked.played) == ("answer", 1000, mb.policies.PooledElimination())
    asked = question(of(**SELECT), 0.4, 0.05, 2000)
    assert (asked.goal, asked.people, asked.played) == ("select", None, mb.policies.TopArms(m=1))
    with pytest.raises(InvalidValue, match="without an arm of mean"):
        question(of(**SELECT | {"policy": {"name": "arms_above", "theta": 0.4}}), 0.4, 0.05, 2000)


@for_each("changes", [ANSWER, SELECT])
def test_a_forecast_says_how_often_answers_are_wrong(changes: dict[str, object]) -> None:
    found = Forecast(1000.0, 0.0, 1000.0, 1.0, 1.0, 1.0, 0.012, 0.08 if changes == ANSWER else None)
    said = dict(in_words(of(**changes), found, 100.0, datetime(2026, 1, 30, tzinfo=UTC)))
    assert said["Wrong answers"].startswith("1.2% of studies")
    assert ("proved: at most 8.0%" in said["Wrong answers"]) == ("phase" in said["Finish"]) == (changes == ANSWER)
    assert ("People it needs" in said) == (changes == SELECT)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, SEARCH, ANSWER, SELECT])
def test_a_plan_has_a_row_for_each_trust_model(monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]) -> None:
    monkeypatch.setattr(trust_plan, "PART", list_goals()[of(**changes).policy.goal].planned.runs // 20)
    rows = main({"protocol": of(**changes).text, "baseline": 0.1, "difference": 0.6, "per_day": 500.0})
    assert [each["Trust"] for each in rows] == list(TRUST)
    assert len({tuple(each) for each in rows}) == 1  # the same columns
    for each in rows:
        numbers = [text for name, text in each.items() if name not in ("Trust", "Every search needs")]
        assert all(re.fullmatch(r"(at most )?[\d,.\u202f]+( ± [\d\u202f]+)?%?", text) for text in numbers)
        if changes in (SEARCH, SELECT):
            least = "not known with a δ" if each["Trust"] == "shuffled" else r"at least [\d\u202f]+"
            assert re.fullmatch(least, each["Every search needs"])


def test_a_search_has_no_least_where_none_is_proved() -> None:
    row = Row("shuffled", 0.3, 1.0, Forecast(226.0, 4.0, 297.0, 34.0, 1.0, 34.0, 0.0), 1.0, 1.0, None, 0.0, "")
    asked = question(of(**SEARCH), 0.4, 0.05, 2000)
    assert cells(row, asked)["Every search needs"] == "not known with a δ"
    assert cells(row._replace(bound=40.0), asked)["Every search needs"] == "at least 40"


def run(what: Awaitable[object]) -> object:
    async def wait() -> object:
        return await what

    return asyncio.run(wait())


def test_a_plan_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    async def counting(module: str, protocol: Protocol, **numbers: float) -> list[dict[str, str]]:
        asked.append((module, protocol.name, numbers))
        return ROWS

    monkeypatch.setattr("maskedbandit.cli.parts.own_process.compute_apart", counting)
    monkeypatch.setattr("maskedbandit.cli.parts.own_process.KEPT", 2)
    plan = TrustPlan()
    for per_day in (2000, 2000, 3000, 4000, 4000, 2000):
        head, rows, about = run(plan(of(), 0.4, 0.05, per_day))
        assert head == ["Trust", "Days"]
        assert [row[0] for row in rows] == list(TRUST)
        assert "ContemporaneousKLUCB" in about
    assert [each[2]["per_day"] for each in asked] == [2000, 3000, 4000, 2000]


def test_numbers_of_no_application_and_a_computation_that_fails(capfd: pytest.CaptureFixture[str]) -> None:
    for wrong in ({"baseline": 1.0}, {"difference": 0.7}, {"difference": 0.0}, {"per_day": 0.0}):
        numbers = {"baseline": 0.4, "difference": 0.05, "per_day": 2000.0} | wrong
        with pytest.raises(InvalidValue, match=next(iter(wrong)).replace("per_day", "people on a day")):
            run(compute_apart("maskedbandit.cli.parts.trust_plan", of(), **numbers))
    with pytest.raises(StorageFailed, match="the computation failed"):
        run(compute_apart("maskedbandit.no_such_module", of(), baseline=0.4, difference=0.05, per_day=1.0))
    assert "No module named" in capfd.readouterr().err


def test_the_page_of_the_plan(service: Inside) -> None:
    service.begin()
    eyes, asked = Eyes(service), []
    assert eyes.get("/studies/small/plan").headers["location"] == "/sign-in"
    assert eyes.post("/studies/small/plan", csrf=eyes.token(), **NUMBERS).headers["location"] == "/sign-in"
    eyes.sign_in("officer")

    async def plan(*given: object) -> tuple[list[str], list[list[str]], str]:
        asked.append(given[1:])
        return ["Trust", "Days"], [[each, "20.0"] for each in TRUST], "how it was found"

    service.host.trust_plan = plan
    form = eyes.get("/studies/small/plan").body.decode()
    assert asked == []
    assert "<table" not in form
    token = eyes.token("/studies/small/plan")
    page = eyes.post("/studies/small/plan", csrf=token, **NUMBERS).body.decode()
    assert asked == [(0.4, 0.05, 2000)]
    assert all(f'<th scope="row">{each}</th><td data-head="Days">20.0</td>' in page for each in TRUST)
    assert "how it was found" in page
    wrong = eyes.post("/studies/small/plan", csrf=token, **(NUMBERS | {"difference": "much"}))
    assert wrong.status == 422
    assert "difference is &#39;much&#39;" in wrong.body.decode()
    assert "/studies/small/plan" in eyes.get("/studies/small").body.decode()

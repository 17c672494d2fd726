"""OpenFeature's remote evaluation protocol, by hand and by the stock provider against a live server."""

import json
from typing import Any

import pytest
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import (
    FlagNotFoundError,
    GeneralError,
    InvalidContextError,
    OpenFeatureError,
    TargetingKeyMissingError,
    TypeMismatchError,
)

from maskedbandit.service.api.ofrep import find_flag
from maskedbandit.service.messages import Assign
from maskedbandit.service.request.limits import Buckets
from maskedbandit.store import people
from maskedbandit.store.databases.connection import open_database
from tests.service.inside import TABLE, Inside, Reply
from tests.service.live import PATIENT, Live
from tests.service.test_people import EXPOSURE, WINDOW, rows, verified

FLAGS = "/ofrep/v1/evaluate/flags"


def evaluate(service: Inside, flag: str | None, context: Any, key: str = "client") -> Reply:
    """Evaluate a flag, or all."""
    return service.ask("POST", FLAGS if flag is None else f"{FLAGS}/{flag}", {"context": context}, key)


def test_one_flag_enrols_and_all_flags_never_do(service: Inside) -> None:
    for name in ("one", "two"):
        service.begin(name=name)
    assert service.ask("POST", "/v1/studies", TABLE | {"name": "draft"}, "owner").status == 201
    ann = {"targetingKey": "ann", "premium": True, "nested": {"more": [1]}}
    assert evaluate(service, None, ann).json == {"flags": []}
    assert rows(service, "SELECT * FROM place") == rows(service, "SELECT * FROM account") == []
    first = evaluate(service, "one", ann).json
    assert (first["key"], first["reason"], first["metadata"]["again"]) == ("one", "SPLIT", False)
    assert first["value"] == {"a": {"text": "A"}, "b": "b"}[first["variant"]]
    assert evaluate(service, "one", ann).json == first | {"metadata": first["metadata"] | {"again": True}}
    assert service.assign("ann", "one")["ticket"] == first["metadata"]["ticket"]
    every = evaluate(service, None, ann).json["flags"]
    assert every == [first | {"metadata": first["metadata"] | {"again": True}}]
    assert evaluate(service, None, {"targetingKey": "bob"}).json == {"flags": []}
    assert len(rows(service, "SELECT * FROM place")) == 1
    ticket = first["metadata"]["ticket"]
    assert service.study("report", {"ticket": ticket, "value": 1}, name="one").status == 200


def test_a_study_is_asked_as_much_of_whoever_is_in_many(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page evaluates all flags, and a person may be in all studies of a project."""
    names = [f"flag{i}" for i in range(6)]
    for name in names:
        service.begin(name=name, project="all", budget={"epsilon": 10})
    database = open_database(service.address)
    real, asked, counted = database.rows, list[str](), list[int]()

    def noted(text: str, *values: Any) -> list[Any]:
        asked.append(text)
        return real(text, *values)

    monkeypatch.setattr(database, "rows", noted)
    for name in names:
        evaluate(service, name, {"targetingKey": "ann"})
        asked.clear()
        assert find_flag(database, service.host.witness, names[0], Assign(unit="ann"), 0)
        counted.append(len(asked))
    database.close()
    assert counted == counted[:1] * len(names)


def test_whoever_is_not_enrolled_gets_a_default(service: Inside) -> None:
    service.begin()
    service.study("pause", key="owner")
    found = evaluate(service, "small", {"targetingKey": "ann"}).json
    assert found["reason"] == "DEFAULT"
    assert found["metadata"] == {"propensity": "1/2", "again": False, "exposed": False}


# --- exposure --------------------------------------------------------------------------------------------------


def exposed(service: Inside) -> list[Any]:
    """When each place was assigned, and when its arm was seen."""
    return rows(service, "SELECT assigned, exposed FROM place ORDER BY assigned")


def test_nobody_is_charged_for_a_place_that_is_lost_where_flags_are_evaluated_alone(service: Inside) -> None:
    """Sixty people whose application knows OFREP alone: all are in a cohort, and come again for their arms."""
    service.begin(policy={"name": "successive_elimination", "least": 30})
    first = [evaluate(service, "small", {"targetingKey": f"u{i}"}).json for i in range(60)]
    assert all(each["metadata"]["exposed"] and each["reason"] == "SPLIT" for each in first)
    assert all(seen == assigned for assigned, seen in exposed(service))
    service.tick(EXPOSURE + 1)
    again = [evaluate(service, "small", {"targetingKey": f"u{i}"}).json for i in range(60)]
    assert [each["variant"] for each in again] == [each["variant"] for each in first]
    service.tick(WINDOW + 1)
    assert rows(service, "SELECT COUNT(*) FROM place WHERE returned IS NOT NULL") == [(0,)]
    releases = service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"]
    assert sum(each["n"] for each in releases) == 60
    verified(service)


def test_evaluation_that_exposes_nobody_is_found(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """What would lose all of these people."""
    monkeypatch.setattr(people, "note_exposed", lambda session, place: place)
    with pytest.raises(AssertionError):
        test_nobody_is_charged_for_a_place_that_is_lost_where_flags_are_evaluated_alone(service)


def test_a_study_may_say_that_evaluating_only_enrols(service: Inside) -> None:
    service.begin(reward={**TABLE["reward"], "evaluating": "enrols"})
    for again in (False, True):
        found = evaluate(service, "small", {"targetingKey": "ann"}).json["metadata"]
        assert (found["exposed"], found["again"]) == (False, again)
    assert [seen for _, seen in exposed(service)] == [None]
    assert service.study("report", {"ticket": found["ticket"], "value": 1}).code == "not_exposed"
    assert service.study("expose", {"ticket": found["ticket"]}).status == 200
    assert evaluate(service, "small", {"targetingKey": "ann"}).json["metadata"]["exposed"]


def test_all_flags_at_once_expose_nobody(service: Inside) -> None:
    service.begin()
    service.assign("ann")
    (found,) = evaluate(service, None, {"targetingKey": "ann"}).json["flags"]
    assert not found["metadata"]["exposed"]
    assert [seen for _, seen in exposed(service)] == [None]
    assert evaluate(service, "small", {"targetingKey": "ann"}).json["metadata"]["exposed"]  # one flag alone does
    (found,) = evaluate(service, None, {"targetingKey": "ann"}).json["flags"]
    assert found["metadata"]["exposed"]


def test_the_moment_of_the_first_evaluation_is_kept(service: Inside) -> None:
    service.begin()
    evaluate(service, "small", {"targetingKey": "ann"})
    before = exposed(service)
    service.clock.now += 5000
    evaluate(service, "small", {"targetingKey": "ann"})
    assert exposed(service) == before


def test_a_place_that_is_due_to_go_to_another_is_not_seen_by_evaluating(service: Inside) -> None:
    service.begin()
    service.assign("ann")
    service.clock.now += 1000 * EXPOSURE + 1  # and the clock has not gone round yet
    assert not evaluate(service, "small", {"targetingKey": "ann"}).json["metadata"]["exposed"]
    service.tick()
    assert rows(service, "SELECT COUNT(*) FROM place WHERE returned IS NOT NULL") == [(1,)]


def test_an_assignment_exposes_only_if_it_says_that_a_flag_is_evaluated(service: Inside) -> None:
    service.begin()
    assert not service.assign("ann")["exposed"]
    assert service.study("assign", {"unit": "ann", "evaluated": True}).json["exposed"]
    assert service.study("assign", {"unit": "ann", "evaluated": 1}).status == 422


def test_whoever_is_over_budget_is_served_and_told_why(service: Inside) -> None:
    for name in ("one", "two"):
        service.begin(name=name, project="both")
    evaluate(service, "one", {"targetingKey": "ann"})
    found = evaluate(service, "two", {"targetingKey": "ann"})
    assert (found.status, found.json["reason"]) == (200, "DEFAULT")
    assert found.json["variant"] in ("a", "b")
    said = {"propensity": "1/2", "again": False, "exposed": False, "why": "budget_exceeded"}
    assert found.json["metadata"] == said
    assert len(rows(service, "SELECT * FROM place")) == 1


@pytest.mark.parametrize("flag", ["small", None])
def test_contexts_that_name_nobody(service: Inside, flag: str | None) -> None:
    service.begin()
    missing: list[Any] = [{}, {"targetingKey": ""}, {"targetingKey": 7}, {"targetingKey": None}, {"targetingkey": "a"}]
    for context in missing:
        found = evaluate(service, flag, context)
        assert (found.status, found.json["errorCode"]) == (400, "TARGETING_KEY_MISSING")
        assert found.json["errorDetails"]
    for context in (
        {"targetingKey": "x" * 257},
        {"targetingKey": "a", "token": 7},
        {"targetingKey": "a", "token": "x" * 257},
    ):
        found = evaluate(service, flag, context)
        assert (found.status, found.json["errorCode"]) == (400, "INVALID_CONTEXT")
        assert "xxx" not in found.json["errorDetails"]
        assert ("token" if "token" in context else "targetingKey") in found.json["errorDetails"]
    assert service.ask("POST", f"{FLAGS}/small", {}).json["errorCode"] == "TARGETING_KEY_MISSING"


# --- the stock provider ----------------------------------------------------------------------------------------


@pytest.fixture
def provider(server: Live) -> OFREPProvider:
    """The stock provider, with the key of a client."""
    server.start_study(TABLE)
    return made(server, "client")


def made(server: Live, key: str) -> OFREPProvider:
    """The stock provider, with a key."""
    headers = {"Authorization": f"Bearer {server.keys.get(key, key)}"}
    return OFREPProvider(f"http://127.0.0.1:{server.port}", headers_factory=lambda: headers)


def refusal(provider: OFREPProvider, context: EvaluationContext) -> str:
    """What the provider says if it is refused."""
    try:
        provider.resolve_object_details("small", {}, context)
    except TypeMismatchError:  # an arm without an object
        return ""
    except GeneralError as why:
        return str(why)
    return ""


@pytest.mark.slow
def test_the_stock_provider(server: Live, provider: OFREPProvider) -> None:
    context = EvaluationContext("ann", {"premium": True})
    table = {"name": "named", "arms": [{"name": "a"}, {"name": "b"}], "project": "other", "reward": PATIENT}
    server.start_study(TABLE | table)
    found = provider.resolve_string_details("named", "c", context)
    assert found.value == found.variant in ("a", "b")
    ticket = found.flag_metadata["ticket"]
    again = provider.resolve_string_details("named", "c", context)
    assert (again.value, again.flag_metadata["ticket"]) == (found.value, ticket)
    assert found.flag_metadata["exposed"]
    assert server.study("report", {"ticket": ticket, "value": 1}, name="named").json == {"status": "accepted"}

    # errors are those of the protocol, in words
    with pytest.raises(FlagNotFoundError, match="unknown_study"):
        provider.resolve_string_details("nobodys", "c", context)
    with pytest.raises(TargetingKeyMissingError, match="targetingKey"):
        provider.resolve_string_details("named", "c", EvaluationContext())
    with pytest.raises(InvalidContextError, match="printable"):
        provider.resolve_string_details("named", "c", EvaluationContext("a\x00"))
    with pytest.raises(OpenFeatureError, match="unauthorized"):
        made(server, "mb_client_0_x").resolve_string_details("named", "c", context)
    with pytest.raises(OpenFeatureError, match="forbidden"):
        made(server, "owner").resolve_string_details("named", "c", context)
    server.study("stop", key="owner", name="named")
    server.study("archive", key="owner", name="named")
    with pytest.raises(GeneralError, match="not_running"):
        provider.resolve_string_details("named", "c", EvaluationContext("bob"))
    many, said = {"requests": [{"unit": "ann"}] * 60}, ""  # one person may come 30 times at once
    for _ in range(100):  # and a tenth of a second later once more, which may be over before the provider asks
        if not said:
            server.study("assign/batch", many)
            said = refusal(provider, context)
    assert "Rate limited, retry after: 1" in said
    assert provider.retry_after is not None


def test_requests_that_are_too_many_say_when_to_come_again(service: Inside) -> None:
    service.begin()
    service.host.people = Buckets(1, 1, lambda: 0.0)
    found = [evaluate(service, "small", {"targetingKey": "ann"}) for _ in range(2)]
    assert [each.status for each in found] == [200, 429]
    assert found[1].headers["retry-after"] == "1"
    assert json.loads(found[1].body)["code"] == "too_many"

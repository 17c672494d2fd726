"""Arms that change, and a guardrail, over HTTP and on the page."""

from typing import Any

import pytest

from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.status import write_status
from maskedbandit.service.views.view import StudyView, read_view
from maskedbandit.statement.page import fill_statement
from maskedbandit.store.book.book import Book
from maskedbandit.store.databases.connection import open_database
from tests.service.all_pages import render_study
from tests.service.inside import Inside
from tests.store.small_study import PROOF
from tests.store.stage import failing_witness

THREE = [{"name": "a"}, {"name": "b", "payload": 7}, {"name": "c"}]
SURE = {"channel": {"name": "central", "epsilon": 20_000}, "budget": {"epsilon": 20_000}}
LEAST = {"name": "successive_elimination", "least": 8}
GUARDED: dict[str, Any] = {
    "arms": THREE,
    "policy": LEAST,
    "guardrail": {"name": "harm", "harm": {"above": 0.2}},
    **SURE,
}
ON_DEVICES = GUARDED | {  # at this epsilon devices add no noise either
    "channel": {"name": "local", "epsilon": 20_000},
    "guardrail": {**GUARDED["guardrail"], "rule": "first"},
    "reward": {"rule": "first", "window": "20 seconds", "exposure": "10 seconds"},
}
each_trust = pytest.mark.parametrize("guarded", [GUARDED, ON_DEVICES], ids=["central", "local"])
TWO_BEST = {"name": "top_arms", "m": 2}
OWNER = "owner"


def seen(service: Inside) -> StudyView:
    """What may be shown."""
    database = open_database(service.address)
    try:
        return read_view(database, service.host.witness, "small", service.clock())
    finally:
        database.close()


def play(service: Inside, harm_of: dict[str, int], people: range) -> None:
    """People come and report; their cohorts are released."""
    for i in people:
        given = service.assign(f"person {i}")
        if given["ticket"]:
            service.study("expose", {"ticket": given["ticket"]})
            body = {"ticket": given["ticket"], "value": harm_of.get(given["arm"], 0), "metric": "harm", "proof": PROOF}
            assert service.study("report", body).json == {"status": "accepted"}
            assert service.study("report", body).json == {"status": "duplicate"}
    service.tick(21)


def test_arms_are_paused_resumed_and_added(service: Inside) -> None:
    service.begin(arms=THREE, policy=LEAST)
    found = service.study("arms/b/pause", key="officer").json
    assert (found["arms"], found["in_play"]) == (["a", "b", "c"], ["a", "c"])
    assert {service.assign(f"person {i}")["arm"] for i in range(10)} == {"a", "c"}
    assert service.study("arms/b/resume", key="officer").code == "forbidden"
    assert service.study("arms/b/resume", key="owner").json["in_play"] == ["a", "b", "c"]
    found = service.study("arms", {"name": "d", "payload": {"color": "red"}}, key="owner").json
    assert found["in_play"] == ["a", "b", "c", "d"]
    given = [service.assign(f"other {i}") for i in range(32)]
    assert {"color": "red"} in [each["payload"] for each in given if each["arm"] == "d"]
    for verb, body, code in (
        ("arms/x/pause", None, "unknown_arm"),
        ("arms/b/resume", None, "conflict"),
        ("arms", {"name": "d"}, "invalid_value"),
        ("arms", {"name": "d e"}, "invalid_value"),
    ):
        assert service.study(verb, body, "owner").code == code
    kinds = [line.kind for line in seen(service).ledger]
    assert kinds == ["started", "arm_paused", "arm_resumed", "arm_added"]
    assert service.study("verify", key="owner").status == 200


def test_flags_of_an_arm_that_was_added(service: Inside) -> None:
    service.begin(arms=THREE, policy=LEAST)
    service.study("arms", {"name": "d", "payload": 5}, key="owner")
    units = [f"person {i}" for i in range(32)]
    unit = next(each for each in units if service.assign(each)["arm"] == "d")
    body = {"context": {"targetingKey": unit}}
    (flag,) = service.ask("POST", "/ofrep/v1/evaluate/flags", body).json["flags"]
    assert (flag["variant"], flag["value"]) == ("d", 5)
    assert service.ask("POST", "/ofrep/v1/evaluate/flags/small", body).json["variant"] == "d"


@pytest.mark.slow
def test_results_and_the_page_say_which_arm_is_best_once_it_is_sure(service: Inside) -> None:
    """Who gets c succeeds, and all others fail; a release has noise with probability below 1e-1000."""
    service.begin(arms=THREE, policy=LEAST, **SURE)
    named = list[bool]()
    for part in range(4):
        arms = service.ask("GET", "/v1/studies/small/results", None, "owner").json["arms"]
        best = {arm["arm"]: arm["surely_best"] for arm in arms}
        beaten = {arm["arm"]: arm["surely_beaten"] for arm in arms}
        named.append(best["c"] is not None and best["c"] >= 0.95)
        if named[-1]:
            assert best["c"] == min(beaten["a"], beaten["b"])
        assert beaten["c"] == best["a"] == best["b"] == (0 if part else None)
        found = seen(service)
        assert found.best == (2 if named[-1] else None)
        for i in range(48 * part, 48 * part + 48):
            given = service.assign(f"person {i}")
            if given["ticket"]:
                service.study("expose", {"ticket": given["ticket"]})
                service.study("report", {"ticket": given["ticket"], "value": int(given["arm"] == "c")})
        service.tick(21)
    assert named[0] < named[-1]


@pytest.mark.slow
@each_trust
def test_a_guardrail_over_http(service: Inside, guarded: dict[str, Any]) -> None:
    service.begin(**guarded)
    assert (
        service.study("report", {"ticket": service.seen("x"), "value": 1, "metric": "other"}).code == "personal_value"
    )
    for part in range(3):
        play(service, {"b": 1}, range(48 * part, 48 * part + 48))
    found = service.ask("GET", "/v1/studies/small/results", None, "owner").json
    assert [arm["stands"] for arm in found["arms"]] == ["in play", "harmful", "in play"]
    sure = [(arm["surely_best"] is None, arm["surely_beaten"] is None) for arm in found["arms"]]
    assert sure == [(False, False), (True, True), (False, False)], "an arm that is out of play is compared with none"
    harm = {arm["arm"]: arm["guardrail"] for arm in found["arms"]}
    assert harm["b"]["mean"] > 0.5
    assert harm["b"]["low"] > 0.2 > harm["a"]["mean"] == 0.0
    assert service.study("arms/b/resume", key="owner").code == "conflict"
    assert service.ask("GET", "/v1/studies/small", None, "owner").json["in_play"] == ["a", "c"]
    stated = service.ask("GET", "/v1/studies/small/statement", None, "owner")
    assert stated.status == 200
    assert "two sums, of the outcome and of harm" in stated.body.decode()
    assert service.study("verify", key="owner").status == 200


@pytest.mark.slow
@each_trust
def test_what_the_page_says(service: Inside, guarded: dict[str, Any]) -> None:
    service.begin(**guarded)
    play(service, {"b": 1}, range(48))
    play(service, {"b": 1}, range(48, 60))
    now = seen(service)
    page = render_page("study", OWNER, "token", view=now)
    assert "Harm is a mean of harm above 0.2, over all its people, or over those since any of its releases." in page
    assert '<td data-head="It is"><span class="stands harmful">harmful</span></td>' in page
    assert 'action="/studies/small/arms/a/pause"' in page
    assert 'action="/studies/small/arms/b/' not in page
    assert 'id="do-add-arm"' in page
    assert "arm_harmful" in render_page("ledger", OWNER, "token", view=now)
    assert "/arms" not in render_page("study", None, "token", view=now)
    assert "harm, by which harm is seen" in page
    assert "added later" not in page
    service.study("arms", {"name": "d"}, key="owner")
    assert ", added later</dt>" in render_page("study", OWNER, "token", view=seen(service))
    assert render_page("statement", OWNER, "token", **fill_statement(now.statement))


def test_counts_after_a_stage(service: Inside) -> None:
    """Cohorts that are given up are said to be, nobody waits for them, and an arm that is alone is served to all."""
    service.begin(arms=THREE, policy=LEAST)
    for i in range(20):
        service.seen(f"person {i}")
    service.study("arms/b/pause", key="owner")
    states = [each.state for each in seen(service).counts.cohorts]
    assert set(states) <= {"waiting", "given up"}
    assert "given up" in states
    service.study("arms/c/pause", key="owner")
    now = seen(service)
    assert (now.answer, now.served, now.counts.served) == (None, 0, 0)
    service.tick(21)
    now = seen(service)
    assert {each.state for each in now.counts.cohorts} <= {"released", "given up"}
    assert now.answer is None, "it was compared with nothing"
    assert not now.over, "others may be resumed"
    service.study("arms", {"name": "d"}, key="owner")
    assert seen(service).answer is None


def test_the_form_of_an_arm(service: Inside) -> None:
    from tests.service.test_site import Eyes

    service.begin(arms=THREE, policy=LEAST)
    eyes = Eyes(service)
    eyes.sign_in("owner")
    token = eyes.token("/studies/small")
    assert eyes.post("/studies/small/arms", csrf=token, name="d", payload='{"x": 1}').status == 303
    assert eyes.post("/studies/small/arms/a/pause", csrf=token).status == 303
    assert eyes.post("/studies/small/arms/a/pause", csrf=token).status == 409
    assert eyes.post("/studies/small/arms", csrf=token, name="e", payload="{").status == 422
    found: Any = seen(service)
    assert [(arm.name, arm.stands) for arm in found.arms] == [
        ("a", "paused"),
        ("b", "in play"),
        ("c", "in play"),
        ("d", "in play"),
    ]


def test_what_the_witness_has_not_seen_is_not_shown(service: Inside) -> None:
    """A release that may have to be made again puts arms out of play, and pauses the study: nobody is told."""

    def told() -> tuple[Any, ...]:
        reader = open_database(service.address)
        lines = write_status(reader, service.host.witness, "small", service.clock()).splitlines()
        reader.close()
        states = [service.ask("GET", f"/v1/studies{path}", key="owner").json for path in ("", "/small")]
        states[0] = states[0]["studies"][0]
        stands = [(each["state"], each["in_play"]) for each in states]
        ends = [line.split()[-1] for line in lines[2:] if line[0] != "!"]  # what needs attention has other tests
        return stands, study.in_play, study.state, lines[0].partition(",")[0], ends

    service.begin(**GUARDED)
    study = service.host.held["small"].study
    before = told()
    with failing_witness(study):
        play(service, {"a": 1, "b": 1, "c": 1}, range(24))
        database = open_database(service.address)
        assert database.rows("SELECT state FROM study") == [("paused",)], "nothing happened"
        database.close()
        assert told() == before
    service.tick()
    assert told() != before


def test_arms_of_a_tree_stay_and_the_page_offers_nothing_else(service: Inside) -> None:
    """What the API answers to it is one of the statuses that its document lists."""
    service.begin(channel={"name": "tree", "epsilon": 1, "length": 1000}, policy="ucb1")
    page = render_page("study", OWNER, "token", view=seen(service))
    assert 'id="do-add-arm"' not in page
    assert "/arms/a/pause" not in page
    paths = service.ask("GET", "/openapi.json", key=None).json["paths"]
    for verb, body in (("arms", {"name": "c"}), ("arms/a/pause", None), ("arms/a/resume", None)):
        answer = service.study(verb, body, key="owner")
        assert (answer.status, answer.code) == (422, "invalid_value")
        listed = paths[f"/v1/studies/{{study}}/{verb.replace('/a/', '/{arm}/')}"]["post"]["responses"]
        assert str(answer.status) in listed


def test_the_page_of_the_largest_outcomes(service: Inside) -> None:
    """They are bounded, as their sums would have no page otherwise."""
    large = {"least": -1e15, "most": 1e15}
    guardrail = {"name": "harm", **large, "harm": {"above": 1e14}}
    service.begin(reward={**large, "window": "20 seconds", "exposure": "10 seconds"}, guardrail=guardrail)
    play(service, {"a": 1e15, "b": -1e15}, range(12))
    service.tick(40)
    found = seen(service)
    assert found.releases
    for page in render_study(found, OWNER, "token"):
        assert "inf" not in page.replace("information", "")


def test_all_flags_have_the_offers_with_which_one_flag_came(service: Inside) -> None:
    """Without its offer nothing could be reported of a ticket. Cohorts differ in size, and a stage ends meanwhile."""
    service.begin(**ON_DEVICES)
    one = "/ofrep/v1/evaluate/flags/small"
    offered = list[str]()
    for i in range(36):
        if i == 30:
            assert service.study("arms/a/pause", key="owner").status == 200
        first = service.ask("POST", one, {"context": {"targetingKey": f"person {i}"}}).json["metadata"]
        service.study("expose", {"ticket": first["ticket"]})
        offered.append(first["offer"])
        if i % 8 == 0:
            every = service.ask("POST", one[:-6], {"context": {"targetingKey": f"person {i}"}}).json["flags"]
            del first["device"]  # which one flag alone hands over
            assert [each["metadata"] for each in every] == [first | {"again": True}]
        service.tick(40 if i % 24 == 23 else 0)
    assert {offer.count("\n") for offer in offered} == {1}  # a line for each outcome
    assert len(set(offered)) > 2


@pytest.mark.sparing(1)
@pytest.mark.parametrize(("policy", "answer"), [("released_likelihood", ("b", None)), (TWO_BEST, (None, ["b", "c"]))])
def test_results_say_the_answer(
    service: Inside, monkeypatch: pytest.MonkeyPatch, policy: Any, answer: tuple[str | None, list[str] | None]
) -> None:
    """One arm, or all arms of a kind; and what was counted and computed for a view is kept for the next one.

    Outcomes are 0 and 1, in cohorts of 8 and more, and noise of 4 has probability 3e-14: a false alarm is below 1e-11.
    """
    times = list[int]()
    replay = Book.replay
    monkeypatch.setattr(Book, "replay", lambda *given: (len(given) > 1 or times.append(1), replay(*given))[1])
    quick = {"channel": {"name": "central", "epsilon": 8}, "budget": {"epsilon": 8}}
    service.begin(arms=THREE, policy=policy, people=None, delta=0.2, **quick)
    values, people, found = {"a": 0, "b": 1, "c": 1 if answer[1] else 0}, 0, {}
    for _ in range(40):
        found = service.ask("GET", "/v1/studies/small/results", key="owner").json
        if (found["answer"], found["selected"]) != (None, None):
            break
        for _ in range(8):
            given, people = service.assign(f"person {people}"), people + 1
            if given["ticket"]:
                service.study("expose", {"ticket": given["ticket"]})
                service.study("report", {"ticket": given["ticket"], "value": values[given["arm"]]})
        service.tick(21)
    assert people > 8, "there was no answer at first"
    assert (found["answer"], found["selected"]) == answer
    page = service.ask("GET", "/v1/studies/small/results", key="officer").json
    assert page == found
    assert len(times) == (0 if answer[0] else 1)

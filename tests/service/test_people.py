"""What a client is promised about people: once, durable, in time, and refused in words that programs can read."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.channels.offers import Offer, from_lines
from maskedbandit.channels.response import Response
from maskedbandit.client.local_noise import add_report_noise
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from maskedbandit.study.rehearsed_device import RehearsedDevice
from maskedbandit.study.signatures import sign_person
from tests.service.inside import TABLE, Inside, inside
from tests.store.small_study import PROOF

WINDOW, EXPOSURE = 20, 10  # seconds


def rows(service: Inside, statement: str) -> list[tuple[Any, ...]]:
    """What the database holds."""
    database = open_database(service.address)
    try:
        return database.rows(statement)
    finally:
        database.close()


def verified(service: Inside, name: str = "small") -> None:
    """Everything fits together."""
    database = open_database(service.address)
    try:
        verify_study(database, find_witness(database, service.folder), name)
    finally:
        database.close()
    assert service.ask("POST", f"/v1/studies/{name}/verify", key="officer").status == 200


@pytest.fixture
def anywhere(address: str, tmp_path: Path) -> Iterator[Inside]:
    """A service over either database, with a running study."""
    with inside(address, tmp_path / "witness") as made:
        made.begin()
        yield made


@pytest.mark.sparing(1)
def test_a_person_from_assignment_to_release(anywhere: Inside) -> None:
    service, tickets = anywhere, []
    for i in range(4):
        given = service.assign(f"u{i}")
        assert given["study"] == "small"
        assert given["payload"] == ({"text": "A"} if given["arm"] == "a" else None)
        assert given["again"] is False
        assert given["propensity"] in ("1/2", "1/3", "2/3", "1")
        assert service.assign(f"u{i}") == given | {"again": True}  # the same place, and no second charge
        tickets.append(given["ticket"])
    for ticket in tickets:
        assert service.study("report", {"ticket": ticket, "value": 1}).code == "not_exposed"
        for _ in range(2):
            assert service.study("expose", {"ticket": ticket}).json == {"status": "exposed"}
        report = {"ticket": ticket, "value": 1, "proof": PROOF}
        said = [service.study("report", report).json["status"] for _ in range(3)]
        assert said == ["accepted", "duplicate", "duplicate"]
        other = service.study("report", report | {"value": 0})
        assert (other.status, other.code) == (409, "conflict")
        spent = service.study("budget", {"ticket": ticket}).json
        assert spent == {"spent": "ε = 1", "budget": "ε = 1", "period": None}
    service.tick(WINDOW)
    assert service.ask("GET", "/v1/studies/small/releases", key="officer").json["releases"] == []
    service.tick(1)
    found = service.ask("GET", "/v1/studies/small/releases", key="officer").json["releases"]
    assert [(each["arm"], each["n"]) for each in found] == [("a", 2), ("b", 2)] or len(found) == 2
    for ticket in tickets:  # whatever was reported before
        for value in (0, 1):
            late = service.study("report", {"ticket": ticket, "value": value, "proof": PROOF})
            assert (late.status, late.code) == (410, "late")
    verified(service)


def test_late_is_late_and_a_missing_report_counts_as_the_default(service: Inside) -> None:
    service.begin(channel={"name": "central", "epsilon": 224, "grid": 1000}, budget={"epsilon": 224})
    tickets = [service.seen(f"u{i}") for i in range(4)]
    assert service.study("report", {"ticket": tickets[0], "value": 1}).status == 200
    service.tick(WINDOW + 1)
    late = service.study("report", {"ticket": tickets[1], "value": 1})
    assert (late.status, late.code) == (410, "late")
    found = service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"]
    assert round(sum(each["total"] for each in found)) == 1  # of four people one came, and the default is 0
    verified(service)


def test_a_place_that_nobody_saw_goes_to_another(service: Inside) -> None:
    service.begin()
    lost = [service.assign(f"lost{i}")["ticket"] for i in range(3)]
    kept = service.seen("kept")
    service.tick(EXPOSURE + 1)
    for ticket in lost:
        late = service.study("expose", {"ticket": ticket})
        assert (late.status, late.code) == (410, "late")
        assert service.study("report", {"ticket": ticket, "value": 1}).code == "late"
    tickets = [kept, *(service.seen(f"new{i}") for i in range(3))]
    assert len(set(tickets)) == 4
    service.tick(WINDOW + 1)
    found = service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"]
    assert sum(each["n"] for each in found) == 4
    again = service.assign("lost0")  # whose budget was for one place
    assert (again["ticket"], again["why"]) == (None, "budget_exceeded")
    verified(service)


def test_values_that_are_no_rewards_are_refused(service: Inside) -> None:
    service.begin()
    ticket = service.seen("ann")
    for value in (1.5, -0.1, 10**300, 10**400):
        found = service.study("report", {"ticket": ticket, "value": value})
        assert (found.status, found.code) in ((422, "reward_out_of_range"), (422, "invalid_value"))
    for wrong in (b"NaN", b"Infinity", b"-Infinity", b"1e999", b'"1"', b"null", b"true", b"[1]", b"1.", b"01"):
        raw = b'{"ticket": "%s", "value": %s}' % (ticket.encode(), wrong)
        assert service.study("report", raw).status == 422, wrong
    assert rows(service, "SELECT * FROM reward") == []


def test_tickets_of_nobody_and_of_another_study_are_unknown(service: Inside) -> None:
    service.begin()
    service.begin(name="other")
    ticket = service.seen("ann", "other")
    for each in (ticket, "0" * 32, "zz"):
        for verb in ("expose", "budget"):
            assert service.study(verb, {"ticket": each}).code == "unknown_ticket"
        assert service.study("report", {"ticket": each, "value": 1}).code == "unknown_ticket"
    assert service.study("assign", {"unit": "ann"}, name="nobodys").code == "unknown_study"


def test_states_of_a_study(service: Inside) -> None:
    assert service.ask("POST", "/v1/studies", TABLE, "owner").json["state"] == "draft"
    assert service.study("assign", {"unit": "ann"}).code == "not_running"
    assert service.start().json["state"] == "running"
    assert service.study("start", key="owner").code == "not_running"
    assert service.ask("POST", "/v1/studies", TABLE, "owner").code == "conflict"
    ticket = service.seen("ann")
    assert service.study("pause", key="officer").json["state"] == "paused"
    assert service.assign("bob")["ticket"] is None  # who is served an arm, and not enrolled
    assert service.assign("ann")["ticket"] == ticket
    assert service.study("resume", key="owner").json["state"] == "running"
    assert service.study("report", {"ticket": ticket, "value": 1}).status == 200
    assert service.study("stop", key="officer").json["state"] == "stopped"
    assert service.study("resume", key="owner").code == "not_running"
    assert service.study("archive", key="owner").json["state"] == "archived"
    assert service.study("report", {"ticket": ticket, "value": 1}).code == "unknown_ticket"  # it was erased
    verified(service)


@pytest.mark.sparing(1)
def test_erasure(anywhere: Inside) -> None:
    service = anywhere
    ticket = service.seen("ann")
    service.study("report", {"ticket": ticket, "value": 1})
    assert service.study("erase", {"unit": "ann"}, "officer").json == {"places": 1}
    assert service.study("erase", {"unit": "ann"}, "officer").json == {"places": 0}
    for verb, body in (("expose", {}), ("report", {"value": 1}), ("budget", {})):
        assert service.study(verb, {"ticket": ticket} | body).code == "unknown_ticket"
    assert service.assign("ann")["ticket"] is None
    assert rows(service, "SELECT value FROM reward") == []
    verified(service)


@pytest.mark.sparing(1)
def test_batches_of_all_sorts(anywhere: Inside) -> None:
    service = anywhere
    asked = [{"unit": unit} for unit in ("ann", "bob", "ann", "a\x00b")]
    items = service.study("assign/batch", {"requests": asked}).json["items"]
    assert [each["status"] for each in items] == [200, 200, 200, 422]
    ann, bob = (each["answer"] for each in items[:2])
    assert items[2]["answer"] == ann | {"again": True}
    assert items[3]["problem"]["code"] == "personal_value"
    seen = service.study("expose/batch", {"requests": [{"ticket": ann["ticket"]}, {"ticket": "0"}]}).json["items"]
    assert [each["status"] for each in seen] == [200, 404]
    reports = [(ann, 1), (ann, 1), (ann, 0), (bob, 1), (ann, 7)]
    sent = {"requests": [{"ticket": each["ticket"], "value": value, "proof": PROOF} for each, value in reports]}
    items = service.study("report/batch", sent).json["items"]
    assert [each["status"] for each in items] == [200, 200, 409, 409, 422]
    assert [each["answer"]["status"] for each in items[:2]] == ["accepted", "duplicate"]
    assert [each["problem"]["code"] for each in items[2:4]] == ["conflict", "not_exposed"]
    assert service.study("report/batch", {"requests": []}).json == {"items": []}
    many = {"requests": [{"ticket": "0"}] * 1001}
    assert service.study("expose/batch", many).status == 422


def test_requests_at_the_same_time_are_one(anywhere: Inside) -> None:
    service = anywhere
    path = "/v1/studies/small"
    found = service.together(*[("POST", f"{path}/assign", {"unit": "ann"})] * 20)
    tickets = {each.json["ticket"] for each in found}
    assert len(tickets) == 1
    assert sorted(each.json["again"] for each in found) == [False] + [True] * 19
    (ticket,) = tickets
    service.study("expose", {"ticket": ticket})
    bodies = [{"ticket": ticket, "value": value, "proof": PROOF} for value in (1, 0) * 10]
    said = service.together(*[("POST", f"{path}/report", body) for body in bodies])
    counted = [each.json.get("status") for each in said]
    assert counted.count("accepted") == 1
    assert counted.count("duplicate") == 9
    assert counted.count(409) == 10
    assert len(rows(service, "SELECT * FROM reward")) == 1


def test_events_of_one_person(service: Inside) -> None:
    service.begin(
        channel={"name": "central", "epsilon": 224, "grid": 1000},
        budget={"epsilon": 224},
        reward={"most": 4, "rule": "sum", "window": "20 seconds", "exposure": "10 seconds"},
    )
    tickets = [service.seen(f"u{i}") for i in range(4)]
    for event, value in (("click", 1), ("click", 1), ("buy", 2.5)):
        assert service.study("report", {"ticket": tickets[0], "value": value, "event": event}).status == 200
    service.tick(WINDOW + 1)
    found = service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"]
    assert abs(4 * sum(each["total"] for each in found) - 3.5) < 0.3


SIGNERS = [Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in range(3)]
PUBLIC = [each.public_key().public_bytes_raw().hex() for each in SIGNERS]


def sign(service: Inside, unit: str = "ann", study: str = "small", signer: int = 0, seconds: int = 60) -> str:
    """A token that an application makes."""
    private = SIGNERS[signer].private_bytes_raw().hex()
    return sign_person(private, study, unit, service.clock() // 1000 + seconds)


def test_people_whom_the_application_signs(service: Inside) -> None:
    service.begin(signed_by=PUBLIC[:2])
    token = sign(service)
    refused = {None: "missing", "": "missing", "00": "malformed", token[:-1]: "malformed", token[::-1]: "malformed"}
    refused |= {sign(service, "bob"): "forged", sign(service, study="other"): "forged", f"{token[:-2]}00": "forged"}
    refused |= {sign(service, signer=2): "unknown_key", sign(service, seconds=0): "expired"}
    refused |= {sign(service, seconds=31 * 86_400): "expires_too_late"}
    for wrong, why in refused.items():
        found = service.study("assign", {"unit": "ann", "token": wrong})
        assert (found.status, found.code) == (401, f"token_{why}")
        items = service.study("assign/batch", {"requests": [{"unit": "ann", "token": wrong}]}).json["items"]
        assert (items[0]["status"], items[0]["problem"]["code"]) == (401, f"token_{why}")
        context = {"context": {"targetingKey": "ann", "token": wrong}}
        flag = service.ask("POST", "/ofrep/v1/evaluate/flags/small", context)
        assert (flag.status, flag.json["errorDetails"].partition(":")[0]) == (400, f"token_{why}")
    assert [rows(service, f"SELECT * FROM {table}") for table in ("place", "account")] == [[], []]
    ticket = service.study("assign", {"unit": "ann", "token": token}).json["ticket"]
    newer = sign(service, signer=1, seconds=3600)  # of the application's next key
    assert service.study("assign", {"unit": "ann", "token": newer}).json["ticket"] == ticket
    for given, flags in ((None, 0), (sign(service, "bob"), 0), (token, 1)):  # nor is her ticket told
        context = {"context": {"targetingKey": "ann", "token": given}}
        found = service.ask("POST", "/ofrep/v1/evaluate/flags", context).json["flags"]
        assert len(found) == flags
    assert found[0]["metadata"]["ticket"] == ticket
    service.clock.now += 60_000
    assert service.study("assign", {"unit": "ann", "token": token}).code == "token_expired"
    assert service.study("assign", {"unit": "ann", "token": newer}).json["ticket"] == ticket


@pytest.mark.parametrize("twin", ["people", "ofrep"])
def test_a_service_that_forgets_tokens_is_found(service: Inside, monkeypatch: pytest.MonkeyPatch, twin: str) -> None:
    monkeypatch.setattr(f"maskedbandit.service.api.{twin}.check_token", lambda *given: None)
    with pytest.raises((AssertionError, KeyError)):
        test_people_whom_the_application_signs(service)


def test_local_trust_with_offers(service: Inside) -> None:
    service.begin(
        channel={"name": "response", "epsilon": 1},
        reward={"rule": "first", "window": "20 seconds", "exposure": "10 seconds"},
    )
    for i in range(4):
        given = service.assign(f"u{i}")
        service.study("expose", {"ticket": given["ticket"]})
        device = RehearsedDevice(f"u{i}", 1.0, Response(epsilon=1), 1)
        value = device.send(b"", 1, Offer.from_text(given["offer"]), Bits())
        assert service.study("report", {"ticket": given["ticket"], "value": 0.5}).code == "personal_value"
        assert service.study("report", {"ticket": given["ticket"], "value": value}).status == 200
        assert service.assign(f"u{i}")["offer"] == given["offer"]
    service.tick(WINDOW + 1)
    assert len(service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"]) == 2
    verified(service)


def test_local_trust_with_a_guardrail_has_an_offer_for_each_outcome(service: Inside) -> None:
    service.begin(
        channel={"name": "response", "epsilon": 1},
        reward={"rule": "first", "window": "20 seconds", "exposure": "10 seconds"},
        guardrail={"name": "harm", "harm": {"above": 0.2}, "rule": "first", "share": "1/4"},
    )
    for i in range(4):
        given = service.assign(f"u{i}")
        assert [offer.metric for offer in from_lines(given["offer"])] == ["", "harm"]
        service.study("expose", {"ticket": given["ticket"]})
        said = {"ticket": given["ticket"], "metric": "harm", "proof": PROOF}
        value = add_report_noise(Response(epsilon=1), given["offer"], 1.0, "harm").value
        assert service.study("report", {**said, "value": 0.5}).code == "personal_value"
        assert service.study("report", {**said, "value": value}).json["status"] == "accepted"
        assert service.study("report", {**said, "value": value}).json["status"] == "duplicate"
        assert service.study("report", {**said, "value": 1 - value}).code == "conflict"
        assert service.study("report", {**said, "metric": "other", "value": 1}).code == "personal_value"
        assert service.assign(f"u{i}")["offer"] == given["offer"]
    service.tick(WINDOW + 1)
    for arm in service.ask("GET", "/v1/studies/small/results", key="owner").json["arms"]:
        assert arm["guardrail"]["n"] == 2
    verified(service)


def test_one_budget_for_the_studies_of_a_project(service: Inside) -> None:
    for name in ("one", "two"):
        service.begin(name=name, project="both")
    ticket = service.assign("ann", "one")["ticket"]
    ann = service.assign("ann", "two")
    assert (ann["ticket"], ann["why"], ann["exposed"]) == (None, "budget_exceeded", False)
    bob = service.assign("bob", "two")
    assert (bool(bob["ticket"]), bob["why"]) == (True, None)
    assert service.study("budget", {"ticket": ticket}, name="one").json["spent"] == "ε = 1"


@pytest.mark.parametrize("truth", [0, 1, None])
def test_a_stranger_with_a_key_reads_nobodys_outcome(service: Inside, truth: int | None) -> None:
    """Who knows the name of a person is given the ticket, and tries both outcomes, in time and later."""
    service.begin()
    ticket = service.seen("ann")
    if truth is not None:
        proof = {"proof": PROOF} if truth else {}
        assert service.study("report", {"ticket": ticket, "value": truth} | proof).json == {"status": "accepted"}
    other = service.scoped("client", "small")
    given = service.study("assign", {"unit": "ann"}, other).json
    assert (given["ticket"], given["again"]) == (ticket, True)
    for value in (1, 0):
        for proof in ({}, {"proof": PROOF[::-1] + str(value)}):
            found = service.study("report", {"ticket": ticket, "value": value} | proof, other)
            assert (found.status, found.json) == (200, {"status": "accepted"})
    service.tick(WINDOW + 1)
    for value in (1, 0):
        found = service.study("report", {"ticket": ticket, "value": value}, other)
        assert (found.status, found.code) == (410, "late")

"""Making studies: once, whatever is repeated or cut off, and never in place of one that was started."""

import json
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import FencedOff, StorageFailed
from maskedbandit.privacy.loss import ZERO
from maskedbandit.service.views.summaries import read_summaries
from maskedbandit.store.book.chain import Head
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import delete_draft, open_study, write_study
from maskedbandit.study.protocol import Protocol
from tests.service.inside import TABLE, Inside, Reply

DIGEST = Protocol.from_table(TABLE).digest


def create(service: Inside, once: str | None, key: str = "owner", **changes: Any) -> Reply:
    """Ask for a new study."""
    headers = [] if once is None else [("idempotency-key", once)]
    return service.ask("POST", "/v1/studies", TABLE | changes, key, headers)


def test_a_repeated_request_makes_a_study_once(service: Inside) -> None:
    first = create(service, "k1")
    assert (first.status, first.json["state"]) == (201, "draft")
    assert service.start().status == 200
    again = create(service, "k1")
    assert (again.status, again.json["state"]) == (201, "running")  # what it made, as it stands
    other = create(service, "k1", people=999)
    assert (other.status, other.code) == (409, "conflict")
    assert create(service, "k2").code == "conflict"
    assert create(service, None).code == "conflict"
    service.keys["second"] = service.ask("POST", "/v1/keys", {"role": "owner"}, "owner").json["key"]
    assert create(service, "k1", "second").code == "conflict"  # another's request


def test_a_request_that_failed_may_come_again(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: Any, **more: Any) -> None:
        raise StorageFailed("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("maskedbandit.service.api.studies.write_study", fails)
        assert create(service, "k1").code == "storage_failed"
    assert create(service, "k1").status == 201
    assert service.ask("GET", "/v1/studies/small", key="owner").json["state"] == "draft"
    assert create(service, "k2", budget={"epsilon": 2}, project="p", name="a").status == 201
    for _ in range(2):  # a refusal is not a study that was made
        refused = create(service, "k3", budget={"epsilon": 3}, project="p", name="b")
        assert (refused.status, refused.code) == (422, "invalid_value")
    assert service.start().status == 200
    for _ in range(2):
        assert create(service, "k4").code == "conflict"


def test_validation_writes_nothing(service: Inside) -> None:
    found = service.ask("POST", "/v1/studies/validate", TABLE, "owner").json
    assert (found["study"], found["price"], found["trust"]) == ("small", "ε = 1", "central")
    assert found["protocol"] == Protocol.from_table(TABLE).digest
    assert service.ask("GET", "/v1/studies", key="owner").json == {"studies": []}


TOML = b"""
name = "small"
people = 1000
policy = { name = "successive_elimination", least = 2 }
channel = { name = "central", epsilon = 1 }
arms = [{ name = "a", payload = { text = "A" } }, { name = "b" }]
reward = { window = "20 seconds", exposure = "10 seconds" }
budget = { epsilon = 1 }
"""


def test_protocols_in_toml(service: Inside) -> None:
    headers = [("content-type", "application/toml; charset=utf-8")]
    found = service.ask("POST", "/v1/studies", TOML, "owner", headers)
    assert (found.status, found.json["protocol"]) == (201, Protocol.from_table(TABLE).digest)
    for wrong in (
        b"x = 1e",
        b"\xff",
        b"x = " + b"9" * 5000,
        b"x = 2026-11-22",
        b"x = nan",
        b"x = " + b"[" * 60_000,
        b"a = " + b"{a=" * 20_000,
        b"",
    ):
        refused = service.ask("POST", "/v1/studies/validate", wrong, "owner", headers)
        assert (refused.status, refused.code) == (422, "invalid_value"), wrong[:20]


WRONG: list[Any] = [
    [],
    "text",
    7,
    None,
    {},
    {"name": "a" * 65},
    {"arms": [{"name": "a"}] * 2},
    {"arms": [{"name": f"a{i}"} for i in range(1001)]},
    {"policy": "nobodys"},
    {"policy": {"name": "successive_elimination", "least": 10**30}},
    {"channel": {"name": "central", "epsilon": 10**400}},
    {"channel": {"name": "central", "epsilon": -1}},
    {"channel": {"name": "distributed", "epsilon": 1}},
    {"people": 1},
    {"people": 10**30},
    {"reward": {"window": "1e99 days"}},
    pytest.param({"budget": {"epsilon": 1e-300}}, marks=pytest.mark.slow),
    {"budget": {"epsilon": 1, "period": "0 days"}},
    {"signed_by": "00"},
    {"surplus": 1},
]


@pytest.mark.sparing(5)
@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: json.dumps(wrong)[:40])
def test_what_is_no_protocol_is_refused(service: Inside, wrong: Any) -> None:
    body = TABLE | wrong if isinstance(wrong, dict) and wrong else wrong
    raw = json.dumps(body).encode()
    for path in ("/v1/studies", "/v1/studies/validate"):
        refused = service.ask("POST", path, raw, "owner")
        assert refused.status == 422, refused
    assert service.ask("GET", "/v1/studies", key="owner").json == {"studies": []}


def test_a_draft_that_is_written_anew_while_it_is_held_is_the_new_one(service: Inside) -> None:
    """By a command, or by another process of the service, at any moment."""
    assert create(service, None).status == 201
    assert service.study("assign", {"unit": "ann"}).code == "not_running"  # so it is held now
    fresh = Protocol.from_table(TABLE | {"people": 2000})
    write_study(fresh, service.address, service.folder, DIGEST)
    for _ in range(3):
        if service.run(service.approved("small")).status == 200:
            break
        service.tick(1)
    assert service.start().status == 200
    service.assign("ann")
    state = service.ask("GET", "/v1/studies/small", key="owner").json
    assert (state["state"], state["of"], state["protocol"]) == ("running", 2000, fresh.digest)
    assert service.ask("POST", "/v1/studies/small/verify", key="owner").status == 200


@pytest.mark.parametrize(
    "part",
    [
        {"policy": "imported:Policy"},
        {"policy": {"name": "imported:Policy"}},
        {"channel": "imported:Channel"},
        {"channel": {"name": "central", "epsilon": 1, "noise": {"name": "imported:Noise"}}},
        {"channel": {"name": "central", "epsilon": 1, "noise": "imported:Noise"}},
    ],
)
def test_no_request_has_a_module_imported(
    service: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: dict[str, Any]
) -> None:
    (tmp_path / "imported.py").write_text("raise SystemExit('a module that ends the process')")
    monkeypatch.syspath_prepend(tmp_path)
    for path in ("/v1/studies", "/v1/studies/validate"):
        found = service.ask("POST", path, TABLE | part, "owner")
        assert (found.status, found.code) == (422, "invalid_value")


def test_one_study_that_is_behind_its_witness_leaves_the_others(service: Inside) -> None:
    """The lists say so of it; of its ledger nothing is told, and whoever asks for it is told why."""
    service.begin()
    service.begin(name="other")
    service.host.witness.saw("small", Head(9, "0" * 64), ZERO.to_text())
    states = {each["study"]: each["state"] for each in service.ask("GET", "/v1/studies", key="owner").json["studies"]}
    assert states == {"small": "behind_witness", "other": "running"}
    for part in ("", "/ledger", "/releases", "/results"):
        reply = service.ask("GET", f"/v1/studies/small{part}", key="officer")
        assert (reply.status, reply.code) == (503, "behind_witness"), part
        assert service.ask("GET", f"/v1/studies/other{part}", key="officer").status == 200
    database = open_database(service.address)
    shown = {
        each.name: (each.state, each.releases)
        for each in read_summaries(database, service.host.witness, service.clock())
    }
    database.close()
    assert shown == {"small": ("behind its witness", 0), "other": ("running", 0)}


def test_one_study_whose_ledger_was_changed_leaves_the_others(service: Inside) -> None:
    service.begin()
    service.begin(name="other")
    database = open_database(service.address)
    ((body,),) = database.rows("SELECT body FROM entry WHERE study = ? AND number = 0", "small")
    with database.transaction():
        change = "UPDATE entry SET body = ? WHERE study = ? AND number = 0"
        database.change(change, json.dumps(json.loads(body) | {"note": "unknown"}), "small")
    states = {each["study"]: each["state"] for each in service.ask("GET", "/v1/studies", key="owner").json["studies"]}
    assert states == {"small": "corrupted", "other": "running"}
    shown = {each.name: each.state for each in read_summaries(database, service.host.witness, service.clock())}
    database.close()
    assert shown == {"small": "corrupted", "other": "running"}


def test_studies_that_need_a_look_are_listed_first_and_then_the_newest(service: Inside) -> None:
    for name in ("a", "b", "c"):
        service.begin(name=name)
        service.tick(60)
    create(service, None, name="draft")
    database = open_database(service.address)

    def names() -> list[str]:
        return [each.name for each in read_summaries(database, service.host.witness, service.clock())]

    assert names() == ["draft", "c", "b", "a"]
    with database.transaction():
        database.change("UPDATE entry SET body = ? WHERE study = ? AND number = 0", "{}", "b")
    assert names() == ["b", "draft", "c", "a"]
    database.close()


def change(service: Inside, looked_at: str | None, method: str = "PUT", **changes: Any) -> Reply:
    """Ask for another protocol of a draft, or for its end."""
    headers = [] if looked_at is None else [("if-match", looked_at)]
    body = TABLE | changes if method == "PUT" else None
    return service.ask(method, "/v1/studies/small", body, "owner", headers)


def test_a_name_that_is_taken_is_a_conflict(service: Inside) -> None:
    """Of a draft too: the one that somebody looked at stays."""
    assert create(service, None).status == 201
    for people in (1000, 99):
        refused = create(service, None, people=people)
        assert (refused.status, refused.code) == (409, "conflict")
    assert create(service, None, budget={"epsilon": 2}).code == "conflict"  # and not that the budget is another
    assert service.ask("GET", "/v1/studies/small", key="owner").json["of"] == 1000


def test_requests_for_one_name_at_the_same_time_make_one_study(service: Inside) -> None:
    new = ("POST", "/v1/studies", TABLE, "owner")
    assert sorted(each.status for each in service.together(new, new)) == [201, 409]
    again = (*new[:2], TABLE | {"name": "again"}, "owner", [("idempotency-key", "k")])
    assert [each.status for each in service.together(again, again)] == [201, 201]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_draft_is_changed_and_deleted_as_it_was_looked_at(service: Inside, method: str) -> None:
    assert change(service, DIGEST, method, people=500).code == "unknown_study"
    assert create(service, None).status == 201
    for wrong in (None, "", "*", "0" * 63, f"W/{DIGEST}"):
        assert change(service, wrong, method, people=500).code == "invalid_value", wrong
    assert change(service, "0" * 64, method, people=500).code == "conflict"
    assert service.ask("GET", "/v1/studies/small", key="owner").json["protocol"] == DIGEST
    done = change(service, f'"{DIGEST}"', method, people=500)
    assert done.status == 200, done
    if method == "PUT":
        assert (done.json["of"], done.json["state"]) == (500, "draft")
        assert change(service, DIGEST, method, people=600).code == "conflict"  # it is another one now
        assert change(service, done.json["protocol"], method, name="other").code == "invalid_value"
    else:
        assert done.json == {"study": "small"}
        assert service.ask("GET", "/v1/studies/small", key="owner").code == "unknown_study"
        assert create(service, None, budget={"epsilon": 3}).status == 201  # nothing of it is kept


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_study_that_was_started_is_neither_changed_nor_deleted(service: Inside, method: str) -> None:
    service.begin()
    for looked_at in (DIGEST, "0" * 64):
        assert change(service, looked_at, method, people=500).code == "frozen_protocol"
    assert service.assign("ann")["ticket"] is not None


def test_whoever_holds_a_deleted_draft_does_nothing_with_one_of_the_same_name(service: Inside) -> None:
    assert create(service, None).status == 201
    with open_study(service.address, "small", service.folder) as held:
        delete_draft("small", DIGEST, service.address)
        write_study(Protocol.from_table(TABLE), service.address, service.folder)
        with open_study(service.address, "small", service.folder) as fresh:
            for operation in (held.start, held.tick):
                with pytest.raises(FencedOff):
                    operation()
            officer = service.keys["officer"].split("_")[2]
            fresh.apply([("approve", officer, DIGEST)])
            fresh.start()
            assert fresh.assign("ann").ticket is not None


def test_a_start_is_of_the_protocol_that_was_looked_at(service: Inside) -> None:
    assert create(service, None).status == 201
    changed = change(service, DIGEST, people=500).json["protocol"]
    assert service.study("start", {"protocol": DIGEST}, key="owner").code == "conflict"
    for wrong in ({"protocol": "x"}, {}, [], {"protocol": changed, "more": 1}, b"{"):
        assert service.study("start", wrong, key="owner").code == "invalid_value", wrong
    assert service.ask("GET", "/v1/studies/small", key="owner").json["state"] == "draft"
    assert service.run(service.approved("small")).status == 200
    started = service.study("start", {"protocol": changed}, key="owner").json
    assert (started["state"], started["protocol"]) == ("running", changed)
    assert service.study("start", {"protocol": DIGEST}, key="owner").code == "not_running"

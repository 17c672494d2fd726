"""A helper over HTTP: pairing once, reports and totals, and each lie refused by its code."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.service.host.helper import HelperHost
from maskedbandit.service.host.host import Host
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from tests.for_each import for_each
from tests.service.helper_inside import PATH, HelperInside, PlayedLeader, helped_leader
from tests.service.inside import inside
from tests.store.helper_scene import VALUES, N


@pytest.fixture
def leader(tmp_path: Path) -> Iterator[PlayedLeader]:
    with helped_leader(f"sqlite:///{tmp_path}/helper.db", tmp_path) as made:
        yield made


@pytest.mark.sparing(1)
def test_a_total_is_of_what_was_reported(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "noise_share", lambda self, honest, bits: 0)
    with helped_leader(address, tmp_path) as leader:
        offered, shares = leader.send_all(0)
        found = leader.offer(0, offered)
        assert found.status == 200
        assert [each["ok"] for each in found.json["answers"]] == [True] * len(VALUES)
        assert leader.offer(0, offered).body == found.body, "the same however often it is asked"
        said = leader.total(0, offered)
        assert (said.total + shares) % FIELD == sum(VALUES.values())
        assert leader.total(0, offered) == said
        state = leader.ask("GET", "").json
        assert (state["state"], state["cohorts"], state["entries"]) == ("running", [0], 2)
        assert state["leader"] == leader.keys.fingerprint
        entries = leader.ask("GET", "/ledger").json["entries"]
        assert [json.loads(each["body"])["kind"] for each in entries] == ["helping", "helped"]
        assert leader.helper.verify().totals == 1


def test_a_leader_pairs_once(leader: PlayedLeader) -> None:
    helper, old = leader.helper, leader.credential
    assert isinstance(helper, HelperInside)
    token = helper.invite()
    assert leader.pair(token).status == 200
    assert leader.credential != old
    assert leader.ask("GET", "").status == 200
    for text in (token, token + "x", "", old):
        assert leader.pair(text).code == "unauthorized"
    assert helper.ask("GET", PATH, None, old).code == "unauthorized", "who is paired anew has another credential"
    assert helper.ask("GET", PATH, None, None).code == "unauthorized"


@for_each(
    ("changes", "code"),
    [
        ({"seals": "00"}, "invalid_value"),
        ({"name": ""}, "invalid_value"),
        ({"name": "\n"}, "invalid_value"),
        ({"other": 1}, "invalid_value"),
        ({"signs": None}, "invalid_value"),
    ],
)
def test_an_invitation_outlives_a_wrong_request(leader: PlayedLeader, changes: dict[str, Any], code: str) -> None:
    helper = leader.helper
    assert isinstance(helper, HelperInside)
    token, before = helper.invite(), leader.credential
    assert leader.pair(token, **changes).code == code
    own = {"seals": leader.card["seals"], "signs": leader.card["signs"]}
    assert leader.pair(token, **own).code == "invalid_value", "a helper is no leader of its own"
    assert leader.credential == before
    assert leader.pair(token).status == 200


def other_leader(leader: PlayedLeader, folder: Path) -> PlayedLeader:
    """Another leader that is paired with the same helper."""
    made = PlayedLeader(leader.helper, folder / "other")
    assert isinstance(leader.helper, HelperInside)
    assert made.pair(leader.helper.invite()).status == 200
    return made


def test_a_study_is_registered_once_by_its_leader(leader: PlayedLeader, tmp_path: Path) -> None:
    assert leader.register().json == {"study": "small", "entries": 1}
    assert leader.register(leader.make_protocol(people=999)).code == "frozen_protocol"
    assert leader.register(name="other").code == "invalid_value"
    for text in ("", "[]", "{}", "[" * 10_000, leader.protocol.text + " "):
        assert leader.ask("PUT", "", {"protocol": text}).code == "invalid_value"
    table = json.loads(leader.protocol.text)
    for part in ("policy", "channel"):
        foreign = json.dumps(table | {part: {"name": "antigravity:fly"}})
        found = leader.ask("PUT", "", {"protocol": foreign})
        assert "one of this package" in found.json["detail"]
    other = other_leader(leader, tmp_path)
    assert other.register(leader.protocol).code == "disagreement"
    card = other.card
    other.card = card | {"fingerprint": "ab" * 32}
    assert other.register(other.make_protocol(name="theirs"), "theirs").code == "disagreement"


@for_each(
    ("method", "path"),
    [("GET", ""), ("GET", "/ledger"), ("POST", "/end"), ("POST", "/cohorts/0/reports"), ("POST", "/cohorts/0/total")],
)
def test_another_leader_is_refused(leader: PlayedLeader, tmp_path: Path, method: str, path: str) -> None:
    offered, _ = leader.send_all(0)
    body = {"/cohorts/0/reports": {"n": N, "reports": offered}, "/cohorts/0/total": leader.write_request(0, offered)}
    other = PlayedLeader(leader.helper, tmp_path / f"other {method}{path.replace('/', ' ')}")
    assert isinstance(leader.helper, HelperInside)
    assert other.pair(leader.helper.invite()).status == 200
    assert other.ask(method, path, body.get(path)).code == "forbidden"
    assert other.helper.ask(method, f"/v1/helping/none{path}", body.get(path), other.credential).code == "unknown_study"
    assert leader.helper.ask(method, PATH + path, body.get(path), None).code == "unauthorized"


Change = Callable[[PlayedLeader, list[dict[str, Any]]], Any]
LIES: dict[str, tuple[Change, str]] = {  # what the leader asks after cohort 0 has its total, and the code
    "another report for a place": (lambda it, sent: it.offer(0, [it.send(0, 0, 1)[0]]), "disagreement"),
    "more after the total": (lambda it, sent: it.offer(0, [it.send(0, 2, 1)[0]]), "disagreement"),
    "another size": (lambda it, sent: it.offer(0, sent, n=N + 1), "disagreement"),
    "two reports for a place": (lambda it, sent: it.offer(1, [it.send(1, 0, 1)[0] for _ in range(2)]), "disagreement"),
    "a place that there is not": (lambda it, sent: it.offer(1, [sent[0] | {"place": N}]), "malformed"),
    "a short share": (lambda it, sent: it.offer(1, [sent[0] | {"sealed": "AAAA"}]), "malformed"),
    "another alphabet": (lambda it, sent: it.offer(1, [sent[0] | {"sealed": "+/=="}]), "invalid_value"),
    "no reports": (lambda it, sent: it.offer(1, []), "invalid_value"),
    "too many reports": (lambda it, sent: it.offer(1, [sent[0]] * 257), "invalid_value"),
    "no list": (lambda it, sent: it.ask("POST", "/cohorts/1/reports", {"n": N, "reports": {}}), "invalid_value"),
    "no cohort": (lambda it, sent: it.ask("POST", "/cohorts/x/reports", {"n": N, "reports": sent}), "invalid_value"),
    "a large cohort": (lambda it, sent: it.offer(10**16, sent), "invalid_value"),
    "a shorter list": (
        lambda it, sent: it.ask("POST", "/cohorts/0/total", it.write_request(0, sent, [0])),
        "disagreement",
    ),
    "a total of other reports": (
        lambda it, sent: it.ask("POST", "/cohorts/1/total", it.write_request(1, sent)),
        "disagreement",
    ),
    "a total without a signature": (
        lambda it, sent: it.ask("POST", "/cohorts/0/total", it.write_request(0, sent) | {"signature": "00" * 64}),
        "forged",
    ),
    "a signature for another cohort": (
        lambda it, sent: it.ask("POST", "/cohorts/1/total", it.write_request(0, sent)),
        "forged",
    ),
    "a place left out that there is not": (
        lambda it, sent: it.ask("POST", "/cohorts/0/total", it.write_request(0, sent, [N])),
        "malformed",
    ),
    "a digest that is none": (
        lambda it, sent: it.ask("POST", "/cohorts/0/total", it.write_request(0, sent) | {"digest": "00"}),
        "invalid_value",
    ),
}


@for_each("lie", list(LIES))
def test_a_lie_is_refused_by_its_code(leader: PlayedLeader, lie: str) -> None:
    offered, code = getattr(leader, "offered", None), LIES[lie][1]
    if offered is None:
        offered, _ = leader.send_all(0)
        assert leader.offer(0, offered).status == 200
        leader.offered, leader.said = offered, leader.total(0, offered)
    before = leader.helper.verify()
    assert LIES[lie][0](leader, offered).code == code
    assert leader.helper.verify() == before
    assert leader.total(0, offered) == leader.said


def test_a_report_for_two_cohorts_is_left_out_of_the_second(leader: PlayedLeader) -> None:
    offered, _ = leader.send_all(0)
    assert leader.offer(0, offered).status == 200
    assert leader.offer(1, offered).json["answers"] == [{"ok": False, "verifier": ""}] * len(offered)
    assert leader.total(1, []).reports == 0
    assert leader.total(0, offered).reports == len(offered)


def test_a_report_that_is_offered_otherwise_than_before_is_left_out(leader: PlayedLeader) -> None:
    offered, _ = leader.send_all(0)
    assert leader.offer(0, offered).status == 200
    other = [each | {"turn": 1} for each in offered]
    assert leader.offer(0, other).json["answers"] == [{"ok": False, "verifier": ""}] * len(offered)
    assert leader.total(0, offered).reports == len(offered)


def test_a_report_with_a_wrong_proof_is_left_out(leader: PlayedLeader) -> None:
    offered, _ = leader.send_all(0)
    offered[0]["verifier"] = offered[1]["verifier"]
    answers = leader.offer(0, offered).json["answers"]
    assert [each["ok"] for each in answers] == [False, True, True]
    assert leader.total(0, offered[1:]).reports == 2


def test_a_large_cohort_of_whom_hardly_anybody_reported(leader: PlayedLeader) -> None:
    n = 200_000
    offered = [leader.send(0, 0, 1, n)[0]]
    assert leader.offer(0, offered, n).status == 200
    found = leader.ask("POST", "/cohorts/0/total", leader.write_request(0, offered, range(1, n), n))
    assert (found.status, found.json["reports"]) == (200, 1)


def test_the_end_of_a_study_ends_its_help(leader: PlayedLeader) -> None:
    offered, _ = leader.send_all(0)
    leader.offer(0, offered)
    for _ in range(2):
        found = leader.ask("POST", "/end")
        assert (found.status, found.json["state"], found.json["entries"]) == (200, "stopped", 2)
    asked = leader.write_request(0, offered)
    assert leader.ask("POST", "/cohorts/0/total", asked).code == "not_running"
    database = open_database(leader.helper.address)
    with closing(database):
        assert database.rows("SELECT COUNT(*) FROM helped_report WHERE locked IS NOT NULL") == [(0,)]


def test_officers_of_the_helper_read_and_verify(leader: PlayedLeader) -> None:
    helper = leader.helper
    assert helper.ask("GET", PATH, None, "officer").json["contact"] == helper.clock()
    assert helper.ask("POST", f"{PATH}/verify", None, "officer").json["totals"] == 0
    assert helper.ask("POST", f"{PATH}/verify", None, leader.credential).code == "forbidden"
    for method, path in (("PUT", ""), ("POST", "/cohorts/0/total"), ("POST", "/cohorts/0/reports"), ("POST", "/end")):
        assert helper.ask(method, PATH + path, {}, "owner").code == "forbidden"
    assert helper.ask("GET", PATH, None, "client").code == "forbidden"
    database = open_database(helper.address)
    with closing(database), database.transaction():
        database.change("UPDATE helped_report SET place = place")
        database.change("UPDATE study SET state = 'paused'")
    assert helper.ask("POST", f"{PATH}/verify", None, "officer").code == "corrupted"


def test_the_helper_says_how_it_is(leader: PlayedLeader) -> None:
    helper = leader.helper
    helper.tick(1)
    assert helper.ask("GET", "/healthz", key=None).json["status"] == "alive"
    assert helper.ask("GET", "/readyz", key=None).json == {"status": "ready", "warnings": []}
    value = helper.host.metrics.registry.get_sample_value
    assert value("maskedbandit_study_ledger_entries", {"study": "small"}) == 1
    assert value("maskedbandit_study_held", {"study": "small"}) == 1
    assert "/v1/helping/{study}/cohorts/{cohort}/total" in helper.ask("GET", "/openapi.json", key=None).json["paths"]
    assert helper.ask("GET", "/v1/studies", key="owner").code == "not_found"
    database = open_database(helper.address)
    with closing(database), database.transaction():
        database.change("UPDATE study SET fence = fence + 1, holder = 'elsewhere 1 x', lease = 99999999999999")
    helper.tick(1)
    assert helper.ask("GET", "/readyz", key=None).status == 503


def test_strangers_and_guests_are_limited(leader: PlayedLeader) -> None:
    helper = leader.helper
    helper.host.strangers.rate = helper.host.strangers.burst = 0
    assert helper.ask("GET", PATH, None, "x" * 43).code == "too_many"
    assert leader.ask("GET", "").status == 200
    helper.host.guests.rate = helper.host.guests.burst = 0
    assert leader.pair("x").code == "too_many"
    helper.host.callers.rate = helper.host.callers.burst = 0
    assert leader.ask("GET", "").code == "too_many"


def test_no_word_depends_on_shares(leader: PlayedLeader, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "maskedbandit"):
        offered, _ = leader.send_all(0)
        leader.offer(0, offered)
        leader.offer(1, offered)
        leader.total(0, offered)
    assert caplog.records == []
    routes = {
        sample.labels.get("route", "") for family in leader.helper.host.metrics.collect() for sample in family.samples
    }
    assert not [each for each in routes if "reports" in each or each.endswith("total")]


def test_a_database_has_one_role(leader: PlayedLeader, tmp_path: Path) -> None:
    helper = leader.helper
    with pytest.raises(InvalidValue, match=r"role is 'leader'.*helper here, where small is helped"):
        helper.run(make_host(helper.address, helper.folder))
    address = f"sqlite:///{tmp_path}/led.db"
    with inside(address, tmp_path / "led") as service:
        service.begin()
    with pytest.raises(InvalidValue, match=r"role is 'helper'.*leader here, where small is led"):
        helper.run(make_helper(address, tmp_path / "led"))


async def make_host(address: str, folder: Path) -> Host:
    return Host(address, folder)


async def make_helper(address: str, folder: Path) -> HelperHost:
    return HelperHost(address, folder, "University")


def test_a_card_names_the_keys_of_the_witness(leader: PlayedLeader) -> None:
    witness: Witness = leader.helper.host.witness
    keys = read_own_keys(witness)
    assert leader.card == {
        "name": "University",
        "seals": keys.seals.hex(),
        "signs": keys.signs.hex(),
        "fingerprint": keys.fingerprint,
    }

"""With an officer of privacy in the project no study starts unless one has approved its protocol, by its hash."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service import keys
from maskedbandit.store.approvals import Approvals
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.sqlite import Sqlite
from tests.service.inside import TABLE, Inside, Reply, inside


def draft(service: Inside, **changes: Any) -> str:
    """A draft: the hash of its protocol."""
    return str(service.ask("POST", "/v1/studies", TABLE | changes, "owner").json["protocol"])


def state(service: Inside, name: str = "small") -> dict[str, Any]:
    """How a study stands."""
    return dict(service.ask("GET", f"/v1/studies/{name}", key="owner").json)


def approve(service: Inside, protocol: str, key: str = "officer", name: str = "small") -> Reply:
    """An officer approves what has this hash."""
    return service.study("approve", {"protocol": protocol}, key, name)


def start(service: Inside, name: str = "small") -> Reply:
    """An owner starts the study."""
    return service.study("start", key="owner", name=name)


def public(service: Inside, key: str) -> str:
    """The public part of a key."""
    return service.keys.get(key, key).split("_")[2]


def entries(service: Inside) -> list[dict[str, Any]]:
    """What the entries of the ledger say."""
    found = service.ask("GET", "/v1/studies/small/ledger", key="owner").json["entries"]
    return [json.loads(each["body"]) for each in found]


def revoke(service: Inside, key: str) -> None:
    """A key holds no more."""
    assert service.ask("POST", f"/v1/keys/{public(service, key)}/revoke", None, "owner").status == 200


def force(service: Inside, protocol: str, key: str) -> None:
    """An approval past all that is checked when it is given."""
    with closing(open_database(service.address)) as database:
        row = ("small", protocol, public(service, key), service.clock())
        keys.write_change(database, "INSERT INTO approval (study, protocol, key, at) VALUES (?, ?, ?, ?)", *row)


def check_refused(service: Inside, name: str = "small") -> None:
    """The start is refused, with who has to do what; nothing has happened."""
    said = start(service, name)
    protocol = state(service, name)["protocol"]
    assert (said.status, said.code) == (409, "not_approved"), said
    for each in (name, protocol, f"POST /v1/studies/{name}/approve", "on the page of the study"):
        assert each in said.json["detail"]
    assert (state(service, name)["state"], state(service, name)["needs_approval"]) == ("draft", True)


def test_a_start_needs_an_approval_and_the_ledger_says_whose(service: Inside) -> None:
    protocol = draft(service)
    check_refused(service)
    approved = approve(service, protocol).json
    assert (approved["approved_by"], approved["needs_approval"]) == ([public(service, "officer")], False)
    assert approve(service, protocol).json == approved  # once more changes nothing
    assert start(service).json["approved_by"] == [public(service, "officer")]
    (begin,) = entries(service)
    assert (begin["by"], begin["approved_by"]) == (public(service, "owner"), public(service, "officer"))
    assert approve(service, protocol).code == "frozen_protocol"
    choices = service.ask("GET", "/v1/studies/small/statement", None, "owner").json["points"]["choices"]
    assert f"(key {public(service, 'officer')})" in choices


def test_an_approval_is_of_what_the_officer_looked_at(service: Inside) -> None:
    protocol = draft(service)
    said = approve(service, "0" * 64)
    assert (said.status, said.code) == (409, "conflict")
    assert protocol in said.json["detail"]
    check_refused(service)
    for wrong in (None, {}, {"protocol": "x"}, {"protocol": protocol, "more": 1}):
        assert service.study("approve", wrong, "officer").status == 422
    assert approve(service, protocol, "owner").code == approve(service, protocol, "client").code == "forbidden"
    force(service, "0" * 64, "officer")
    check_refused(service)


def test_a_changed_draft_needs_another_approval(service: Inside) -> None:
    protocol = draft(service)
    assert approve(service, protocol).status == 200
    changed = TABLE | {"people": 500}
    assert service.ask("PUT", "/v1/studies/small", changed, "owner", [("if-match", protocol)]).status == 200
    check_refused(service)
    assert approve(service, protocol).code == "conflict"
    back = state(service)["protocol"]
    assert service.ask("PUT", "/v1/studies/small", TABLE, "owner", [("if-match", back)]).status == 200
    check_refused(service)  # nothing of what was deleted is kept
    assert approve(service, protocol).status == start(service).status == 200


def test_an_approval_counts_while_its_key_holds(service: Inside) -> None:
    protocol = draft(service)
    second = service.ask("POST", "/v1/keys", {"role": "officer"}, "owner").json["key"]
    assert approve(service, protocol, second).status == 200
    revoke(service, second)
    check_refused(service)  # as there is another officer
    assert approve(service, protocol).status == 200
    assert state(service)["approved_by"] == [public(service, "officer")]
    assert start(service).status == 200
    revoke(service, "officer")
    assert state(service)["approved_by"] == [public(service, "officer")]  # the ledger says it for ever


def test_without_an_officer_nobody_is_asked(service: Inside) -> None:
    protocol = draft(service)
    assert approve(service, protocol).status == 200
    revoke(service, "officer")
    assert (state(service)["approved_by"], state(service)["needs_approval"]) == ([], False)
    assert start(service).status == 200
    assert "approved_by" not in entries(service)[0]


def test_an_officer_of_another_project_neither_asks_nor_approves(service: Inside) -> None:
    draft(service, name="other")
    elsewhere = service.scoped("officer", "other")
    revoke(service, "officer")
    protocol = draft(service)
    assert state(service)["needs_approval"] is False
    assert approve(service, protocol, elsewhere).code == "forbidden"
    check_refused(service, "other")
    here = service.scoped("officer", "small")
    check_refused(service)
    force(service, protocol, elsewhere)
    check_refused(service)
    assert approve(service, protocol, here).status == start(service).status == 200
    assert entries(service)[0]["approved_by"] == public(service, here)


def test_an_officer_of_one_study_asks_for_the_project(service: Inside) -> None:
    """Or a copy of the study, of another name, would do without."""
    draft(service, name="first", project="shared")
    first = service.scoped("officer", "first")
    revoke(service, "officer")
    protocol = draft(service, project="shared")
    check_refused(service)
    assert "an owner first makes a key for this study" in start(service).json["detail"]
    assert approve(service, protocol, first).code == "forbidden"  # who cannot look at it
    force(service, protocol, first)
    check_refused(service)
    assert approve(service, protocol, service.scoped("officer", "small")).status == start(service).status == 200


def test_both_databases_keep_approvals(address: str, tmp_path: Path) -> None:
    with inside(address, tmp_path / "witness") as service:
        test_a_changed_draft_needs_another_approval(service)
        assert state(service)["approved_by"] == [public(service, "officer")]


TWINS = {
    "of any hash": ("AND protocol = ?", "AND protocol >= '' OR protocol = ?"),
    "of revoked keys": ("(ends IS NULL OR ends > ?)", "(ends IS NULL OR ends > 0 OR ends > ?)"),
    "of other projects": ("WHERE project = ?", "WHERE project <> '' OR project = ?"),
}
SEEN_BY = {
    "of any hash": test_an_approval_is_of_what_the_officer_looked_at,
    "of revoked keys": test_an_approval_counts_while_its_key_holds,
    "of other projects": test_an_officer_of_another_project_neither_asks_nor_approves,
}


@pytest.mark.parametrize("twin", TWINS)
def test_what_counts_approvals_that_it_should_not_is_caught(
    service: Inside, twin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, (right, wrong) = Sqlite.rows, TWINS[twin]
    monkeypatch.setattr(Sqlite, "rows", lambda self, text, *given: real(self, text.replace(right, wrong), *given))
    with pytest.raises(AssertionError):
        SEEN_BY[twin](service)


def test_a_start_that_forgets_the_officer_is_caught(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Approvals, "missing", False)
    with pytest.raises(AssertionError):
        test_a_start_needs_an_approval_and_the_ledger_says_whose(service)

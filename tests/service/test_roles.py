"""Every route for everybody who may come: what is not allowed is refused, and nobody forgot to say who may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.api import routes
from maskedbandit.service.keys import OVERLAP
from maskedbandit.service.route import Route
from tests.service.inside import TABLE, Inside, inside

ALL, PEOPLE, STAFF, OWNERS = "everybody", "client", "owner officer", "owner"
EXPECTED = {
    "GET /healthz": ALL,
    "GET /readyz": ALL,
    "GET /openapi.json": ALL,
    "GET /v1/studies": STAFF,
    "POST /v1/studies": OWNERS,
    "POST /v1/studies/validate": OWNERS,
    "GET /v1/studies/{study}": STAFF,
    "GET /v1/studies/{study}/events": STAFF,
    "GET /v1/studies/{study}/ledger": STAFF,
    "GET /v1/studies/{study}/ledger/head": STAFF,
    "GET /v1/studies/{study}/protocol": STAFF,
    "GET /v1/studies/{study}/releases": STAFF,
    "GET /v1/studies/{study}/results": STAFF,
    "GET /v1/studies/{study}/statement": STAFF,
    "POST /v1/studies/{study}/verify": STAFF,
    "POST /v1/studies/{study}/erase": STAFF,
    "POST /v1/studies/{study}/start": OWNERS,
    "POST /v1/studies/{study}/resume": OWNERS,
    "POST /v1/studies/{study}/archive": OWNERS,
    "POST /v1/studies/{study}/pause": STAFF,
    "POST /v1/studies/{study}/stop": STAFF,
    "POST /v1/studies/{study}/arms": OWNERS,
    "POST /v1/studies/{study}/arms/{arm}/pause": STAFF,
    "POST /v1/studies/{study}/arms/{arm}/resume": OWNERS,
    "POST /v1/studies/{study}/assign": PEOPLE,
    "POST /v1/studies/{study}/assign/batch": PEOPLE,
    "POST /v1/studies/{study}/expose": PEOPLE,
    "POST /v1/studies/{study}/expose/batch": PEOPLE,
    "POST /v1/studies/{study}/report": PEOPLE,
    "POST /v1/studies/{study}/report/batch": PEOPLE,
    "POST /v1/studies/{study}/budget": PEOPLE,
    "GET /v1/keys": OWNERS,
    "POST /v1/keys": OWNERS,
    "POST /v1/keys/{key}/rotate": OWNERS,
    "POST /v1/keys/{key}/revoke": OWNERS,
    "POST /ofrep/v1/evaluate/flags/{key}": PEOPLE,
    "POST /ofrep/v1/evaluate/flags": PEOPLE,
}
STREAMS = ("GET /v1/studies/{study}/events",)
ROUTES = {f"{route.method} {route.path}": route for route in routes()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """A service with two studies, and keys of all kinds."""
    folder = tmp_path_factory.mktemp("roles")
    with inside(f"sqlite:///{folder}/studies.db", folder / "witness") as service:
        for name in ("small", "other"):
            service.begin(name=name)
        for role in ("owner", "officer", "client"):
            service.keys[f"{role} of small"] = service.scoped(role, "small")
            service.keys[f"{role} of other"] = service.scoped(role, "other")
            for kind in ("revoked", "rotated"):
                service.keys[f"{role} {kind}"] = service.ask("POST", "/v1/keys", {"role": role}, "owner").json["key"]
            end(service, "revoke", f"{role} revoked")
        yield service


def end(service: Inside, how: str, key: str) -> Any:
    """Rotate or revoke a key."""
    found = service.ask("POST", f"/v1/keys/{service.keys[key].split('_')[2]}/{how}", None, "owner")
    assert found.status == 200
    return found.json


def status(service: Inside, which: str, key: str | None, study: str = "small") -> int:
    """What a route answers; the body is no JSON, so whoever may ask is told so."""
    method, path = which.split(" ")
    path = path.format(study=study, arm="a", key="0" * 8 if "/keys/" in path else study)
    if which in STREAMS:
        path += "?after=x"  # which is refused before the stream begins
    body = {"role": "owner"} if which == "POST /v1/keys" else b"{"
    return service.ask(method, path, body if method == "POST" else None, key).status


def test_every_route_is_in_the_table() -> None:
    assert {which: " ".join(route.roles) or ALL for which, route in ROUTES.items()} == EXPECTED


@pytest.mark.parametrize("which", EXPECTED)
def test_who_may(made: Inside, which: str) -> None:
    check(made, which)


def check(made: Inside, which: str) -> None:
    """Who may ask, and who may not."""
    expected = EXPECTED[which]
    for nobody in (None, "", "mb_owner_00000000_x", "owner revoked", "officer revoked", "client revoked", "\xff"):
        assert (status(made, which, nobody) == 401) == (expected != ALL), nobody
    for role in ("owner", "officer", "client"):
        may = role in expected or expected == ALL
        assert (status(made, which, role) == 403) != may, role
        assert (status(made, which, f"{role} of small") == 403) != (may and "/v1/keys" not in which), role
        if "{study}" in which:
            assert status(made, which, f"{role} of other") == 403, role
        wrong_secret = made.keys[role][:-1] + ("A" if made.keys[role][-1] != "A" else "B")
        assert (status(made, which, wrong_secret) == 401) == (expected != ALL)
        for other in {"owner", "officer", "client"} - {role}:  # the role is not what a key says of itself
            promoted = made.keys[role].replace(f"mb_{role}_", f"mb_{other}_")
            assert (status(made, which, promoted) == 401) == (expected != ALL)


@pytest.mark.parametrize("wider", [("owner", "officer", "client"), ()])
def test_a_route_that_is_wider_than_it_should_be_is_caught(
    made: Inside, wider: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    which = "POST /v1/studies/{study}/erase"
    for found in made.app.routes:
        route = getattr(found, "endpoint", None)
        if isinstance(route, Route) and f"{route.method} {route.path}" == which:
            monkeypatch.setattr(route, "roles", wider)
    with pytest.raises(AssertionError):
        check(made, which)


def test_a_key_of_one_study_sees_no_other(made: Inside) -> None:
    for role in ("owner", "officer"):
        seen = made.ask("GET", "/v1/studies", key=f"{role} of small").json["studies"]
        assert [each["study"] for each in seen] == ["small"]
    other = dict(TABLE, name="other")
    assert made.ask("POST", "/v1/studies", other, "owner of small").status == 403
    body = {"context": {"targetingKey": "zoe"}}
    assert made.ask("POST", "/ofrep/v1/evaluate/flags/other", body, "client of small").status == 404
    made.assign("zoe", "other")
    assert made.ask("POST", "/ofrep/v1/evaluate/flags", body, "client of small").json == {"flags": []}


def test_a_rotated_key_holds_for_one_more_day(tmp_path: Path) -> None:
    with inside(f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness") as service:
        service.begin()
        old = service.keys["officer"]
        service.keys["officer"] = end(service, "rotate", "officer")["key"]
        service.clock.now += OVERLAP - 1
        assert [service.ask("GET", "/v1/studies", key=key).status for key in (old, "officer")] == [200, 200]
        service.clock.now += 1
        assert [service.ask("GET", "/v1/studies", key=key).status for key in (old, "officer")] == [401, 200]


def test_a_revoked_key_ends_at_once(tmp_path: Path) -> None:
    with inside(f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness") as service:
        service.begin()
        assert service.study("assign", {"unit": "ann"}).status == 200
        end(service, "revoke", "client")
        assert service.study("assign", {"unit": "ann"}).status == 401


def test_keys_are_stored_hashed(made: Inside) -> None:
    stored = b"".join(each.read_bytes() for each in made.folder.parent.iterdir() if each.is_file())
    assert made.keys["owner"].split("_")[2].encode() in stored
    for key in made.keys.values():
        assert key.split("_", 3)[3].encode() not in stored
    shown = made.ask("GET", "/v1/keys", key="owner").body
    assert not any(key.split("_", 3)[3].encode() in shown for key in made.keys.values())
    assert b"hash" not in shown

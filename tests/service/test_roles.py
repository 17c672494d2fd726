"""Every route for everybody who may come: what is not allowed is refused, and nobody forgot to say who may."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from maskedbandit.service.api import list_routes
from maskedbandit.service.keys import ROTATION_OVERLAP, STAFF
from maskedbandit.service.page import site
from maskedbandit.service.page.visit import Visit
from maskedbandit.service.request.route import Route
from maskedbandit.service.request.sessions import BEFORE, COOKIE_NAME, form_token, name_browser, new_session
from tests.for_each import for_each
from tests.service.inside import TABLE, Inside, inside
from tests.service.test_people import PUBLIC, sign

DOCUMENT = (Path(__file__).parents[2] / "docs" / "service.md").read_text()
ALL, ROLES = "everybody", ("owner", "officer", "client", "device")
SEEN = "owner, officer; everybody if the study is simulated"
FOR_ALL = re.compile("/v1/(keys|webhooks)|/(keys|webhooks)$")  # of all studies: a key of one may not
BODIES = {
    "POST /v1/keys": {"role": "owner"},
    "POST /v1/webhooks": {"url": "none"},
}  # who may is known after they are read
STREAMS = ("GET /v1/studies/{study}/events",)
ROUTES = {f"{route.method} {route.path}": route for route in list_routes()}
PAGES = {
    f"{method} {page.path}"
    for page in site.list_pages()
    for method in (getattr(page, "methods", None) or {"GET"}) - {"HEAD"}  # files that are there have no methods
}


def written(column: int, document: str = DOCUMENT) -> dict[str, str]:
    """Who may, by the route, as a column of the table in a document says."""
    table = document.partition("## Who may ask what")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    pairs = [(which, row[0]) for row in rows[1:] for which in re.findall("`(.+?)`", row[column])]
    assert len(pairs) == len(dict(pairs)), "a route is there twice"
    return dict(pairs)


EXPECTED, EXPECTED_PAGES = written(1), written(2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """A service with two studies, and keys of all kinds."""
    folder = tmp_path_factory.mktemp("roles")
    with inside(f"sqlite:///{folder}/studies.db", folder / "witness") as service:
        for name in ("small", "other"):
            service.begin(name=name, signed_by=PUBLIC[0])
        service.keys["device"] = service.scoped("device", "small")  # of one study each
        for role in ROLES:
            service.keys[f"{role} of small"] = service.scoped(role, "small")
            service.keys[f"{role} of other"] = service.scoped(role, "other")
            for kind in ("revoked", "rotated"):
                new = {"role": role} | ({"study": "small"} if role == "device" else {})
                service.keys[f"{role} {kind}"] = service.ask("POST", "/v1/keys", new, "owner").json["key"]
            end(service, "revoke", f"{role} revoked")
        service.ask("POST", "/v1/studies", dict(TABLE, name="made_up"), "owner")
        assert service.start("made_up", "?simulated=1").status == 200
        yield service


def end(service: Inside, how: str, key: str) -> Any:
    """Rotate or revoke a key."""
    found = service.ask("POST", f"/v1/keys/{service.keys[key].split('_')[2]}/{how}", None, "owner")
    assert found.status == 200
    return found.json


def status(
    service: Inside, which: str, key: str | None, study: str = "small", headers: Sequence[tuple[str, str]] = ()
) -> int:
    """What a route answers; the body is no JSON, so whoever may ask is told so."""
    method, path = which.split(" ")
    path = path.format(study=study, arm="a", key="0" * 8 if "/keys/" in path else study, webhook="0" * 16)
    if which in STREAMS:
        path += "?after=x"  # which is refused before the stream begins
    body = BODIES.get(which, b"{")
    return service.ask(method, path, body if method == "POST" else None, key, headers).status


def test_every_route_is_in_the_table() -> None:
    assert {which: ", ".join(sorted(route.roles, reverse=True)) or ALL for which, route in ROUTES.items()} == EXPECTED
    assert set(EXPECTED_PAGES) == PAGES
    assert set(EXPECTED.values()) | set(EXPECTED_PAGES.values()) == {
        *(ALL, SEEN, "client", "device", "device, client", "owner", "officer", "owner, officer", "site")
    }


def test_the_interface_says_the_same(made: Inside) -> None:
    found = {}
    for path, methods in made.ask("GET", "/openapi.json", key=None).json["paths"].items():
        for method, said in methods.items():
            roles = re.findall(r"\w+", said.get("description", "").removeprefix("For keys of role"))
            found[f"{method.upper()} {path}"] = ", ".join(sorted({*roles} - {"or"}, reverse=True)) or ALL
            asks = bool(roles) or path == "/v1/sites/pair"  # which asks for an invitation
            assert (bool(said["security"]), "401" in said["responses"]) == (bool(roles), asks)
    assert found == EXPECTED


@for_each("which", EXPECTED)
def test_who_may(made: Inside, which: str) -> None:
    check(made, which)


def check(made: Inside, which: str) -> None:
    """Who may ask, and who may not."""
    expected = EXPECTED[which]
    revoked = [f"{role} revoked" for role in ROLES]
    for nobody in (None, "", "mb_owner_00000000_x", *revoked, "\xff"):
        assert (status(made, which, nobody) == 401) == (expected != ALL), nobody
    for role in ROLES:
        with_cookie = status(made, which, None, headers=[("cookie", cookie(made, role))])
        assert (with_cookie == 401) == (expected != ALL), "a cookie is no key"
        may = role in expected or expected == ALL
        assert (status(made, which, role) == 403) != may, role
        assert (status(made, which, f"{role} of small") == 403) != (may and not FOR_ALL.search(which)), role
        if "{study}" in which and expected != ALL:
            assert status(made, which, f"{role} of other") == 403, role
        wrong_secret = made.keys[role][:-1] + ("A" if made.keys[role][-1] != "A" else "B")
        assert (status(made, which, wrong_secret) == 401) == (expected != ALL)
        for other in {*ROLES} - {role}:  # the role is not what a key says of itself
            promoted = made.keys[role].replace(f"mb_{role}_", f"mb_{other}_")
            assert (status(made, which, promoted) == 401) == (expected != ALL)


def cookie(made: Inside, key: str) -> str:
    """The cookie of a session with a key, also of one that can begin none."""
    public = made.keys[key].split("_")[2]
    return f"{COOKIE_NAME}={new_session(made.host, made.host.keys._known[public])}"


def page(made: Inside, which: str, kept: str, key: str | None = None, study: str = "small") -> str:
    """What comes of asking for a page, with this cookie: refused, sign in, or done."""
    method, path = which.split(" ")
    path = path.format(study=study, arm="a") + "/page.css" * (path == "/static")
    form = {"csrf": form_token(made.host, name_browser(kept)), "key": made.keys["owner"]}
    headers = [("cookie", kept), ("content-type", "application/x-www-form-urlencoded")]
    found = made.ask(method, path, urlencode(form).encode() if method == "POST" else None, key, headers)
    assert found.status not in (401, 500)
    if found.headers.get("location") == "/sign-in":
        return "sign in"
    return "refused" if found.status == 403 else "done"


def check_page(made: Inside, which: str) -> None:
    """Nobody is told of a study by being refused what others may: whoever is not signed in is led to signing in."""
    expected, before = EXPECTED_PAGES[which], f"{BEFORE}=x"
    open_to_all = "sign in" if which == "POST /sign-out" else "done"  # to where it leads
    stale = [cookie(made, f"{role} revoked") for role in ROLES]
    forged = cookie(made, "owner")[:-1] + "x"
    for nobody in (before, cookie(made, "client"), *stale, forged):
        assert page(made, which, nobody) == (open_to_all if expected == ALL else "sign in"), nobody
        if expected == SEEN:
            assert page(made, which, nobody, study="made_up") == "done"
    for role in ROLES:
        assert page(made, which, before, key=role) == (open_to_all if expected == ALL else "sign in"), "no cookie"
    for role in STAFF:
        may = role in expected or expected == ALL
        for key in (role, f"{role} of small"):
            of_all = key == role or not FOR_ALL.search(which)
            assert page(made, which, cookie(made, key)) == (open_to_all if may and of_all else "refused"), key
        if "{study}" in which and expected != ALL:
            assert page(made, which, cookie(made, f"{role} of other")) == "refused"


@for_each("which", EXPECTED_PAGES)
def test_who_may_ask_for_pages(made: Inside, which: str) -> None:
    check_page(made, which)


@pytest.mark.parametrize("forgotten", ["allow", "may_see"])
def test_pages_that_forget_to_ask_who_looks_are_caught(
    made: Inside, forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def seen(visit: Visit) -> None: ...

    monkeypatch.setattr(Visit, forgotten, seen if forgotten == "may_see" else lambda *given: None)
    with pytest.raises(AssertionError):
        check_page(made, "GET /new" if forgotten == "allow" else "GET /studies/{study}/ledger")


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
    assert made.study("assign", {"unit": "zoe", "token": sign(made, "zoe", "other")}, name="other").status == 200
    assert made.ask("POST", "/ofrep/v1/evaluate/flags", body, "client of small").json == {"flags": []}


def test_a_rotated_key_holds_for_one_more_day(tmp_path: Path) -> None:
    with inside(f"sqlite:///{tmp_path}/studies.db", tmp_path / "witness") as service:
        service.begin()
        old = service.keys["officer"]
        service.keys["officer"] = end(service, "rotate", "officer")["key"]
        service.clock.now += ROTATION_OVERLAP - 1
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

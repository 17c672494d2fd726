"""The page of keys: owners of all studies make, rotate and revoke them there, of all studies or of one."""

import re

import pytest

from maskedbandit.service import keys
from tests.service.inside import Inside
from tests.service.test_people import PUBLIC, sign
from tests.service.test_site import Eyes

SHOP, APP = "https://shop.example", "http://localhost:5173"
MADE = re.compile(r"mb_(?:owner|officer|client|device)_[0-9a-f]{8}_[\w-]{30,}")


@pytest.fixture
def owner(service: Inside) -> Eyes:
    """An owner of all studies, of which one is signed."""
    service.begin(signed_by=PUBLIC[0])
    service.begin(name="open")
    eyes = Eyes(service)
    eyes.sign_in("owner")
    return eyes


def make_key(eyes: Eyes, where: str = "/keys", **values: str) -> str:
    """The key that the page shows."""
    (found,) = MADE.findall(eyes.post(where, csrf=eyes.token(where), **values).body.decode())
    return str(found)


def find_public(key: str) -> str:
    """Its public part."""
    return key.split("_")[2]


def test_keys_of_every_role_are_made_and_shown_once(owner: Eyes) -> None:
    service = owner.service
    assert 'href="/keys"' in owner.get("/").body.decode()
    for role, study in (("owner", ""), ("officer", "small"), ("client", ""), ("client", "open"), ("device", "small")):
        made = make_key(owner, role=role, study=study, origins=f"{SHOP}\r\n {APP} ")
        shown = owner.get("/keys").body.decode()
        assert made not in shown
        assert f"mb_{role}_{find_public(made)}_" in shown
        listed = service.ask("GET", "/v1/keys", None, "owner").json["keys"][-1]
        origins = [SHOP, APP] if role == "device" else []
        assert (listed["role"], listed["study"] or "", listed["origins"]) == (role, study, origins)
    token = owner.token("/keys")
    for wrong, study, said in (("device", "", "study"), ("device", "open", "signed_by"), ("root", "", "role")):
        found = owner.post("/keys", csrf=token, role=wrong, study=study)
        assert (found.status, said in found.body.decode()) == (422, True)
    wrong = owner.post("/keys", csrf=token, role="device", study="small", origins="https://*.example")
    assert (wrong.status, "origin is &#39;https://*.example&#39;" in wrong.body.decode()) == (422, True)
    assert owner.post("/keys", csrf=token, role="client", study="nobodys").status == 404
    assert owner.post("/keys", csrf="0" * 64, role="client").status == 403


def test_a_key_is_revoked_once_the_page_has_asked(owner: Eyes) -> None:
    service, made = owner.service, make_key(owner, role="client", study="open")
    asked = owner.post("/keys", csrf=owner.token("/keys"), ask=find_public(made))
    assert (asked.status, "cannot be undone" in asked.body.decode()) == (200, True)
    assert service.study("assign", {"unit": "ann"}, made, "open").status == 200
    assert owner.post("/keys", csrf=owner.token("/keys"), revoke=find_public(made)).status == 303
    assert service.study("assign", {"unit": "ann"}, made, "open").status == 401
    assert "Keys that were revoked" in owner.get("/keys").body.decode()


def test_a_rotated_key_holds_for_one_more_day(owner: Eyes) -> None:
    service, made = owner.service, make_key(owner, role="client", study="open")
    newer = make_key(owner, rotate=find_public(made))
    for key in (made, newer):
        assert service.study("assign", {"unit": "ann"}, key, "open").status == 200
    service.clock.now += keys.ROTATION_OVERLAP
    assert service.study("assign", {"unit": "ann"}, made, "open").status == 401
    assert service.study("assign", {"unit": "ann"}, newer, "open").status == 200


def test_the_page_of_a_study_has_its_keys_alone(owner: Eyes) -> None:
    service, where = owner.service, "/studies/small/keys"
    assert where in owner.get("/studies/small").body.decode()
    made = make_key(owner, where, role="device", origins=SHOP, study="open")
    body = {"unit": "ann", "token": sign(service)}
    found = service.ask("POST", "/v1/studies/small/assign", body, made, [("origin", SHOP)])
    assert found.status == 200
    other = make_key(owner, "/studies/open/keys", role="client")
    shown = owner.get(where).body.decode()
    assert find_public(made) in shown
    assert find_public(other) not in shown
    for how in ("revoke", "rotate", "ask"):
        for key in (other, service.keys["owner"], "mb_client_nothing_"):
            assert owner.post(where, csrf=owner.token(where), **{how: find_public(key)}).status == 404
    assert owner.post(where, csrf=owner.token(where), revoke=find_public(made)).status == 303
    assert service.ask("POST", "/v1/studies/small/assign", body, made, [("origin", SHOP)]).status == 401


def test_nobody_else_sees_or_changes_keys(owner: Eyes) -> None:
    service = owner.service
    service.keys["scoped"] = service.scoped("owner", "open")
    for role in ("officer", "scoped"):
        eyes = Eyes(service)
        eyes.sign_in(role)
        for where in ("/keys", "/studies/open/keys"):
            assert eyes.get(where).status == 403
            assert eyes.post(where, csrf=eyes.token("/"), role="client").status == 403
    assert Eyes(service).get("/keys").headers["location"] == "/sign-in"

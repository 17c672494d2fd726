"""The person's own side: whoever has a person's token is shown their place, and nothing of reports, and may leave."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.api import person
from maskedbandit.service.request.limits import Buckets
from tests.service.inside import Inside, Reply
from tests.service.test_device_keys import SHOP
from tests.service.test_people import PUBLIC, rows, sign
from tests.service.two_operators_inside import Person, begin_study
from tests.store.two_operators import Helper

HOST = [("host", "bandit"), ("origin", "http://bandit")]  # the page of the service itself


@pytest.fixture
def page(service: Inside) -> Inside:
    """A service with a study, and the key of its pages."""
    service.sign = lambda unit: sign(service, unit)
    service.begin(signed_by=PUBLIC[0], project="letters", about="which letter is answered")
    add_key(service)
    return service


def add_key(service: Inside) -> None:
    """The key of the study's pages."""
    body = {"role": "device", "study": "small", "origins": [SHOP]}
    service.keys["device"] = service.ask("POST", "/v1/keys", body, "owner").json["key"]


def ask(page: Inside, unit: str = "ann", verb: str = "person", headers: Any = HOST, **body: Any) -> Reply:
    """What the page asks."""
    body = {"unit": unit, "token": sign(page, unit)} | body
    return page.ask("POST", f"/v1/studies/small/{verb}", body, "device", headers)


def test_a_person_is_shown_their_place(page: Inside) -> None:
    nothing = ask(page).json
    assert (nothing["place"], nothing["spent"], nothing["budget"]) == (None, "ε = 0", "ε = 1")
    assert rows(page, "SELECT * FROM place") == []  # nobody is enrolled
    came, given = page.clock(), page.assign("ann")
    found = ask(page).json
    assert found["place"] == {
        "arm": given["arm"],
        "cost": "ε = 1",
        "assigned": came,
        "exposed": None,
        "ends": None,
        "taken_until": None,
        "reported": None,
    }
    page.clock.now += 3000
    ticket = page.seen("ann")
    place = ask(page).json["place"]
    assert (place["exposed"], place["ends"], place["taken_until"]) == (came + 3000, came + 23_000, came + 23_000)
    before = ask(page)
    assert page.study("report", {"ticket": ticket, "value": 1}).status == 200
    assert ask(page) == before, "it tells of reports"
    said = before.json
    assert said == {
        "study": "small",
        "about": "which letter is answered",
        "trust": "central",
        "operators": [],
        "spent": "ε = 1",
        "budget": "ε = 1",
        "period": None,
        "place": said["place"],
    }
    assert ticket.encode() not in before.body


def test_a_person_leaves(page: Inside) -> None:
    ann, bob = page.seen("ann"), page.seen("bob")
    for ticket in (ann, bob):
        assert page.study("report", {"ticket": ticket, "value": 1}).status == 200
    for _ in range(2):
        assert ask(page, verb="person/leave").json == {"status": "left"}
    assert rows(page, "SELECT ticket FROM reward") == [(bob,)]
    assert [found for (found,) in rows(page, "SELECT ticket FROM place WHERE person IS NOT NULL")] == [bob]
    found = ask(page).json
    assert (found["place"], found["spent"]) == (None, "ε = 1")
    assert page.assign("ann")["ticket"] is None
    assert ask(page, "nobody", "person/leave").json == {"status": "left"}


def check_refusals(page: Inside) -> None:
    """Whoever has no token of a person is shown nothing of them, and erases nothing."""
    ticket = page.seen("ann")
    wrong = {None: "missing", ticket: "malformed", sign(page, "bob"): "forged", sign(page, signer=1): "unknown_key"}
    wrong |= {sign(page, study="other"): "forged", sign(page, seconds=0): "expired"}
    for verb in ("person", "person/leave"):
        for token, why in wrong.items():
            found = ask(page, verb=verb, token=token)
            assert (found.status, found.code) == (401, f"token_{why}")
        for headers in ([("origin", SHOP), ("host", "bandit")], [("origin", "null"), ("host", "null")]):
            found = ask(page, verb=verb, headers=headers)
            assert (found.status, found.code) == (403, "wrong_origin")
            assert "access-control-allow-origin" not in found.headers
        assert page.study(verb, {"unit": "ann", "token": sign(page)}, "client").status == 403
    assert rows(page, "SELECT ticket FROM place WHERE person IS NOT NULL") == [(ticket,)]


def test_nobody_is_shown_or_erased_by_others(page: Inside) -> None:
    check_refusals(page)


def forget_tokens(patch: pytest.MonkeyPatch) -> None:
    """A service that asks for no token."""
    patch.setattr(person, "check_token", lambda *given: None)


def forget_origins(patch: pytest.MonkeyPatch) -> None:
    """A service that answers pages of all sites."""
    patch.setattr("maskedbandit.service.request.route.check_origin", lambda *given: None)


@pytest.mark.parametrize("twin", [forget_tokens, forget_origins])
def test_a_service_that_shows_others_is_found(
    page: Inside, monkeypatch: pytest.MonkeyPatch, twin: Callable[[pytest.MonkeyPatch], None]
) -> None:
    twin(monkeypatch)
    with pytest.raises((AssertionError, KeyError)):
        check_refusals(page)


def test_a_person_is_limited(page: Inside) -> None:
    page.host.people = Buckets(1, 2, lambda: 0.0)
    assert [ask(page).status for _ in range(3)] == [200, 200, 429]
    assert ask(page, "bob", token=sign(page, "bob")).status == 200


def test_with_two_operators_it_says_when_a_sealed_report_came(service: Inside, tmp_path: Path) -> None:
    helper = Helper().keys
    begin_study(service, helper, signed_by=PUBLIC[0])
    service.sign = lambda unit: sign(service, unit)
    add_key(service)
    ann = Person(service, tmp_path, "ann")
    assert ask(service).json["place"]["reported"] is None
    ann.join()
    service.clock.now += 5000
    ann.device.contact()
    found = ask(service).json
    assert found["trust"] == "distributed"
    assert [each["key"] for each in found["operators"]][1] == helper.fingerprint
    place = found["place"]
    assert (place["reported"], place["taken_until"] - place["ends"]) == (service.clock.now, 5000)
    ann.device.leave("small")
    assert ask(service).json["place"] is None


def test_under_local_trust_nothing_is_said_of_reports(service: Inside) -> None:
    service.sign = lambda unit: sign(service, unit)
    reward = {"rule": "first", "window": "20 seconds", "exposure": "10 seconds"}
    service.begin(signed_by=PUBLIC[0], channel={"name": "response", "epsilon": 1}, reward=reward)
    add_key(service)
    ticket = service.seen("ann")
    before = ask(service)
    assert service.study("report", {"ticket": ticket, "value": 1}).status == 200
    service.clock.now += 1
    assert ask(service) == before


@pytest.mark.slow
def test_the_page_is_the_same_for_all(page: Inside) -> None:
    found = page.ask("GET", "/person", key=None)
    assert found.status == 200
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert b'<script src="/static/person.js" defer></script>' in found.body
    assert page.ask("GET", "/person?unit=ann", key=None).body == found.body
    assert page.ask("GET", "/static/person.js", key=None).status == 200

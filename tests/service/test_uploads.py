"""Devices of people over HTTP: what they are handed, what they upload, and that they may leave."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskedbandit.service.api.uploads import UPLOAD_ANSWER
from maskedbandit.service.host.elsewhere import PROCESS, Elsewhere
from maskedbandit.service.request.limits import Buckets
from maskedbandit.store.databases.connection import open_database
from tests.service.inside import Inside
from tests.service.two_operators_inside import Person, begin_study
from tests.store.two_operators import Helper

WINDOW, GRACE = 20, 5  # seconds


@pytest.fixture
def small(service: Inside) -> Inside:
    """A service with a running study of two operators."""
    begin_study(service, Helper().keys)
    return service


def stored(service: Inside) -> list[tuple[str, int, str]]:
    """The reports that are stored."""
    database = open_database(service.address)
    try:
        return [tuple(row) for row in database.rows("SELECT ticket, turn, leader FROM upload ORDER BY received")]
    finally:
        database.close()


def last_body(person: Person) -> dict[str, object]:
    """The body of the last request."""
    return dict(json.loads(person.passed[-1].content))


def test_a_device_joins_with_what_assign_answers(small: Inside, tmp_path: Path) -> None:
    ann = Person(small, tmp_path, "ann")
    assert ann.place["exposed"] is None
    ann.join()
    assert ann.device.record("small", 1)
    small.clock.now += 1000
    ann.device.contact()
    assert ann.answers == ["stored", "stored"]
    ((ticket, turn, _),) = stored(small)
    assert (ticket, turn) == (ann.place["ticket"], 1)
    again = small.assign("ann")
    assert again["offer"] is None
    assert again["device"] == ann.place | {"again": True, "exposed": small.clock.now - 1000}


def test_an_upload_is_answered_in_one_size(small: Inside, tmp_path: Path) -> None:
    ann = Person(small, tmp_path, "ann")
    ann.join()
    body = last_body(ann)
    found = small.study("upload", body, None)
    assert found.json == {"status": "duplicate"}
    small.clock.now += 1000
    ann.device.contact()
    newer = last_body(ann)
    lower = small.study("upload", body, None)
    assert (lower.json, len(lower.body)) == ({"status": "duplicate"}, len(found.body))
    assert stored(small)[0][1] == 1
    bob = Person(small, tmp_path, "bob")
    bob.join()
    fresh = small.study("upload", last_body(bob) | {"turn": 1}, None)
    assert (fresh.json, len(fresh.body)) == ({"status": "stored"}, len(found.body))
    other = small.study("upload", last_body(bob) | {"turn": 1, "report": "0" * 32}, None)
    assert (other.status, other.code) == (409, "conflict")
    assert newer["turn"] == 1


def test_what_is_no_upload_is_refused(small: Inside, tmp_path: Path) -> None:
    ann = Person(small, tmp_path, "ann")
    early = Person(small, tmp_path, "early")
    ann.join()
    body = last_body(ann) | {"turn": 5}
    short = body | {"helper": body["leader"]}
    wrong = [short, body | {"helper": "AA"}, body | {"helper": "*" * 8}, body | {"turn": -1}, body | {"turn": 2**32}]
    wrong += [body | {"report": "0" * 31}, body | {"more": 1}, body | {"turn": "5"}, body | {"helper": "A" * 2000}]
    for each in wrong:
        assert small.study("upload", each, None).status == 422, each
    assert small.study("upload", body | {"helper": "A" * 5000}, None).status == 413
    assert small.study("upload", body | {"ticket": "0" * 32}, None).code == "unknown_ticket"
    assert small.study("upload", body | {"ticket": early.place["ticket"]}, None).code == "not_exposed"
    assert small.study("upload", body, None, "nothing").code == "unknown_study"
    assert [turn for _, turn, _ in stored(small)] == [0]
    small.clock.now += 1000 * (WINDOW + GRACE) + 1
    assert small.study("upload", body, None).code == "late"


def test_a_report_in_the_clear_is_refused(small: Inside, tmp_path: Path) -> None:
    ann = Person(small, tmp_path, "ann")
    ann.join()
    assert small.study("report", {"ticket": ann.place["ticket"], "value": 1}).code == "personal_value"


def test_other_studies_take_no_upload(service: Inside) -> None:
    service.begin()
    ticket = service.seen("ann")
    body = {"ticket": ticket, "report": "0" * 32, "turn": 0, "leader": "AAAA", "helper": "AAAA"}
    assert service.study("upload", body, None).code == "invalid_value"
    assert service.assign("ann")["device"] is None


def test_whoever_leaves_is_erased(small: Inside, tmp_path: Path) -> None:
    ann, bob = (Person(small, tmp_path, unit) for unit in ("ann", "bob"))
    for each in (ann, bob):
        each.join()
    ann.device.leave("small")
    assert [ticket for ticket, *_ in stored(small)] == [bob.place["ticket"]]
    database = open_database(small.address)
    assert database.rows("SELECT COUNT(*) FROM place WHERE ticket = ?", ann.place["ticket"]) == [(0,)]
    database.close()
    for _ in range(2):  # the same, however often it is asked, and of whatever ticket
        assert small.study("leave", {"ticket": ann.place["ticket"]}, None).json == {"status": "left"}
    assert small.study("leave", {"ticket": "nobody"}, None).json == {"status": "left"}
    assert small.assign("ann")["ticket"] is None


def test_devices_are_limited(small: Inside, tmp_path: Path) -> None:
    ann = Person(small, tmp_path, "ann")
    ann.join()
    body = last_body(ann)
    now = [0.0]
    small.host.tickets = Buckets(1, 2, lambda: now[0])
    assert [small.study("upload", body, None).status for _ in range(3)] == [200, 200, 429]
    assert small.study("leave", {"ticket": body["ticket"]}, None).status == 429
    now[0] = 1
    assert small.study("upload", body, None).status == 200
    small.host.tickets, small.host.devices = Buckets(1e9, 1e9), Buckets(1, 2, lambda: now[0])
    assert [small.study("upload", body, None).status for _ in range(3)] == [200, 200, 429]
    sealed = [(PROCESS, small.host.process_seal.decode())]
    path = "/v1/studies/small/upload"
    assert small.ask("POST", path, body, None, sealed).status == 200  # counted where it came from
    assert small.ask("POST", path, body, None, [(PROCESS, "0" * 64)]).status == 429


def test_nothing_is_counted_of_devices(small: Inside, tmp_path: Path) -> None:
    def counted() -> str:
        found = small.host.metrics.registry.collect()
        return repr([(each.name, each.labels, each.value) for metric in found for each in metric.samples])

    ann = Person(small, tmp_path, "ann")
    ann.join()
    before = counted()
    ann.device.contact()
    small.study("upload", {"ticket": "nobody"}, None)
    ann.device.leave("small")
    assert counted() == before


def test_uploads_are_relayed_to_the_process_that_holds_the_study(small: Inside, tmp_path: Path) -> None:
    ann = Person(small, tmp_path, "ann")
    ann.join()
    body, host = last_body(ann), small.host
    writer = host.held["small"]

    class Holder:
        """The other process, which is this one as soon as it is asked."""

        async def request(self, method: str, url: str, headers: dict[str, str], content: bytes, **more: Any) -> Any:
            elsewhere, host.held["small"] = host.held["small"], writer
            given = [*host._client.headers.items(), *headers.items()]
            found = await small.asked(method, url.removeprefix("http://there"), content, None, given)
            host.held["small"] = elsewhere
            return httpx.Response(found.status, headers=found.headers, content=found.body)

    host.held["small"] = Elsewhere("small", "host 1 x", "http://there", Holder())
    now = [0.0]
    host.devices = Buckets(1, 3, lambda: now[0])
    said = [small.study("upload", each, None) for each in (body, body | {"turn": 3})]
    assert [(each.status, each.json["status"], len(each.body)) for each in said] == [
        (200, "duplicate", UPLOAD_ANSWER),
        (200, "stored", UPLOAD_ANSWER),
    ]
    assert small.study("leave", {"ticket": body["ticket"]}, None).json == {"status": "left"}
    assert small.study("leave", {"ticket": body["ticket"]}, None).status == 429  # each was counted once
    host.held["small"] = writer
    assert stored(small) == []


def test_a_flag_hands_the_place_over_as_text(small: Inside) -> None:
    """Metadata of OpenFeature are flat; an evaluated flag counts as seen."""
    found = small.ask("POST", "/ofrep/v1/evaluate/flags/small", {"context": {"targetingKey": "ann"}}).json["metadata"]
    place = json.loads(found["device"])
    assert (place["ticket"], place["again"], place["exposed"]) == (found["ticket"], False, small.clock.now)
    assert "offer" not in found
    (flag,) = small.ask("POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "ann"}}).json["flags"]
    assert flag["metadata"]["ticket"] == found["ticket"]
    assert "offer" not in flag["metadata"]

"""Who is enrolled, over HTTP: what is said of a person is believed, is used at once, and is not kept."""

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from maskedbandit.service.host.elsewhere import Elsewhere, count_that_fit
from maskedbandit.service.messages import Assign, AssignBatch, Assigned, Item, Items
from maskedbandit.service.request.limits import BATCH, BODY
from maskedbandit.store import people
from tests.for_each import for_each
from tests.service.inside import Inside
from tests.service.test_site import Eyes

RULES = {"default": "b", "eligible": {"age": {"least": 18}, "land": ["DE", "AT"], "beta": True}}
FITS = {"age": 18, "land": "AT", "beta": True}
FLAG = "/ofrep/v1/evaluate/flags/small"


@pytest.fixture
def study(service: Inside) -> Inside:
    service.begin(enrolment=RULES)
    return service


def test_whoever_is_not_eligible_gets_the_default_arm_and_no_ticket(study: Inside) -> None:
    turned_away = {
        "study": "small",
        "arm": "b",
        "payload": None,
        "ticket": None,
        "propensity": "1",
        "again": False,
        "offer": None,
        "exposed": False,
        "why": "not_eligible",
        "device": None,
    }
    for attributes in (None, {}, FITS | {"age": 17}, FITS | {"beta": "true"}, {"age": 18}):
        assert study.study("assign", {"unit": "ann", "attributes": attributes}).json == turned_away
    enrolled = study.study("assign", {"unit": "ann", "attributes": FITS}).json
    assert (enrolled["why"], enrolled["again"], len(enrolled["ticket"])) == (None, False, 32)
    again = study.study("assign", {"unit": "ann"}).json
    assert (again["ticket"], again["again"]) == (enrolled["ticket"], True)


def test_each_of_a_batch_is_looked_at_alone(study: Inside) -> None:
    wanted = [
        {"unit": "ann", "attributes": FITS},
        {"unit": "bob"},
        {"unit": "eve", "attributes": FITS | {"land": "CH"}},
    ]
    found = study.study("assign/batch", {"requests": wanted}).json["items"]
    assert [each["answer"]["why"] for each in found] == [None, "not_eligible", "not_eligible"]


WRONG: list[Any] = [
    5,
    [],
    "age",
    {"a name": 1},
    {"": 1},
    {"x" * 65: 1},
    {"age": None},
    {"age": [18]},
    {"age": {"least": 18}},
    {"land": "secret" * 50},
    {f"a{i}": 1 for i in range(33)},
]


@for_each("attributes", WRONG)
def test_attributes_of_other_kinds_are_refused_and_not_shown(study: Inside, attributes: Any) -> None:
    found = study.study("assign", {"unit": "ann", "attributes": attributes})
    assert (found.status, found.code) == (422, "invalid_value")
    assert "secret" not in found.body.decode()
    assert "a name" not in found.body.decode()


@for_each("raw", [b"1e999", b"NaN", b'"\\ud800"', b"9" * 400])
def test_numbers_and_texts_that_are_none_are_refused(study: Inside, raw: bytes) -> None:
    assert study.study("assign", b'{"unit": "ann", "attributes": {"age": ' + raw + b"}}").status == 422


def test_the_context_of_a_flag_has_the_attributes(study: Inside) -> None:
    other = {"tags": ["a"], "nested": {"age": 3}, "none": None, "long": "x" * 257, "a name": 1, "huge": 10**30}
    told = study.ask("POST", FLAG, {"context": {"targetingKey": "ann", **other}}).json
    assert (told["variant"], told["reason"], told["metadata"]["why"]) == ("b", "DEFAULT", "not_eligible")
    told = study.ask("POST", FLAG, {"context": {"targetingKey": "ann", **FITS, **other}}).json
    assert (told["reason"], "ticket" in told["metadata"]) == ("SPLIT", True)


def test_a_context_that_says_more_than_an_assignment_may_is_refused(study: Inside) -> None:
    much = {"targetingKey": "ann", **{f"field{i}": i for i in range(33)}}
    found = study.ask("POST", FLAG, {"context": much})
    assert (found.status, found.json["errorCode"]) == (400, "INVALID_CONTEXT")
    assert "at most 32" in found.json["errorDetails"]
    assert study.ask("POST", "/ofrep/v1/evaluate/flags", {"context": much}).json == {"flags": []}


def test_evaluating_all_flags_enrols_nobody(study: Inside) -> None:
    assert study.ask("POST", "/ofrep/v1/evaluate/flags", {"context": {"targetingKey": "ann", **FITS}}).json == {
        "flags": []
    }
    assert study.study("assign", {"unit": "ann"}).json["why"] == "not_eligible"


def find_traces(study: Inside, folder: Path, caplog: pytest.LogCaptureFixture) -> set[str]:
    """Where there is anything of what was said of people: in files, or in the log."""
    caplog.set_level(logging.DEBUG)
    said = FITS | {"diagnosis": "a-rare-disease"}
    study.study("assign", {"unit": "ann", "attributes": said})
    study.study("assign", {"unit": "bob", "attributes": said | {"age": 3}})
    study.study("assign", {"unit": "eve", "attributes": said | {"diagnosis": ["a-rare-disease"]}})
    study.ask("POST", FLAG, {"context": {"targetingKey": "joe", **said}})
    study.tick()
    files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert len(files) > 2
    kept = {name for name, content in files.items() if b"disease" in content or b"diagnosis" in content}
    return kept | ({"the log"} if "disease" in caplog.text or "diagnosis" in caplog.text else set())


def test_nothing_of_it_is_kept_or_logged(study: Inside, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert find_traces(study, tmp_path, caplog) == set()


def test_a_service_that_keeps_or_logs_what_is_said_is_found(
    study: Inside, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = people.check_attributes

    def twin(given: Any) -> Any:
        logging.getLogger("maskedbandit").debug("it is said that %s", given)
        (tmp_path / "kept").write_text(repr(given))
        return real(given)

    monkeypatch.setattr(people, "check_attributes", twin)
    assert find_traces(study, tmp_path, caplog) == {"kept", "the log"}


def test_a_study_whose_part_is_taken_is_not_started_and_says_by_whom(service: Inside) -> None:
    part = {"project": "shop", "enrolment": {"group": {"name": "checkout", "below": "1/2"}}}
    table = service.begin(**part, name="first")
    assert service.ask("POST", "/v1/studies", table | {"name": "second"}, "owner").status == 201
    refused = service.start("second")
    assert (refused.status, refused.code) == (409, "conflict")
    assert "first is running: it must be stopped first" in refused.json["detail"]
    assert service.study("stop", key="owner", name="first").status == 200
    assert service.start("second").status == 200


def test_the_ramp_goes_on_with_the_clock(service: Inside) -> None:
    service.begin(enrolment={"ramp": {"shares": ["1/4"], "every": "1 hour"}})
    first = [service.assign(f"person {i}")["why"] for i in range(200)]
    assert set(first) == {None, "not_yet"}  # all the same with probability (3/4)^200 at most
    service.tick(3600)
    assert "not_yet" not in {service.assign(f"person {i}")["why"] for i in range(200)}


def test_the_page_and_the_statement_say_who_the_people_are(service: Inside) -> None:
    ramp, group = {"shares": ["1/20", "1/4"], "every": "1 day"}, {"name": "checkout", "below": "1/2"}
    service.begin(enrolment=RULES | {"ramp": ramp, "group": group})
    (eyes := Eyes(service)).sign_in("officer")
    page = eyes.get("/studies/small").body.decode()
    rules = 'age is at least 18, beta is true and land is "DE" or "AT"'
    for said in (
        rules.replace('"', "&#34;"),
        "1/20 of the people from the start, 1/4 after 1 day, and all after 2 days",
    ):
        assert said in page
    assert "b, and nobody asks for their outcomes" in page
    statement = service.ask("GET", "/v1/studies/small/statement", None, "officer").json
    assert rules in statement["points"]["bias"]
    assert "from 0 to 1/2 of the group checkout" in statement["points"]["bias"]
    assert any(rules in each for each in statement["not_protected"])
    assert any("follows from no outcome of this study" in each for each in statement["assumptions"])


class Holder:
    """The process that holds a study, which takes what fits a body."""

    def __init__(self) -> None:
        self.bodies = list[bytes]()

    async def request(self, method: str, url: str, content: bytes, **more: Any) -> httpx.Response:
        self.bodies.append(content)
        assert len(content) <= BATCH
        many = len(msgspec.json.decode(content, type=AssignBatch).requests)
        given = Assigned("small", "a", None, "t1", "1/2", False)
        return httpx.Response(200, content=msgspec.json.encode(Items([Item(200, given)] * many)))


def test_a_process_that_does_not_hold_a_study_sends_all_that_is_said_in_bodies_that_fit() -> None:
    """However long they are: of the longest a batch has 16, and of others as many as came."""
    said: dict[str, Any] = {f"{i:064d}": "\u0001" * 256 for i in range(32)}
    assert 50_000 < len(json.dumps({"unit": "ann", "attributes": said})) <= BODY
    holder = Holder()

    async def ask() -> list[Any]:
        there = Elsewhere("small", "host 1 x", "http://there", holder)
        return await asyncio.gather(*[there.ask(Assign(f"u{i}", attributes=said), "key") for i in range(60)])

    assert len(asyncio.run(ask())) == 60
    sent = [each for body in holder.bodies for each in json.loads(body)["requests"]]
    assert [each["unit"] for each in sent] == [f"u{i}" for i in range(60)]
    assert all(each["attributes"] == said for each in sent)
    assert len(holder.bodies) > 2


def test_a_body_of_any_size_that_is_taken_fits_a_batch() -> None:
    longest = BODY + 1000  # it may be written with more letters than it came with
    assert count_that_fit([longest] * 300) == BATCH // (longest + 1)
    assert count_that_fit([0] * 300) == 300

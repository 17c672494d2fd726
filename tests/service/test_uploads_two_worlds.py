"""Two services that differ in one outcome of one person: whatever anybody sees of them is the same until the release.

Devices send what holds by then at each contact, and so does the victim's. Seen is what every answer says and how long
it is, in its order, what the helper is asked, metrics, the log, pages, and the rows of all tables; of seals, hashes and
uniform numbers the sizes alone. What is drawn is the same in both, but for what seals draw, and so are the totals.
"""

import json
import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.privacy.sampling import Bits
from maskedbandit.service.api.uploads import UPLOAD_ANSWER
from maskedbandit.service.host.scrubbing import Scrubbing
from maskedbandit.service.logs import JsonLines
from maskedbandit.store import writer
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys
from tests.service.fake_helper import FakeHelper
from tests.service.inside import Inside
from tests.service.test_people import PUBLIC, sign
from tests.service.two_operators_inside import Person, begin_study
from tests.store.small_study import Clock
from tests.store.test_settle_privacy import check_same, fix_draws, hidden

WINDOW, GRACE, PEOPLE, VICTIM = 20, 5, 4, 2
SHORT = re.compile(  # what is random in each world, the public parts of keys among it
    r"""(?<=["'])[0-9a-f]{8}(?=\\*["'])|[0-9a-f]{10,}|[A-Za-z0-9_-]{32,}={0,2}"""
)
PATHS = ("", "/releases", "/ledger", "/results", "/ledger/head")
Contact = Callable[[Person, float], None]


def contact_always(person: Person, value: float) -> None:
    """What a device does."""
    person.device.contact()


class Seen(logging.Handler):
    """All that is seen of a world."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.all = list[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """A line of the log."""
        self.note("log", json.loads(self.format(record)) | {"time": None})

    def note(self, what: str, said: Any) -> None:
        """Something is seen."""
        self.all.append(SHORT.sub(lambda found: f"#{len(found[0])}", f"{what}: {hidden(said)}"))


def play(folder: Path, outcome: float, patch: pytest.MonkeyPatch, contact: Contact = contact_always) -> list[str]:
    """A world in which the victim has this outcome: all that is seen."""
    folder.mkdir()
    seen, clock = Seen(), Clock()
    fix_draws(patch, clock)
    patch.setattr("maskedbandit.device.device.urandom", Random("devices").randbytes)
    patch.setattr("maskedbandit.device.device.Bits", lambda: Bits(Random("coins").randbytes))
    patch.setattr("maskedbandit.service.host.hosting.read_clock", clock)
    patch.setattr("maskedbandit.service.host.hosting.name_holder", lambda: "tester")
    for where in ("request.route", "host.hosting"):
        patch.setattr(f"maskedbandit.service.{where}.perf_counter", lambda: 0.0)
    patch.setattr(Scrubbing, "begin", lambda self: None)
    patch.setattr(writer, "LONGEST", 60.0)
    logging.getLogger("maskedbandit").addHandler(seen)
    service = Inside(f"sqlite:///{folder}/studies.db", folder / "witness", clock=clock)
    try:
        helper = FakeHelper(folder, clock)
        helper.pair(read_own_keys(service.host.witness))
        helper.lie = lambda what, said: seen.note(f"helper {what}", said) or said
        service.host.links.transport = helper
        service.sign = partial(sign, service)
        begin_study(service, helper.keys, signed_by=PUBLIC[0])
        service.keys["device"] = service.scoped("device", "small")
        service.tick()
        play_people(service, folder, outcome, contact, seen)
        helper.close()
    finally:
        logging.getLogger("maskedbandit").removeHandler(seen)
        service.close()
    return seen.all


def play_people(service: Inside, folder: Path, outcome: float, contact: Contact, seen: Seen) -> None:
    """People come, contact the service, one leaves, and their cohorts are released."""
    people = [Person(service, folder, f"person{i}") for i in range(PEOPLE)]
    for person in people:
        person.join()
    for _ in range(2):
        service.clock.now += 3000
        for i, person in enumerate(people):
            value = outcome if i == VICTIM else i % 2
            person.device.record("small", value)
            contact(person, value)
            for request in person.passed:
                seen.note("wire", (request.url.path, len(request.content), dict(request.headers)))
            person.passed.clear()
            seen.note("answers", person.answers)
        look(service, seen)
    people[0].device.leave("small")
    for seconds in (1, WINDOW + GRACE, 61):
        service.tick(seconds)
        service.run(service.host.links.rest())
        look(service, seen)


def look(service: Inside, seen: Seen) -> None:
    """What others may ask, metrics, and all rows."""
    for path in PATHS:
        found = service.ask("GET", f"/v1/studies/small{path}", key="owner")
        del found.headers["content-length"]  # a uniform number has one digit less now and then
        seen.note(path, (found.status, found.headers, found.body.decode()))
    for unit in (f"person{i}" for i in range(PEOPLE)):
        found = service.study("person", {"unit": unit, "token": sign(service, unit)}, "device")
        seen.note("person", (found.status, found.headers, found.body.decode()))
    seen.note("ready", service.ask("GET", "/readyz", key=None).body.decode())
    metrics = service.host.metrics.registry.collect()
    seen.note("metrics", [(each.name, each.labels, each.value) for one in metrics for each in one.samples])
    database = open_database(service.address)
    for table in sorted(database.tables() - {"sqlite_stat1", "api_key"}):
        seen.note(table, sorted(map(hidden, database.rows(f"SELECT * FROM {table}"))))
    database.close()


@pytest.fixture
def worlds(tmp_path: Path) -> Callable[..., list[list[str]]]:
    """What is seen of both worlds."""

    def both(**more: Any) -> list[list[str]]:
        found = []
        for outcome in (0, 1):
            with pytest.MonkeyPatch.context() as patch:
                found.append(play(tmp_path / str(outcome), outcome, patch, **more))
        return found

    return both


@pytest.mark.slow
def test_worlds_that_differ_in_an_outcome_look_alike(worlds: Callable[..., list[list[str]]]) -> None:
    first, second = worlds()
    assert sum(each.startswith("wire") for each in first) == 3 * PEOPLE
    assert sum("/total" in each.partition(":")[0] for each in first) == 2
    check_same(first, second)


def contact_if_it_happened(person: Person, value: float) -> None:
    """The application calls `contact` because of an outcome."""
    if value:
        person.device.contact()


@pytest.mark.slow
def test_a_contact_because_of_an_outcome_is_seen(worlds: Callable[..., list[list[str]]]) -> None:
    with pytest.raises(AssertionError, match="it is seen"):
        check_same(*worlds(contact=contact_if_it_happened))


def show_others(seen: list[str]) -> list[str]:
    """What is seen by all but the leader and the network: answers to others, metrics and the log."""
    kinds = ("log", "metrics", "ready", *PATHS)
    # after the release the helper's statement has the number of reports, which both operators publish
    return [re.sub(r'reports[\\\\"]*:[0-9]', "", each) for each in seen if each.partition(":")[0] in kinds]


@pytest.mark.slow
def test_whether_there_are_uploads_is_in_no_metric_and_no_log(worlds: Callable[..., list[list[str]]]) -> None:
    check_same(*map(show_others, worlds(contact=contact_if_it_happened)))


@pytest.mark.slow
def test_a_service_that_counts_uploads_is_found(
    worlds: Callable[..., list[list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maskedbandit.service.host.metrics.is_of_reports", lambda route: "report" in route)
    with pytest.raises(AssertionError, match="it is seen"):
        check_same(*map(show_others, worlds(contact=contact_if_it_happened)))


def test_answers_of_several_sizes_are_found(service: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin_study(service, FakeHelper(tmp_path, service.clock).keys)
    ann = Person(service, tmp_path, "ann")
    ann.join()
    body = json.loads(ann.passed[-1].content)

    def sizes() -> set[int]:
        newer = body | {"turn": 1 + service.clock.now % 1000, "report": f"{service.clock.now:032x}"}
        service.clock.now += 1
        return {len(service.study("upload", each, None).body) for each in (newer, newer, body)}

    assert sizes() == {UPLOAD_ANSWER}
    monkeypatch.setattr("maskedbandit.service.api.uploads.UPLOAD_ANSWER", 0)
    assert len(sizes()) == 2

"""What one process holds, and another: nobody is asked twice at once, nothing goes round, and no study is let go for
nothing."""

import asyncio
import hmac
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import BehindWitness, FencedOff, StorageFailed, TooMany
from maskedbandit.service.host import hosting as hosts
from maskedbandit.service.host import questions
from maskedbandit.service.host.elsewhere import RELAYED, Elsewhere
from maskedbandit.service.host.host import Host
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.lease import name_holder, read_clock
from maskedbandit.store.writer import Writer
from tests.service.inside import TABLE, Inside
from tests.service.live import LATE, live

HERE, THERE = "http://127.0.0.1:1", "http://127.0.0.1:2"


def taken(service: Inside, holder: str) -> None:
    """Another process, which lives, holds the study."""
    service.run(service.host.drop("small"))
    database = open_database(service.address)
    with database.transaction():
        lease = "UPDATE study SET holder = ?, lease = ?, fence = fence + 1"
        database.change(lease, holder, read_clock() + 10**9)
    database.close()


def held_by(service: Inside, url: str) -> str:
    """The name of a holder that is reached there."""
    service.host.url = url
    return service.host._holder()


@pytest.mark.slow
def test_a_server_that_begins_loads_no_statistics_and_nothing_of_few_studies(tmp_path: Path) -> None:
    """Statistics would take half of the time until it listens, and only what forecasts and plans needs them."""
    with live(tmp_path, command=("-X", "importtime", "-m", "maskedbandit", "serve")) as server:
        assert "maskedbandit.service.app" in server.said()
        found = {
            part for part in ("scipy", "reports.plan.plan", "lab.goals.drive", "Cryptodome") if part in server.said()
        }
        assert found == set()


def test_a_refused_draft_leaves_a_running_study_alone(service: Inside) -> None:
    service.begin()
    held = service.host.held["small"]
    assert service.ask("POST", "/v1/studies", TABLE, "owner").code == "conflict"
    assert service.host.held["small"] is held


def test_a_draft_that_is_written_anew_is_opened_anew(service: Inside) -> None:
    digest = service.ask("POST", "/v1/studies", TABLE, "owner").json["protocol"]
    assert service.study("assign", {"unit": "ann"}).code == "not_running"  # which opened it
    changed = service.ask("PUT", "/v1/studies/small", TABLE | {"people": 500}, "owner", [("if-match", digest)])
    assert changed.status == 200
    assert service.start().status == 200
    held = service.host.held["small"]
    assert isinstance(held, Writer)
    assert held.study.protocol.people == 500


def test_whoever_asks_while_a_study_is_given_back_waits(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin()
    real = Writer.close

    async def both() -> tuple[Writer | Elsewhere, list[str]]:
        order, closing, loop = list[str](), asyncio.Event(), asyncio.get_running_loop()

        def close(writer: Writer) -> None:
            loop.call_soon_threadsafe(closing.set)
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(LATE)
            real(writer)
            order.append("closed")

        monkeypatch.setattr(Writer, "close", close)
        dropping = asyncio.ensure_future(service.host.drop("small"))
        await asyncio.wait_for(closing.wait(), LATE)
        found = await service.host.hold("small")
        order.append("opened")
        await dropping
        return found, order

    found, order = service.run(both())
    assert isinstance(found, Writer)
    assert order == ["closed", "opened"]


def test_no_process_sends_requests_to_itself(service: Inside) -> None:
    service.begin()
    taken(service, held_by(service, HERE))  # as two processes that are told the same --url, or this one a moment ago
    assert service.study("assign", {"unit": "ann"}).code == "fenced_off"
    assert "small" not in service.host.held


def test_requests_are_sent_on_once(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin()
    taken(service, held_by(service, THERE))
    service.host.url = HERE
    sent = []

    async def request(*given: Any, headers: dict[str, str], **more: Any) -> Any:
        sent.append(headers)
        raise hosts.httpx.ConnectError("nobody is there")

    monkeypatch.setattr(hosts.httpx.AsyncClient, "request", request)
    for headers, times in (([], 1), ([(RELAYED, "1")], 0)):
        sent.clear()
        for verb, body in (("assign", {"unit": "ann"}), ("budget", {"ticket": "a"}), ("pause", None)):
            key = "officer" if verb == "pause" else "client"
            found = service.ask("POST", f"/v1/studies/small/{verb}", body, key, headers)
            assert (found.status, found.code) == (503, "fenced_off")
        assert len(sent) == 3 * times
        assert all(each[RELAYED] == "1" for each in sent)


def test_keys_are_sent_to_no_process_without_the_witness(service: Inside) -> None:
    service.begin()
    wrong = hmac.digest(bytes(32), b"holder", sha256).hex()
    for holder in (
        f"{name_holder()} {THERE}",
        f"{name_holder()} {wrong} {THERE}",
        held_by(service, THERE) + "3",
        THERE,
    ):
        service.host.url = HERE
        taken(service, holder)
        service.tick()
        with pytest.raises(FencedOff):
            service.run(service.host.hold("small"))


@pytest.fixture
def opened(service: Inside, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The studies that were tried to be opened, without success."""
    tried = list[str]()

    def behind(self: Host, name: str) -> None:
        tried.append(name)
        raise BehindWitness("this is an old copy")

    service.begin()
    service.run(service.host.drop("small"))
    monkeypatch.setattr(Host, "_open", behind)
    return tried


def test_a_study_that_cannot_be_opened_is_tried_once_in_a_round(service: Inside, opened: list[str]) -> None:
    many = [("POST", "/v1/studies/small/assign", {"unit": f"person {i}"}) for i in range(20)]
    assert {reply.code for reply in service.together(*many)} == {"behind_witness"}
    assert opened == ["small"]
    service.tick()
    assert opened == ["small", "small"]


def test_of_an_unknown_study_nothing_is_opened(service: Inside, opened: list[str]) -> None:
    assert service.study("assign", {"unit": "ann"}, name="other").code == "unknown_study"
    assert opened == []


def test_a_clock_that_hangs_or_fails_is_not_ready(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin()
    ready = partial(service.ask, "GET", "/readyz", None, None)
    gauge = partial(service.host.metrics.registry.get_sample_value, "maskedbandit_ready")
    service.tick()
    assert (ready().status, gauge()) == (200, 1)
    service.host._round_since = hosts.monotonic() - hosts.STALLED
    assert ready().status == 503
    service.tick()
    assert ready().status == 200

    def failing(database: Database) -> None:
        raise StorageFailed("the database is away")

    async def failed() -> None:
        going = asyncio.ensure_future(service.host._go_on())
        while service.host.ready:
            await asyncio.sleep(0)
        going.cancel()

    async def at_once(seconds: float, real: Any = asyncio.sleep) -> None:
        await real(0)

    monkeypatch.setattr(service.host.keys, "read", failing)
    monkeypatch.setattr(hosts.asyncio, "sleep", at_once)
    service.run(failed())
    assert (ready().status, gauge()) == (503, 0)


def test_questions_do_not_pile_up(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    service.begin()
    monkeypatch.setattr(questions, "MOST_QUESTIONS", 2)
    replies = service.together(*[("GET", "/v1/studies", None, "owner")] * 5)
    assert sorted(reply.status for reply in replies) == [200, 200, 429, 429, 429]
    service.tick()  # the clock goes on
    assert service.host.questions.waiting == 0
    assert TooMany("x").code == "too_many"

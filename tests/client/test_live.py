"""Against the real service on a real socket: nothing is lost or doubled, whatever the network does."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from maskedbandit.channels.local import Local
from maskedbandit.client import AsyncClient, Client, delivery
from maskedbandit.client.openfeature import MaskedBanditProvider
from maskedbandit.client.outbox import Message, Outbox
from maskedbandit.errors import Forbidden, InvalidValue, Unauthorized, UnknownStudy
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from tests.client.live_service import LiveService
from tests.client.test_outbox import anew, forgetful
from tests.store.small_study import small_protocol

PEOPLE, EVENTS = 10, 2
FAULTS = ("drop request", "drop response", "duplicate", "reorder", "unavailable")
ROOMY = {"name": "successive_elimination", "least": 20}
WINDOW = {"window": "1 hour", "exposure": "1 hour", "rule": "sum", "most": 10}


class Proxy(httpx.AsyncBaseTransport):
    """A real connection that loses, repeats and holds back what it is given."""

    def __init__(self, seed: int, faults: int) -> None:
        self.real, self.held = httpx.AsyncHTTPTransport(trust_env=False), list[httpx.Request]()
        self.random, self.left = random.Random(seed), faults

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.left -= 1
        fault = self.random.choice([*FAULTS, None, None]) if self.left > 0 else None
        if fault == "drop request":
            raise httpx.ConnectError("refused")
        if fault == "unavailable":
            return httpx.Response(503)
        if fault == "reorder":
            self.held.append(request)
            raise httpx.ReadTimeout("nothing came")
        response = await self.sent(request)
        if fault == "duplicate":
            response = await self.sent(request)
        while self.held:
            await self.sent(self.held.pop())
        if fault == "drop response":
            raise httpx.RemoteProtocolError("the server went away")
        return response

    async def sent(self, request: httpx.Request) -> httpx.Response:
        response = await self.real.handle_async_request(request)
        content = await response.aread()
        await response.aclose()
        return httpx.Response(response.status_code, headers=response.headers, content=content)

    async def aclose(self) -> None:
        await self.real.aclose()


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "MESSAGES_TOGETHER", 4)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveService]:
    with LiveService(tmp_path, small_protocol(reward=WINDOW, policy=ROOMY)).running() as service:
        yield service


def play(live: LiveService, folder: Path) -> tuple[int, int]:
    """How many of what was reported the database has lost, and how many it has too much."""
    sent, proxy = {}, Proxy(seed=1, faults=60)
    with Client(
        live.url, live.key, live.study, fallback="a", folder=folder, deadline=60, transport=lambda: proxy
    ) as client:

        def ticket_of(unit: str) -> str:
            visits = (client.assign(unit).ticket for _ in range(60))  # both requests were lost: the person comes again
            return next(ticket for ticket in visits if ticket is not None)

        tickets = [ticket_of(f"unit {i}") for i in range(PEOPLE)]
        for event in range(EVENTS):
            for i, ticket in enumerate(tickets):
                client.expose(ticket)
                client.report(ticket, i / 2, f"event {event}")
                sent[ticket, f"event {event}"] = i / 2
        assert client.flush(timeout=120)
    assert len(live.rows("SELECT ticket FROM place")) == PEOPLE == len(set(tickets))
    found = live.reports()
    return len(sent.items() - found.items()), len(found.items() - sent.items())


@pytest.mark.slow
def test_nothing_is_lost_or_doubled(live, tmp_path) -> None:
    assert play(live, tmp_path / "client") == (0, 0)
    database = open_database(live.address)
    verify_study(database, find_witness(database, live.witness), live.study)
    database.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "name", "mutant"),
    [(Outbox, "next", forgetful), (Message, "body", property(anew))],
    ids=["forgets", "anew"],
)
def test_the_mutants_lose_or_double(live, tmp_path, monkeypatch, where, name, mutant) -> None:
    monkeypatch.setattr(where, name, mutant)
    assert play(live, tmp_path / "client") != (0, 0)


@pytest.mark.slow
def test_both_outcomes_of_a_person_arrive(tmp_path) -> None:
    guardrail = {"name": "harm", "harm": {"above": 0.2}}
    live = LiveService(tmp_path, small_protocol(reward=WINDOW, policy=ROOMY, guardrail=guardrail))
    how = {"fallback": "a", "folder": tmp_path / "client", "deadline": 60}
    with live.running(), Client(live.url, live.key, live.study, **how) as client:
        ann = client.assign("ann")
        client.expose(ann.ticket)
        client.report(ann.ticket, 2, "x")
        client.report(ann.ticket, 1, "x", metric="harm")
        client.report(ann.ticket, 0, metric="other")  # which the service refuses
        with pytest.raises(InvalidValue):
            client.report(ann.ticket, 0, metric="a b")
        assert client.flush(timeout=60)
        assert client.refused == {"personal_value": 1}
    assert live.reports() == {(ann.ticket, "x"): 2.0, (ann.ticket, "guardrail\nx"): 1.0}


def test_a_server_that_was_away_gets_what_was_reported_meanwhile(tmp_path) -> None:
    live = LiveService(tmp_path, small_protocol(reward=WINDOW, policy=ROOMY))
    with live.running():
        client = Client(live.url, live.key, live.study, fallback="a", folder=tmp_path / "client", deadline=60)
        ann = client.assign("ann")
        client.expose(ann.ticket)
        assert client.flush(timeout=60)
    away = client.assign("ann")
    assert (away.arm, away.ticket, away.why) == (ann.arm, None, "unreachable")
    client.report(ann.ticket, 3)
    assert not client.flush(timeout=0.05)
    with live.running():
        assert client.flush(timeout=60)
        assert client.assign("ann").ticket == ann.ticket
    client.close()
    assert live.reports() == {(ann.ticket, ""): 3.0}


def test_mistakes_are_said(live, tmp_path) -> None:
    def asked(key: str, study: str) -> None:
        with Client(live.url, key, study, fallback="a", folder=tmp_path / "client", deadline=60) as client:
            client.assign("ann")

    with pytest.raises(Unauthorized):
        asked("wrong", live.study)
    with pytest.raises(Forbidden):
        asked(live.key, "another")  # the key is for one study
    with pytest.raises(UnknownStudy):
        asked(live.wide_key, "another")


def test_the_service_refuses_for_good_what_it_said_it_would(live, tmp_path) -> None:
    with Client(live.url, live.key, live.study, fallback="a", folder=tmp_path / "client", deadline=60) as client:
        ann, bob = client.assign("ann"), client.assign("bob")
        client.expose(ann.ticket)
        for value in (1, 2, 5000):
            client.report(ann.ticket, value)
        client.report(ann.ticket, 5000, "another")
        client.report("f" * 32, 1)
        client.report(bob.ticket, 1)
        client.report(ann.ticket, 2, "third")
        assert client.flush(timeout=60)
        refused = dict(client.refused)
    assert refused == {"conflict": 1, "personal_value": 2, "unknown_ticket": 1, "not_exposed": 1}
    assert live.reports() == {(ann.ticket, ""): 1.0, (ann.ticket, "third"): 2.0}


def test_the_asynchronous_client_and_openfeature_do_the_same(live, tmp_path) -> None:
    async def visit() -> str | None:
        async with AsyncClient(
            live.url, live.key, live.study, fallback="a", folder=tmp_path / "one", deadline=60
        ) as client:
            ann = await client.assign("ann")
            await client.expose(ann.ticket)
            await client.report(ann.ticket, 1)
            assert await client.flush(timeout=60)
            return ann.ticket

    ticket = asyncio.run(visit())
    provider = MaskedBanditProvider(live.url, live.key, folder=tmp_path / "two", deadline=60)
    api.set_provider_and_wait(provider)
    try:
        app, bob = api.get_client(), EvaluationContext("bob")
        found = app.get_string_details(live.study, "a", bob)
        app.track("bought", bob, TrackingEventDetails(2))
        app.track("bought", bob, TrackingEventDetails(3))
        assert provider.flush(timeout=60)
    finally:
        api.shutdown()
        api.clear_providers()
    assert found.value == found.variant
    by_ticket: dict[str | None, list[float]] = {}
    for (each, _), value in live.reports().items():
        by_ticket.setdefault(each, []).append(value)
    assert {each: sorted(values) for each, values in by_ticket.items()} == {
        ticket: [1.0],
        found.flag_metadata["ticket"]: [2.0, 3.0],
    }


def test_with_local_trust_the_service_gets_noise(tmp_path) -> None:
    """And the same noise again when the person reports again."""
    reward = {"window": "1 hour", "exposure": "1 hour", "rule": "first"}
    protocol = small_protocol(channel={"name": "local", "epsilon": 1}, reward=reward)
    with (
        LiveService(tmp_path, protocol).running() as live,
        Client(
            live.url,
            live.key,
            live.study,
            fallback="a",
            folder=tmp_path / "client",
            deadline=60,
            channel=Local(epsilon=1),
        ) as client,
    ):
        ann = client.assign("ann")
        client.expose(ann.ticket)
        client.report(ann.ticket, 1)
        client.report(ann.ticket, 1)
        assert client.flush(timeout=60)
        assert not client.refused
    assert list(live.reports()) == [(ann.ticket, "")]

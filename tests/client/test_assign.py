"""An arm by the deadline, whatever the service does, and never more than two requests for it."""

import asyncio
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import httpx
import pytest

from maskedbandit.client import AsyncClient, Client
from maskedbandit.client.answers import Reply
from maskedbandit.client.calls import Calls
from maskedbandit.errors import Forbidden, InvalidValue, PersonalValue, Refused, Unauthorized, UnknownStudy
from tests.client.conftest import only
from tests.client.fake_service import GARBAGE, KEY, STUDY, URL, FakeService, Network

AWAY = ["drop request", "drop response", "unavailable", "too many", "hang", "drip", "reorder"]


def test_a_person_gets_an_arm_and_the_same_one_again(client, service, network) -> None:
    with client() as one:
        ann, again = one.assign("ann"), one.assign("ann")
    assert (ann.arm, ann.payload, ann.ticket, ann.propensity) == (
        "plain",
        {"subject": "Hello"},
        "ticket0",
        Fraction(1, 2),
    )
    assert (ann.again, ann.source, ann.why) == (False, "service", "")
    assert (again.arm, again.ticket, again.again) == (ann.arm, ann.ticket, True)
    assert network.sent[0] == (f"/v1/studies/{STUDY}/assign", b'{"unit": "ann"}')
    assert network.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_a_token_is_sent_along(client, network) -> None:
    client().assign("ann", token="signed")
    assert network.sent[0][1] == b'{"unit": "ann", "token": "signed"}'


def asked(client: Callable[..., Client], network: Network, fault: str | bytes) -> tuple[int, int]:
    """Of how many requests for an arm, and of how many different ones, a network heard that always has this fault."""
    network.fault = only(fault)
    ann = client(deadline=0.05 if fault in ("hang", "drip") else 30.0).assign("ann")
    assert (ann.arm, ann.payload, ann.ticket, ann.propensity) == ("plain", None, None, None)
    assert (ann.source, ann.again) == ("fallback", False)
    assert ann.why == ("too_many" if fault == "too many" else "unreachable")
    return len(network.sent), len(set(network.sent))


@pytest.mark.sparing(8)
@pytest.mark.parametrize("fault", [*AWAY, *GARBAGE])
def test_a_service_that_is_away_costs_at_most_two_requests_that_say_the_same(client, network, fault) -> None:
    assert asked(client, network, fault) == (1 if fault == "too many" else 2, 1)


@pytest.mark.parametrize(
    "fault", ["drop request", "drop response", "unavailable", pytest.param("hang", marks=pytest.mark.slow), b"garbage"]
)
def test_one_lost_request_is_made_good(client, network, service, fault) -> None:
    assert made_good(client, network, service, fault)


def made_good(client: Callable[..., Client], network: Network, service: FakeService, fault: str | bytes) -> bool:
    """Whether a person gets an arm, and one place, although the first request is lost."""
    faults = iter([fault])
    network.fault = lambda path: next(faults, None)
    ann = client(deadline=3.0 if fault == "hang" else 30.0).assign("ann")
    return (ann.arm, ann.source, ann.ticket) == ("plain", "service", "ticket0") and len(service.places) == 1


def test_of_two_answers_that_are_there_the_first_counts() -> None:
    """It says that the place is new; if any of them counted, all would be right in 1 of 10^9 runs."""

    class Together(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            unit = json.loads(await request.aread())["unit"]
            again = unit in waiting
            if again:
                waiting[unit].set()
                await asyncio.sleep(0)
            else:
                waiting[unit] = asyncio.Event()
                await waiting[unit].wait()
            return httpx.Response(200, json=again)

    async def ask() -> list[Reply]:
        calls = Calls(URL, KEY, Together)
        units = [{"unit": str(i)} for i in range(30)]
        return await asyncio.gather(*(calls.ask("/", unit, 0.6, lambda reply: True) for unit in units))

    waiting: dict[str, asyncio.Event] = {}
    assert [reply.body for reply in asyncio.run(ask())] == [False] * 30


async def stubborn(self: Calls, path: str, body: Any, deadline: float, answers: Callable[[Reply], bool]) -> Reply:
    """The mutant that does not give up: all applications together keep a service down that is down."""
    replies = [await self.post(path, body, deadline) for _ in range(5)]
    return replies[-1]


async def hopeless(self: Calls, path: str, body: Any, deadline: float, answers: Callable[[Reply], bool]) -> Reply:
    """The mutant that asks once."""
    return await self.post(path, body, deadline)


async def forgetful(self: Calls, path: str, body: Any, deadline: float, answers: Callable[[Reply], bool]) -> Reply:
    """The mutant that asks for another person the second time."""
    first = await self.post(path, body, deadline)
    return first if answers(first) else await self.post(path, {"unit": "somebody"}, deadline)


@pytest.mark.parametrize("mutant", [stubborn, hopeless, forgetful])
def test_other_ways_to_ask_are_found(client, network, service, monkeypatch, mutant) -> None:
    monkeypatch.setattr(Calls, "ask", mutant)
    found = asked(client, network, "unavailable")
    assert found != (2, 1) or not made_good(client, network, service, "drop response")


def test_a_service_that_asks_to_be_left_alone_is(client, network) -> None:
    class Busy(Network):
        def carry(self, fault, path, content):
            return httpx.Response(503, headers={"Retry-After": "7"})

    busy = Busy(network.service)
    assert client(transport=lambda: busy).assign("ann").source == "fallback"
    assert len(busy.sent) == 1


@pytest.mark.slow
def test_the_answer_of_a_slow_first_request_is_taken(network) -> None:
    """Both requests are under way, and the first one answers."""
    second = asyncio.Event()

    class Slow(httpx.AsyncBaseTransport):
        requests = 0

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            self.requests += 1
            if self.requests == 2:
                second.set()
                await asyncio.Event().wait()
            await second.wait()
            return httpx.Response(200, json=network.service.assign(STUDY, "ann")[1])

    async def asked() -> int:
        calls = Calls(URL, KEY, Slow)
        return (await calls.ask("/x", {}, 2.0, lambda reply: reply.status == 200)).status

    assert asyncio.run(asked()) == 200


def test_while_the_service_is_away_people_keep_their_arms(client, network, service) -> None:
    with client() as one:
        one.assign("ann")
        bob = one.assign("bob")
    with client() as another:  # the application was started again
        network.fault = only("drop request")
        found = another.assign("bob")
        assert (found.arm, found.payload) == (bob.arm, bob.payload) == ("bold", {"subject": "HELLO"})
        assert (found.ticket, found.source, found.why) == (None, "fallback", "unreachable")
        assert another.assign("eve").arm == "plain"


def test_a_stranger_gets_the_arm_that_was_served_without_a_place(client, network, service) -> None:
    with client() as one:
        one.assign("ann")
        service.enrols = False
        assert one.assign("bob").ticket is None  # the best one in what was released
        network.fault = only("unavailable")
        assert (one.assign("eve").arm, one.assign("ann").arm) == ("bold", "plain")


def test_a_person_whose_budget_is_spent_is_served(client, service) -> None:
    service.over_budget.add("ann")
    ann = client().assign("ann")
    assert (ann.arm, ann.ticket, ann.source, ann.why) == ("bold", None, "service", "budget_exceeded")


def test_a_study_that_does_not_run_refuses(client, service) -> None:
    service.state["/assign"] = 409
    ann = client().assign("ann")
    assert (ann.arm, ann.ticket, ann.source, ann.why) == ("plain", None, "fallback", "not_running")


@pytest.mark.parametrize(
    ("status", "kind"), [(401, Unauthorized), (403, Forbidden), (404, UnknownStudy), (422, Refused)]
)
def test_a_wrong_key_and_a_wrong_study_are_mistakes(client, service, network, status, kind) -> None:
    service.state["/assign"] = status
    with pytest.raises(kind, match=r"the service refuses the request: [a-z_]+$"):
        client().assign("ann")
    assert len(network.sent) == 1


@pytest.mark.parametrize("status", [401, 403, 404, 413])
def test_another_program_that_answers_is_no_service(client, network, status, caplog) -> None:
    """A proxy that has lost its way to the service takes no page down; why people get fallbacks is said once."""

    class Proxy(Network):
        def carry(self, fault, path, content):
            return httpx.Response(status, html="<h1>Not here</h1>")

    one = client(transport=lambda: Proxy(network.service))
    assert [one.assign(unit).why for unit in ("ann", "bob")] == ["unreachable"] * 2
    assert caplog.text.count(f"status {status}") == 1


def test_what_is_wrong_is_refused_before_it_is_sent(client, network, tmp_path) -> None:
    one = client()
    for unit in ("", "a" * 257, "two\nlines", None):
        with pytest.raises(PersonalValue):
            one.assign(unit)
    for url in ("ftp://a", "service.test", "http://", "http://me:secret@a", "http://a?key=1", 3):
        with pytest.raises(InvalidValue, match="url") as found:
            Client(url, KEY, STUDY, fallback="plain", folder=tmp_path)
        assert "secret" not in str(found.value)
    for key in ("", "two words", "a\r\nb", "é", None):
        with pytest.raises(InvalidValue, match="key is 'not shown'"):
            Client(URL, key, STUDY, fallback="plain", folder=tmp_path)
    for study in ("", "../x", "a/b", "a b"):
        with pytest.raises(InvalidValue, match="study"):
            Client(URL, KEY, study, fallback="plain", folder=tmp_path)
    for deadline in (0, -1, float("nan"), float("inf"), "1"):
        with pytest.raises(InvalidValue, match="deadline"):
            client(deadline=deadline)
    assert network.sent == []


def test_nothing_shows_a_key_or_a_ticket(client, caplog) -> None:
    caplog.set_level(0)
    with client() as one:
        ann = one.assign("ann")
        shown = f"{one!r} {one} {ann!r} {vars(one)} {one._engine!r}"
        one.expose(ann.ticket)
        one.report(ann.ticket, 0.123456)
        assert one.flush()
    assert repr(one) == "Client('http://service.test', study='newsletter')"
    for secret in (KEY, "ticket0", "0.123456"):
        assert secret not in shown
        assert secret not in caplog.text


def test_nothing_of_the_environment_sees_the_key(monkeypatch, tmp_path) -> None:
    """A proxy of the environment would be given everything: the request goes to where it was sent."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    transport = Calls(URL, KEY, None)._transport
    assert isinstance(transport, httpx.AsyncHTTPTransport)
    assert "Proxy" not in type(transport._pool).__name__


def test_nobody_listens(tmp_path) -> None:
    """On a real socket."""
    with Client("http://127.0.0.1:9", KEY, STUDY, fallback="plain", folder=tmp_path, deadline=30) as one:
        assert one.assign("ann").why == "unreachable"


def test_the_asynchronous_client_does_the_same_in_any_loop(tmp_path) -> None:
    service = FakeService()
    one = AsyncClient(
        URL, KEY, STUDY, fallback="plain", folder=tmp_path, transport=lambda: Network(service), deadline=30
    )

    async def visit(unit: str) -> str | None:
        found = await one.assign(unit)
        await one.expose(found.ticket)
        await one.report(found.ticket, 1)
        assert await one.flush()
        return found.ticket

    assert [asyncio.run(visit(unit)) for unit in ("ann", "bob")] == ["ticket0", "ticket1"]  # two loops

    async def end() -> None:
        async with one as same:
            assert (await same.assign("ann")).again

    asyncio.run(end())
    assert service.reports == {("ticket0", ""): 1.0, ("ticket1", ""): 1.0}
    with pytest.raises(InvalidValue, match="closed"):
        asyncio.run(visit("eve"))

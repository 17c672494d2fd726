"""Whoever leaves is erased at the service, and where an application kept something."""

import asyncio
from pathlib import Path

import pytest

from maskedbandit.channels.response import Response
from maskedbandit.client import AsyncClient
from maskedbandit.errors import PersonalValue
from tests.client.conftest import Made, only
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network


def test_whoever_leaves_is_forgotten_and_what_waits_of_them_is_not_sent(
    client: Made, network: Network, service: FakeService
) -> None:
    one = client(fallback="none")
    ann, bob = one.assign("ann"), one.assign("bob")
    network.fault = only("unavailable")
    for each in (ann, bob):
        one.expose(each.ticket)
        one.report(each.ticket, 1)
    one.leave(ann.ticket)
    one.leave(None)
    assert (one.assign("ann").arm, one.assign("bob").arm) == ("none", bob.arm)
    network.fault = only(None)
    assert one.flush()
    assert service.left == [ann.ticket]
    assert list(service.reports) == [(bob.ticket, "")]
    assert not one.refused


def test_many_leave_one_after_another_whatever_the_network_does(
    client: Made, network: Network, service: FakeService
) -> None:
    one = client()
    tickets = [one.assign(f"unit {i}").ticket for i in range(5)]
    faults = iter(["drop request", "drop response", "unavailable", b"{}"])
    network.fault = lambda path: next(faults, None)
    for ticket in tickets:
        one.leave(ticket)
    assert one.flush()
    assert set(service.left) == set(tickets)


def test_the_asynchronous_client_does_the_same(tmp_path: Path, service: FakeService, network: Network) -> None:
    async def visit() -> str | None:
        options = {"fallback": "plain", "folder": tmp_path, "transport": lambda: network, "deadline": 30}
        async with AsyncClient(URL, KEY, STUDY, **options) as one:
            ticket = (await one.assign("ann")).ticket
            await one.leave(ticket)
            assert await one.flush()
            return ticket

    assert [asyncio.run(visit())] == service.left


def test_whoever_left_is_unknown_here(client: Made, service: FakeService, tmp_path: Path) -> None:
    one = client()
    ticket = one.assign("ann").ticket
    one.leave(ticket)
    assert one.flush()
    one.leave(ticket)  # by now the service knows nobody of that name
    assert one.flush()
    one.close()
    service.state["/assign"] = 503
    assert client().assign("ann").payload is None
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert str(ticket).encode() + b"report" not in stored


def test_under_local_trust_nothing_is_drawn_for_whoever_left(client: Made, service: FakeService) -> None:
    service.offer = Response(epsilon=1).offer(50).at(7).to_text()
    one = client(channel=Response(epsilon=1))
    given = one.assign("ann")
    one.expose(given.ticket)
    one.report(given.ticket, 1)
    one.leave(given.ticket)
    with pytest.raises(PersonalValue, match="ticket"):
        one.report(given.ticket, 0)
    assert one.flush()
    again = one.assign("ann")  # the service has forgotten that she was there: it says that the place is new
    assert (again.ticket, again.why) == (None, "given_elsewhere")

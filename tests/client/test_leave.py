"""Whoever leaves is erased at the service, and where an application kept something."""

import asyncio
from pathlib import Path

from maskedbandit.client import AsyncClient
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

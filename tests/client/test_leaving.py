"""A person leaves: nothing that waits is sent, the service is told until it has heard, and no draw is kept."""

import asyncio
from pathlib import Path

import pytest

from maskedbandit.channels.response import Response
from maskedbandit.client import AsyncClient
from maskedbandit.errors import PersonalValue
from tests.client.conftest import Made, only
from tests.client.fake_service import KEY, STUDY, URL, FakeService, Network
from tests.for_each import for_each


def test_what_waits_is_not_sent(client: Made, service: FakeService, network: Network) -> None:
    one = client()
    ann, bob = (one.assign(unit).ticket for unit in ("ann", "bob"))
    assert one.flush()
    network.fault = only("unavailable")
    for ticket in (ann, bob):
        one.expose(ticket)
        one.report(ticket, 0.371)
    one.leave(ann)
    one.leave(None)
    network.fault = only(None)
    assert one.flush()
    assert service.left == [ann]
    assert {ticket for ticket, _ in service.reports} == {bob}


@pytest.mark.parametrize("heard", [True, False])
def test_what_becomes_of_whoever_left_is_not_sent(
    heard: bool, client: Made, service: FakeService, network: Network
) -> None:
    one = client()
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    network.fault = only(None if heard else "unavailable")
    one.leave(ticket)
    one.flush(10 if heard else 0)
    one.expose(ticket)
    one.report(ticket, 0.371)
    one.close(0)
    network.fault = only(None)
    again = client()
    again.report(ticket, 0.371)
    assert again.flush()
    assert service.left == [ticket]
    assert not any(b"0.371" in content for _, content in network.sent)
    assert not again.refused


@for_each("fault", ["drop request", "drop response", "unavailable"])
def test_it_is_said_until_the_service_has_heard(fault: str, tmp_path: Path) -> None:
    service, folder = FakeService(), tmp_path / fault.replace(" ", "_")
    network = Network(service)

    async def play() -> None:
        one = AsyncClient(URL, KEY, STUDY, fallback="plain", folder=folder, transport=lambda: network, deadline=30.0)
        ticket = (await one.assign("ann")).ticket
        faults = iter([fault, fault])
        network.fault = lambda path: next(faults, None)
        await one.leave(ticket)
        assert await one.flush()
        await one.close()
        assert service.left == [ticket]
        assert next(faults, None) is None

    asyncio.run(play())


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

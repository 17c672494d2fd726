"""With local trust the outcome gets its noise here: once, in one report, and never goes out without it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maskedbandit.channels.local import Local
from maskedbandit.channels.response import Response
from maskedbandit.client import engine, outbox
from maskedbandit.client.outbox import Outbox
from maskedbandit.errors import InvalidValue, PersonalValue
from tests.client.conftest import only
from tests.client.fake_service import FakeService, Network

CHANNEL = Local(epsilon="1/1000000")  # of three draws all are the same in 1 of 10^13 runs
OFFER = CHANNEL.offer(50).at(7).to_text()


@pytest.fixture
def service() -> FakeService:
    return FakeService(offer=OFFER)


def bodies(client: Callable, network: Network) -> set[bytes]:
    """What is sent of a person who reports three times, on a network that loses things, in two processes."""
    one = client(channel=CHANNEL)
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    assert one.flush()
    faults = iter(["drop response", "unavailable", None, "drop request"])
    network.fault = lambda path: next(faults, None)
    for _ in range(2):
        one.report(ticket, 1)
        assert one.flush()
    one.close()
    another = client(channel=CHANNEL)
    another.report(another.assign("ann").ticket, 0)
    assert another.flush()
    return {body for path, body in network.sent if path.endswith("/report/batch")}


def test_the_report_of_a_person_has_the_same_bytes_for_ever(client, network, service) -> None:
    sent = bodies(client, network)
    assert len(sent) == 1
    (value,) = service.reports.values()
    assert value == int(value)
    assert len([path for path, _ in network.sent if path.endswith("/report/batch")]) >= 4


def drawn_again(self: Outbox, study: str, ticket: str, draw: Callable[[], float]) -> None:
    """The mutant that draws the noise anew when it is asked again: many reports would have the reward as their mean."""
    self.put(study, ticket, "report", "", draw())


def drawn_when_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that draws the noise at each attempt."""
    real = outbox.Message.body.fget

    def body(self: outbox.Message) -> dict[str, object]:
        found = real(self)
        return found | {"value": engine.noisy(CHANNEL, OFFER, 1)} if self.kind == "report" else found

    monkeypatch.setattr(outbox.Message, "body", property(body))


@pytest.mark.parametrize("mutant", [drawn_again, drawn_when_sent])
def test_noise_that_is_drawn_again_is_found(client, network, monkeypatch, mutant) -> None:
    if mutant is drawn_again:
        monkeypatch.setattr(Outbox, "put_device_report", mutant)
    else:
        mutant(monkeypatch)
    assert len(bodies(client, network)) > 1


@pytest.mark.parametrize(
    "offer", [None, Response("1/100").offer(50).to_text(), Local(epsilon=5).offer(50).to_text(), "?"]
)
def test_a_service_that_offers_something_else_gets_nothing(client, network, service, offer, tmp_path) -> None:
    """Also one that asks for the outcome itself."""
    service.offer = offer
    one = client(channel=CHANNEL)
    ticket = one.assign("ann").ticket
    with pytest.raises((InvalidValue, PersonalValue)):
        one.report(ticket, 1)
    assert one.flush()
    assert not [path for path, _ in network.sent if "report" in path]


def test_without_the_channel_nothing_is_sent_either(client, network) -> None:
    one = client()
    ticket = one.assign("ann").ticket
    with pytest.raises(InvalidValue, match="channel"):
        one.report(ticket, 1)
    assert one.flush()
    assert not [path for path, _ in network.sent if "report" in path]


def test_a_report_that_could_not_be_sent_keeps_its_noise(client, network, service) -> None:
    one = client(channel=CHANNEL)
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    network.fault = only("drop request")
    one.report(ticket, 1)
    one.report(ticket, 1)
    assert not one.flush(timeout=0.01)
    one.close(timeout=0)
    network.fault = only(None)
    another = client(channel=CHANNEL)
    another.report(ticket, 1)
    assert another.flush()
    assert not another.refused  # two values would be a conflict
    assert len(service.reports) == 1

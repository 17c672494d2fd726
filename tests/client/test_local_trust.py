"""With local trust the outcome gets its noise here: once, in one report, and never goes out without it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from maskedbandit.channels.local import Local
from maskedbandit.channels.offers import NoiseShare
from maskedbandit.channels.response import Response
from maskedbandit.client import engine, outbox
from maskedbandit.client.local_noise import NoisyReport
from maskedbandit.client.outbox import Outbox
from maskedbandit.device import local_reports
from maskedbandit.errors import InvalidValue, PersonalValue
from maskedbandit.privacy.statistics import capped_sum
from maskedbandit.study import rehearsed_device
from tests.client.conftest import only
from tests.client.fake_service import FakeService, Network

CHANNEL = Local(epsilon="1/1000000")  # of three draws all are the same in 1 of 10^13 runs
OFFER = CHANNEL.offer(50).at(7).to_text()
Draw = Callable[[Fraction], NoisyReport]


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


def drawn_again(self: Outbox, study: str, person: str, ticket: str, metric: str, draw: Draw) -> None:
    """The mutant that draws the noise anew when it is asked again: many reports would have the reward as their mean."""
    self.put(study, ticket, "report", f"{metric}\n" if metric else "", draw(Fraction(0)).value)


def drawn_when_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant that draws the noise at each attempt."""
    real = outbox.Message.body.fget

    def body(self: outbox.Message) -> dict[str, object]:
        found = real(self)
        return found | {"value": engine.add_report_noise(CHANNEL, OFFER, 1).value} if self.kind == "report" else found

    monkeypatch.setattr(outbox.Message, "body", property(body))


@pytest.mark.parametrize("mutant", [drawn_again, drawn_when_sent])
def test_noise_that_is_drawn_again_is_found(client, network, monkeypatch, mutant) -> None:
    if mutant is drawn_again:
        monkeypatch.setattr(Outbox, "put_device_report", mutant)
    else:
        mutant(monkeypatch)
    assert len(bodies(client, network)) > 1


LOUD = CHANNEL.offer(50)
LIES = [
    None,
    Response("1/100").offer(50).to_text(),
    Local(epsilon=5).offer(50).to_text(),
    replace(LOUD, noise=NoiseShare("DiscreteLaplace", Fraction(1), 1)).to_text(),
    "?",
]


def given(client: Callable, network: Network, service: FakeService, offer: str | None) -> bool:
    """Whether a service that offers this hears of the outcome in any way."""
    service.offer = offer
    one = client(channel=CHANNEL)
    ticket = one.assign("ann").ticket
    with suppress(InvalidValue, PersonalValue):
        one.report(ticket, 1)
    assert one.flush()
    return any("report" in path for path, _ in network.sent)


@pytest.mark.parametrize("offer", LIES)
def test_a_service_that_offers_something_else_gets_nothing(client, network, service, offer) -> None:
    """Also one that asks for the outcome itself."""
    assert not given(client, network, service, offer)


def test_a_client_that_does_not_look_at_the_offer_is_found(client, network, service, monkeypatch) -> None:
    monkeypatch.setattr(rehearsed_device, "check_agreed", lambda channel, n, offer: None)
    assert given(client, network, service, LIES[3])


def test_a_client_that_forgets_its_channel_is_found(client, network, service, monkeypatch) -> None:
    """The mutant sends the outcome itself to whoever does not speak of noise."""
    real = engine.Engine.report

    def trusting(self: engine.Engine, *told: Any) -> None:
        self._channels = {}
        real(self, *told)

    monkeypatch.setattr(engine.Engine, "report", trusting)
    assert given(client, network, service, LIES[0])


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


SEVERAL = CHANNEL.carrying(capped_sum(3))


@pytest.mark.parametrize(
    ("rewards", "counted"), [([], 0), ([1], 1 / 3), ((1, 1), 2 / 3), ([1, 0.5, 0], 0.5), ([1] * 9, 1)]
)
def test_a_device_adds_up_all_rewards_and_cuts_the_sum(client, service, monkeypatch, rewards, counted) -> None:
    service.offer = SEVERAL.offer(50).at(7).to_text()
    seen = []
    monkeypatch.setattr(local_reports, "draw_local_value", lambda offer, scaled, bits: seen.append(float(scaled)) or 7)
    one = client(channel=SEVERAL)
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    one.report(ticket, rewards)
    one.report(ticket, [0, 0])  # the draw stands, whatever is said later
    assert one.flush()
    assert seen == [pytest.approx(counted)]
    assert list(service.reports.values()) == [7]


@pytest.mark.parametrize(
    ("channel", "offered", "rewards", "said"),
    [
        (CHANNEL, CHANNEL, [1, 1], "one number"),
        (SEVERAL, SEVERAL, [1, 1.5], "reward must be a number"),
        (SEVERAL, SEVERAL, [1, -1], "reward must be a number"),
        (SEVERAL, SEVERAL, [1, "1"], "a finite number"),
        (SEVERAL, CHANNEL, [1, 1], "cap of an offer is None: it must be 3"),
        (SEVERAL, SEVERAL, 1, "a list of all rewards of the person: people agreed to a cap of 3"),
        (CHANNEL, SEVERAL, 1, "cap of an offer is '3': it must be None"),
        (SEVERAL, CHANNEL.carrying(capped_sum(2)), [1, 1], "cap of an offer is '2': it must be 3"),
        (None, None, [1, 1], "without local trust"),
    ],
)
def test_rewards_to_which_nobody_agreed_are_not_sent(client, service, network, channel, offered, rewards, said) -> None:
    service.offer = offered.offer(50).at(7).to_text() if offered else None
    one = client(channel=channel) if channel else client()
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    with pytest.raises((InvalidValue, PersonalValue), match=said):
        one.report(ticket, rewards)
    assert one.flush()
    assert not service.reports

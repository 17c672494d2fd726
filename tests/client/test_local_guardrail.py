"""With local trust and a guardrail each outcome has noise of its own, once; both together cost what was agreed to."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from maskedbandit.channels.local import Local
from maskedbandit.channels.offers import Offer, to_lines
from maskedbandit.client import Client
from maskedbandit.client.local_noise import NoisyReport
from maskedbandit.client.openfeature import MaskedBanditProvider
from maskedbandit.client.outbox import Outbox
from maskedbandit.errors import AlreadySpent, InvalidValue, PersonalValue
from tests.client.fake_service import FakeService, Network
from tests.client.live_service import LiveService
from tests.store.small_study import small_protocol

AGREED = Local(epsilon="1/1000")  # of four draws all are the same in less than 1 of 10^10 runs


def offered(**parts: str) -> str:
    """The offers of a cohort of 50 in which each outcome has this part of epsilon; `reward` has no name."""
    made = [(name.removeprefix("reward"), Local(epsilon=part).offer(50)) for name, part in parts.items()]
    return to_lines(replace(offer, metric=metric).at(7) for metric, offer in made)


HALVES = offered(reward="1/2000", harm="1/2000")


@pytest.fixture
def service() -> FakeService:
    return FakeService(offer=HALVES)


def sent(network: Network) -> list[bytes]:
    """All requests that report something."""
    return [body for path, body in network.sent if path.endswith("/report/batch")]


# --- once


def values(client: Callable, network: Network, service: FakeService) -> list[set[float]]:
    """What is sent of a person's outcomes, each of which is reported four times, in two processes."""
    network.fault = lambda path: next(faults, None)
    faults = iter([None, None, "drop response", "unavailable", None, "drop request"])
    found: dict[str, set[float]] = {"": set(), "harm": set()}
    for outcome in (1, 0):
        one = client(channel=AGREED)
        ticket = one.assign("ann").ticket
        one.expose(ticket)
        for _ in range(2):
            for metric in found:
                service.reports.clear()
                one.report(ticket, outcome, metric=metric)
                assert one.flush()
                ((event, value),) = ((event, value) for (_, event), value in service.reports.items())
                assert event == f"{metric} " * bool(metric)
                found[metric].add(value)
        one.close()
    return list(found.values())


def test_each_outcome_of_a_person_has_one_value_for_ever(client, network, service) -> None:
    assert [len(each) for each in values(client, network, service)] == [1, 1]
    assert len(sent(network)) >= 8


def test_noise_that_is_drawn_again_is_found(client, network, service, monkeypatch) -> None:
    def drawn_again(
        self: Outbox, study: str, person: str, ticket: str, metric: str, draw: Callable[[Fraction], NoisyReport]
    ) -> None:
        self.put(study, ticket, "report", f"{metric}\n" * bool(metric), draw(Fraction(0)).value)

    monkeypatch.setattr(Outbox, "put_device_report", drawn_again)
    assert all(len(each) > 1 for each in values(client, network, service))


# --- for no more than was agreed


LIES = {
    "the whole epsilon for each": offered(reward="1/1000", harm="1/1000"),
    "a little more": offered(reward="1/2000", harm="501/1000000"),
    "an outcome nobody spoke of": offered(reward="1/2000", harm="1/2000", more="1/2000"),
    "one of them twice": offered(reward="1/3000", harm="1/3000") + "\n" + offered(harm="1/3000"),
    "no noise of one": HALVES.replace("noise=DiscreteLaplace:2000:1 terms=epsilon:1/2000 position=7 metric", "noise= "),
    "an epsilon that is not that of the noise": HALVES.replace("DiscreteLaplace:2000", "DiscreteLaplace:1"),
    "an epsilon below 0": HALVES.replace("epsilon:1/2000 position=7 metric", "epsilon:-1/2000 position=7 metric"),
}


def reported(client: Callable, network: Network, offers: Iterable[str | None]) -> int:
    """Of how many outcomes the service hears, if each of the two is reported after another of these offers was made."""
    one = client(channel=AGREED)
    for metric, offer in zip(("", "harm"), offers, strict=True):
        network.service.offer = offer
        network.service.places.clear()  # it offers the same person something else
        ticket = one.assign("ann").ticket
        one.expose(ticket)
        with suppress(InvalidValue, PersonalValue, AlreadySpent):
            one.report(ticket, 1, metric=metric)
        assert one.flush()
    return len(network.service.reports)


@pytest.mark.parametrize("lie", LIES)
def test_an_offer_above_what_was_agreed_gets_nothing(client, network, lie) -> None:
    assert reported(client, network, [None, LIES[lie]]) == 0


def test_an_honest_offer_gets_both(client, network) -> None:
    assert reported(client, network, [HALVES, HALVES]) == 2


def test_offers_one_after_the_other_are_added_up(client, network, monkeypatch) -> None:
    assert reported(client, network, [offered(reward="1/1000"), offered(harm="1/1000")]) == 1

    def forgets(
        self: Outbox, study: str, person: str, ticket: str, metric: str, draw: Callable[[Fraction], NoisyReport]
    ) -> None:
        real(self, study, person, ticket, metric, lambda spent: draw(Fraction(0)))

    real = Outbox.put_device_report
    monkeypatch.setattr(Outbox, "put_device_report", forgets)
    assert reported(client, network, [None, offered(harm="1/1000")]) == 2  # what the first one got, and this


def test_an_outcome_without_an_offer_is_not_sent(client, network) -> None:
    one = client(channel=AGREED)
    ticket = one.assign("ann").ticket
    with pytest.raises(PersonalValue, match="metric"):
        one.report(ticket, 1, metric="other")
    assert one.flush()
    assert sent(network) == []
    assert Offer.from_text(HALVES.split("\n")[1]).metric == "harm"


# --- against the real service


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveService]:
    protocol = small_protocol(
        channel={"name": "local", "epsilon": 1},
        guardrail={"name": "harm", "harm": {"above": 0.2}, "rule": "first", "share": "1/4"},
        reward={"window": "1 hour", "exposure": "1 hour", "rule": "first"},
    )
    with LiveService(tmp_path, protocol).running() as service:
        yield service


def test_the_service_gets_both_with_noise(live, tmp_path) -> None:
    how = {"fallback": "a", "folder": tmp_path / "client", "deadline": 60, "channel": Local(epsilon=1)}
    with Client(live.url, live.key, live.study, **how) as client:
        ann = client.assign("ann")
        client.expose(ann.ticket)
        for _ in range(2):
            client.report(ann.ticket, 1)
            client.report(ann.ticket, 0, metric="harm")
        assert client.flush(timeout=60)
        assert not client.refused
    found = live.reports()
    assert set(found) == {(ann.ticket, ""), (ann.ticket, "guardrail\n")}
    assert all(value == int(value) for value in found.values())


def test_a_service_that_takes_more_than_was_agreed_gets_nothing(live, tmp_path) -> None:
    how = {"fallback": "a", "folder": tmp_path / "client", "deadline": 60, "channel": Local(epsilon="9/10")}
    with Client(live.url, live.key, live.study, **how) as client:
        ann = client.assign("ann")
        client.expose(ann.ticket)
        with pytest.raises(InvalidValue, match=r"epsilon of the offers is '3/4 \+ 1/4': .* at most 9/10"):
            client.report(ann.ticket, 1)
        assert client.flush(timeout=60)
    assert live.reports() == {}


def test_openfeature_reports_both(live, tmp_path) -> None:
    channels, metrics = {live.study: Local(epsilon=1)}, {live.study: ["harm"]}
    how = {"folder": tmp_path / "client", "deadline": 60, "channels": channels, "metrics": metrics}
    provider = MaskedBanditProvider(live.url, live.key, **how)
    api.set_provider_and_wait(provider)
    try:
        app, bob = api.get_client(), EvaluationContext("bob")
        ticket = app.get_string_details(live.study, "a", bob).flag_metadata["ticket"]
        for _ in range(2):
            app.track("bought", bob, TrackingEventDetails(1))
            app.track("harm", bob, TrackingEventDetails(0))
        assert provider.flush(timeout=60)
    finally:
        api.shutdown()
        api.clear_providers()
    assert set(live.reports()) == {(ticket, ""), (ticket, "guardrail\n")}

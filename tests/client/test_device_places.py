"""The client hands on what the person's device joins with, and keeps nothing of it, unless it is the device itself."""

from typing import Any

import pytest

from maskedbandit.channels.response import Response
from maskedbandit.client.answers import Reply, read_assignment
from maskedbandit.device_refusals import OutcomeStaysOnDevice
from maskedbandit.errors import InvalidValue
from tests.client.conftest import Made
from tests.client.fake_service import STUDY, FakeService

PLACE = {"study": STUDY, "ticket": "ticket0", "again": False, "exposed": None, "window": 1000}


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> FakeService:
    """A service of two operators."""
    made = FakeService()
    real = made.assign

    def assign(study: str, unit: str) -> tuple[int, Any]:
        status, answer = real(study, unit)
        ticket, again = answer["ticket"], answer["again"]
        return status, answer | {"device": PLACE | {"ticket": ticket, "again": again} if ticket else None}

    monkeypatch.setattr(made, "assign", assign)
    return made


def test_a_place_is_handed_on_as_it_came(client: Made) -> None:
    given = client().assign("ann")
    assert given.device == PLACE
    assert given.offer is None
    assert "ticket0" not in repr(given)


def test_an_arm_that_is_served_while_the_service_is_away_has_no_place(client: Made, service: FakeService) -> None:
    """The device that took it has it, and another one may not have it."""
    one = client()
    one.assign("ann")
    assert one.assign("ann").device == PLACE | {"again": True}
    service.state["/assign"] = 503
    one.close()
    again = client().assign("ann")
    assert (again.source, again.ticket, again.device) == ("fallback", None, None)


@pytest.mark.parametrize("device", [1, "text", [], {}, {"ticket": "another"}])
def test_a_place_of_somebody_else_is_no_answer(device: Any) -> None:
    body = {"study": STUDY, "arm": "plain", "ticket": "abc", "propensity": "1/2", "again": False}
    assert read_assignment(Reply(200, body | {"device": {"ticket": "abc"}}), STUDY) is not None
    assert read_assignment(Reply(200, body | {"device": device}), STUDY) is None
    assert read_assignment(Reply(200, body | {"ticket": None, "device": {}}), STUDY) is None


def test_where_the_noise_is_added_here_no_device_adds_it_too(client: Made, service: FakeService) -> None:
    """Two draws for one outcome would cost epsilon twice."""
    service.offer = Response(epsilon=1).offer(50).at(7).to_text()
    given = client(channel=Response(epsilon=1)).assign("ann")
    assert (given.offer, given.device) == (service.offer, None)


def test_where_a_device_adds_the_noise_it_is_not_added_here_too(client: Made, service: FakeService) -> None:
    """Neither by this client, nor by one that is made later for the same people."""
    service.offer = Response(epsilon=1).offer(50).at(7).to_text()
    one = client()
    given = one.assign("ann")
    assert given.device == PLACE
    one.expose(given.ticket)
    with pytest.raises(InvalidValue, match="channel"):
        one.report(given.ticket, 1)
    one.close()
    later = client(channel=Response(epsilon=1)).assign("ann")
    assert (later.arm, later.ticket, later.device, later.why) == (given.arm, None, None, "given_elsewhere")


def test_of_two_operators_no_outcome_is_sent_even_to_be_refused(client: Made, service: FakeService) -> None:
    """Neither by the process that asked for the arm, nor by another one of the folder."""
    one = client()
    ticket = one.assign("ann").ticket
    one.expose(ticket)
    with pytest.raises(OutcomeStaysOnDevice, match="devices"):
        one.report(ticket, 1)
    one.close()
    other = client()
    with pytest.raises(OutcomeStaysOnDevice):
        other.report(ticket, 1)
    assert other.flush()
    assert not service.reports

"""With two operators the client hands on what the person's device joins with, and keeps nothing of it."""

from typing import Any

import pytest

from maskedbandit.client.answers import Reply, read_assignment
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

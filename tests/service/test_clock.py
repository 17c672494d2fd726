"""A clock that was ahead and was put right: the time of a study does not go back, so it is said that nothing is due."""

import logging
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.host import hosting
from maskedbandit.service.host.attention import CLOCK
from tests.service.inside import Inside, inside

DAY = 86_400_000


def ready(service: Inside) -> dict[str, Any]:
    """What is said to whoever asks whether the server is ready, which it is."""
    reply = service.ask("GET", "/readyz", None, None)
    assert reply.status == 200
    return dict(reply.json)


def ahead(service: Inside) -> float | None:
    return service.host.metrics.registry.get_sample_value("maskedbandit_study_ahead_seconds", {"study": "small"})


def check_it_is_said(service: Inside, caplog: pytest.LogCaptureFixture) -> None:
    service.begin()
    service.begin(name="other")
    service.tick()
    assert ready(service) == {"status": "ready", "warnings": []}
    service.clock.now += 30 * DAY
    service.study("assign", {"unit": "ann"})  # of the other study nobody asks meanwhile
    service.clock.now -= 30 * DAY
    with caplog.at_level(logging.WARNING, "maskedbandit"):
        for _ in range(3):
            service.tick(1)
            assert ready(service) == {"status": "ready", "warnings": [CLOCK]}
    assert ahead(service) == pytest.approx(30 * 86_400 - 3)
    said = [(record.__dict__["study"], record.__dict__["why"]) for record in caplog.records]
    assert said == [("small", CLOCK)]


def test_a_clock_that_was_ahead_is_said(service: Inside, caplog: pytest.LogCaptureFixture) -> None:
    check_it_is_said(service, caplog)
    service.tick(30 * 86_400 - 63)
    assert ready(service) == {"status": "ready", "warnings": []}  # a minute is nothing
    assert ahead(service) == 60
    service.tick(120)
    assert ahead(service) == 0


def test_it_is_known_after_a_new_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    address = f"sqlite:///{tmp_path}/studies.db"
    with inside(address, tmp_path / "witness") as service:
        check_it_is_said(service, caplog)
    with inside(address, tmp_path / "witness", clock=service.clock) as again:
        assert ready(again)["warnings"] == [CLOCK]


def test_a_server_that_says_nothing_is_found(
    service: Inside, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosting, "AHEAD", 31 * DAY)
    with pytest.raises(AssertionError):
        check_it_is_said(service, caplog)

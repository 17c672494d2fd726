"""Many places that nobody sees are an alarm: on the page, in `/readyz`, in the metrics and in the log."""

import logging
from typing import Any

import pytest

from maskedbandit.service.host import host as hosts
from maskedbandit.service.views.health import MANY_WASTED, NEWEST_PLACES, WASTED_WARNING, count_wasted
from tests.service.inside import TABLE, Inside
from tests.service.test_people import EXPOSURE, WINDOW

LARGE = {"policy": {"name": "successive_elimination", "least": 400}}


def told(service: Inside) -> tuple[list[str], float | None, bool]:
    """What `/readyz`, the metrics and the page say."""
    ready = service.ask("GET", "/readyz", None, None)
    assert (ready.status, ready.json["status"]) == (200, "ready")
    gauge = service.host.metrics.registry.get_sample_value("maskedbandit_study_wasted_places", {"study": "small"})
    page = service.run(service.host.view("small")).attention
    return ready.json["warnings"], gauge, any(each.kind == "places_unseen" for each in page)


def lose(service: Inside, people: range) -> None:
    """Nobody says that these people see their arms."""
    for i in people:
        assert service.assign(f"u{i}")["ticket"]


def check_alarm(service: Inside) -> None:
    """It comes with the place that makes them many, and not before its time is over; and ends when others are seen."""
    service.begin(**LARGE)
    lose(service, range(MANY_WASTED - 1))
    service.tick(EXPOSURE + 1)
    assert told(service) == ([], MANY_WASTED - 1, False)
    lose(service, range(MANY_WASTED - 1, MANY_WASTED))
    service.tick(EXPOSURE)  # it may be seen for one more millisecond
    assert told(service) == ([], MANY_WASTED - 1, False)
    service.tick(0.001)
    assert told(service) == ([WASTED_WARNING], MANY_WASTED, True)
    for i in range(NEWEST_PLACES):
        service.clock.now += 1
        service.seen(f"v{i}")
    service.tick()
    assert told(service)[2] is True  # these could still have been wasted, had nobody seen them
    service.tick(EXPOSURE + 1)
    assert told(service) == ([], 0, False)


def test_an_alarm_comes_and_goes(service: Inside, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "maskedbandit"):
        check_alarm(service)
    (said,) = [each for each in caplog.records if each.getMessage() == "a study needs a look"]
    assert (said.study, said.why) == ("small", WASTED_WARNING)


@pytest.mark.parametrize(
    "broken",
    [
        lambda database, study, until: count_wasted(database, study, until + 1000 * EXPOSURE),  # some may still be seen
        lambda database, study, until: sum(
            database.rows("SELECT COUNT(*) FROM place WHERE returned IS NOT NULL")[0]
        ),  # whatever became of newer ones
    ],
)
def test_an_alarm_by_another_rule_is_rejected(service: Inside, monkeypatch: pytest.MonkeyPatch, broken: Any) -> None:
    monkeypatch.setattr(hosts, "count_wasted", broken)
    with pytest.raises(AssertionError):
        check_alarm(service)


def test_a_stranger_does_not_hear_which_study_it_is(service: Inside) -> None:
    service.begin(**LARGE, name="secretive")
    for i in range(MANY_WASTED):
        service.assign(f"u{i}", "secretive")
    service.tick(EXPOSURE + 1)
    service.tick()
    found = service.ask("GET", "/readyz", None, None)
    assert found.json["warnings"]
    assert b"secretive" not in found.body


def test_it_says_nothing_of_outcomes(service: Inside) -> None:
    """Of two studies, whose people do the same, one has reports."""
    for name in ("one", "two"):
        service.begin(**LARGE, name=name)
        tickets = [service.assign(f"u{i}", name)["ticket"] for i in range(60)]
        for ticket in tickets[::2]:
            assert service.study("expose", {"ticket": ticket}, name=name).status == 200
            if name == "two":
                assert service.study("report", {"ticket": ticket, "value": 1}, name=name).status == 200
    for seconds in (EXPOSURE, WINDOW):
        service.tick(seconds + 1)
        value = service.host.metrics.registry.get_sample_value
        assert [value("maskedbandit_study_wasted_places", {"study": name}) for name in ("one", "two")] == [30, 30]


def test_only_a_study_that_gives_places_is_warned_of(service: Inside) -> None:
    service.begin(**LARGE)
    lose(service, range(MANY_WASTED))
    service.tick(EXPOSURE + 1)
    assert told(service)[0] == [WASTED_WARNING]
    assert service.study("stop", key="owner").status == 200
    service.tick()
    assert told(service) == ([], MANY_WASTED, False)


def test_where_everybody_is_seen_at_once_nothing_is_wasted(service: Inside) -> None:
    service.begin(**LARGE, reward=TABLE["reward"] | {"exposure": "0 seconds"})
    lose(service, range(MANY_WASTED))
    service.tick(EXPOSURE + 1)
    service.tick()
    assert told(service) == ([], 0, False)

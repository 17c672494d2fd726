"""The leader settles cohorts with its helper over HTTP: away, cut off or begun again, nothing is lost or done twice."""

import re
from contextlib import closing
from typing import Any

import pytest

from maskedbandit.service.host.helper_links import HELPER_AWAY, HelperLinks
from maskedbandit.service.request.sessions import COOKIE_NAME, new_session
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.pairing import write_pairing
from tests.service.inside import end_after
from tests.service.two_operators_inside import GRACE, WINDOW, Both
from tests.store.test_settle import no_noise


def read_gauges(both: Both) -> list[float]:
    """For how long the helper is away, how many cohorts wait for it, and whether it refuses."""
    found = {each.name: each.value for one in both.service.host.metrics.registry.collect() for each in one.samples}
    return [found[f"maskedbandit_study_helper_{name}"] for name in ("away_seconds", "waiting_cohorts", "refuses")]


def test_a_cohort_is_settled_over_http(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    both.go()
    assert both.releases() == []
    both.go(WINDOW + GRACE + 1)
    found = both.releases()
    assert [each["total"] for each in found] == [each["n"] for each in found] != []
    assert (both.state.waiting, both.state.away_since, both.state.refusal) == (0, None, "")
    assert both.warnings() == []


def test_who_uploaded_nothing_or_left_counts_as_the_default(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    gone = both.people[0]
    gone.device.leave("small")
    both.go(WINDOW + GRACE + 1)
    assert sum(each["total"] for each in both.releases()) == 3


@pytest.mark.slow
def test_a_helper_that_is_away_is_asked_again_less_and_less_often(both: Both) -> None:
    both.go()
    both.helper.away = True
    both.come(4)
    both.go(WINDOW + GRACE + 1)
    since = both.state.away_since
    assert (since, both.state.waiting) == (both.service.clock.now, 2)
    assert HELPER_AWAY not in both.warnings()
    both.helper.asked.clear()
    for _ in range(200):  # seconds
        both.go(1)
    assert 5 <= len(both.helper.asked) <= 12
    assert both.warnings() == [HELPER_AWAY]
    assert "small" not in HELPER_AWAY
    for _ in range(6):  # hours: people are served all the while
        both.go(3600)
        assert both.service.assign("somebody")["arm"] in ("a", "b")
    assert both.state.away_since == since
    assert both.releases() == []
    away, waiting, _ = read_gauges(both)
    assert away > 6 * 3600 - 60
    assert waiting == 2
    both.helper.away = False
    both.go(3600)
    assert len(both.releases()) == 2
    both.come(2)  # whose cohorts are of the next stage
    assert both.warnings() == []
    assert (both.state.waiting, both.state.away_since) == (0, None)


def test_a_helper_that_is_away_for_ever_is_given_up(both: Both) -> None:
    both.come(4)
    both.go(WINDOW + GRACE + 1)
    before = both.releases()
    both.helper.away = True
    both.come(4)
    both.go(3600)
    found = both.service.ask("POST", "/v1/studies/small/stop?without_helper=1", key="owner")
    assert (found.status, found.json["state"]) == (200, "stopped")
    both.helper.asked.clear()
    both.go(3600)
    assert both.helper.asked == []
    assert read_gauges(both) == [0, 0, 0]
    assert both.warnings() == []
    assert both.releases() == before
    assert both.service.study("archive", key="owner").status == 200


def begin_again(both: Both) -> None:
    """The leader's process ends, and another goes on."""
    service = both.service
    service.run(service.host.drop("small"))
    service.host.links.links.clear()


@pytest.mark.sparing(1)
@pytest.mark.parametrize("step", ["PUT /v1/helping/small", "/reports", "/total"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_cut_between_any_two_steps_changes_nothing(
    both: Both, step: str, restart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    both.service.clock.now += 1000 * (WINDOW + GRACE) + 1
    for _ in range(3):  # the answer is lost each time
        both.helper.cut_at = step
        both.go(61)
        if restart:
            begin_again(both)
            both.helper.restart()
    both.helper.cut_at = None
    both.go(61)
    both.go(61)
    assert [each["total"] for each in both.releases()] == [2, 2]
    totals = [study._session.made for study in both.helper.studies.values()]
    assert [len(each) for each in totals] == [2]


@pytest.mark.sparing(1)
@pytest.mark.parametrize("verb", ["due", "batch", "list", "settle"])
def test_the_leader_may_end_at_any_step(both: Both, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is gone when a step was done: nothing that is in memory is needed."""
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    both.service.clock.now += 1000 * (WINDOW + GRACE) + 1
    end_after(both.service, verb, monkeypatch)
    both.go()
    begin_again(both)
    both.go(61)
    both.go(61)
    assert [each["total"] for each in both.releases()] == [2, 2]


def read_page(both: Both) -> str:
    """What the page of the study says of both operators."""
    service = both.service
    found = service.host.keys.of(service.keys["owner"], service.clock())
    cookie = f"{COOKIE_NAME}={new_session(service.host, found)}"
    said = service.ask("GET", "/studies/small", key=None, headers=[("cookie", cookie)])
    assert said.status == 200
    part = said.body.decode().partition('id="part-operators"')[2].partition("</section>")[0]
    return " ".join(re.sub("<[^>]+>", " ", part).split())


@pytest.mark.slow
def test_the_page_says_how_the_helper_is_reached(both: Both) -> None:
    operators = both.service.ask("GET", "/v1/studies/small/protocol", key="owner").json["operators"]
    both.come(4)
    both.go()
    first = read_page(both)
    for name in ("leader", "helper"):
        assert operators[name]["name"] in first
        assert operators[name]["key"][:10] in first
        assert operators[name]["key"][:11] not in first
    assert "Reached 1 Jan 1970" in first
    assert "Cohorts that wait for it 0" in first
    assert "Away" not in first
    both.helper.away = True
    both.go(WINDOW + GRACE + 1)
    assert "Away since 1 Jan 1970" in read_page(both)
    assert "Cohorts that wait for it 2" in read_page(both)
    both.helper.away, both.helper.lie = False, lambda what, said: {} if what.endswith("/total") else said
    both.go(60)
    assert "refuses what it is asked (malformed)" in read_page(both)
    both.helper.lie = None
    both.go(60)
    both.go(60)
    last = read_page(both)
    assert "Disagrees" not in last
    assert "List of its last total" in last


@pytest.mark.slow
def test_a_link_that_asks_all_the_time_is_found(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maskedbandit.service.host.helper_link.LONGEST_PAUSE", 0)
    with pytest.raises(AssertionError, match="<= 12"):
        test_a_helper_that_is_away_is_asked_again_less_and_less_often(both)


def test_another_credential_of_the_helper_is_used_at_once(both: Both) -> None:
    both.go()
    link = both.service.host.links.links["small"]
    with closing(open_database(both.service.address)) as database, database.transaction():
        write_pairing(database, both.helper.keys, "helper", "University", "http://elsewhere.test", "secret", 1)
    both.go()
    assert both.service.host.links.links["small"] is not link
    both.come(4)
    both.go(WINDOW + GRACE + 1)
    assert len(both.releases()) == 2


def test_a_helper_is_told_that_a_study_has_ended(both: Both) -> None:
    """Once nothing waits any more; again by another process, as nobody knows whether the first one did it."""
    both.come(4)
    both.go(1)
    assert both.service.study("stop", key="owner").status == 200
    both.go(1)
    end = "POST /v1/helping/small/end"
    assert end not in both.helper.asked
    both.helper.cut_at = "/end"
    both.go(WINDOW + GRACE)
    assert len(both.releases()) == 2
    both.go(61)
    both.go(3600)
    assert both.helper.asked.count(end) == 2
    assert both.helper.asked[-1] == end
    begin_again(both)
    both.go(1)
    assert both.helper.asked.count(end) == 3


@pytest.mark.sparing(1)
@pytest.mark.parametrize("step", ["/reports", "/total"])
def test_somebody_may_leave_between_any_two_steps(both: Both, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the list is fixed the report is not in the sum; after that it is, as in one that was released."""
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    both.helper.cut_at = step
    both.go(WINDOW + GRACE + 1)
    left = both.people[0]
    left.device.leave("small")
    for _ in range(2):
        both.go(61)
    assert sum(each["total"] for each in both.releases()) == (3 if step == "/reports" else 4)
    assert both.state.refusal == ""


def test_how_long_a_settlement_takes_is_not_measured(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer if more was uploaded: the round of the clock that goes on beside it says nothing of its time."""
    host, measured = both.service.host, list[bool]()
    monkeypatch.setattr(host.metrics.tick, "set", lambda seconds: measured.append(host.links.settling))
    writer, real = host.held["small"], host.held["small"].submit
    both.come(4)

    async def go_round_and_settle(*operation: Any) -> Any:
        found = await real(*operation)
        await host._round()
        return found

    def submit(*operation: Any) -> Any:
        return go_round_and_settle(*operation) if operation[0] in ("batch", "list", "settle") else real(*operation)

    monkeypatch.setattr(writer, "submit", submit)
    both.go(WINDOW + GRACE + 1)
    assert len(both.releases()) == 2
    assert measured == [False]


def test_a_settlement_that_is_measured_is_found(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HelperLinks, "settling", False)
    with pytest.raises(AssertionError):
        test_how_long_a_settlement_takes_is_not_measured(both, monkeypatch)

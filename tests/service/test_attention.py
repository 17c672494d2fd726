"""What needs attention is said on the page, in the interface and on the command line: each kind in its time."""

from contextlib import closing
from typing import Any

import pytest

from maskedbandit.service.views.status import write_status
from maskedbandit.store.databases.connection import open_database
from tests.service.inside import TABLE, Inside

STUDY, DAY, HOUR = "/v1/studies/small", 86_400, 3600  # seconds
LARGE = {"policy": {"name": "successive_elimination", "least": 400}}
GUARDED = {"guardrail": {"name": "harm", "harm": {"above": 0.3}}, "budget": {"epsilon": 8}}
GUARDED |= {"channel": {"name": "central", "epsilon": 8}}


def read_items(service: Inside) -> dict[str, dict[str, Any]]:
    """What needs attention, by its kind, in the state; all others say the same."""
    found = service.ask("GET", STUDY, None, "officer").json["attention"]
    (listed,) = (each["attention"] for each in service.ask("GET", "/v1/studies", None, "owner").json["studies"])
    assert listed == found
    shown = service.run(service.host.view("small")).attention
    assert [each.says for each in shown] == [each["says"] for each in found]
    with closing(open_database(service.address)) as database:
        lines = write_status(database, service.host.witness, "small", service.clock()).splitlines()
    assert [line[:30] for line in lines if line[0] == "!"] == [f"! {each['says']}"[:30] for each in found]
    return {each["kind"]: each for each in found}


def come(service: Inside, people: range, value: int = 0, harm: int = 0) -> None:
    """People see their arms and report."""
    for i in people:
        given = service.assign(f"person {i}")
        if ticket := given["ticket"]:
            assert service.study("expose", {"ticket": ticket}).status == 200
            for body in ({"value": value}, {"value": harm, "metric": "harm"})[: 1 + bool(harm)]:
                assert service.study("report", {"ticket": ticket} | body).status == 200


def test_a_draft_and_a_study_that_goes_well_need_none(service: Inside) -> None:
    assert service.ask("POST", "/v1/studies", TABLE, "owner").status == 201
    assert read_items(service) == {}
    assert service.start("small").status == 200
    come(service, range(20), value=1)
    service.tick(21)
    assert read_items(service) == {}


@pytest.mark.slow
def test_an_arm_that_is_harmful_and_none_that_is_paused(service: Inside) -> None:
    service.begin(**GUARDED, arms=[{"name": "a"}, {"name": "b"}, {"name": "c"}])
    service.study("arms/c/pause", key="owner")
    assert read_items(service) == {}
    for i in range(0, 400, 40):
        come(service, range(i, i + 40), value=1, harm=1)
        service.tick(21)
        if found := read_items(service):
            break
    entries = service.ask("GET", f"{STUDY}/ledger", key="officer").json["entries"]
    assert found.keys() == {"harmful_arm"}
    assert any("arm_harmful" in str(each) for each in entries)
    assert found["harmful_arm"]["arm"] in ("a", "b")
    assert found["harmful_arm"]["since"] == service.clock.now
    service.study("stop", key="owner")
    assert read_items(service).keys() == {"harmful_arm"}
    service.tick(31)
    assert service.study("archive", key="owner").status == 200
    assert read_items(service) == {}, "there is nobody to be shown another arm"


def test_places_that_nobody_saw(service: Inside) -> None:
    service.begin(**LARGE)
    first = service.clock.now
    for i in range(30):
        service.assign(f"u{i}")
        service.clock.now += 10
    assert read_items(service) == {}
    service.tick(11)
    assert read_items(service)["places_unseen"]["since"] == first + 10_000
    service.study("pause", key="owner")
    assert read_items(service) == {}


@pytest.mark.slow
def test_an_arm_whose_exposures_are_lost(service: Inside) -> None:
    """In one of ten cases; the study's own draws decide the rest, so it fails with probability below 1e-9."""
    service.begin(**LARGE, people=3000)
    lost = 0
    for i in range(700):
        given, lost = service.assign(f"u{i}"), lost + 1
        if given["arm"] == "a" or lost % 10:
            service.study("expose", {"ticket": given["ticket"]})
        if i % 100 == 99:
            service.tick(11)
            service.clock.now += 1
    found = read_items(service)
    assert (found.keys(), found["sample_ratio"]["arm"]) == ({"sample_ratio"}, "b")
    assert found["sample_ratio"]["since"] <= service.clock.now
    service.study("stop", key="owner")
    assert read_items(service).keys() == {"sample_ratio"}


@pytest.mark.sparing(1)
@pytest.mark.parametrize(("people", "said"), [(40, True), (45, False)])
def test_people_who_all_come_within_one_window(service: Inside, people: int, said: bool) -> None:
    """If half of them have places before the first release: of 40 these are 20, and of 45 there are too few."""
    service.begin(people=people, policy="contemporaneous_klucb")
    come(service, range(19))
    service.clock.now += 1000
    assert read_items(service) == {}
    come(service, range(19, 22))
    found = read_items(service)
    assert ("one_window" in found) == said
    if said:
        assert found["one_window"]["since"] == service.clock.now
        assert "22 of 40" in found["one_window"]["says"].replace("\N{NARROW NO-BREAK SPACE}", " ")
    service.tick(21)
    come(service, range(22, 40))
    assert ("one_window" in read_items(service)) == said  # those who came after it change nothing


def test_people_who_come_over_more_than_a_window_are_no_such_test(service: Inside) -> None:
    """Although nothing was released yet, as the cohorts are large."""
    service.begin(**LARGE, people=100)
    come(service, range(49))
    service.clock.now += 20_000  # the window
    come(service, range(49, 90))
    assert read_items(service) == {}


def test_a_policy_that_waits_is_no_test_of_one_window(service: Inside) -> None:
    service.begin(people=40, policy="equal_split")
    come(service, range(40))
    assert read_items(service) == {}


def test_budgets_that_are_nearly_spent(service: Inside) -> None:
    terms = {"project": "shop", "budget": {"epsilon": 2, "period": "90 days"}}
    service.begin(**LARGE, **terms, name="first")
    for i in range(30):
        service.seen(f"u{i}", "first")
    service.ask("POST", "/v1/studies", TABLE | LARGE | terms, "owner")
    service.start("small")

    def items() -> list[str]:
        return [each["kind"] for each in service.ask("GET", STUDY, None, "owner").json["attention"]]

    for i in range(24):
        service.seen(f"u{i}")
    assert items() == []
    service.seen("u24")
    assert items() == ["budget_nearly_spent"]
    (said,) = service.ask("GET", STUDY, None, "owner").json["attention"]
    assert "until 1 April 1970" in said["advice"]
    service.clock.now += 90 * DAY * 1000  # the next period
    assert "budget_nearly_spent" not in items()


def test_nobody_is_told_that_somebody_left(service: Inside) -> None:
    """What is said of budgets is the same after one person more is in another study, or has left this one."""
    terms = {"project": "shop", "budget": {"epsilon": 2}}
    service.begin(**LARGE, **terms, name="first")
    service.ask("POST", "/v1/studies", TABLE | LARGE | terms, "owner")
    service.start("small")
    tickets = [service.seen(f"u{i}") for i in range(32)]
    for i in range(30):
        service.seen(f"u{i}", "first")
    before = service.ask("GET", STUDY, None, "owner").json["attention"]
    assert [each["kind"] for each in before] == ["budget_nearly_spent"]
    service.seen("u30", "first")
    assert service.ask("GET", STUDY, None, "owner").json["attention"] == before
    for ticket in tickets[:3]:
        assert service.study("leave", {"ticket": ticket}).status == 200
        assert service.ask("GET", STUDY, None, "owner").json["attention"] == before


def test_a_budget_for_one_place_is_as_planned(service: Inside) -> None:
    service.begin(**LARGE)
    come(service, range(30))
    assert read_items(service) == {}


def test_a_clock_that_was_wrong(service: Inside) -> None:
    service.begin()
    come(service, range(4), value=1)
    service.tick()
    service.clock.now -= 60_000
    assert read_items(service) == {}
    service.clock.now -= 1
    assert read_items(service).keys() == {"clock_ahead"}
    service.clock.now += 1
    assert read_items(service) == {}


@pytest.mark.slow
def test_nobody_comes_for_long(service: Inside) -> None:
    service.begin(**LARGE)
    service.tick(DAY)
    assert read_items(service) == {}
    service.clock.now += 1
    found = read_items(service)["nobody_comes"]
    assert found["since"] == service.clock.now - 1 - DAY * 1000
    for i in range(5):  # somebody every day
        service.seen(f"u{i}")
        assert read_items(service) == {}
        service.tick(DAY - HOUR)
        assert read_items(service) == {}
        service.tick(HOUR)
    service.seen("u5")
    service.tick(2 * DAY)  # which is no long time for this study
    assert read_items(service) == {}
    service.tick(3 * DAY)
    assert read_items(service).keys() == {"nobody_comes"}
    service.study("pause", key="owner")
    assert read_items(service) == {}
    service.study("resume", key="owner")
    assert read_items(service) == {}


def test_where_there_are_no_places_nobody_is_missed(service: Inside) -> None:
    """The policy waits for the outcomes of all its places."""
    service.begin(reward=TABLE["reward"] | {"window": "30 days"})
    come(service, range(4))
    service.tick(20 * DAY)
    assert read_items(service) == {}


def test_cohorts_that_have_not_their_people(service: Inside) -> None:
    service.begin()
    come(service, range(4), value=1)
    service.tick(21)
    assert read_items(service) == {}
    with closing(open_database(service.address)) as database, database.transaction():
        database.change("UPDATE place SET exposed = NULL, returned = 1 WHERE cohort = 0 AND place = 0")
    service.run(service.host.drop("small"))
    service.host._tallies.clear()
    assert "wrong_places" in read_items(service)

"""A study that gives nobody a place any more says so, why, and since when; and nothing of that is of an outcome."""

import asyncio
import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.host import host
from maskedbandit.service.request import events
from maskedbandit.service.request.events import event_stream
from maskedbandit.service.views.status import write_status
from maskedbandit.service.views.view import read_view
from maskedbandit.store.book import finish
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.finish import Finish
from maskedbandit.store.databases.connection import open_database
from tests.service.all_pages import render_study
from tests.service.inside import Inside, inside

LEDGER, EVENTS = "/v1/studies/small/ledger", "/v1/studies/small/events?after=1000"
FEW = {"people": 20, "policy": {"name": "successive_elimination", "least": 10}}
SURE = {"channel": {"name": "central", "epsilon": 200}, "budget": {"epsilon": 200}}
SEARCH = SURE | {"policy": {"name": "contemporaneous_elimination"}, "people": None, "delta": 0.2}
GUARDED = SURE | {
    "policy": {"name": "successive_elimination", "least": 8},
    "guardrail": {"name": "harm", "harm": {"above": 0.2}},
}


def state(service: Inside) -> dict[str, Any]:
    """How the study stands."""
    found = service.ask("GET", "/v1/studies/small", key="officer").json
    assert service.ask("GET", "/v1/studies", key="officer").json["studies"] == [found]
    assert (found["state"] == "finished") == (found["finished"] is not None)
    return dict(found)


def late(service: Inside) -> Any:
    """Why somebody who comes now gets no ticket, and whether all that is said of the study agrees."""
    found = service.assign("somebody who is late")
    said = state(service)["finished"]
    assert found["ticket"] is None
    assert (found["why"] == "finished") == (said is not None)
    with closing(open_database(service.address)) as database:
        line = write_status(database, service.host.witness, "small", service.clock()).splitlines()[0]
        view = read_view(database, service.host.witness, "small", service.clock())
    assert ("small: finished (" in line) == (said is not None)
    assert ("Finished since" in render_study(view, "owner", "")[0]) == (said is not None)
    return found["why"]


def come(service: Inside, people: range, report: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> None:
    """People come, see their arms, and report; their cohorts are released."""
    for i in people:
        given = service.assign(f"person {i}")
        if given["ticket"]:
            service.study("expose", {"ticket": given["ticket"]})
            for body in report(given):
                assert service.study("report", {"ticket": given["ticket"]} | body).status == 200
    service.tick(21)


def test_people_who_are_used_up(service: Inside) -> None:
    service.begin(**FEW)
    tickets = [service.seen(f"person {i}") for i in range(19)]
    assert state(service)["finished"] is None
    service.assign("who never sees it")
    assert late(service) is None  # the last place may go to somebody else
    service.tick(11)
    tickets.append(service.seen("the last one"))
    seen = service.clock.now
    service.clock.now += 1000
    assert state(service)["finished"] == {"why": "people_used_up", "since": seen}
    assert late(service) == "finished"
    assert service.study("report", {"ticket": tickets[-1], "value": 1}).json == {"status": "accepted"}
    service.tick(30)
    assert state(service)["finished"]["since"] == seen  # for ever
    assert service.study("stop", key="owner").json["state"] == "stopped"
    assert state(service)["finished"] is None


def test_an_answer_that_was_found(service: Inside) -> None:
    service.begin(**SEARCH)
    for i in range(0, 2000, 40):
        come(service, range(i, i + 40), lambda given: [{"value": int(given["arm"] == "b")}])
        if (found := state(service)["finished"]) is not None:
            break
    assert found["why"] == "answer_found"
    newest = service.ask("GET", "/v1/studies/small/releases", key="officer").json["releases"][-1]
    assert found["since"] == newest["at"] - 21_000  # when the last person got a place
    assert late(service) == "finished"
    assert service.assign("another")["arm"] == "b"


def test_a_policy_that_asks_for_nobody(service: Inside) -> None:
    """One arm is left in play; it goes on if the other is resumed."""
    service.begin()
    service.study("arms/b/pause", key="owner")
    assert late(service) == "finished"
    assert state(service)["finished"] == {"why": "asks_for_nobody", "since": service.clock.now}
    service.study("arms/b/resume", key="owner")
    assert state(service)["state"] == "running"
    assert service.assign("ann")["ticket"] is not None


def test_arms_that_are_all_harmful(service: Inside) -> None:
    service.begin(**GUARDED)
    for i in range(0, 400, 40):
        come(service, range(i, i + 40), lambda given: [{"value": 0}, {"value": 1, "metric": "harm"}])
        if (found := state(service)["finished"]) is not None and found["why"] == "all_arms_harmful":
            break
    harmful = [each for each in service.ask("GET", LEDGER, key="officer").json["entries"] if "harmful" in str(each)]
    assert found == {"why": "all_arms_harmful", "since": service.clock.now}
    assert len(harmful) == 2
    assert late(service) == "finished"


def finishes(service: Inside) -> list[dict[str, Any]]:
    """What the events say to whoever begins to listen now."""
    said = service.streamed(EVENTS, "officer").decode().split("\n\n")
    return [json.loads(each.partition("data: ")[2]) for each in said if each.startswith("event: finished")]


def hear_the_last_person(service: Inside) -> list[str]:
    """What somebody hears who listens while the last person sees the arm, which is in no entry and no count."""
    service.begin(**FEW)
    tickets = [service.seen(f"person {i}") for i in range(19)]
    tickets.append(service.assign("the last one")["ticket"])
    key = service.host.keys.of(service.keys["officer"], service.clock())

    async def listen() -> list[str]:
        stream = (await event_stream(service.host, "small", 1000, key)).body_iterator
        said = [str(await anext(stream)) for _ in range(2)]  # that it begins, and `changed`
        path, body = "/v1/studies/small/expose", {"ticket": tickets[-1]}
        assert (await service.asked("POST", path, body)).status == 200
        return [*said, *[str(await anext(stream)) for _ in range(2)]]

    found: list[str] = service.run(asyncio.wait_for(listen(), 60))
    return found


def check_heard(service: Inside) -> None:
    _, before, finished, changed = hear_the_last_person(service)
    assert before.startswith("event: changed")
    expected = {"study": "small", "simulated": False, "why": "people_used_up", "since": service.clock.now}
    assert finished == f"event: finished\ndata: {json.dumps(expected)}\n\n"
    assert changed.startswith("event: changed")
    assert finishes(service) == [expected]  # whoever comes later is told, too
    assert service.study("stop", key="owner").status == 200
    assert finishes(service) == []


@pytest.mark.slow
def test_finishing_is_an_event(service: Inside) -> None:
    check_heard(service)


@pytest.mark.slow
def test_events_that_look_at_counts_and_entries_alone_are_caught(
    service: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As whoever sees the arm changes neither, the listener is told that there is nothing new."""
    monkeypatch.setattr(host, "is_used_up", lambda *given: False)
    monkeypatch.setattr(events, "QUIET", 1)
    with pytest.raises(AssertionError):
        check_heard(service)


def test_a_study_that_goes_on_may_finish_again(service: Inside) -> None:
    service.begin()
    for _ in range(2):
        service.study("arms/b/pause", key="owner")
        assert [each["why"] for each in finishes(service)] == ["asks_for_nobody"]
        service.study("arms/b/resume", key="owner")
        assert finishes(service) == []


def all_that_is_said(folder: Path, reports: bool) -> list[Any]:
    """What is said while people come, of whom one reports, or not, and nothing is released yet."""
    found = list[Any]()
    with inside(f"sqlite:///{folder}/studies.db", folder / "witness") as service:
        service.begin(**FEW)
        for i in range(20):
            ticket = service.seen(f"person {i}")
            if i < 19 or reports:
                service.study("report", {"ticket": ticket, "value": 1})
            said = state(service)
            found.append((said["state"], said["finished"], service.assign("person 0")["why"]))
        found.append((late(service), state(service)["finished"], service.streamed(EVENTS, "officer")))
    return found


def compare_worlds(folder: Path) -> None:
    """Two services that differ in one person's outcome alone say the same."""
    found = []
    for name in ("a", "b"):
        (folder / name).mkdir()
        found.append(all_that_is_said(folder / name, reports=name == "a"))
    assert found[0] == found[1]


def test_nobody_learns_from_it_what_somebody_reported(tmp_path: Path) -> None:
    compare_worlds(tmp_path)


def test_a_study_that_is_finished_when_all_have_reported_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = finish.find_last_person

    def telling(book: Book) -> Finish | None:
        assert book.database is not None
        ((reports,),) = book.database.rows("SELECT COUNT(*) FROM reward")
        return real(book) if reports == FEW["people"] else None

    monkeypatch.setattr(finish, "find_last_person", telling)
    with pytest.raises(AssertionError):
        compare_worlds(tmp_path)

"""The leader settles cohorts with its helper over HTTP: whatever is away, cut off or lies, nothing else is released."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.host.helper_link import HELPER_AWAY, HELPER_REFUSES
from maskedbandit.service.request.sessions import COOKIE_NAME, new_session
from maskedbandit.store.own_keys import read_own_keys
from tests.service.fake_helper import FakeHelper
from tests.service.inside import Inside
from tests.service.two_operators_inside import Person, begin_study
from tests.store.test_settle import no_noise

WINDOW, GRACE = 20, 5  # seconds


class Both:
    """A service, its helper, and people."""

    def __init__(self, service: Inside, folder: Path, **changes: Any) -> None:
        self.service, self.folder = service, folder
        self.helper = FakeHelper(folder, service.clock)
        self.helper.leader = read_own_keys(service.host.witness)
        service.host.links.transport = self.helper
        begin_study(service, self.helper.keys, **changes)
        self.people: list[Person] = []

    def come(self, many: int, values: Any = lambda i: i % 2) -> None:
        """So many people come, and have outcomes."""
        for i in range(many):
            person = Person(self.service, self.folder, f"person{len(self.people)}")
            person.join()
            assert person.device.record("small", values(i))
            self.people.append(person)
        self.service.clock.now += 1000
        for person in self.people[-many:]:
            person.device.contact()

    def go(self, seconds: float = 0) -> None:
        """Time passes, and what is due is done to its end."""
        self.service.tick(seconds)
        self.service.run(self.service.host.links.rest())

    def releases(self) -> list[Any]:
        """What was released."""
        return list(self.service.ask("GET", "/v1/studies/small/releases", key="owner").json["releases"])

    def warnings(self) -> list[str]:
        """What somebody should look at."""
        self.service.tick()
        self.service.run(self.service.host.links.rest())
        return list(self.service.ask("GET", "/readyz", key=None).json["warnings"])

    @property
    def state(self) -> Any:
        """How the link stands."""
        return self.service.host.links.show("small")


@pytest.fixture
def both(service: Inside, tmp_path: Path) -> Iterator[Both]:
    """Both operators, with a running study."""
    made = Both(service, tmp_path)
    yield made
    made.helper.close()


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


def test_a_helper_that_is_away_is_asked_again_less_and_less_often(both: Both) -> None:
    both.go()
    both.helper.away = True
    both.come(4)
    both.go(WINDOW + GRACE + 1)
    since = both.state.away_since
    assert (since, both.state.waiting) == (both.service.clock.now, 2)
    assert HELPER_AWAY not in both.warnings()
    both.helper.asked.clear()
    for _ in range(600):  # ten minutes
        both.go(1)
    assert 10 <= len(both.helper.asked) <= 20
    assert both.warnings() == [HELPER_AWAY]
    assert "small" not in HELPER_AWAY
    for _ in range(6):  # hours: people are served all the while
        both.go(3600)
        assert both.service.assign("somebody")["arm"] in ("a", "b")
    assert both.state.away_since == since
    assert both.releases() == []
    metrics = {each.name: each.value for one in both.service.host.metrics.registry.collect() for each in one.samples}
    assert metrics["maskedbandit_study_helper_away_seconds"] > 6 * 3600 - 60
    assert metrics["maskedbandit_study_helper_waiting_cohorts"] == 2
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
    assert both.warnings() == []
    assert both.releases() == before
    assert both.service.study("archive", key="owner").status == 200


def worse(name: str, value: Any) -> Any:
    """A lie about one thing that the helper states of a total."""

    def lie(what: str, said: Any) -> Any:
        return said | {name: value} if what.endswith("/total") else said

    return lie


LIES: dict[str, Any] = {
    "forged": worse("signature", "00" * 64),
    "another list": worse("digest", "00" * 32),
    "another size": worse("n", 3),
    "another offer": worse("offer", "00" * 32),
    "another total": worse("total", "7"),
    "no total": lambda what, said: {} if what.endswith("/total") else said,
    "other answers": lambda what, said: said | {"answers": []} if what.endswith("/reports") else said,
    "no proof": lambda what, said: {"answers": [{"ok": True, "verifier": "*"}]} if what.endswith("/reports") else said,
    "no key": lambda what, said: said | {"key": "x"} if what.startswith("PUT") else said,
}


@pytest.mark.parametrize("which", LIES)
def test_a_helper_that_disagrees_is_named_and_nothing_is_released(
    both: Both, which: str, caplog: pytest.LogCaptureFixture
) -> None:
    both.helper.lie = LIES[which]
    both.come(4)
    both.go(WINDOW + GRACE + 1)
    assert both.releases() == []
    assert both.state.refusal in ("forged", "disagreement", "malformed")
    assert both.warnings() == [HELPER_REFUSES]
    said = [each for each in caplog.records if each.getMessage() == "the helper does not agree"]
    assert [each.study for each in said] == ["small"]  # type: ignore[attr-defined]
    for _ in range(5):
        both.go(60)
    assert both.releases() == []
    assert both.service.assign("somebody")["arm"] in ("a", "b")  # people are served all the while
    both.helper.lie = None
    both.go(60)
    both.go(60)
    assert len(both.releases()) >= 2
    assert both.warnings() == []


def test_a_helper_that_refuses_is_named(both: Both) -> None:
    both.go()
    both.helper.leader = both.helper.keys  # it takes another for the leader
    both.come(4)
    both.go(WINDOW + GRACE + 61)
    assert both.releases() == []
    assert both.state.refusal == "disagreement"
    assert both.warnings() == [HELPER_REFUSES]


def begin_again(both: Both) -> None:
    """The leader's process ends, and another goes on."""
    service = both.service
    service.run(service.host.drop("small"))
    service.host.links.links.clear()


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
    totals = [study._session.totals for study in both.helper.studies.values()]
    assert [len(each) for each in totals] == [2]


@pytest.mark.parametrize("verb", ["due", "batch", "list", "settle"])
def test_the_leader_may_end_at_any_step(both: Both, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is gone when a step was done: nothing that is in memory is needed."""
    no_noise(monkeypatch)
    both.come(4, lambda i: 1)
    both.service.clock.now += 1000 * (WINDOW + GRACE) + 1
    writer = both.service.host.held["small"]
    real = writer.submit  # type: ignore[union-attr]

    async def gone(*operation: Any) -> None:
        await real(*operation)
        raise OSError("the process has ended")

    def submit(*operation: Any) -> Any:
        return gone(*operation) if operation[0] == verb else real(*operation)

    monkeypatch.setattr(writer, "submit", submit)
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
    both.helper.away, both.helper.lie = False, LIES["forged"]
    both.go(60)
    assert "refuses what it is asked (forged)" in read_page(both)
    both.helper.lie = None
    both.go(60)
    both.go(60)
    last = read_page(both)
    assert "Disagrees" not in last
    assert "List of its last total" in last

"""A study of sites over HTTP: clients ask their site as they would a service, and no outcome leaves it."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.service.host.helper_pairing import pair_with_operator
from maskedbandit.service.host.hosting import Hosting
from maskedbandit.service.host.site import SiteHost
from tests.service.sites_inside import CoordinatorWire, SitesInside, wait_for_links


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[SitesInside]:
    made = SitesInside(tmp_path)
    yield made
    made.close()


def test_a_study_over_http(sites: SitesInside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    sums = sites.fill()
    sites.clock.now += 21_000
    sites.go_round()
    assert {each["arm"]: each["total"] for each in sites.releases()} == sums
    assert {each.status for each in sites.passed} == {200}


def test_the_same_person_has_the_same_arm(sites: SitesInside) -> None:
    first = sites.come(0, "ann", 1)
    assert sites.come(0, "ann", None)["ticket"] == first["ticket"]
    assert sites.come(1, "ann", None)["ticket"] != first["ticket"], "who is ann at one site is known to no other"
    sites.wires[0].cut = True
    again = sites.sites[0].assign("ann")
    assert (again["arm"], again["again"], again["exposed"]) == (first["arm"], True, True)
    assert sites.sites[0].study("assign", {"unit": "bob"}).status == 503
    assert sites.sites[0].study("report", {"ticket": first["ticket"], "value": 1, "event": "late"}).status == 200


@pytest.mark.slow
def test_a_site_that_is_cut_off_goes_on(sites: SitesInside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is lost on the way, the round ends with the true sum once the way is there again."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    sums = sites.fill()
    sites.clock.now += 21_000
    for turn in range(12):
        sites.wires[turn % 3].cut = True
        sites.go_round(rounds=1)
        sites.wires[turn % 3].cut = False
    sites.go_round()
    assert {each["arm"]: each["total"] for each in sites.releases()} == sums


def lose_answer(sites: SitesInside, monkeypatch: pytest.MonkeyPatch, unit: str) -> dict[str, Any]:
    """The coordinator gives a person a place, who sees the arm, and the site does not hear it: what it did not hear."""
    real, lost = CoordinatorWire.handle_async_request, list[Any]()

    async def lose(self: CoordinatorWire, request: httpx.Request) -> httpx.Response:
        lost.append((await real(self, request)).json())
        raise httpx.ReadError("lost")

    with monkeypatch.context() as patch:
        patch.setattr(CoordinatorWire, "handle_async_request", lose)
        assert sites.sites[0].study("assign", {"unit": unit, "evaluated": True}).status == 503
    found: dict[str, Any] = lost[0]["assigned"]
    return found


@pytest.mark.slow
def test_an_answer_that_was_lost_is_given_again(sites: SitesInside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after the cohort was added up: the person has the arm, and counts as the default."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    lost = lose_answer(sites, monkeypatch, "ann")
    assert lost["exposed"]
    sums = sites.fill(15)
    sites.clock.now += 21_000
    sites.go_round()
    assert {each["arm"]: each["total"] for each in sites.releases()} == sums
    for cut in (False, True):  # from then on the site knows it
        sites.wires[0].cut = cut
        again = sites.sites[0].study("assign", {"unit": "ann"}).json
        assert [again[key] for key in ("arm", "ticket", "exposed")] == [lost["arm"], lost["ticket"], True]
    assert sites.sites[0].study("report", {"ticket": lost["ticket"], "value": 1}).code == "late"


@pytest.mark.slow
def test_the_arm_of_a_cohort_that_was_discarded(tmp_path: Path) -> None:
    """It stays the person's, and the coordinator is not asked for another one, which it would charge."""
    sites = SitesInside(tmp_path, budget={"epsilon": 3})
    sites.fill()
    first = sites.sites[0].assign("person 0")
    sites.clock.now += 21_000
    writer: Any = sites.coordinator.host.held["small"]
    for _ in range(2):
        for number, each in enumerate(sites.sites):
            each.tick()
            each.run(wait_for_links(each.host))
            if number == 1:
                link = each.host.links["small"]
                link._answers = [answer._replace(message=b"") for answer in link._answers]
    sites.go_round()
    assert sites.releases() == []
    assert sum(writer.study._session.discards.values()) == 2
    asked = len(sites.passed)
    again = sites.sites[0].assign("person 0")
    assert (again["arm"], again["ticket"], again["again"]) == (first["arm"], first["ticket"], True)
    assert len(sites.passed) == asked
    sites.close()


CANARY = 0.73129046


def test_no_outcome_and_no_name_leaves_a_site(tmp_path: Path) -> None:
    """Neither what passes, nor what the coordinator stores, has an outcome or the name of a person."""
    sites = SitesInside(tmp_path)
    for i in range(60):
        sites.come(i % 3, f"canary-person-{i}", CANARY)
    sites.clock.now += 21_000
    sites.go_round()
    assert sites.releases()
    sites.close()
    stored = b"".join(each.read_bytes() for each in tmp_path.glob("coordinator.db*"))
    passed = b"".join(each.sent + each.answered for each in sites.passed)
    at_site = b"".join(each.read_bytes() for each in tmp_path.glob("site0.db*"))
    for where in (stored, passed):
        assert b"canary-person" not in where
        assert b"73129046" not in where
    assert repr(CANARY).encode()[2:] in at_site or CANARY.hex().encode() in at_site or bytes_of(CANARY) in at_site
    assert bytes_of(CANARY) not in stored


def bytes_of(value: float) -> bytes:
    """As SQLite stores it."""
    from struct import pack

    return pack(">d", value)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("world", ["another outcome", "no report", "more reports"])
def test_worlds_that_differ_in_an_outcome_look_the_same(tmp_path: Path, world: str) -> None:
    """The requests of all sites are as many, of the same sizes and in the same order, whatever one person's outcome."""

    def play(folder: Path, other: bool) -> list[tuple[object, ...]]:
        folder.mkdir()
        sites = SitesInside(folder)
        for i in range(40):
            value: float | None = float(i % 2)
            if other and i == 7:
                value = {"another outcome": 0.0, "no report": None, "more reports": 1.0}[world]
            given = sites.come(i % 3, f"person {i}", value)
            if other and i == 7 and world == "more reports" and given["ticket"]:
                sites.sites[i % 3].study("report", {"ticket": given["ticket"], "value": 1, "event": "again"})
        sites.clock.now += 21_000
        sites.go_round()
        sites.close()
        kinds = [each[:3] for each in sites.passed]
        sizes = [(len(each.sent), each.status, len(each.answered)) for each in sites.passed if "round" in each.path]
        return [*kinds, *sizes]

    assert play(tmp_path / "one", False) == play(tmp_path / "two", True)


def test_a_person_is_erased_at_the_site_and_at_the_coordinator(sites: SitesInside) -> None:
    given = sites.come(0, "ann", 1)
    assert sites.sites[0].study("erase", {"unit": "ann"}, "client").status == 403
    assert sites.sites[0].study("erase", {"unit": "ann"}, "officer").json == {"places": 1}
    assert sites.sites[0].study("report", {"ticket": given["ticket"], "value": 1}).status == 404
    assert sites.come(0, "ann", None)["ticket"] is None


@pytest.mark.slow
def test_a_person_who_is_erased_after_the_sum(sites: SitesInside) -> None:
    """Nobody is shown that she had a place, and she has the arm of whoever has none."""
    sites.fill()
    sites.clock.now += 21_000
    sites.go_round()
    site = sites.sites[0]
    before = site.run(site.host.view("small"))
    assert site.study("erase", {"unit": "person 0"}, "officer").json == {"places": 1}
    after = site.run(site.host.view("small"))
    assert (after.people, len(after.cohorts)) == (before.people - 1, len(before.cohorts))
    for cut in (False, True):
        sites.wires[0].cut = cut
        given = site.study("assign", {"unit": "person 0"})
        assert given.status == 503 if cut else given.json["ticket"] is None


@pytest.mark.slow
def test_a_site_joins_one_coordinator(sites: SitesInside) -> None:
    given = sites.addresses[0], sites.folders[0], "http://localhost:9", sites.invite(), "site", sites.wires[0]
    with pytest.raises(InvalidValue, match="which this site has joined"):
        asyncio.run(pair_with_operator(*given, "coordinator"))


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    "said", [b"{}", b"[]", b'{"assigned": {}, "cohort": null}', b"nonsense", b'{"assigned": "\\ud800", "cohort": null}']
)
def test_an_answer_that_cannot_be_read(sites: SitesInside, said: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    async def answer(self: object, request: object) -> httpx.Response:
        return httpx.Response(200, content=said)

    monkeypatch.setattr(CoordinatorWire, "handle_async_request", answer)
    assert sites.sites[0].study("assign", {"unit": "ann"}).status == 503


@pytest.mark.slow
def test_one_exchange_in_a_turn_of_the_clock(sites: SitesInside) -> None:
    """However much is due: between two of them the coordinator cannot see what else the site does."""
    sites.fill()
    sites.clock.now += 21_000
    sites.coordinator.tick(1)
    before = len(sites.passed)
    sites.sites[0].tick()
    sites.sites[0].run(wait_for_links(sites.sites[0].host))
    assert len(sites.passed) == before + 1


def test_how_long_a_site_adds_up_is_not_measured(sites: SitesInside, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer if more was reported: the round of the clock that goes on beside it says nothing of its time."""
    host, measured = sites.sites[0].host, list[bool]()
    monkeypatch.setattr(
        host.metrics.tick, "set", lambda seconds: measured.append(any(each.under_way for each in host.links.values()))
    )
    writer, real, answered = host.held["small"], host.held["small"].submit, list[str]()

    async def go_round_and_answer(*operation: Any) -> Any:
        found = await real(*operation)
        await host._round()
        answered.append(operation[0])
        return found

    def submit(*operation: Any) -> Any:
        return go_round_and_answer(*operation) if operation[0] == "round" else real(*operation)

    monkeypatch.setattr(writer, "submit", submit)
    sites.fill()
    sites.clock.now += 21_000
    sites.go_round()
    assert len(sites.releases()) == 2
    assert len(answered) >= 10
    assert set(measured) == {False}


def test_a_site_that_is_measured_while_it_adds_up_is_found(sites: SitesInside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SiteHost, "_settling", Hosting._settling)
    with pytest.raises(AssertionError):
        test_how_long_a_site_adds_up_is_not_measured(sites, monkeypatch)

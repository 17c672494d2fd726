"""A study of sites over HTTP: clients ask their site as they would a service, and no outcome leaves it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from tests.service.sites_inside import SitesInside


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

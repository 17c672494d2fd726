"""A study of sites to its releases: outcomes stay at the sites, and a round gives their sum with the noise of all."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.errors import Forbidden, Late, PersonalValue, StorageFailed
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.secagg.kept_round import RoundAnswer, RoundDue
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.reconcile import burn_missing
from maskedbandit.store.session import Session
from maskedbandit.store.sites.people import name_for_coordinator
from maskedbandit.store.sites.session import SiteSession
from maskedbandit.store.studies import find_witness
from tests.store.databases import fresh_postgresql
from tests.store.site_scene import AtSite, Sites
from tests.store.small_study import WINDOW, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scene(address: str, tmp_path: Path, clock: Clock) -> Iterator[Sites]:
    """A coordinator with a database of either kind, and sites of which two have one of that kind too."""
    at_sites = [fresh_postgresql() for _ in range(2)] if address.startswith("postgresql") else []
    made = Sites(address, tmp_path, clock, at_sites=at_sites)
    yield made
    made.close()


POLICY = {"name": "successive_elimination", "least": 40}


def fill(scene: Sites, people: int = 16) -> dict[int, float]:
    """People come to the sites in turn until two cohorts are full: the sum of their outcomes by arm."""
    sums, many = {0: 0.0, 1: 0.0}, 0
    for i in range(10 * people):
        value = float(i % 3 == 0)
        given = scene.come(i % len(scene.sites), f"person {i}", value)
        if given.ticket is not None:  # else the people of this site have their share of what is left
            sums[given.arm] += value
            many += 1
        if many == people:
            return sums
    raise AssertionError("the cohorts are not full")


@pytest.mark.sparing(1)
def test_a_round_releases_the_sum(scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    sums = fill(scene)
    assert scene.go_round() == []
    clock.now += WINDOW + 1
    found = scene.go_round()
    assert {each.arm: each.total for each in found} == sums
    assert {each.n for each in found} == {8}
    assert all(each.sites == (0, 1, 2, 3) and each.size == 0 for each in found)
    scene.verify()


@pytest.mark.slow
def test_a_site_whose_disk_was_full_goes_on(scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first try of every answer is not on disk: the second one is by a client that is made again."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    for site in scene.sites:
        monkeypatch.setattr(site, "answer", partial(fail_and_answer, site, site.answer))
    sums = fill(scene)
    clock.now += WINDOW + 1
    assert {each.arm: each.total for each in scene.go_round()} == sums
    scene.verify()


def fail_and_answer(site: AtSite, real: Any, due: list[RoundDue]) -> list[RoundAnswer]:
    """What a site answers after a transaction that failed."""

    def fail() -> None:
        site.study.database.rollback()
        raise StorageFailed("the disk is full")

    for each in due:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(site.study.database, "commit", fail)
            with pytest.raises(StorageFailed):
                site.do("round", each)
    found: list[RoundAnswer] = real(due)
    return found


@pytest.mark.sparing(1)
def test_a_site_that_keeps_what_was_not_stored_is_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: its client has answered already."""
    real = SiteSession._load

    def load(self: SiteSession) -> None:
        held = {cohort: each._replace(phase=each.phase - 1) for cohort, each in getattr(self, "held", {}).items()}
        real(self)
        self.held |= held

    monkeypatch.setattr(SiteSession, "_load", load)
    with pytest.raises(AssertionError):
        test_a_site_whose_disk_was_full_goes_on(scene, clock, monkeypatch)


def test_no_outcome_reaches_the_coordinator(scene: Sites) -> None:
    given = scene.come(0, "ann")
    with pytest.raises(PersonalValue, match="no outcome leaves it"):
        scene.study.report(given.ticket or "", 1)
    with pytest.raises(Forbidden, match="another site"):
        scene.do("expose", given.ticket, 1)
    with pytest.raises(Forbidden, match="a site asks"):
        scene.study.assign("ann")


@pytest.mark.parametrize("address", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_killed_anywhere(scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coordinator and sites go on with what they have stored, opened anew before every step."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    sums = fill(scene)
    clock.now += WINDOW + 1
    apply = type(scene.sites[0]).do

    def reopen(at: Any, *operation: Any) -> Any:
        at.study.close()
        at.open()
        scene.study.close()
        scene.study = scene.open()
        return apply(at, *operation)

    monkeypatch.setattr(type(scene.sites[0]), "do", reopen)
    assert {each.arm: each.total for each in scene.go_round()} == sums
    scene.verify()


@pytest.mark.slow
def test_a_site_that_is_away(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one that may be lost a round waits for it, and then goes on without its people."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    address = f"sqlite:///{tmp_path}/study.db"
    scene = Sites(address, tmp_path, clock, ("1/4",) * 5, backend={"lost": 1}, policy=POLICY)
    fill(scene, 80)
    clock.now += WINDOW + 1
    assert scene.go_round(away=[4]) == []
    found = []
    for _ in range(5):  # phases
        clock.now += 60_001
        found += scene.go_round(away=[4])
    assert {each.sites for each in found} == {(0, 1, 2, 3)}
    assert all(0 < each.n < each.size == 40 for each in found)
    scene.verify()
    scene.close()


def test_an_attempt_that_fails(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """When sites leave, the next attempt has new noise; after the last one the cohort is discarded."""
    address = f"sqlite:///{tmp_path}/study.db"
    scene = Sites(address, tmp_path, clock, backend={"attempts": 2}, budget={"epsilon": 2})
    fill(scene)
    clock.now += WINDOW + 1
    for each in scene.sites[:2]:  # they lose what they knew of the round, as after a copy was restored
        monkeypatch.setattr(each, "answer", lambda due: [RoundAnswer(*each.terms[:2], each.phase, b"") for each in due])
    assert scene.go_round() == []
    kinds = [each.kind for each in read_entries(scene.study.database, scene.protocol.name)]
    assert kinds == ["started", "discarded", "discarded"]
    assert scene.study.people == 0
    scene.verify()
    scene.close()


@pytest.mark.sparing(1)
def test_a_site_that_was_killed_before_it_knew_who_saw_the_arm(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator knows, and the person is in the sum: with the default, or with what was reported."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    sums = fill(scene)
    for each in scene.sites:
        database = each.study.database
        with database.transaction():
            database.change("UPDATE site_place SET exposed = NULL")
    clock.now += WINDOW + 1
    assert {each.arm: each.total for each in scene.go_round()} == sums


@pytest.mark.slow
def test_whoever_comes_again_after_the_place_went_back(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The person has a new place, and the cohorts are released all the same."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, budget={"epsilon": 2})
    at = scene.sites[0]
    person = name_for_coordinator(at.witness, scene.protocol.project, "person 0")
    given = scene.do("assign", person, False, None, 0)
    at.do("note_place", person, given.cohort, {"ticket": given.ticket})
    clock.now += 11_000
    scene.study.tick()
    sums = fill(scene)
    assert at.do("place", person).ticket != given.ticket
    clock.now += WINDOW + 1
    assert {each.arm: each.total for each in scene.go_round()} == sums
    scene.close()


@pytest.mark.slow
def test_people_whom_a_site_does_not_know_count_as_the_default(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that was lost, or data that was erased, discards no cohort."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    sums = fill(scene)
    at = scene.sites[1]
    person = name_for_coordinator(at.witness, scene.protocol.project, "person 9")
    (cohort,) = at.study.database.rows("SELECT cohort FROM site_place WHERE person = ?", person)[0]
    assert scene.do("erase", person) == 1
    assert at.do("erase", person) == 1
    clock.now += WINDOW + 1
    arm = scene.study._session.driver.cohorts[cohort].arm
    assert {each.arm: each.total for each in scene.go_round()} == sums | {arm: sums[arm] - 1}
    assert {each.n for each in scene.study.releases()} == {8}
    scene.verify()


@pytest.mark.slow
def test_an_attempt_that_cannot_succeed_ends(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site is away, and another one leaves the first attempt: the second one needs no answer of the first."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    given = {"backend": {"lost": 1, "attempts": 2}, "policy": POLICY, "budget": {"epsilon": 2}}
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, ("1/4",) * 5, **given)
    fill(scene, 80)
    clock.now += WINDOW + 1
    scene.do("rounds", 0, [RoundAnswer(*each.terms[:2], 0, b"") for each in scene.do("rounds", 0, [])])
    found = []
    for _ in range(8):
        clock.now += 60_001
        found += scene.go_round(away=[4])
    assert {each.sites for each in found} == {(0, 1, 2, 3)}
    scene.close()


@pytest.mark.slow
def test_the_end_of_a_study_at_a_site(scene: Sites) -> None:
    """What the site kept of people is erased."""
    fill(scene)
    scene.sites[0].do("end")
    assert scene.sites[0].study.state == "stopped"
    assert scene.sites[0].study.database.rows("SELECT COUNT(*) FROM site_place") == [(0,)]
    scene.sites[0].do("end")


@pytest.mark.slow
def test_a_cohort_of_which_shares_are_no_whole_numbers(tmp_path: Path, clock: Clock) -> None:
    """Of nine people each site has at most four, so that five are left without the heaviest, as `honest` says."""
    policy = {"name": "successive_elimination", "least": 9}
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, backend={"colluding": 1}, policy=policy)
    fill(scene, 18)
    clock.now += WINDOW + 1
    assert {each.n for each in scene.go_round()} == {9}
    scene.verify()
    scene.close()


@pytest.mark.slow
def test_a_cohort_that_was_discarded_is_dealt_to_other_people(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sites joined its round, and know it under another number then; those who were in it have no other place."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    fill(scene)
    clock.now += WINDOW + 1
    with monkeypatch.context() as patch:
        for each in scene.sites[:1]:
            patch.setattr(each, "answer", lambda due: [RoundAnswer(*each.terms[:2], each.phase, b"") for each in due])
        assert scene.go_round() == []
    kinds = [each.kind for each in read_entries(scene.study.database, scene.protocol.name)]
    assert kinds == ["started", "discarded", "discarded"]
    assert scene.come(1, "person 1").ticket is None
    sums, again = {0: 0.0, 1: 0.0}, 0
    for i in range(40):
        given = scene.come(i % 4, f"late {i}", value := float(i % 3 == 0))
        if given.ticket is not None:
            sums[given.arm] += value
            again += scene.do("assign", name_for_coordinator(*name_late(scene, i)), False, None, i % 4).again
    assert again == 16
    clock.now += WINDOW + 1
    assert {each.arm: each.total for each in scene.go_round()} == sums
    scene.verify()


def name_late(scene: Sites, i: int) -> tuple[Any, str, str]:
    """What a late person's name for the coordinator follows from."""
    return scene.sites[i % 4].witness, scene.protocol.project, f"late {i}"


@pytest.mark.sparing(1)
def test_a_cohort_that_is_dealt_again_under_its_number_is_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin: the sites take no outcome of it, as they have joined its round."""
    monkeypatch.setattr(Session, "number_of", lambda self, cohort: cohort)
    with pytest.raises(Late):
        test_a_cohort_that_was_discarded_is_dealt_to_other_people(scene, clock, monkeypatch)


@pytest.mark.slow
def test_a_copy_from_the_middle_of_a_round(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an export everybody is charged, and the cohorts are dealt to other people, whose round is a new one."""
    monkeypatch.setattr(DiscreteLaplace, "sum_of_shares", lambda self, people, n, bits: 0)
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, budget={"epsilon": 2})
    fill(scene)
    clock.now += WINDOW + 1
    assert scene.go_round(times=2) == []
    scene.study.close()
    shutil.copy(tmp_path / "study.db", tmp_path / "copy.db")
    scene.study = scene.open()
    assert len(scene.go_round()) == 2
    scene.study.close()
    for each in tmp_path.glob("study.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", tmp_path / "study.db")
    with closing(open_database(scene.address)) as database:
        burn_missing(database, find_witness(database, scene.folder), scene.protocol.name)
    scene.study = scene.open()
    sums = {0: 0.0, 1: 0.0}
    for i in range(16):
        value = float(i % 3 == 0)
        sums[scene.come(i % 4, f"late {i}", value).arm] += value
    clock.now += WINDOW + 1
    assert {each.arm: each.total for each in scene.go_round()} == sums
    scene.verify()
    for number in range(4):
        assert scene.come(number, f"late {number}").again  # under the number that it had
    scene.close()

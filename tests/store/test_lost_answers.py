"""A site did not hear what the coordinator gave its people, or the coordinator has forgotten it: all get their arms.

Asked again, a person is told the same arm, and no outcome of anybody is in two sums.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import Disagreement, Late
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.kept_round import RoundAnswer
from maskedbandit.store import reconcile as reconciling
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.reconcile import bring_back, export_ledger
from maskedbandit.store.requests import Assigned
from maskedbandit.store.sites import people, rounds
from maskedbandit.store.sites.people import name_for_coordinator
from maskedbandit.store.studies import find_witness
from tests.store.site_scene import Sites, make_sites_without_noise
from tests.store.small_study import EXPOSURE, WINDOW, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scene(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sites]:
    yield from make_sites_without_noise(tmp_path, clock, monkeypatch, budget={"epsilon": 3})


def fill(scene: Sites, people: int, name: str) -> dict[int, float]:
    """So many people come to the sites in turn: the sum of their outcomes by arm."""
    sums = {0: 0.0, 1: 0.0}
    for i in range(people):
        value = float(i % 3 == 0)
        given = scene.come(i % 4, f"{name} {i}", value)
        assert given.ticket is not None
        sums[given.arm] += value
    return sums


def name_person(scene: Sites, site: int, unit: str) -> str:
    """What the coordinator knows a person by."""
    return name_for_coordinator(scene.sites[site].witness, scene.protocol.project, unit)


def assign(scene: Sites, site: int, unit: str) -> Assigned:
    """A person comes, and the answer of the coordinator is lost: the site hears nothing."""
    found: Assigned = scene.do("assign", name_person(scene, site, unit), False, None, site)
    return found


def note(scene: Sites, site: int, unit: str, given: Assigned) -> Any:
    """The site hears what the coordinator gave a person."""
    return scene.sites[site].do("note_place", name_person(scene, site, unit), given.cohort, {"ticket": given.ticket})


def test_whoever_asks_again_when_the_cohort_is_added_up(scene: Sites, clock: Clock) -> None:
    """She has the place that she was given, and counts as the default: no outcome of hers is taken any more."""
    given = assign(scene, 0, "ann")
    scene.do("expose", given.ticket, 0)
    fill(scene, 15, "person")
    clock.now += WINDOW + 1
    assert len(scene.go_round()) == 2
    again = assign(scene, 0, "ann")
    assert (again.ticket, again.again) == (given.ticket, True)
    assert note(scene, 0, "ann", again).ticket == given.ticket
    site = scene.sites[0]
    site.do("expose", again.ticket)
    with pytest.raises(Late):
        site.do("report", again.ticket, 1.0)
    assert site.do("place", name_person(scene, 0, "ann"), True).ticket == given.ticket
    scene.verify()


def test_an_outcome_that_is_taken_too_late_is_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken twin, which does not look whether the cohort is added up."""
    monkeypatch.setattr(people, "is_added_up", lambda session, cohort: False)
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"):
        test_whoever_asks_again_when_the_cohort_is_added_up(scene, clock)


def test_whoever_gave_a_place_back_may_have_another(scene: Sites, clock: Clock) -> None:
    """Somebody else had the place when it was added up; the site, which did not hear that, takes the new one."""
    given = assign(scene, 0, "ann")
    note(scene, 0, "ann", given)
    clock.now += EXPOSURE + 1
    scene.study.tick()
    fill(scene, 16, "person")
    clock.now += WINDOW + 1
    assert len(scene.go_round()) == 2
    again = assign(scene, 0, "ann")
    assert again.ticket not in (None, given.ticket)
    assert note(scene, 0, "ann", again).ticket == again.ticket
    scene.verify()


def test_a_site_that_keeps_places_that_went_back_is_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds, "keep_places", lambda session, cohort, tickets: None)
    with pytest.raises(Disagreement, match="who is in a sum"):
        test_whoever_gave_a_place_back_may_have_another(scene, clock)


def test_whoever_was_left_out_of_a_second_attempt_is_in_the_sum(tmp_path: Path, clock: Clock) -> None:
    """A coordinator may say so, and gets no outcome of that person into another sum by it."""
    scene = Sites(f"sqlite:///{tmp_path}/study.db", tmp_path, clock, backend={"attempts": 2}, budget={"epsilon": 4})
    scene.study._session.bits = Bits(Random(7).randbytes)  # every site has people in both cohorts, and room for more
    fill(scene, 16, "person")
    clock.now += WINDOW + 1
    site, due = scene.sites[0], scene.do("rounds", 0, [])[0]
    assert site.do("round", due).message
    find = "SELECT ticket FROM site_place ORDER BY ticket"
    before = site.study.database.rows(find)
    few = (due.terms.weights[0] - 1, due.terms.weights[1] + 1, *due.terms.weights[2:])
    lie = due._replace(terms=due.terms._replace(attempt=2, weights=few), invited=due.invited[1:])
    assert site.do("round", lie).message
    assert site.study.database.rows(find) == before
    scene.close()


def test_a_site_that_forgets_who_was_in_the_first_attempt_is_found(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "is_added_up", lambda session, cohort: False)
    with pytest.raises(AssertionError):
        test_whoever_was_left_out_of_a_second_attempt_is_in_the_sum(tmp_path, clock)


def test_the_end_of_a_study_leaves_no_place(scene: Sites) -> None:
    """An answer that was on its way when the study ended is no place here."""
    given = assign(scene, 0, "ann")
    scene.sites[0].do("end")
    assert note(scene, 0, "ann", given) is None
    assert scene.sites[0].study.database.rows("SELECT COUNT(*) FROM site_place") == [(0,)]


def restore(scene: Sites, tmp_path: Path) -> None:
    """The coordinator's database is the copy that was made before."""
    scene.study.close()
    for each in tmp_path.glob("study.db*"):
        each.unlink()
    shutil.copy(tmp_path / "copy.db", tmp_path / "study.db")


def copy(scene: Sites, tmp_path: Path) -> None:
    """The coordinator's database is copied."""
    scene.study.close()
    shutil.copy(tmp_path / "study.db", tmp_path / "copy.db")
    scene.study = scene.open()


def lose_round(scene: Sites, clock: Clock, tmp_path: Path) -> None:
    """A copy has half of the people of two cohorts, whose rounds all sites have joined since."""
    fill(scene, 8, "early")
    copy(scene, tmp_path)
    fill(scene, 8, "since")
    clock.now += WINDOW + 1
    assert scene.go_round(times=2) == []
    assert all(len(each.study._session.joined) == 2 for each in scene.sites)


def export(scene: Sites, tmp_path: Path) -> Path:
    """What the coordinator exports."""
    witness, file = find_witness(scene.study.database, scene.folder), tmp_path / "export"
    file.write_text("".join(f"{line}\n" for line in export_ledger(scene.study.database, witness, "small")))
    return file


def reconcile(scene: Sites, tmp_path: Path, file: Path) -> None:
    """The copy is put in the database's place, and what its ledger lacks is brought back."""
    restore(scene, tmp_path)
    with closing(open_database(scene.address)) as database:
        bring_back(database, find_witness(database, scene.folder), "small", file)
    scene.study = scene.open()


def fill_in_vain(scene: Sites, clock: Clock) -> None:
    """New people fill cohorts whose rounds the sites have joined: they get their arms, and the rounds fail."""
    assert all(scene.come(i % 4, f"late {i}").ticket for i in range(8))
    clock.now += WINDOW + 1
    assert scene.go_round() == []


def release_all(scene: Sites, clock: Clock) -> None:
    """People who come now fill cohorts that are released."""
    sums = fill(scene, 16, "later")
    clock.now += WINDOW + 1
    assert {each.arm: each.total for each in scene.go_round()} == sums
    scene.verify()


@pytest.mark.slow
@pytest.mark.parametrize("noticed", [True, False])
def test_a_copy_from_before_a_round(scene: Sites, clock: Clock, tmp_path: Path, noticed: bool) -> None:
    """With an export, if the ledger has an entry more; or without, if the copy lacks places alone."""
    lose_round(scene, clock, tmp_path)
    if noticed:
        scene.study.pause()
        scene.study.resume()
        reconcile(scene, tmp_path, export(scene, tmp_path))
    else:
        restore(scene, tmp_path)
        scene.study = scene.open()
    fill_in_vain(scene, clock)
    kinds = [each.kind for each in read_entries(scene.study.database, "small")]
    assert kinds == ["started", *(["paused", "resumed"] if noticed else []), "discarded", "discarded"]
    release_all(scene, clock)


def lose_discards(scene: Sites, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy has all people of two cohorts, which were discarded since, as one site left; another did not join them."""
    fill(scene, 16, "early")
    copy(scene, tmp_path)
    clock.now += WINDOW + 1
    with monkeypatch.context() as patch:
        for each in scene.sites[:1]:
            patch.setattr(each, "answer", lambda due: [RoundAnswer(*each.terms[:2], each.phase, b"") for each in due])
        assert scene.go_round(away=[3]) == []
    reconcile(scene, tmp_path, export(scene, tmp_path))


@pytest.mark.slow
def test_a_copy_from_before_cohorts_were_discarded(
    scene: Sites, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their places are free, and whoever was in them at a site that did not join has a new one."""
    lose_discards(scene, clock, tmp_path, monkeypatch)
    assert scene.study.people == 0
    assert scene.come(3, "early 3").ticket is not None
    sums = fill(scene, 15, "later")
    clock.now += WINDOW + 1
    assert {each.arm: each.total for each in scene.go_round()} == sums
    scene.verify()


def test_an_export_that_discards_nothing_again_is_found(
    scene: Sites, clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconciling, "discard_again", lambda *given: None)
    with pytest.raises(AssertionError):
        test_a_copy_from_before_cohorts_were_discarded(scene, clock, tmp_path, monkeypatch)


def test_whoever_was_in_a_cohort_that_was_discarded_keeps_the_arm(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The site tells it without asking the coordinator, which would give, and charge, another place."""
    fill(scene, 16, "person")
    before = scene.come(1, "person 1")
    clock.now += WINDOW + 1
    with monkeypatch.context() as patch:
        for each in scene.sites[:1]:
            patch.setattr(each, "answer", lambda due: [RoundAnswer(*each.terms[:2], each.phase, b"") for each in due])
        assert scene.go_round() == []
    site, person = scene.sites[1], name_person(scene, 1, "person 1")
    assert site.do("place", person, True).ticket == before.ticket
    assert site.do("place", name_person(scene, 1, "nobody"), True) is None
    again = assign(scene, 1, "person 1")
    assert again.ticket != before.ticket, "the coordinator has forgotten"
    with pytest.raises(Disagreement, match="who is in a sum"):
        note(scene, 1, "person 1", again)

"""What pages count when a cohort was discarded: its people saw their arms, and its places are there again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from maskedbandit.secagg.kept_round import RoundAnswer
from maskedbandit.service.views import counts
from maskedbandit.service.views.tally import Tally
from maskedbandit.service.views.view import StudyView, read_view
from maskedbandit.store.studies import find_witness
from tests.store.site_scene import Sites, make_sites_without_noise
from tests.store.small_study import WINDOW, Clock
from tests.store.test_rounds import fill


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scene(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sites]:
    yield from make_sites_without_noise(tmp_path, clock, monkeypatch)


def look(scene: Sites, clock: Clock, tally: Tally) -> StudyView:
    """What is shown to whoever looked before, and to everybody else."""
    witness = find_witness(scene.study.database, scene.folder)
    view = read_view(scene.study.database, witness, "small", clock.now, tally)
    assert read_view(scene.study.database, witness, "small", clock.now) == view
    return view


def list_standing(view: StudyView) -> list[tuple[str, int, int]]:
    """Of each cohort its state, and how many have a place, and saw their arm."""
    return [(each.state, each.dealt, each.seen) for each in view.counts.cohorts]


@pytest.mark.slow
def test_a_cohort_that_was_discarded(scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is wrong with the database, no place went back unseen, and no arm was seen less often."""
    tally, leaves = Tally(), scene.sites[0]
    fill(scene)
    clock.now += 1000
    scene.study.tick()  # from now on what was counted is kept
    assert list_standing(look(scene, clock, tally)) == [("waiting", 8, 8)] * 2
    clock.now += WINDOW + 1

    def answer(due: list[RoundAnswer]) -> list[RoundAnswer]:
        return [leaves.do("round", each) if each.terms.cohort else RoundAnswer(0, 1, each.phase, b"") for each in due]

    with monkeypatch.context() as patch:
        patch.setattr(leaves, "answer", answer)
        assert [each.cohort for each in scene.go_round()] == [1]
    view = look(scene, clock, tally)
    assert list_standing(view) == [("open", 0, 0), ("released", 8, 8)]
    assert (view.counts.dealt, view.counts.seen, view.counts.returned) == ((0, 8), (0, 8), (0, 0))
    assert view.counts.cohorts[0].deadline is None
    assert view.counts.ratio.groups == 0
    given = [scene.come(i % 4, f"late {i}") for i in range(5)]
    assert {each.cohort for each in given} == {2**32}
    view = look(scene, clock, tally)
    assert list_standing(view) == [("open", 5, 5), ("released", 8, 8)]
    assert not view.attention
    assert all(scene.come(i % 4, f"late {i}").ticket for i in range(5, 8))
    clock.now += WINDOW + 1
    assert [each.cohort for each in scene.go_round()] == [0]
    assert list_standing(look(scene, clock, tally))[:2] == [("released", 8, 8)] * 2


def test_counts_with_the_people_of_before_are_found(
    scene: Sites, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "leave_out_discarded", lambda database, book, cohorts: cohorts)
    with pytest.raises(AssertionError):
        test_a_cohort_that_was_discarded(scene, clock, monkeypatch)

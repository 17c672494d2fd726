"""`mb.estimate` of a stored study."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import maskedbandit as mb
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.reports.estimate.bias import PlayedStudy
from maskedbandit.reports.estimate.intervals import WHOSE_DIFFERENCE
from maskedbandit.reports.estimate.source import source_of
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.protocol import Protocol


@contextmanager
def stored(folder: Path, people: int, arms: str) -> Iterator[tuple[Study, Callable[[], None]]]:
    """A study that began, and what plays its first epoch of ten people an arm: the first arm succeeds, others fail."""
    protocol = {"name": "sums", "people": people, "policy": {"name": "successive_elimination", "least": 10}}
    protocol |= {"channel": {"name": "central", "epsilon": 20}, "budget": {"epsilon": 20}}
    protocol |= {"arms": [{"name": arm} for arm in arms], "reward": {"least": -10, "most": 10, "window": "1 hour"}}
    address, time = f"sqlite:///{folder}/s.db", 0
    write_study(Protocol.from_table(protocol), address, folder / "w")
    with open_study(address, folder=folder / "w", clock=lambda: time) as study:
        study.start()

        def play() -> None:
            nonlocal time
            for i in range(10 * len(arms)):
                place = study.assign(f"unit{i}")
                study.expose(place.ticket)
                study.report(place.ticket, 10 if place.arm == 0 else -10)
            time = 2 * 3_600_000
            study.tick()

        yield study, play


def test_a_stored_study_in_its_units(tmp_path: Path) -> None:
    with stored(tmp_path, 40, "ab") as (study, play):
        assert all(each.n == 0 for each in mb.estimate(study).arms)
        assert mb.estimate(study).differences == ()
        play()
        found = mb.estimate(study, simulations=0)
        assert [each.epoch for each in study.recorded()] == [0, 0]
    assert found.what == "sums"
    a, b = found.arms
    assert (a.arm, b.arm, a.n, b.n) == ("a", "b", 10, 10)
    assert (a.estimate, b.estimate) == (10, -10)  # noise at ε = 20 is 0, but for a chance of some 1e-8
    assert -10 == b.interval.low < -5 < b.interval.high < a.interval.low < a.interval.high == 10
    (difference,) = found.differences
    assert difference.of == WHOSE_DIFFERENCE
    assert difference.estimate == -20
    assert -20 == difference.interval.low < difference.interval.high < 20


def test_simulations_of_a_stored_study_end_where_it_is_and_there_are_none_after_its_arms_changed(
    tmp_path: Path,
) -> None:
    with stored(tmp_path, 3000, "abc") as (study, play):
        assert mb.estimate(study).correction == "not corrected: an arm has no release"
        play()
        played = source_of(study, None, None).played
        assert played == PlayedStudy(study.protocol.policy, 3000, AT_ONCE, 300, 30)  # 1 % of its people were released
        found = mb.estimate(study, simulations=20)
        assert found.correction == "corrected by 20 simulations until 30 people were released"
        assert found.correction in repr(found)
        assert all(
            each.corrected == pytest.approx(each.estimate, abs=0.1) for each in found.arms
        )  # nothing adapted yet
        study.change_arms("pause", "b")
        changed = mb.estimate(study, simulations=20)
    assert "its arms changed" in changed.correction
    assert all(math.isnan(each.corrected) for each in changed.arms + changed.differences)
    assert changed.arms == tuple(each._replace(corrected=pytest.approx(math.nan, nan_ok=True)) for each in found.arms)

"""A study of two operators to its answer: devices upload, the helper adds up its shares, and sums are the true ones."""

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import find_witness
from maskedbandit.store.traces import Scrubber
from tests.store.small_study import EXPOSURE, WINDOW, Clock
from tests.store.two_operators import GRACE, REWARD, Leading

OVER = WINDOW + GRACE + 1


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leading(address: str, tmp_path: Path, clock: Clock) -> Iterator[Leading]:
    """In a database of either kind."""
    made = Leading(address, tmp_path / "witness", clock)
    yield made
    made.study.close()


def verify(leading: Leading) -> None:
    """Whatever was stored fits together."""
    database = open_database(leading.address)
    try:
        verify_study(database, find_witness(database, leading.folder), "small")
    finally:
        database.close()


def no_noise(patch: pytest.MonkeyPatch) -> None:
    """Both operators draw 0."""
    patch.setattr(DiscreteLaplace, "noise_share", lambda self, honest, bits: 0)


def four(leading: Leading, values: list[float | None], start: int = 0) -> dict[tuple[int, int], tuple[Any, Any]]:
    """People come and upload these, or nothing: who has which place, and what was uploaded."""
    found = {}
    for i, value in enumerate(values):
        given = leading.come(f"person {start + i}")
        assert given.cohort is not None
        assert given.offers[0].position is not None
        found[given.cohort, given.offers[0].position] = given.ticket, value
        if value is not None:
            assert not leading.upload(given, leading.seal(given, value))
    return found


def test_sums_are_those_of_the_outcomes(leading: Leading, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    no_noise(monkeypatch)
    people = four(leading, [1, 0, 1, 1])
    assert leading.do("tick") == []
    assert leading.settle() == []
    clock.now += WINDOW + GRACE
    assert leading.settle() == []  # the last report may still come
    clock.now += 1
    assert leading.do("tick") == []  # the clock alone releases nothing
    released = leading.settle()
    assert len(released) == 2
    for each in released:
        assert each.total == sum(value for (cohort, _), (_, value) in people.items() if cohort == each.cohort)
        assert each.helper is not None
        assert each.helper.reports == each.n == 2
    assert leading.study.releases() == released
    assert leading.settle() == []
    verify(leading)
    leading.reopen()
    assert leading.study.releases() == released


@pytest.mark.parametrize("default", [0, 0.3, 1])
def test_who_is_missing_counts_as_the_default(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, default: float
) -> None:
    no_noise(monkeypatch)
    address = f"sqlite:///{tmp_path}/study.db"
    leading = Leading(address, tmp_path / "witness", clock, reward=REWARD | {"most": 2, "default": default})
    people = four(leading, [1, None, None, None])
    clock.now += OVER
    released = leading.settle()
    for each in released:
        told = [value for (cohort, _), (_, value) in people.items() if cohort == each.cohort]
        expected = sum(Fraction(default) / 2 if value is None else Fraction(value) for value in told)
        assert each.total == float(expected)
    assert sorted(each.helper.reports for each in released if each.helper) == [0, 1]
    verify(leading)
    leading.study.close()


def test_noise_is_that_of_both_operators(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([5, -3, 10, -20])
    monkeypatch.setattr(DiscreteLaplace, "noise_share", lambda self, honest, bits: next(drawn))
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    four(leading, [1, 1, 1, 1])
    clock.now += OVER
    assert [each.total for each in leading.settle()] == [2 + 5 - 3, 2 + 10 - 20]
    assert list(drawn) == []
    leading.study.close()


@pytest.mark.slow
def test_a_study_comes_to_its_answer(tmp_path: Path, clock: Clock) -> None:
    """One in twenty of the devices is lost; the better arm is found, and all sums are near the true ones."""
    leading = Leading(
        f"sqlite:///{tmp_path}/study.db",
        tmp_path / "witness",
        clock,
        policy={"name": "successive_elimination", "least": 8},
        people=300,
    )
    rng, true, came = Random(3), dict[int, float](), 0
    while leading.study.answer is None and came < 300:
        given = leading.come(f"person {came}")
        came += 1
        clock.now += 10
        if given.ticket is None:
            leading.do("tick")
            clock.now += OVER
            leading.settle()
            continue
        value = float(rng.random() < (0.05, 0.95)[given.arm])
        if rng.random() >= 0.05:
            assert given.cohort is not None
            true[given.cohort] = true.get(given.cohort, 0) + value
            leading.upload(given, leading.seal(given, value))
    assert leading.study.answer == 1
    released = leading.study.releases()
    assert len(released) >= 2
    for each in released:
        assert abs(each.total - true.get(each.cohort, 0)) < 60  # in each of them with probability 1 - 1e-24
    verify(leading)
    leading.study.close()


def test_places_that_nobody_saw_go_back(tmp_path: Path, clock: Clock) -> None:
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    leading.do("assign", "gone")
    clock.now += EXPOSURE + 1
    assert leading.do("tick") == []
    four(leading, [1, 1, 0, 0])
    clock.now += OVER
    assert len(leading.settle()) == 2
    verify(leading)
    leading.study.close()


def test_seals_of_a_released_cohort_are_in_no_file(tmp_path: Path, clock: Clock) -> None:
    """Whoever comes to have the keys of both operators one day cannot open what was released before."""
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock)
    sealed = []
    for i in range(4):
        given = leading.come(f"person {i}")
        sealed.append(leading.seal(given, 1))
        leading.upload(given, sealed[-1])
    marks = [part.hex().encode() for each in sealed for part in (each.leader, each.helper)]

    def find_marks() -> int:
        return sum(mark in path.read_bytes() for path in tmp_path.glob("study.db*") for mark in marks)

    assert find_marks() >= len(marks)
    clock.now += OVER
    assert len(leading.settle()) == 2
    leading.study.close()
    with closing(open_database(leading.address)) as database:
        assert Scrubber().scrub(database)
    assert find_marks() == 0

"""What is asked often goes to the few rows that it is about, however many people came before."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from maskedbandit.service.views.health import count_wasted
from maskedbandit.service.views.sample_ratio import SampleRatio
from maskedbandit.service.views.tally import Tally
from maskedbandit.store.book.finish import is_used_up
from maskedbandit.store.reconcile import empty_places
from maskedbandit.store.studies import open_example
from maskedbandit.store.study import Study


def plans(study: Study, monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Any], words: str) -> list[str]:
    """How SQLite finds what is asked in statements with these words."""
    asked: list[tuple[Any, ...]] = []
    real = study.database.rows
    with monkeypatch.context() as heard:
        heard.setattr(study.database, "rows", lambda *given: asked.append(given) or real(*given))
        ask()
    found = [real(f"EXPLAIN QUERY PLAN {statement}", *values) for statement, *values in asked if words in statement]
    said = [row[3] for plan in found for row in plan]
    assert said
    return said


def test_the_page_looks_for_the_oldest_place_that_nobody_saw(monkeypatch) -> None:
    with open_example() as study:
        said = plans(study, monkeypatch, lambda: Tally().find_next(study.database, "example"), "exposed IS NULL")
        assert all("unseen" in each for each in said)


def test_whoever_listens_looks_for_the_oldest_place_that_nobody_saw(monkeypatch) -> None:
    with open_example() as study:
        used_up = partial(is_used_up, study.database, "example", 1000, study.protocol)
        said = plans(study, monkeypatch, used_up, "exposed IS NULL")
        assert all("unseen" in each for each in said)


def test_the_alarm_looks_at_the_newest_places_alone(monkeypatch) -> None:
    with open_example() as study:
        said = plans(study, monkeypatch, lambda: count_wasted(study.database, "example", 10**13), "place")
        assert any("arrivals (study=? AND assigned<?)" in each for each in said)
        assert not [each for each in said if "B-TREE FOR ORDER BY" in each]  # all of them are not sorted


def test_whether_arms_are_seen_alike_is_asked_of_new_places_alone(monkeypatch) -> None:
    with open_example() as study:
        bets = SampleRatio(2)
        said = plans(study, monkeypatch, lambda: bets.upto(study.database, "example", [0], 2, 10**13), "place")
        assert all("arrivals (study=? AND assigned>? AND assigned<?)" in each or "DISTINCT" in each for each in said)


def test_the_clock_looks_at_places_alone_that_nobody_saw(monkeypatch) -> None:
    with open_example() as study:
        said = plans(study, monkeypatch, study.tick, "place")
        assert not [each for each in said if "arrivals" in each or "SCAN" in each]


@pytest.mark.parametrize("how", ["assign", "erase", "empty"])
def test_the_places_of_a_person_are_found_by_their_tickets(monkeypatch, how) -> None:
    with open_example() as study:
        study.assign("ann")
        ask = {
            "assign": lambda: study.assign("ann"),
            "erase": lambda: study.erase("ann"),
            "empty": lambda: empty_places(study.database, study.name, {study._session.pseudonym("ann")}),
        }[how]
        said = [each for each in plans(study, monkeypatch, ask, "FROM place") if "json_each" not in each]
        assert [each for each in said if " place " in each]
        assert all("(study=? AND ticket=?)" in each for each in said if " place " in each)

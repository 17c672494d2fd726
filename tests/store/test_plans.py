"""What is asked every second goes to the few rows that it is about, however many people came before."""

from __future__ import annotations

from typing import Any

from maskedbandit.store.studies import example


def test_the_clock_looks_at_places_alone_that_nobody_saw(monkeypatch) -> None:
    with example() as study:
        asked: list[tuple[Any, ...]] = []
        real = study.database.rows
        monkeypatch.setattr(study.database, "rows", lambda *given: asked.append(given) or real(*given))
        study.tick()
        plans = [
            real(f"EXPLAIN QUERY PLAN {statement}", *values) for statement, *values in asked if "place" in statement
        ]
        said = [row[3] for plan in plans for row in plan]
        assert said
        assert not [each for each in said if "arrivals" in each or "SCAN" in each]

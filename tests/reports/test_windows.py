"""Most people within one window: a plan says so, over how many windows to spread them, and what that saves."""

from datetime import UTC, datetime

import pytest

from maskedbandit.cli.parts.forecast import foreseen, in_words, spread_out
from maskedbandit.reports.plan.plan import Question, plan
from maskedbandit.reports.plan.windows import ENOUGH_SAVED, WINDOWS, Spread, say_spread
from maskedbandit.study.protocol import Protocol

REGRET = Question(arms=3, difference=0.2, people=2000, goal="regret")
RUNS = 40


def make_plan(per_day: float, **changes: object) -> tuple[str, Spread | None]:
    """What a plan says, and of how many windows."""
    found = plan(REGRET, trust=("central",), runs=RUNS, per_day=per_day, **changes)
    assert found.to_dict()["spreads"] == [None if each is None else each._asdict() for each in found.spreads]
    return str(found), found.spreads[0]


@pytest.mark.slow
def test_it_is_said_from_half_of_the_people_on() -> None:
    said, none = make_plan(per_day=999)
    assert (none, "A/B test" in said) == (None, False)
    said, half = make_plan(per_day=1000)
    assert half is not None
    assert (half.early, half.people) == (1000, 2000)
    assert "A/B test, not a bandit" in said


@pytest.mark.slow
def test_so_many_windows_save_what_is_said_and_fewer_do_not() -> None:
    """The same simulations, done anew with outcomes that are so much less late."""
    _, spread = make_plan(per_day=2000)
    assert spread is not None
    assert spread.windows in WINDOWS

    def cost(windows: float) -> float:
        found = plan(REGRET, trust=("central",), runs=RUNS, per_day=2000, window=1 / windows)
        return found.rows[0].expected.regret

    least = cost(1e9)
    before = WINDOWS[WINDOWS.index(spread.windows) - 1] if spread.windows > WINDOWS[0] else 1
    assert cost(1) == spread.cost
    assert cost(spread.windows) == spread.then
    enough = spread.cost - ENOUGH_SAVED * (spread.cost - least)
    assert spread.then <= enough < cost(before)


@pytest.mark.slow
def test_a_preview_says_it_too() -> None:
    table = {
        "name": "push",
        "people": 2000,
        "policy": "contemporaneous_klucb",
        "channel": {"name": "central", "epsilon": 1},
        "arms": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "budget": {"epsilon": 1},
    }
    protocol, numbers = Protocol.from_table(table), (0.3, 0.2, 4000.0)
    found = foreseen(protocol, *numbers)
    spread = spread_out(protocol, found, *numbers)
    assert spread is not None
    said = dict(in_words(protocol, found, 4000.0, datetime(2026, 1, 30, tzinfo=UTC), spread))["Before you begin"]
    assert f"Spread the people over {spread.windows} windows" in said
    waits = Protocol.from_table(table | {"policy": "equal_split"})
    assert spread_out(waits, foreseen(waits, *numbers), *numbers) is None


def test_where_little_is_saved_that_is_said() -> None:
    assert say_spread(Spread(9, 10, 5.0, None, 4.9), "regret", "1 day").endswith("would hardly help.")
    assert "needs about 70 people in place of 90" in say_spread(Spread(90, 90, 90.0, 4, 70.0), "identify", "1 day")

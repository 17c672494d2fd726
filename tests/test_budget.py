"""A folder of tests that costs more than it may is named."""

from pathlib import Path

from tests.budget import BUDGETS, folder_of, say_what_is_above

FOLDERS = {path.parent.name for path in Path(__file__).parent.glob("*/test_*.py")}


def test_every_folder_has_a_budget() -> None:
    assert set(BUDGETS) >= FOLDERS | {"."}


def test_a_folder_above_its_budget_is_named_with_its_dearest_tests() -> None:
    unit = 0.1
    half = BUDGETS["store"] * unit / 2
    below = [("tests/store/test_one.py::test_a[x/y]", half), ("tests/test_two.py::test_b", unit)]
    assert say_what_is_above(below, unit) == []
    above = [*below, ("tests/store/test_one.py::test_c", half * 1.5)]
    first, *rest = say_what_is_above(above, unit)
    assert first.startswith("tests/store took ")
    assert [line.split()[-1] for line in rest] == [
        "tests/store/test_one.py::test_c",
        "tests/store/test_one.py::test_a[x/y]",
    ]


def test_a_test_is_of_the_folder_below_the_tests() -> None:
    assert folder_of("tests/lab/engine/test_x.py::Test::test_y[a/b::c]") == "lab"
    assert folder_of("tests/test_x.py::test_y") == "."

"""A test sees the same examples whatever modules are loaded, and without the pin it would not."""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.same_examples import PINNED, pin_examples

NUMBERS = range(10**12, 10**12 + 400)  # which nothing else has


def examples() -> list[tuple[int, str]]:
    """What a test of a number and a text sees."""
    seen = list[tuple[int, str]]()

    @settings(max_examples=100, database=None, derandomize=True, deadline=None)
    @given(st.integers(0, 2**64), st.text())
    def sees(number: int, text: str) -> None:
        seen.append((number, text))

    sees()
    return seen


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """It loads a module of the project, as another test would."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "loaded_later.py").write_text(f"NUMBERS = {list(NUMBERS)}\n")
    yield lambda: vars(import_module("loaded_later")) and None
    sys.modules.pop("loaded_later", None)


def test_other_modules_change_no_example(load: Callable[[], None]) -> None:
    before = examples()
    load()
    assert examples() == before
    assert len(set(before)) > 50


@pytest.mark.slow
def test_without_the_pin_they_do(load: Callable[[], None]) -> None:
    """The control: what the library itself does."""
    PINNED.undo()
    try:
        before = examples()
        load()
        assert examples() != before
    finally:
        pin_examples()

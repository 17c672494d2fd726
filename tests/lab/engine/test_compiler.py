"""A compiled loop comes from disk when nothing changed, and never when something did."""

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from maskedbandit import law
from maskedbandit.core import OPTIONS, kernel
from maskedbandit.lab.engine import compiler

SCALE = 2.0


@kernel
def inner(x):
    return SCALE * x


@kernel
def outer(x):
    return inner(x) + 1.0


step: Any = None  # stands for a kernel


def body(x):
    return step(x)


def test_a_kernel_reached_through_another_is_an_ingredient() -> None:
    found = compiler.ingredients(body, {"step": outer})
    assert "SCALE = float 2.0" in found


def test_a_changed_constant_changes_the_digest(monkeypatch) -> None:
    before = compiler.digest(body, {"step": outer})
    assert compiler.digest(body, {"step": outer}) == before
    monkeypatch.setitem(outer.function.__globals__, "SCALE", 3.0)
    assert compiler.digest(body, {"step": outer}) != before


def test_another_kernel_under_the_same_name_changes_the_digest() -> None:
    assert compiler.digest(body, {"step": outer}) != compiler.digest(body, {"step": inner})


SCRIPT = """
from changing import body, outer
from maskedbandit.lab.engine import compiler

loop = compiler.compiled(body, step=outer)
print(loop(1.0), sum(loop.stats.cache_hits.values()))
"""

MODULE = """
from maskedbandit import law
from maskedbandit.core import OPTIONS, kernel

@kernel
def inner(x):
    return {factor} * x

@kernel
def outer(x):
    return inner(x) + 1.0

def body(x):
    return step(x)
"""


def outcome(folder: Path, factor: float) -> tuple[float, int]:
    """What the loop gives in a new process, and how often it came from disk."""
    (folder / "changing.py").write_text(MODULE.format(factor=factor))
    env = {**os.environ, "MASKEDBANDIT_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("NUMBA_DISABLE_JIT", None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env=env, capture_output=True, text=True, check=True
    )
    value, hits = done.stdout.split()
    return float(value), int(hits)


TABLE = np.array([1.0, 2.0])


class Pair(NamedTuple):
    """Two numbers of one type, told apart by their place alone."""

    first: float
    second: float


@kernel
def with_table(x):
    return TABLE[0] * x


@kernel
def with_default(x, by=2.0):
    return by * x


def factory(by):
    @kernel
    def closed(x):
        return by * x

    return closed


def test_tables_defaults_and_closures_are_ingredients(monkeypatch) -> None:
    before = compiler.digest(body, {"step": with_table})
    monkeypatch.setitem(with_table.function.__globals__, "TABLE", np.array([1.0, 3.0]))
    assert compiler.digest(body, {"step": with_table}) != before
    before = compiler.digest(body, {"step": with_default})
    monkeypatch.setattr(with_default.function, "__defaults__", (3.0,))
    assert compiler.digest(body, {"step": with_default}) != before
    assert compiler.digest(body, {"step": factory(2.0)}) != compiler.digest(body, {"step": factory(3.0)})


def test_a_kernel_reached_through_a_module_is_an_ingredient(monkeypatch) -> None:
    @kernel
    def outside(x):
        return law.steps(x, 1)

    before = compiler.digest(body, {"step": outside})
    monkeypatch.setattr(law, "steps", law.draws)
    assert compiler.digest(body, {"step": outside}) != before


class Swapped(NamedTuple):
    """The same numbers in the other order."""

    second: float
    first: float


def test_the_order_of_a_tuple_s_fields_is_an_ingredient() -> None:
    Swapped.__qualname__ = "Pair"
    assert compiler.layout(Pair(1.0, 2.0)) == f"{__name__}.Pair(first, second)"
    assert compiler.layout(Swapped(1.0, 2.0)) == f"{__name__}.Pair(second, first)"
    shapes = [compiler.digest(body, {"step": inner}, compiler.layout(kind(1.0, 2.0))) for kind in (Pair, Swapped)]
    assert shapes[0] != shapes[1]


def test_how_kernels_are_compiled_is_an_ingredient(monkeypatch) -> None:
    before = compiler.digest(body, {"step": inner})
    monkeypatch.setitem(OPTIONS, "fastmath", True)
    assert compiler.digest(body, {"step": inner}) != before


def test_a_changed_kernel_is_never_served_from_a_stale_cache(tmp_path: Path) -> None:
    assert outcome(tmp_path, 2.0) == (3.0, 0)
    assert outcome(tmp_path, 2.0) == (3.0, 1)  # a second process finds it on disk
    assert outcome(tmp_path, 5.0) == (6.0, 0)  # the change is two calls away from the loop
    assert outcome(tmp_path, 2.0) == (3.0, 1)


def test_a_name_that_ignores_the_kernels_would_serve_a_stale_loop(tmp_path: Path, monkeypatch) -> None:
    """The control: with a digest of the loop's own text alone, the same check fails."""
    blind = tmp_path / "sitecustomize.py"
    blind.write_text(
        "from maskedbandit.lab.engine import compiler\ncompiler.digest = lambda *parts: 'the-same-for-all'\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert outcome(tmp_path, 2.0) == (3.0, 0)
    assert outcome(tmp_path, 5.0) == (3.0, 1)  # stale


def test_without_a_folder_to_write_the_loop_is_compiled_in_memory(tmp_path: Path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("MASKEDBANDIT_CACHE", str(blocked / "below"))
    fresh = importlib.import_module("maskedbandit.lab.engine.compiler")
    path, cached = fresh.write("loop.py", "x = 1\n")
    assert not cached
    assert path == Path("loop.py")

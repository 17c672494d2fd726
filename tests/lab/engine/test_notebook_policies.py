"""What a notebook or a script defines works in every process that shares a folder of kernels, however often it runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.guides import block
from tests.lab.engine.test_compiler import ended, started

CELL = """
from typing import NamedTuple
from maskedbandit.core import kernel, large_kernel

class Pair(NamedTuple):
    first: float
    second: float

@{mark}
def swapped(pair):
    return Pair(pair.second, pair.first)

@{mark}
def paired(x):
    return Pair(x, 2 * x)
"""

SCRIPT = """
import sys
from types import ModuleType

from maskedbandit.lab.engine import compiler

sys.modules["__main__"] = ModuleType("__main__")
CELL = {cell!r}

def run():
    cell = vars(sys.modules["__main__"])
    exec(CELL, cell)
    return cell

def one(x):
    return step(x)

def other(x):
    return step(step(x))

def doubled(x):
    return step(x).second

def trebled(x):
    pair = step(x)
    return pair.first + pair.second

"""

MARKS = pytest.mark.parametrize("mark", ["kernel", "large_kernel"])


def said(folder: Path, mark: str, what: str) -> str:
    """What a new process prints that runs the cell."""
    return ended(*started(folder, SCRIPT.format(cell=CELL.format(mark=mark)) + what)).strip()


@pytest.mark.sparing(1)
@MARKS
def test_another_loop_in_another_process_finds_a_kernel_on_disk(tmp_path: Path, mark: str) -> None:
    call = "cell = run()\nprint(*compiler.compile_loop({}, step=cell['swapped'])(cell['Pair'](1.0, 2.0)))"
    assert said(tmp_path, mark, call.format("one")) == "2.0 1.0"
    assert len(list((tmp_path / "cache").glob("*.kernel"))) == 2
    assert said(tmp_path, mark, call.format("other")) == "1.0 2.0"
    assert len(list((tmp_path / "cache").glob("*.kernel"))) == 3  # the other loop, and not the kernel
    assert said(tmp_path, mark, call.format("one")) == "2.0 1.0"


@MARKS
def test_a_cell_that_runs_again_makes_classes_anew(tmp_path: Path, mark: str) -> None:
    call = "print(*compiler.compile_loop({}, step=cell['swapped'])(cell['Pair'](1.0, 2.0)))\n"
    text = "".join("cell = run()\n" + call.format(loop) for loop in ("one", "other", "one"))
    for _ in range(2):
        assert said(tmp_path, mark, text).split() == ["2.0", "1.0", "1.0", "2.0", "2.0", "1.0"]


@pytest.mark.slow
@MARKS
@pytest.mark.parametrize("hidden", [False, True])
def test_a_class_that_no_argument_has_is_found_in_its_module_or_compiled_anew(
    tmp_path: Path, mark: str, hidden: bool
) -> None:
    text = "step = run()['paired']\n"
    if hidden:  # as on a worker of a cluster: the module is there, and what its client defined is not
        text += "sys.modules['__main__'] = ModuleType('__main__')\n"
    text += "print(compiler.compile_loop({}, step=step)(1.0))"
    for loop in ("doubled", "doubled", "trebled"):
        assert said(tmp_path, mark, text.format(loop)) == {"doubled": "2.0", "trebled": "3.0"}[loop]


OWN = """
import sys
from functools import partial

import maskedbandit as mb

run = partial(mb.simulate, instance=mb.Bernoulli([0.9, 0.5]), horizon=1000, seed=7)

def channel(name):
    return getattr(mb.channels, name)(epsilon=0.5)
"""

HERE = """
if __name__ == "__main__":
    for name in sys.argv[1:]:
        name, _, late = name.partition("-")
        how = {"delay": mb.delays.Constant(5)} if late else {}
        print(run(ExploreThenCommit(pilot=50), channel(name), **how).regret[0, -1])
"""

ON_A_CLUSTER = """
if __name__ == "__main__":
    from tests.lab.engine.clusters import cluster

    with cluster(2, processes=True) as client:
        for name in sys.argv[1:]:
            print(run(ExploreThenCommit(pilot=50), channel(name), executor=client.get_executor()).regret[0, -1])
"""


def script(folder: Path, ending: str) -> list[str]:
    """A script that defines the policy of the guide itself, and what runs it."""
    guide = block("add_a_policy.md")
    file = folder / "script.py"
    file.write_text(guide + OWN + ending)
    return [sys.executable, str(file)]


def printed(command: list[str], *given: str, **how: str) -> list[float]:
    """The numbers that a process prints, one for each channel that is given, with a delay if it is late."""
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [*command, *given], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path, **how}, check=False
    )
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.split()]


@pytest.mark.slow
def test_a_policy_of_a_script_runs_again_and_again_in_every_process_and_on_a_cluster(tmp_path: Path) -> None:
    """On every channel and with delays, also where another process has left its kernels: the numbers of plain Python.

    One test, as what a process leaves for the next takes long to compile.
    """
    settings = ("Central", "Response", "Central-late")
    uncompiled = printed(script(tmp_path, HERE), *settings, MASKEDBANDIT_KERNELS="python")
    assert len(uncompiled) == 3
    right = dict(zip(settings, uncompiled, strict=True))
    for ending, given in (
        (HERE, ["Central"]),
        (ON_A_CLUSTER, ["Central", "Response", "Central"]),
        (HERE, ["Response"]),
        (HERE, ["Central-late"]),
        (HERE, ["Central"]),
    ):
        shared = printed(script(tmp_path, ending), *given, MASKEDBANDIT_CACHE=str(tmp_path / "shared"))
        assert shared == [right[each] for each in given]

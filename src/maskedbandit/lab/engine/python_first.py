"""A loop that runs as Python first, and is compiled once there is enough to do.

Compiling takes seconds, and a few runs of a policy that decides seldom take less than that as Python. So the runs of a
loop are made as Python at first. Once these have taken two seconds, another process compiles the loop
(compiling_child.py) while Python goes on; when it is done, the run that is under way is given up, and made again in
compiled code. A run that would take longer than compiling does is given up at once, and so is one that takes too long
where there can be no other process; then this one compiles. Of a loop that was compiled on this machine before, or came
with the package, a small file says so, and it has but a moment as Python.

A number must not depend on the way. So nothing runs as Python first but what the tests of this package have shown to
give the same numbers to the last bit, with NumPy's draws as the compiler makes them, on the system where they have. All
else is compiled from the first run on: kernels from outside, those that reach a function of `NOT_AS_PYTHON`, studies of
more than 2^30 people, and other systems. What fails as Python is run compiled, which says
what is wrong with it.
"""

import os
import platform
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from maskedbandit.core import Kernel
from maskedbandit.lab.engine.compiler import bind_hooks, check_kernel, compile_loop, read_way, runs_interpreted
from maskedbandit.lab.engine.compiling_child import CHILD_PLACE, CompilingChild, has_room_for_child
from maskedbandit.lab.engine.digest import digest_kernels, list_code_objects, walk_functions
from maskedbandit.lab.engine.kernel_folder import PACKAGED, find_kernel_folder, is_usable_folder
from maskedbandit.lab.engine.outcomes import RUN_AGAIN

PYTHON_PATIENCE = 2.0  # seconds of CPU time for which a loop runs as Python, in all its runs, until it is compiled
LONGEST_RUN = 10.0  # seconds that a run may take as Python while another process compiles: as many as that takes
COMPILED_PATIENCE = 0.1  # the same of one that was compiled on this machine before: loading it takes longer
GRACE_OF_RUNS = 0.2  # seconds of a run before anybody asks how far it has come
NOT_AS_PYTHON = {  # functions that are not run as Python, and why
    "draw_beta",  # another result where both parameters are a hundredth
    "draw_clipped",  # is called for each user of a cohort, while nobody looks at the watch
    "lgamma",  # another last bit
}
TESTED = ("Linux", "x86_64")  # elsewhere NumPy's distributions may be compiled with fused operations

PLAIN_ARRAYS = "dlL?"  # of floats, whole numbers with and without a sign, and truth values


class GivenUp(Exception):
    """Python has taken too long for the run."""


class Patience:
    """For how long a loop may still run as Python in this process: for some seconds, and while a child compiles it."""

    def __init__(self, left: float, child: bool = False) -> None:
        self.left, self._may_have_child = left, child
        self._child: CompilingChild | None = None

    @property
    def longest(self) -> float:
        """The seconds that a run may take."""
        return LONGEST_RUN if self._may_have_child else self.left

    def lasts(self, spent: float, task: Any) -> bool:
        """Whether a run goes on that took so many seconds by now; if not for that, a child begins with the task."""
        if self._child:
            return not self._child.over
        if spent < self.left:
            return True
        if self._may_have_child and task is not None:
            self._child = CHILD_PLACE.start(task)
        self._may_have_child = self._child is not None
        return self._may_have_child

    def end(self) -> None:
        """No run is Python from now on."""
        self.left, self._may_have_child, self._child = 0.0, False, None


class RunWatch:
    """Until when the run that is under way as Python may go on; there is one, as Python runs one thread at a time."""

    def __init__(self) -> None:
        self.free_turn()
        self.begin(Patience(0.0), None, lambda: 0.0)

    def free_turn(self) -> None:
        """Nobody runs: a process that is forked from one in which somebody does has not the thread that would end."""
        self.turn = Lock()

    def begin(self, patience: Patience, task: Any, done: Callable[[], float]) -> None:
        """A run of this task begins; `done` says which part of it was made."""
        self.start, self.patience, self.task, self.done = time.thread_time(), patience, task, done

    @property
    def spent(self) -> float:
        """The seconds that the run took by now."""
        return time.thread_time() - self.start

    def look(self) -> None:
        """Give the run up if it takes too long, or will."""
        spent = self.spent
        if (spent > GRACE_OF_RUNS and spent > self.patience.longest * self.done()) or not self.patience.lasts(
            spent, self.task
        ):
            raise GivenUp


WATCH = RunWatch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WATCH.free_turn)


@cache
def watch_kernel(kernel: Kernel[Any, Any]) -> Kernel[Any, Any]:
    """The same kernel, with a look at the watch before each call: for a loop that runs as Python."""
    function, look = check_kernel("a function", kernel).function, WATCH.look

    def watched(*given: Any) -> Any:
        look()
        return function(*given)

    return Kernel(watched, **kernel.options)


@cache
def find_patience(function: Callable[..., Any], **bound: Kernel[Any, Any]) -> Patience:
    """That with the loop of these kernels, which is none if it may give other numbers as Python."""
    if not is_alike(function, bound):
        return Patience(0.0)
    compiled = any(name_note(folder, function, bound).exists() for folder in (find_kernel_folder(), PACKAGED))
    return Patience(COMPILED_PATIENCE) if compiled else Patience(PYTHON_PATIENCE, has_room_for_child())


def is_alike(function: Callable[..., Any], bound: dict[str, Any]) -> bool:
    """Whether it is known that the function with these kernels gives the same numbers as Python."""
    if (platform.system(), platform.machine()) != TESTED:
        return False
    for each, _ in walk_functions(function, bound):
        names = {name for code in list_code_objects(each.__code__) for name in code.co_names}
        if not is_own(each) or names & NOT_AS_PYTHON:
            return False
    return True


def is_own(thing: Any) -> bool:
    """Whether a function or a class is defined in this package."""
    return str(thing.__module__).partition(".")[0] == __name__.partition(".")[0]


def is_plain(value: Any) -> bool:
    """Whether all numbers in it have 64 bits, or one: with others Python and compiled code compute differently."""
    if isinstance(value, tuple):
        return all(map(is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype.char in PLAIN_ARRAYS
    return isinstance(value, int | float | np.int64 | np.uint64 | np.bool_ | np.random.Generator)


def name_note(folder: Path, function: Callable[..., Any], bound: dict[str, Any]) -> Path:
    """The file that says that a loop is in a folder, compiled."""
    return folder / f"{digest_kernels(function, bound)}.compiled"


@cache
def note_compiled(function: Callable[..., Any], **bound: Kernel[Any, Any]) -> None:
    """Have the next process on this machine run the loop as Python for a moment only."""
    if is_usable_folder(find_kernel_folder()):
        with suppress(OSError):
            name_note(find_kernel_folder(), function, bound).touch()


class PythonFirst:
    """A loop with the kernels of `bound`; in those of `watched` some are watched, which is told apart by nothing else.

    It does not run as Python unless `may`. A child may compile it if the task is given whose runs it makes.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        bound: dict[str, Kernel[Any, Any]],
        watched: dict[str, Kernel[Any, Any]],
        may: bool,
        task: Any = None,
    ) -> None:
        self.function, self.bound, self._watched, self._task = function, bound, watched, task
        self._may = may and not runs_interpreted()
        self._patience = find_patience(function, **bound) if self._may and not read_way() else Patience(0.0)
        self._fitted: Callable[..., Any] | None = None  # to arguments of the types that all runs have

    @cached_property
    def _python(self) -> Callable[..., Any]:
        # whole numbers count modulo 2^64, and what is divided by zero is infinite: compiled code warns of neither
        quiet: Callable[..., Any] = np.errstate(all="ignore")(bind_hooks(self.function, self._watched))
        return quiet

    def run(self, given: tuple[Any, ...], done: Callable[[], float]) -> Any:
        """What the loop gives, or RUN_AGAIN if Python was too slow; `done` says which part of the run was made."""
        if self._fitted:
            return self._fitted(*given)
        if self._patience.lasts(0.0, self._task):
            with WATCH.turn:
                if self._patience.lasts(0.0, self._task) and is_plain(given):
                    return self._run_as_python(given, done)
        loop = compile_loop(self.function, **self.bound)
        result = loop(*given)
        if self._may:
            note_compiled(self.function, **self.bound)
        self._fitted = loop.fitted()
        return result

    def _run_as_python(self, given: tuple[Any, ...], done: Callable[[], float]) -> Any:
        patience = self._patience
        WATCH.begin(patience, self._task, done)
        try:
            result = self._python(*given)
        except Exception:
            patience.end()
            return RUN_AGAIN
        patience.left -= WATCH.spent
        return result

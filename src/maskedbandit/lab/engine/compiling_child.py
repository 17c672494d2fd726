"""Another process that compiles a loop, while this one goes on with its runs as Python.

It is sent the task, does one run of one user of it, compiled, and leaves the kernels in their folder, where this
process finds them. A process has one such child at a time, and none if there is no second core for it, or if it is a
worker of a pool itself: the others have the cores then. The child ends with this process: it stops when its input is
closed.
"""

import atexit
import os
import pickle
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from multiprocessing import parent_process
from threading import Lock, Thread
from typing import Any

import numpy as np

from maskedbandit.lab.engine.kernel_folder import find_kernel_folder, is_usable_folder
from maskedbandit.lab.streams import Streams

PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
pickle.load(sys.stdin.buffer)(*pickle.load(sys.stdin.buffer))
"""


def compile_task(task: Any) -> None:
    """What the child does; the length of a run is no part of its loop."""
    Thread(target=end_with_parent, daemon=True).start()
    short = replace(task, marks=np.array([1]))
    short.single(0, Streams(short.seed, short.study))
    os._exit(0)


def end_with_parent() -> None:
    """End this process once its input is closed."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


class CompilingChild:
    """A process that compiles the loop of a task; it is `over` when the loop is compiled, or cannot be."""

    def __init__(self, task: Any) -> None:
        self.over = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            env=os.environ | {"MASKEDBANDIT_KERNELS": "compiled"},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.end)
        self.attended = Thread(target=self._attend, args=(task,), daemon=True)
        self.attended.start()

    def _attend(self, task: Any) -> None:
        given = self._process.stdin
        try:
            if given:
                given.write(b"".join(map(pickle.dumps, (sys.path, compile_task, (task,)))))
                given.flush()
        except OSError:  # it has ended
            pass
        self._process.wait()
        atexit.unregister(self.end)
        self.over = True
        if given:
            with suppress(OSError):
                given.close()

    def end(self) -> None:
        """Stop it, if it has not ended."""
        self._process.kill()
        self._process.wait()


class ChildPlace:
    """Room for one child of this process."""

    def __init__(self) -> None:
        self.free_place()

    def free_place(self) -> None:
        """No child: one of a process that this one was forked from is not its own."""
        self._child: CompilingChild | None = None
        self._turn = Lock()

    def start(self, task: Any) -> CompilingChild | None:
        """A child that compiles the loop of the task; None if there can be none now."""
        with self._turn:
            if (self._child and not self._child.over) or not has_room_for_child():
                return None
            try:
                self._child = CompilingChild(task)
            except OSError:
                return None
            return self._child


def has_room_for_child() -> bool:
    """Whether there is a core for it, and a folder where it can leave what it compiled."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    alone = parent_process() is None and bool(sys.executable)
    return alone and cores > 1 and is_usable_folder(find_kernel_folder())


CHILD_PLACE = ChildPlace()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=CHILD_PLACE.free_place)

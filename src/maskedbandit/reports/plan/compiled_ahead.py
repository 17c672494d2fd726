"""Another process that compiles what a plan will need soon, where nothing was compiled on this machine yet.

The compiler works for one thread of a process at a time. What it made is on disk, so that a second process can share
the work. It begins with the last trust model, and only if the first takes so long that it is being compiled.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Timer

from maskedbandit.lab.engine.compiler import runs_interpreted

COMPILING_PATIENCE = (
    6.0  # seconds: a plan of compiled code takes less, and by then there is on disk what all loops share
)
PROGRAM = """
from maskedbandit.reports.plan.plan import plan
for each in {trust!r}:
    plan(goal={goal!r}, people=1000, difference=0.4, trust=(each,), runs=1)
"""


@contextmanager
def compiled_ahead(goal: str, trust: Sequence[str]) -> Iterator[None]:
    """Meanwhile the policy of this goal for live studies is compiled for these trust models, for the last one first."""
    others = list[subprocess.Popen[bytes]]()

    def begin() -> None:
        program = PROGRAM.format(trust=tuple(reversed(trust)), goal=goal)
        quiet = subprocess.DEVNULL
        compiled = os.environ | {"MASKEDBANDIT_KERNELS": "compiled"}  # little to do would run as Python
        others.append(
            subprocess.Popen([sys.executable, "-c", program], env=compiled, stdin=quiet, stdout=quiet, stderr=quiet)
        )

    soon = Timer(COMPILING_PATIENCE, begin)
    if len(trust) > 1 and not runs_interpreted():
        soon.start()
    try:
        yield
    finally:
        soon.cancel()
        if soon.ident is not None:
            soon.join()
        for other in others:
            other.kill()
            other.wait()

"""What the first study ever on a machine takes: CPU seconds of a new process with an empty folder of compiled kernels.

`python -m bench.compiling` measures these alone. Goals are for two cores on which UCB1 in C (ucb1.c) takes 15 ns a
step, and grow with what it takes here; where there is no compiler of C, they are as they stand. Beside each is the time
by the clock, which is longer on a machine that is shared.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import maskedbandit as mb
from bench.report import row
from bench.ucb1 import measure_c

README = Path(__file__).parent.parent / "README.md"
STUDY = """
import maskedbandit as mb
policy = mb.policies.{}({})
arms, channels = mb.Bernoulli([0.9, 0.8, 0.6]), (mb.channels.Central(epsilon=0.5), mb.channels.Response(epsilon=0.5))
channel = next((each for each in channels if not policy.needs(each.law())), mb.channels.Raw())
{}
"""
VERBS = {
    "regret": "mb.simulate(policy, channel, arms, 1000)",
    "identify": "mb.identify(policy, channel, arms, delta=0.1, max_pulls=1000)",
    "answer": "mb.answer(policy, channel, arms, 1000)",
    "select": "mb.select(policy, channel, arms, delta=0.1, max_pulls=1000)",
    "contextual": "mb.simulate(policy, channel, mb.LinearContexts(d=3, k=3, model='shared', fixed=True), 1000)",
}
MEDIUM = "instance = mb.Bernoulli([0.75, 0.7, 0.7, 0.7, 0.7]); mb.simulate(policy, channel, instance, 10**6, runs=60)"
NEEDED = {"fixed_weights": "weights=[[0.1, 0.1, 0.1]]"}
REFERENCE = 15.0  # ns a step


def spent(code: str, folder: str, way: str = "") -> tuple[float, float]:
    """Seconds by the clock and of CPU time of a new process, with this folder for compiled kernels."""
    env = {**os.environ, "MASKEDBANDIT_CACHE": folder, "MASKEDBANDIT_KERNELS": way}
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    clock, after = time.perf_counter() - start, os.times()
    return clock, sum(after[2:4]) - sum(before[2:4])


def find_first_study() -> str:
    """The first Python in the README."""
    return README.read_text().partition("```python\n")[2].partition("```")[0]


def compiling() -> None:
    """Each study with a folder of its own, that is empty at first."""
    c = measure_c(10**6, 3)
    slower = c[0] / REFERENCE if c else 1.0
    row("UCB1 in C, which the next goals are relative to", slower * REFERENCE, "ns/step")

    def first(what: str, code: str, goal: float | None, way: str = "", again: bool = False) -> None:
        with tempfile.TemporaryDirectory() as folder:
            clock, cpu = spent(code, folder, way)
            row(what, cpu, "CPU s", goal and goal * slower, f"{clock:.1f} s by the clock")
            if again:
                row("  again, in another process", spent(code, folder, way)[1], "CPU s")

    first("the first study ever, README", find_first_study(), 3)
    first("  the same, compiled", find_first_study(), None, "compiled", again=True)
    first("60 runs of 10^6 people, NoiseAwareKLUCB", STUDY.format("NoiseAwareKLUCB", "", MEDIUM), None)
    first("  the same, compiled", STUDY.format("NoiseAwareKLUCB", "", MEDIUM), None, "compiled")
    for name in mb.policies.room:
        kind = mb.policies.room[name]
        code = STUDY.format(kind.__name__, NEEDED.get(name, ""), VERBS[kind.goal])
        first(f"the first study ever, {kind.__name__}", code, 5)


if __name__ == "__main__":
    compiling()

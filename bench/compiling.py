"""What compiling costs: the first study ever on a machine, and one of a new policy, in CPU seconds of a new process.

`python -m bench.compiling` measures these alone. The baseline is a process in which Numba compiles the least it can: a
function that gives back its argument.
"""

import os
import subprocess
import sys
import tempfile

from bench.report import row

STUDY = """
import time
import maskedbandit as mb
start = time.process_time()
mb.simulate(mb.policies.{}(), mb.channels.Central(epsilon=0.5), mb.Bernoulli([0.9, 0.8, 0.8]), 1000)
print(time.process_time() - start)
"""
LEAST = """
import time
start = time.process_time()
import numba
numba.njit(lambda x: x)(1.0)
print(time.process_time() - start)
"""
NEW = ("UCB1", "NoiseAwareKLUCB", "ContemporaneousKLUCB", "AdaPUCB", "ThompsonSampling")


def spent(code: str, folder: str) -> float:
    """What a new process prints, with this folder for compiled kernels."""
    env = {**os.environ, "MASKEDBANDIT_CACHE": folder}
    return float(
        subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True).stdout
    )


def compiling() -> None:
    """One policy after the other, in a folder that is empty at first."""
    with tempfile.TemporaryDirectory() as folder:
        least = min(spent(LEAST, folder) for _ in range(3))
        row("Numba, to compile the least there is", least, "s")

        def study(what: str, policy: str, goal: float | None) -> None:
            took = spent(STUDY.format(policy), folder)
            row(what, took, "s", goal, f"{took / least:.1f} times the least")

        study("the first study ever, SuccessiveElimination", "SuccessiveElimination", None)
        for policy in NEW:
            study(f"a study of a new policy, {policy}", policy, 6)
        study("a study that was compiled before", "SuccessiveElimination", None)


if __name__ == "__main__":
    compiling()

"""What the package costs to install and to import: its wheel, what it brings, and seconds until it is there.

`python -m bench.installing` measures these alone. The wheel is built by pip, and measured without what it needs. One
with compiled loops (hatch_loops.py) is unpacked into a folder, and studies from there have an empty folder of kernels.
"""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from bench.compiling import find_first_study
from bench.report import row

ROOT = Path(__file__).parent.parent
NEEDS = ("numpy", "scipy", "numba", "llvmlite", "cryptography", "cffi", "pycparser")
DEFAULT = (
    "import maskedbandit as mb\nmb.simulate(mb.policies.NoiseAwareKLUCB(), mb.channels.Central(epsilon=0.5), "
    "mb.Bernoulli([0.75, 0.7, 0.7, 0.7, 0.7]), 10**6, runs=20, seed=7)"
)
LAB = ("polars", "polars-runtime-32", "matplotlib", "pillow", "fonttools", "contourpy", "tqdm")


def wall(code: list[str], repeats: int = 7) -> float:
    """Seconds from the start of a new Python process to its end, the fastest of some repeats."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run([sys.executable, *code], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def megabytes(names: tuple[str, ...]) -> float:
    """What installed packages take on disk."""
    files = [path for name in names for path in distribution(name).files or ()]
    return sum(Path(str(path.locate())).stat().st_size for path in files if path.locate().exists()) / 1e6


def build_wheel(folder: str, **how: str) -> Path:
    """The wheel of this checkout, unpacked in the folder as well."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(ROOT)]
    env = os.environ | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")} | how
    subprocess.run(pip, check=True, capture_output=True, env=env)
    wheel = next(Path(folder).glob("*.whl"))
    with zipfile.ZipFile(wheel) as file:
        file.extractall(folder)
    return wheel


def measure_first(package: str, study: str) -> float:
    """Seconds by the clock of a first study, with an empty folder of kernels; the fastest of some."""
    times = []
    for _ in range(5):
        with tempfile.TemporaryDirectory() as cache:
            env = os.environ | {"PYTHONPATH": package, "MASKEDBANDIT_CACHE": cache, "MASKEDBANDIT_KERNELS": ""}
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", study], check=True, capture_output=True, env=env, cwd=cache)
            times.append(time.perf_counter() - start)
    return min(times)


def installing() -> None:
    """The wheel, and the imports."""
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(folder)
        row("the wheel", wheel.stat().st_size / 1e6, "MB", 1)
        with zipfile.ZipFile(wheel) as file:
            row("  unpacked", sum(each.file_size for each in file.infolist()) / 1e6, "MB")
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(folder, HATCH_BUILD_HOOK_ENABLE_CUSTOM="true")
        row("a wheel with compiled loops", wheel.stat().st_size / 1e6, "MB", 2)
        row("  the first study ever, of the default policy", measure_first(folder, DEFAULT), "s", 1.5)
        row("  that of the README, of five policies", measure_first(folder, find_first_study()), "s")
    row("  what it needs", megabytes(NEEDS), "MB")
    row("  what [lab] adds", megabytes(LAB), "MB")
    empty = wall(["-c", "pass"])
    row("a Python process that does nothing", empty, "s")
    row("import maskedbandit", wall(["-c", "import maskedbandit"]) - empty, "s", 0.15)
    row("maskedbandit.compare, the function", wall(["-c", "import maskedbandit; maskedbandit.compare"]) - empty, "s")
    row("import maskedbandit.device", wall(["-c", "import maskedbandit.device"]) - empty, "s", 0.06)
    row("maskedbandit --help", wall(["-m", "maskedbandit", "--help"]), "s", 0.4)
    row("maskedbandit --version --verbose", wall(["-m", "maskedbandit", "--version", "--verbose"]), "s")
    study = "mb.policies.SuccessiveElimination(), mb.channels.Distributed(epsilon=0.5), mb.Bernoulli([0.2, 0.8]), 1"
    first = f"import maskedbandit as mb; mb.simulate({study})"
    row("a new process until the first step of a cached study", wall(["-c", first]), "s", 1.5)


if __name__ == "__main__":
    installing()

"""What the package costs to install and to import: its wheel, what it brings, and seconds until it is there.

`python -m bench.installing` measures these alone. The wheel is built by pip, and measured without what it needs.
"""

import subprocess
import sys
import tempfile
import time
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from bench.report import row

ROOT = Path(__file__).parent.parent
NEEDS = ("numpy", "scipy", "numba", "llvmlite", "cryptography", "cffi", "pycparser")
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


def installing() -> None:
    """The wheel, and the imports."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(ROOT)]
        subprocess.run(pip, check=True, capture_output=True)
        wheel = next(Path(folder).glob("*.whl"))
        row("the wheel", wheel.stat().st_size / 1e6, "MB", 1)
        with zipfile.ZipFile(wheel) as file:
            row("  unpacked", sum(each.file_size for each in file.infolist()) / 1e6, "MB")
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

"""UCB1 in C (ucb1.c), with which ours are compared."""

import shutil
import subprocess
import tempfile
from pathlib import Path


def measure_c(horizon: int, runs: int, k: int = 10) -> tuple[float, float] | None:
    """Nanoseconds per step and mean regret of the C program; None where there is no compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "ucb1"
        flags = ["-O3", "-march=native", f"-DK={k}", str(Path(__file__).with_name("ucb1.c")), "-o", str(program), "-lm"]
        subprocess.run([compiler, *flags], check=True)
        lines = [
            subprocess.run([program, str(horizon), str(runs), "1"], capture_output=True, text=True, check=True).stdout
            for _ in range(5)
        ]
    return min(float(line.split()[0]) for line in lines), float(lines[0].split()[1])

"""The site: what it costs to write, build and check it, and its size. `python -m bench.site` measures these alone."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.report import row

ROOT = Path(__file__).parent.parent


def site() -> None:
    """Build it once, into a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.times()
        subprocess.run([sys.executable, "-m", "tools.site", folder], cwd=ROOT, check=True)
        took = os.times()
        seconds = took.children_user + took.children_system - before.children_user - before.children_system
        row("the site, written, built and checked: CPU time", seconds, "s", 30)
        files = [path for path in (Path(folder) / "site").rglob("*") if path.is_file()]
        pages = [path.stat().st_size for path in files if path.suffix == ".html"]
        row(f"  {len(pages)} pages", sum(pages) / 1e6, "MB")
        row("  with figures, search and the theme", sum(path.stat().st_size for path in files) / 1e6, "MB", 40)


if __name__ == "__main__":
    site()

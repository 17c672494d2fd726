"""What browsers and servers load of the TypeScript package: minified, gzipped kilobytes.

`python -m bench.bundles` measures these alone, once `make sdk` has been there.
"""

import json
import subprocess
from pathlib import Path

from bench.report import row

PACKAGE = Path(__file__).parent.parent / "sdk" / "typescript"
GOALS = {"web": 8, "web with two servers": 22, "web with a shuffler": 22, "web in rounds": 22, "server": 10}


def bundles() -> None:
    """The parts of an application that come from this package."""
    command = ["npm", "run", "--silent", "sizes"]
    found = subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True, text=True).stdout
    for name, size in json.loads(found).items():
        row(f"maskedbandit/{name}, gzipped", size / 1000, "kB", GOALS[name])


if __name__ == "__main__":
    bundles()

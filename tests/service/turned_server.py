"""A server whose clock a test turns: it goes two hours fast as soon as a file is there.

It runs `python -m tests.service.turned_server FILE serve ...`.
"""

import sys
import time
from pathlib import Path

from maskedbandit.cli import main

TURNED = 2 * 3600 * 10**9  # nanoseconds


def turn_clock(file: Path) -> None:
    """Have this process take the time from a clock that the file turns."""
    real = time.time_ns
    time.time_ns = lambda: real() + TURNED * file.exists()


if __name__ == "__main__":
    turn_clock(Path(sys.argv[1]))
    del sys.argv[1]
    sys.exit(main())

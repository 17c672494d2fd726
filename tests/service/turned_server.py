"""A server whose clock a test turns: it goes two hours fast as soon as a file is there, or as many as the file says.

It runs `python -m tests.service.turned_server FILE serve ...`.
"""

import sys
import time
from pathlib import Path

from maskedbandit.cli import main

HOUR = 3600 * 10**9  # nanoseconds


def turn_clock(file: Path) -> None:
    """Have this process take the time from a clock that the file turns."""
    real = time.time_ns

    def tell_time() -> int:
        return real() + (HOUR * int(file.read_text() or "2") if file.exists() else 0)

    time.time_ns = tell_time


if __name__ == "__main__":
    turn_clock(Path(sys.argv[1]))
    del sys.argv[1]
    sys.exit(main())

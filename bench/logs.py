"""Text of a front page log to a folder: megabytes of text per CPU second of one thread, next to plain Python.

`python -m bench.logs` measures these alone. The baseline reads lines as their readers mostly do: it splits them into
words, and makes numbers of these; it writes nothing.
"""

import gzip
import shutil
import tempfile
from pathlib import Path

from bench.least import least
from bench.report import row
from maskedbandit.lab.logs.newsroom import Newsroom, write_log
from maskedbandit.lab.logs.text_conversion import convert_logs

EVENTS, FEW = 200_000, 5_000


def split(path: Path) -> None:
    """Read a log in plain Python, all of every line."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        for line in file:
            first, *rest = line.split("|")
            time, shown, click = map(int, first.split())
            lists = [words.split() for words in rest]
            read = {words[0]: {int(f): float(x) for f, x in (w.split(":") for w in words[1:])} for words in lists}
            assert (time > 0, click in (0, 1), str(shown) in read) == (True, True, True)


def logs() -> None:
    """Convert a generated log, whose text is like that of a real one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = {}
        for events in (EVENTS, FEW):
            log = Newsroom(events=events, lifetime=EVENTS)
            for path in (folder / f"{events}.txt", folder / f"{events}.gz"):
                write_log(log, path)
            size[events] = (folder / f"{events}.txt").stat().st_size / 1e6

        def converted(path: Path) -> None:
            convert_logs([path], folder / "log")
            shutil.rmtree(folder / "log")

        for kind, ending in (("plain", "txt"), ("gzip", "gz")):
            ours = size[EVENTS] / least(lambda: converted(folder / f"{EVENTS}.{ending}"), repeats=3)  # noqa: B023
            base = size[FEW] / least(lambda: split(folder / f"{FEW}.{ending}"), repeats=2)  # noqa: B023
            row(f"front page log, {kind}, to Parquet", ours, "MB/s", None, "goal: at least 100")
            row(
                "  plain Python, line by line, without writing",
                base,
                "MB/s",
                None,
                f"ours is {ours / base:.0f} times as fast",
            )
        drawn = least(lambda: [chunk.time.size for chunk in Newsroom(10**6).chunks()], repeats=2)
        row("generated visits", 1 / drawn, "M/s", None, "goal: at least 1")


if __name__ == "__main__":
    logs()

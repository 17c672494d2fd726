"""Generate a log in the text format of a front page."""

import argparse
from pathlib import Path

from maskedbandit.cli.parts.progress import Progress

EXAMPLE = "maskedbandit generate --events 1000000 --seed 0 --out news.gz"


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--events", type=int, default=1_000_000, metavar="N", help="visits (1000000)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same file (0)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="a new file; compressed if it ends with .gz"
    )


def do(options: argparse.Namespace) -> None:
    """Write the log."""
    from maskedbandit.lab.logs.newsroom import Newsroom, write_log

    log = Newsroom(options.events, options.seed)
    with Progress(log.events, "visit", scaled=True) as progress:
        write_log(log, options.out, options.seed, progress.advance)
    print(options.out)

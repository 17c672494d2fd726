"""The commands that make logs: `convert` reads text that somebody recorded, `generate` writes text of the same kind."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from maskedbandit.errors import InvalidValue

FOLDER = Path("data/front_page")


def add(commands: Any, command: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the commands to those of the command line."""
    example = (
        f"maskedbandit convert {FOLDER}/*.gz --out {FOLDER}/log\n"
        "  maskedbandit generate --events 100000 --out news.gz && maskedbandit convert news.gz --out news"
    )
    one = command(commands.add_parser, "convert", "turn the text of a front page log into a folder to replay", example)
    one.add_argument("files", type=Path, nargs="*", metavar="FILE", help=f"text or gzip, in order ({FOLDER}/*.gz)")
    one.add_argument("--out", type=Path, default=FOLDER / "log", metavar="DIR", help=f"folder ({FOLDER}/log)")
    one.add_argument("--tolerate", type=int, default=0, metavar="N", help="skip up to N lines that are no visits (0)")
    one.set_defaults(do=convert)

    example = "maskedbandit generate --events 1000000 --seed 0 --out news.gz"
    two = command(commands.add_parser, "generate", "write a made-up log in the text format of a front page", example)
    two.add_argument("--events", type=int, default=1_000_000, metavar="N", help="visits (1000000)")
    two.add_argument("--seed", type=int, default=0, metavar="N", help="the same seed gives the same file (0)")
    two.add_argument("--out", type=Path, required=True, metavar="FILE", help="a new file; packed if it ends with .gz")
    two.set_defaults(do=generate)


def convert(options: argparse.Namespace) -> None:
    """Convert, and say what was found."""
    from tqdm import tqdm

    from maskedbandit.lab.logs import text_conversion as front_page

    files = options.files or sorted(FOLDER.glob("*.gz"))
    if not files:
        raise InvalidValue("FILE", f"{FOLDER}/*.gz", "at least one file (see docs/front_page.md for where to get them)")
    size = sum(path.stat().st_size for path in files if path.is_file())
    with tqdm(total=size, unit="B", unit_scale=True, file=sys.stderr, leave=False) as bar:
        about = front_page.convert(files, options.out, options.tolerate, bar.update)
    print(front_page.told(about))
    print(f"{'log':14}  {options.out}")


def generate(options: argparse.Namespace) -> None:
    """Write a generated log."""
    from tqdm import tqdm

    from maskedbandit.lab.logs.newsroom import Newsroom, write

    log = Newsroom(options.events, options.seed)
    with tqdm(total=log.events, unit="visit", unit_scale=True, file=sys.stderr, leave=False) as bar:
        write(log, options.out, options.seed, bar.update)
    print(options.out)

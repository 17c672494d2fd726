"""Convert the text of a front page log to a folder that can be replayed."""

import argparse
from pathlib import Path

from maskedbandit.cli.parts.progress import Progress
from maskedbandit.errors import InvalidValue

FOLDER = Path("data/front_page")
EXAMPLE = (
    f"maskedbandit convert {FOLDER}/*.gz --out {FOLDER}/log\n"
    "  maskedbandit generate --events 100000 --out news.gz && maskedbandit convert news.gz --out news"
)


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("files", type=Path, nargs="*", metavar="FILE", help=f"text or gzip, in order ({FOLDER}/*.gz)")
    parser.add_argument("--out", type=Path, default=FOLDER / "log", metavar="DIR", help=f"new folder ({FOLDER}/log)")
    parser.add_argument(
        "--tolerate", type=int, default=0, metavar="N", help="skip up to N lines that are not visits (0)"
    )


def do(options: argparse.Namespace) -> None:
    """Convert, and say what was found."""
    from maskedbandit.lab.logs.text_conversion import convert_logs, describe_conversion

    files = options.files or sorted(FOLDER.glob("*.gz"))
    if not files:
        raise InvalidValue("FILE", f"{FOLDER}/*.gz", "at least one file (see docs/front_page.md for where to get them)")
    size = sum(path.stat().st_size for path in files if path.is_file())
    with Progress(size, "B", scaled=True) as progress:
        about = convert_logs(files, options.out, options.tolerate, progress.advance)
    print(describe_conversion(about))
    print(f"{'log':14}  {options.out}")

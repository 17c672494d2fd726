"""List policies, channels, noises, backends, experiments and studies."""

import argparse
import shutil
import textwrap
from pathlib import Path

EXAMPLE = "maskedbandit list"
INDENT = 24


def add(parser: argparse.ArgumentParser) -> None:
    """Where to look."""
    parser.add_argument(
        "--experiments", type=Path, metavar="DIR", help="a folder of experiments (those that come with the package)"
    )


def do(options: argparse.Namespace) -> None:
    """List what experiments can name, and what experiments there are."""
    from maskedbandit import backends, channels, noises, policies
    from maskedbandit.lab.experiments.examples import STUDIES, describe_file, find_packaged_folder
    from maskedbandit.policies.parts.purposes import find_purpose, list_purposes

    width = max(60, shutil.get_terminal_size((80, 24)).columns)
    rows: dict[str, list[tuple[str, str]]] = {each.heading: [] for each in list_purposes().values()}
    for room in (policies.room, channels.room, noises.room, backends.room):
        for name, about in room.about():
            heading = find_purpose(room[name].goal).heading if room is policies.room else room.kind
            rows.setdefault(heading, []).append((name, about))
    for heading, each in rows.items():
        print(f"{heading}:", *(line(name, about, width) for name, about in each), sep="\n")
    where = options.experiments or find_packaged_folder()
    print(f"experiment (in {where}):")
    for path in sorted(where.glob("*.toml")):
        print(line(path.stem, describe_file(path), width))
    print(f"study (in {where / STUDIES}):")
    for path in sorted((where / STUDIES).glob("*.toml")):
        print(line(path.stem, describe_file(path), width))


def line(name: str, about: str, width: int) -> str:
    """A name and what it is, on as many lines as it takes."""
    head = f"  {name}".ljust(INDENT) if len(name) + 3 < INDENT else f"  {name} "
    return textwrap.fill(about, width, initial_indent=head, subsequent_indent=" " * INDENT, break_long_words=False)

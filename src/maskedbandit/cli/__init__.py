"""The command line: a file for each command, found by listing this folder. `parts` holds what commands share.

A command's file says what it does in the first line of its docstring, and has an EXAMPLE, `add` for its options, and
`do`. It imports what it needs when it runs, so that `--help` costs nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from maskedbandit import __version__
from maskedbandit.errors import MaskedBanditError

DESCRIPTION = "Adaptive experiments on private outcomes: simulate bandits under every trust model."
# what an installation may lack, and the extra that has it
OPTIONAL = {"polars": "lab", "matplotlib": "lab", "apsw": "service", "psycopg": "postgres", "distributed": "cluster"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0, or 2 after one line on standard error that names what is wrong."""
    options = parser().parse_args(arguments)
    if "" not in sys.path:
        sys.path.append("")  # classes that an experiment names may be in the current folder
    try:
        options.do(options)
        sys.stdout.flush()
    except MaskedBanditError as wrong:
        return refused(str(wrong))
    except ModuleNotFoundError as missing:
        name = (missing.name or "").partition(".")[0]
        if name not in OPTIONAL:
            raise
        return refused(f"{name} is not installed, and this needs it: pip install 'maskedbandit[{OPTIONAL[name]}]'")
    except MemoryError:
        return refused("not enough memory: ask for fewer runs, fewer arms or a shorter tree")
    except BrokenPipeError:  # whoever reads the output went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as wrong:
        where = f": {wrong.filename}" if wrong.filename else ""
        return refused(f"{wrong.strerror or wrong}{where}")
    except KeyboardInterrupt:
        print(f"\nmaskedbandit: interrupted{options.interrupted}", file=sys.stderr)
        return 130
    return 0


def refused(reason: str) -> int:
    """Say on one line why nothing more was done."""
    print(f"maskedbandit: {' '.join(reason.splitlines())}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    """All commands and their options, with an example of each."""
    top = documented(argparse.ArgumentParser, "maskedbandit", DESCRIPTION, "maskedbandit run quickstart")
    top.add_argument("--version", action="version", version=f"maskedbandit {__version__}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for each in iter_modules(__path__):
        if not each.ispkg:
            module = import_module(f"{__name__}.{each.name}")
            about = (module.__doc__ or "").partition("\n")[0].rstrip(".")
            one = documented(commands.add_parser, each.name.replace("_", "-"), about, module.EXAMPLE, help=about)
            module.add(one)
            one.set_defaults(do=module.do, interrupted=getattr(module, "INTERRUPTED", ""))
    return top


def documented(make: Any, name: str, about: str, example: str, **more: str) -> argparse.ArgumentParser:
    """A parser whose help ends with an example."""
    plain = argparse.RawDescriptionHelpFormatter
    made: argparse.ArgumentParser = make(
        name, description=f"{about.rstrip('.')}.", epilog=f"example:\n  {example}", formatter_class=plain, **more
    )
    return made

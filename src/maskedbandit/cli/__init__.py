"""The command line: a file for each command, found by listing this folder. `parts` holds what commands share.

A command's file says what it does in the first line of its docstring, and has an EXAMPLE, `add` for its options, and
`do`; one with VERBS has a help of each. It imports what it needs when it runs, so that `--help` costs nothing.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from maskedbandit import __version__
from maskedbandit.errors import MaskedBanditError
from maskedbandit.extras import explain_missing

DESCRIPTION = "Adaptive experiments on private outcomes: simulate bandits under every trust model."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 or what it returns, or 2 after one line on standard error that names what is wrong."""
    top = parser()
    options = top.parse_args(arguments)
    if options.version:
        from maskedbandit.cli.parts.versions import list_versions

        print("\n".join(list_versions() if options.verbose else [f"maskedbandit {__version__}"]))
        return 0
    if options.do is None:
        top.error("the following arguments are required: COMMAND")
    if "" not in sys.path:
        sys.path.append("")  # classes that an experiment names may be in the current folder
    try:
        code: int | None = options.do(options)
        sys.stdout.flush()
    except MaskedBanditError as wrong:
        return refused(str(wrong))
    except ModuleNotFoundError as missing:
        if not (said := explain_missing(missing)):
            raise
        return refused(str(said))
    except MemoryError:
        return refused("not enough memory: ask for fewer runs, fewer arms or a shorter tree")
    except BrokenPipeError:  # whoever reads the output went away
        code = 0
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as wrong:
        where = f": {wrong.filename}" if wrong.filename else ""
        return refused(f"{wrong.strerror or wrong}{where}")
    except KeyboardInterrupt:
        print(f"\nmaskedbandit: interrupted{options.interrupted}", file=sys.stderr)
        return 130
    return code or 0


def refused(reason: str) -> int:
    """Say on one line why nothing more was done."""
    print(f"maskedbandit: {' '.join(reason.splitlines())}", file=sys.stderr)
    return 2


def parser() -> argparse.ArgumentParser:
    """All commands and their options, with an example of each."""
    top = documented(argparse.ArgumentParser, "maskedbandit", DESCRIPTION, "maskedbandit run quickstart")
    top.add_argument(
        "--version",
        action="store_true",
        help="show the version, and with --verbose the versions of everything that is used",
    )
    top.add_argument("--verbose", action="store_true", help="with --version: what a bug report needs")
    top.set_defaults(do=None)
    commands = top.add_subparsers(metavar="COMMAND")
    for each in iter_modules(__path__):
        if not each.ispkg:
            module = import_module(f"{__name__}.{each.name}")
            about = (module.__doc__ or "").partition("\n")[0].rstrip(".")
            name, own_help = each.name.replace("_", "-"), hasattr(module, "VERBS")  # verbs have a help each
            one = documented(commands.add_parser, name, about, module.EXAMPLE, help=about, add_help=not own_help)
            module.add(one)
            one.set_defaults(do=module.do, interrupted=getattr(module, "INTERRUPTED", ""))
    return top


def documented(make: Any, name: str, about: str, example: str, **more: Any) -> argparse.ArgumentParser:
    """A parser whose help ends with an example."""
    plain = argparse.RawDescriptionHelpFormatter
    made: argparse.ArgumentParser = make(
        name, description=f"{about.rstrip('.')}.", epilog=f"example:\n  {example}", formatter_class=plain, **more
    )
    return made

"""The page of the command line: the help of every command, as it is printed."""

import argparse
import os

from maskedbandit.cli import parser

WIDTH = 80  # columns


def write_command_line() -> str:
    """The page."""
    os.environ["COLUMNS"] = str(WIDTH)
    lines = ["# The command line", "", "Every command, and what `maskedbandit COMMAND --help` says of it.", ""]
    for action in parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                lines += [f"## {name}", "", "```text", command.format_help().strip(), "```", ""]
    return "\n".join(lines)

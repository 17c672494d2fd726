"""Merge folders of results of one experiment, such as those of array jobs."""

import argparse
import sys
from pathlib import Path

from maskedbandit.cli.run import draw_finished, show_results

EXAMPLE = "maskedbandit merge results/job-* --out results/quickstart"


def add(parser: argparse.ArgumentParser) -> None:
    """The folders."""
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="folders that `run` wrote")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder for all their results (the first DIR)")


def do(options: argparse.Namespace) -> None:
    """Merge the folders, and show the summary."""
    from maskedbandit.lab.experiments.table import experiment_of, merge_results

    out = options.out or options.folders[0]
    experiment = experiment_of(options.folders[0])

    def note(text: str) -> None:
        print(f"maskedbandit: {text}", file=sys.stderr)

    show_results(experiment, merge_results(options.folders, out, note, draw_finished(experiment, out)), out)

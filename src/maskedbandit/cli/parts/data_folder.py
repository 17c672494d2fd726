"""The folder that `--data` names, which has a database and its witness."""

import argparse


def make_data_folder(options: argparse.Namespace) -> None:
    """Make the folder, if it is given and not there."""
    if getattr(options, "data", None):
        options.data.mkdir(parents=True, exist_ok=True)

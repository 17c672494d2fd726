"""What `maskedbandit study` does with drafts: new ones, and showing, changing, copying and deleting them."""

import argparse
from contextlib import closing
from typing import Any

from maskedbandit.cli.parts.data_folder import make_data_folder
from maskedbandit.cli.parts.verbs import say


def do_new(options: argparse.Namespace, file: str) -> None:
    """Write a new draft down."""
    protocol = read_file(file)
    make_data_folder(options)
    write_new(options, protocol)


def read_file(file: str) -> Any:
    """Read the protocol in a file, or the one of this name that `list` shows."""
    from maskedbandit.lab.experiments.examples import STUDIES, find_experiment
    from maskedbandit.study.protocol import Protocol

    return Protocol.from_file(find_experiment(file, "study", STUDIES))


def write_new(options: argparse.Namespace, protocol: Any, **how: Any) -> None:
    """Write a draft down; its name is returned."""
    from maskedbandit.store.studies import write_study

    write_study(protocol, options.database, options.witness, **how)
    say(study=protocol.name, state="draft", protocol=protocol.digest, witness=find_keys(options))


def find_keys(options: argparse.Namespace) -> str:
    """Find the folder with the keys of the database, to be printed: it may be new, and its name mistyped."""
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.studies import find_witness

    with closing(open_database(options.database)) as database:
        return str(find_witness(database, options.witness).folder)


def find_protocol(options: argparse.Namespace) -> Any:
    """Find the protocol of the study that is meant, without arms that were added."""
    from maskedbandit.service.views.describe import protocol_of
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.studies import choose_study

    with closing(open_database(options.database, create=False)) as database:
        return protocol_of(database, choose_study(database, options.study))


def do_show(options: argparse.Namespace) -> None:
    """Print the protocol of a study."""
    from maskedbandit.study.toml_text import write_toml

    protocol = find_protocol(options)
    print(f"# {protocol.name}: the hash of this protocol is {protocol.digest}\n{write_toml(protocol.table)}")


def do_change(options: argparse.Namespace, file: str, looked_at: str) -> None:
    """Replace the protocol of a draft."""
    write_new(options, read_file(file), looked_at=looked_at)


def do_copy(options: argparse.Namespace, name: str) -> None:
    """Write a draft of another name down, with the same protocol."""
    from maskedbandit.study.protocol import Protocol

    write_new(options, Protocol.from_table(find_protocol(options).table | {"name": name}))


def do_delete(options: argparse.Namespace, looked_at: str) -> None:
    """Delete a draft."""
    from maskedbandit.store.studies import delete_draft

    name = find_protocol(options).name
    delete_draft(name, looked_at, options.database)
    say(deleted=name)

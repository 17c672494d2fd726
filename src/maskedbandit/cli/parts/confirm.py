"""Before something that cannot be undone the terminal asks, and says what it will do; a script says `--yes`."""

import argparse
import sys
from contextlib import closing

from maskedbandit.errors import NotConfirmed


def confirm_move(options: argparse.Namespace, move: str) -> str | None:
    """Ask for the study's name before a move: the hash of the protocol that was shown, or nothing if none was."""
    if options.yes:
        return None
    if not sys.stdin.isatty():
        raise NotConfirmed(
            f"`study {options.verb}` cannot be undone, and there is no terminal on which to ask: add --yes to do it"
        )
    from maskedbandit.service.views.moves import ask_move
    from maskedbandit.service.views.view import read_view
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.lease import read_clock
    from maskedbandit.store.studies import choose_study, find_witness

    with closing(open_database(options.database, create=False)) as database:
        witness, name = find_witness(database, options.witness), choose_study(database, options.study)
        view = read_view(database, witness, name, read_clock())
    question = ask_move(view, move)
    if question.hindrance:
        raise NotConfirmed(question.hindrance)
    does = "".join(f"  * {each}\n" for each in question.does)
    protocol = f"The hash of its protocol is {view.protocol.digest}\n" if move == "start" else ""
    said = f"{question.title}\n{does}This cannot be undone. {question.lasts}\n{protocol}"
    print(f"{said}Type the study's name to {options.verb} it: ", end="", file=sys.stderr, flush=True)
    if (typed := sys.stdin.readline().strip()) != name:
        raise NotConfirmed(f"nothing was done: {typed!r} is not the name of the study, {name}")
    return view.protocol.digest

"""Pair the two operators of studies: invite a leader, pair with a helper, or show with whom this operator is paired."""

import argparse
import json

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.data_folder import make_data_folder
from maskedbandit.cli.parts.verbs import add_verbs, check_words

EXAMPLE = (
    "maskedbandit helper invite --data helper\n"
    "  maskedbandit helper pair https://helper.example INVITATION --name Clinic --database sqlite:///studies.db"
)
VERBS = {
    "invite": ("", "on the helper: make an invitation for one leader, which is shown once and is valid for a day"),
    "pair": (
        "URL INVITATION",
        "on the leader: pair with the helper at URL; --name is the name of this operator for the helper",
    ),
    "show": (
        "",
        "show the fingerprint of this operator, the operators that it is paired with, and the studies that it helps",
    ),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the verbs, and the options that say which database is meant."""
    add_verbs(parser, VERBS)
    studies.place(parser)
    parser.add_argument(
        "--name", default="leader", metavar="NAME", help="with `pair`: the name of this operator (leader)"
    )


def do(options: argparse.Namespace) -> None:
    """Do what the verb says, and print the result as lines of JSON."""
    check_words("helper", VERBS, options)
    if options.verb != "show":
        make_data_folder(options)
    globals()[f"do_{options.verb}"](options, *options.given)


def do_invite(options: argparse.Namespace) -> None:
    """Print a new invitation, and this operator's fingerprint."""
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.databases.database import do_again
    from maskedbandit.store.helping.book import check_role
    from maskedbandit.store.lease import read_clock
    from maskedbandit.store.own_keys import read_own_keys
    from maskedbandit.store.pairing import write_invitation
    from maskedbandit.store.studies import prepare_witness

    database = open_database(options.database)
    try:
        fingerprint = read_own_keys(prepare_witness(database, options.witness)).fingerprint
        check_role(database, "helper")

        def write() -> str:
            with database.transaction():
                return write_invitation(database, read_clock())

        say(invitation=do_again(write), fingerprint=fingerprint, holds="for one leader, and for a day")
    finally:
        database.close()


def do_pair(options: argparse.Namespace, url: str, invitation: str) -> None:
    """Pair with a helper, and print both fingerprints, to be compared."""
    import asyncio

    from maskedbandit.service.host.helper_pairing import pair_with_operator

    paired = asyncio.run(pair_with_operator(options.database, options.witness, url, invitation, options.name))
    say(leader=paired.own, helper=paired.other.fingerprint, name=paired.other.name)
    print("Compare both fingerprints with the helper's operator by other means, before a study names them.")


def do_show(options: argparse.Namespace) -> None:
    """Print a line for this operator, for each with which it is paired, and for each study that it helps."""
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.helping.book import list_helped
    from maskedbandit.store.own_keys import read_own_keys
    from maskedbandit.store.pairing import read_pairings
    from maskedbandit.store.studies import prepare_witness
    from maskedbandit.store.study_rows import read_study

    database = open_database(options.database, create=False)
    try:
        say(fingerprint=read_own_keys(prepare_witness(database, options.witness)).fingerprint)
        for each in read_pairings(database):
            said = {"role": each.role, "name": each.name, "fingerprint": each.fingerprint, "made": each.made}
            say(**said | ({"address": each.address} if each.address else {}))
        for name in list_helped(database):
            say(study=name, state=read_study(database, name).state)
    finally:
        database.close()


def say(**what: object) -> None:
    """Print one line of JSON."""
    print(json.dumps(what))

"""Pair the two operators of studies: invite a leader, pair with a helper, or show with whom this operator is paired."""

import argparse

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.data_folder import make_data_folder
from maskedbandit.cli.parts.pairing import print_invitation, print_line, print_partners
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
    print_invitation(options, "helper", "leader")


def do_pair(options: argparse.Namespace, url: str, invitation: str) -> None:
    """Pair with a helper, and print both fingerprints, to be compared."""
    import asyncio

    from maskedbandit.service.host.helper_pairing import pair_with_operator

    paired = asyncio.run(pair_with_operator(options.database, options.witness, url, invitation, options.name))
    print_line(leader=paired.own, helper=paired.other.fingerprint, name=paired.other.name)
    print("Compare both fingerprints with the helper's operator by other means, before a study names them.")


def do_show(options: argparse.Namespace) -> None:
    """Print a line for this operator, for each with which it is paired, and for each study that others lead."""
    print_partners(options)

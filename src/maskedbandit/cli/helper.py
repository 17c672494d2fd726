"""Invite a leader, or show this operator and those with which it works."""

import argparse
import json

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.verbs import add_verbs, check_words

EXAMPLE = "maskedbandit helper invite --data helper"
VERBS = {
    "invite": ("", "on the helper: an invitation for one leader, which is shown once and holds for a day"),
    "show": ("", "the fingerprint of this operator, the operators that it is paired with, and studies that it helps"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """The verbs, and which database is meant."""
    add_verbs(parser, VERBS)
    studies.place(parser)


def do(options: argparse.Namespace) -> None:
    """Do what the verb says, and print what came of it as lines of JSON."""
    check_words("helper", VERBS, options)
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.databases.database import do_again
    from maskedbandit.store.helping.book import check_role, list_helped
    from maskedbandit.store.lease import read_clock
    from maskedbandit.store.own_keys import read_own_keys
    from maskedbandit.store.pairing import read_pairings, write_invitation
    from maskedbandit.store.studies import prepare_witness
    from maskedbandit.store.study_rows import read_study

    if options.verb == "invite" and getattr(options, "data", None):
        options.data.mkdir(parents=True, exist_ok=True)
    database = open_database(options.database, create=options.verb == "invite")
    try:
        fingerprint = read_own_keys(prepare_witness(database, options.witness)).fingerprint
        if options.verb == "invite":
            check_role(database, "helper")

            def write() -> str:
                with database.transaction():
                    return write_invitation(database, read_clock())

            say(invitation=do_again(write), fingerprint=fingerprint, holds="for one leader, and for a day")
            return
        say(fingerprint=fingerprint)
        for each in read_pairings(database):
            said = {"role": each.role, "name": each.name, "fingerprint": each.fingerprint, "made": each.made}
            say(**said | ({"address": each.address} if each.address else {}))
        for name in list_helped(database):
            say(study=name, state=read_study(database, name).state)
    finally:
        database.close()


def say(**what: object) -> None:
    """One line of JSON."""
    print(json.dumps(what))

"""What the commands of operators who work with others have in common: invitations, and who is paired."""

import argparse
import json
from contextlib import closing


def print_invitation(options: argparse.Namespace, role: str, guest: str) -> None:
    """Print a new invitation for one guest, such as a leader or a site, and this operator's fingerprint."""
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.databases.database import do_again
    from maskedbandit.store.helping.book import check_role
    from maskedbandit.store.lease import read_clock
    from maskedbandit.store.own_keys import read_own_keys
    from maskedbandit.store.pairing import write_invitation
    from maskedbandit.store.studies import prepare_witness

    with closing(open_database(options.database)) as database:
        fingerprint = read_own_keys(prepare_witness(database, options.witness)).fingerprint
        check_role(database, role)

        def write() -> str:
            with database.transaction():
                return write_invitation(database, read_clock())

        print_line(invitation=do_again(write), fingerprint=fingerprint, holds=f"for one {guest}, and for a day")


def print_partners(options: argparse.Namespace) -> None:
    """Print a line for this operator, for each with which it is paired, and for each study that others lead."""
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.helping.book import list_helped
    from maskedbandit.store.own_keys import read_own_keys
    from maskedbandit.store.pairing import read_pairings
    from maskedbandit.store.studies import prepare_witness
    from maskedbandit.store.study_rows import read_study

    with closing(open_database(options.database, create=False)) as database:
        print_line(fingerprint=read_own_keys(prepare_witness(database, options.witness)).fingerprint)
        for each in read_pairings(database):
            said = {"role": each.role, "name": each.name, "fingerprint": each.fingerprint, "made": each.made}
            print_line(**said | ({"address": each.address} if each.address else {}))
        for name in list_helped(database):
            print_line(study=name, state=read_study(database, name).state)


def print_line(**what: object) -> None:
    """Print one line of JSON."""
    print(json.dumps(what))

"""Show, export or verify the ledger of a study."""

import argparse
import sys

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.verbs import add_verbs, check_words

EXAMPLE = (
    "maskedbandit ledger verify --database sqlite:///studies.db\n"
    "  maskedbandit ledger show --database sqlite:///studies.db\n"
    "  maskedbandit ledger export --database sqlite:///studies.db > newsletter.ledger"
)
VERBS = {
    "verify": ("", "recompute all that is stored; exit 2 with a line that says what does not fit"),
    "show": ("", "every entry, with what it costs"),
    "export": (
        "",
        "what another copy needs to catch up, as lines of JSON; it holds pseudonyms: keep it like the database",
    ),
}


def add(parser: argparse.ArgumentParser) -> None:
    """The verbs, and which study is meant."""
    add_verbs(parser, VERBS)
    studies.options(parser)


def do(options: argparse.Namespace) -> None:
    """Do what the verb says."""
    check_words("ledger", VERBS, options)
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.studies import choose_study, find_witness
    from maskedbandit.store.study_rows import read_studies

    database = open_database(options.database, create=False)
    try:
        witness = find_witness(database, options.witness)
        if options.verb == "verify":
            from maskedbandit.store.book.verify import verify_study

            names = [options.study] if options.study else [each.name for each in read_studies(database)]
            for name in names:
                found = verify_study(database, witness, choose_study(database, name))
                print(
                    f"{name}: {found.entries} entries, head {found.head[:16]}, {found.releases} releases, "
                    f"{found.people} people charged, of whom each has spent at most {found.worst}"
                )
        elif options.verb == "show":
            from maskedbandit.service.views.status import write_ledger

            print("\n".join(write_ledger(database, witness, choose_study(database, options.study))))
        else:
            from maskedbandit.store.reconcile import export_ledger

            sys.stdout.writelines(
                f"{line}\n" for line in export_ledger(database, witness, choose_study(database, options.study))
            )
    finally:
        database.close()

"""Show, export or verify the ledger of a study."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.verbs import add_verbs, check_words

if TYPE_CHECKING:
    from maskedbandit.store.book.witness import Witness
    from maskedbandit.store.databases.database import Database

EXAMPLE = (
    "maskedbandit ledger verify --database sqlite:///studies.db\n"
    "  maskedbandit ledger show --database sqlite:///studies.db\n"
    "  maskedbandit ledger export --database sqlite:///studies.db > newsletter.ledger"
)
VERBS = {
    "verify": ("", "recompute all that is stored; exit 2 with a line that says what does not fit"),
    "show": ("", "show every entry, with what it costs each person"),
    "export": (
        "",
        "write what a restored copy needs to catch up, as lines of JSON; it has pseudonyms: keep it like the database",
    ),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the verbs, and the options that say which study is meant."""
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
            names = [options.study] if options.study else [each.name for each in read_studies(database)]
            for name in names:
                print(verify_one(database, witness, choose_study(database, name)))
        elif options.verb == "show":
            from maskedbandit.service.views.status import write_ledger

            print("\n".join(write_ledger(database, witness, choose_study(database, options.study))))
        else:
            from maskedbandit.store.helping.book import is_helper
            from maskedbandit.store.helping.reconcile import export_help
            from maskedbandit.store.reconcile import export_ledger

            name = choose_study(database, options.study)
            export = export_help if is_helper(database, witness, name) else export_ledger
            sys.stdout.writelines(f"{line}\n" for line in export(database, witness, name))
    finally:
        database.close()


def verify_one(database: Database, witness: Witness, name: str) -> str:
    """Verify a study that this operator leads or helps, or is a site of, and say in a line what was recomputed."""
    from maskedbandit.store.book.book import parse_protocol
    from maskedbandit.store.book.verify import verify_study
    from maskedbandit.store.helping.book import is_helper
    from maskedbandit.store.helping.verify import verify_help
    from maskedbandit.store.shuffling.verify import verify_shuffling
    from maskedbandit.store.sites.verify import is_site, verify_site
    from maskedbandit.store.study_rows import read_study

    if is_helper(database, witness, name) and parse_protocol(read_study(database, name).protocol).shuffled:
        mixed = verify_shuffling(database, witness, name)
        return (
            f"{name}, shuffled: {mixed.entries} entries, head {mixed.head[:16]}, {mixed.mixes} cohorts mixed, "
            f"{mixed.bundles} reports that wait"
        )
    if is_helper(database, witness, name):
        helped = verify_help(database, witness, name)
        return (
            f"{name}, helped: {helped.entries} entries, head {helped.head[:16]}, {helped.totals} totals, "
            f"{helped.reports} reports that were offered"
        )
    if is_site(database, name):
        at_site = verify_site(database, witness, name)
        return (
            f"{name}, at this site: {at_site.entries} entries, head {at_site.head[:16]}, {at_site.people} people, "
            f"{at_site.joined} attempts at sums joined, {at_site.agreed} sums agreed to"
        )
    found = verify_study(database, witness, name)
    return (
        f"{name}: {found.entries} entries, head {found.head[:16]}, {found.releases} releases, "
        f"{found.people} people charged, of whom each has spent at most {found.worst}"
    )

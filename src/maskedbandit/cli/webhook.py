"""Add, list or delete webhooks: addresses that the service tells when something of a study is published."""

import argparse

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.verbs import add_verbs, check_words, say

EXAMPLE = (
    "maskedbandit webhook add https://hooks.example/bandit --database sqlite:///studies.db\n"
    "  maskedbandit webhook add https://hooks.example/bandit --study newsletter --kind released --kind finished"
)
VERBS = {
    "add": ("URL", "send announcements to this address from now on; the secret is shown once"),
    "list": ("", "show all webhooks, without their secrets, and whether their receivers answer"),
    "delete": ("WEBHOOK", "send nothing more to a webhook"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the verbs, and the options that say which database is meant."""
    add_verbs(parser, VERBS)
    studies.options(parser)
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="with `add`, may be repeated: released, finished, state, arm or attention (all of them)",
    )


def do(options: argparse.Namespace) -> None:
    """Do what the verb says, and print the result as lines of JSON."""
    check_words("webhook", VERBS, options)
    from msgspec import structs

    from maskedbandit.service import webhooks
    from maskedbandit.service.views.receivers import list_receivers
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.lease import read_clock
    from maskedbandit.store.studies import prepare_witness

    database = open_database(options.database, create=False)
    try:
        witness = prepare_witness(database, options.witness)
        if options.verb == "add":
            given = options.given[0], options.study, options.kind, read_clock()
            made, secret = webhooks.write_webhook(database, witness, *given)
            say(webhook=made.webhook, secret=secret)
        elif options.verb == "delete":
            webhooks.delete_webhook(database, options.given[0])
            say(webhook=options.given[0], deleted=True)
        else:
            for each in list_receivers(database, witness):
                say(**structs.asdict(each))
    finally:
        database.close()

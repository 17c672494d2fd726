"""Make, list, rotate or revoke the keys of the service."""

import argparse
import json

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.verbs import add_verbs, check_words

EXAMPLE = (
    "maskedbandit key new client --study newsletter --database sqlite:///studies.db\n"
    "  maskedbandit key new device --study newsletter --origin https://shop.example"
)
VERBS = {
    "new": ("ROLE", "make a key for an owner, an officer, a client or a device, which is shown once"),
    "list": ("", "show all keys, without their secrets"),
    "rotate": ("KEY", "make a key in place of another, which is valid for one more day"),
    "revoke": ("KEY", "end a key at once"),
    "signer": (
        "",
        "make a pair of keys for an application that signs its people: `signed_by` for protocols, and its private key",
    ),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the verbs, and the options that say which database is meant."""
    add_verbs(parser, VERBS)
    studies.options(parser)
    parser.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="with `new device`, may be repeated: a site whose pages may use the key; without one, no page may",
    )


def do(options: argparse.Namespace) -> None:
    """Do what the verb says, and print the result as lines of JSON."""
    check_words("key", VERBS, options)
    if options.verb == "signer":
        return signer()

    from maskedbandit.service import keys
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.lease import read_clock

    database = open_database(options.database, create=options.verb == "new")
    try:
        if options.verb == "new":
            say(key=keys.write_key(database, options.given[0], options.study, read_clock(), options.origin))
        elif options.verb == "rotate":
            say(key=keys.replace_key(database, options.given[0], read_clock()))
        elif options.verb == "revoke":
            say(key=keys.end_key(database, options.given[0], read_clock()).key, revoked=True)
        else:
            for key in keys.read_keys(database):
                names = "key", "role", "study", "made", "ends", "origins", "last_used"
                say(**{name: getattr(key, name) for name in names})
    finally:
        database.close()


def signer() -> None:
    """Print a new pair of keys."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    say(private=private.private_bytes_raw().hex(), signed_by=private.public_key().public_bytes_raw().hex())


def say(**what: object) -> None:
    """Print one line of JSON."""
    print(json.dumps(what))

"""Work with the helper of two operators: pair this operator, the leader, with it."""

import argparse
import json

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.verbs import add_verbs, check_words

EXAMPLE = "maskedbandit helper pair https://helper.example INVITATION --name Clinic --database sqlite:///studies.db"
VERBS = {
    "pair": ("URL INVITATION", "work with the helper at URL from now on; --name is what it is told of this operator")
}


def add(parser: argparse.ArgumentParser) -> None:
    """The verbs, and which database is meant."""
    add_verbs(parser, VERBS)
    studies.place(parser)
    parser.add_argument(
        "--name", default="leader", metavar="NAME", help="of `pair`: the name of this operator (leader)"
    )


def do(options: argparse.Namespace) -> None:
    """Do what the verb says."""
    check_words("helper", VERBS, options)
    if getattr(options, "data", None):
        options.data.mkdir(parents=True, exist_ok=True)
    globals()[f"do_{options.verb}"](options, *options.given)


def do_pair(options: argparse.Namespace, url: str, invitation: str) -> None:
    """Both fingerprints, to be compared."""
    import asyncio

    from maskedbandit.service.host.helper_pairing import pair_with_helper

    paired = asyncio.run(pair_with_helper(options.database, options.witness, url, invitation, options.name))
    print(json.dumps({"leader": paired.own, "helper": paired.helper.fingerprint, "name": paired.helper.name}))
    print("Compare both fingerprints with the helper's operator, on another way, before a study names them.")

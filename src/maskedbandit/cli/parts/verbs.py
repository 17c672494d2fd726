"""Commands with verbs, such as `maskedbandit key new`: what the help says of them, and how many words each takes."""

import argparse
import json
from collections.abc import Mapping

from maskedbandit.errors import InvalidValue

Verbs = Mapping[str, tuple[str, str]]  # the words that follow each, those in brackets at will, and what it does


def add_verbs(parser: argparse.ArgumentParser, verbs: Verbs) -> None:
    """A verb, and the words that it is about."""
    width = max(len(f"{verb} {words}".strip()) for verb, (words, _) in verbs.items())
    said = "\n".join(f"  {f'{verb} {words}'.strip():{width}}  {about}" for verb, (words, about) in verbs.items())
    parser.epilog = f"verbs:\n{said}\n\n{parser.epilog}"
    parser.add_argument("verb", choices=verbs, metavar="VERB", help="one of the verbs below")
    parser.add_argument("given", nargs="*", metavar="...", help="what the verb is about")


def check_words(command: str, verbs: Verbs, options: argparse.Namespace) -> None:
    """Raise `InvalidValue` unless there are as many words as the verb takes; they may say something of a person."""
    wanted, given = verbs[options.verb][0], len(options.given)
    least = len([each for each in wanted.split() if not each.startswith("[")])
    if not least <= given <= len(wanted.split()):
        name = f"the number of words after `{command} {options.verb}`"
        raise InvalidValue(name, given, f"that of {wanted}" if wanted else "0")


def say(**what: object) -> None:
    """Print one line of JSON: what came of a verb."""
    print(json.dumps(what))

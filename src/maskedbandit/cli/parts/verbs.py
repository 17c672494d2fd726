"""Commands with verbs, such as `maskedbandit key new`: what the help says of each, and how many words it takes."""

import argparse
import json
import re
from collections.abc import Mapping
from typing import Any

from maskedbandit.errors import InvalidValue

Verbs = Mapping[str, tuple[str, str]]  # the words that follow each, those in brackets at will, and what it does
SAMPLES = {
    "FILE": "newsletter.toml",
    "[FILE]": "newsletter.ledger",
    "UNIT": "ann",
    "VALUE": "1",
    "CHANGE": "pause",
    "NAME": "short",
    "ROLE": "client",
    "KEY": "2b07426d",
    "URL": "https://service.example",
    "WEBHOOK": "2b07426d91c3a5f0",
}  # what an example has in place of a word; others stand for themselves, but those at will are left out


def add_verbs(parser: argparse.ArgumentParser, verbs: Verbs) -> None:
    """A verb, the words that it is about, and the help of each: `study start --help`."""
    width = max(len(f"{verb} {words}".strip()) for verb, (words, _) in verbs.items())
    said = "\n".join(f"  {f'{verb} {words}'.strip():{width}}  {about}" for verb, (words, about) in verbs.items())
    parser.epilog = f"verbs, each with a help of its own, `{parser.prog} VERB --help`:\n{said}\n\n{parser.epilog}"
    parser.add_argument("-h", "--help", action=Help, nargs=0, verbs=verbs, help="show this help message and exit")
    parser.add_argument("verb", choices=verbs, metavar="VERB", help="one of the verbs below")
    parser.add_argument("given", nargs="*", metavar="...", help="what the verb is about")


class Help(argparse.Action):
    """Show the help of the verb before it, or of the command if there is none."""

    def __init__(self, *given: Any, verbs: Verbs, **more: Any) -> None:
        super().__init__(*given, **more)
        self.verbs = verbs

    def __call__(self, parser: Any, options: Any, values: Any, flag: str | None = None) -> None:
        verb = getattr(options, "verb", None)
        print(parser.format_help() if verb is None else describe_verb(parser, self.verbs, verb), end="")
        parser.exit()


def describe_verb(parser: argparse.ArgumentParser, verbs: Verbs, verb: str) -> str:
    """The help of a verb. An option whose help begins with "with", verbs and a colon is of these alone."""
    words, about = verbs[verb]
    options = [each for each in parser._actions if each.option_strings]
    named = [(each.help or "").partition(":")[0] for each in options]
    owners = [re.findall("`([a-z]+)", each) if each.startswith("with `") else [] for each in named]
    formatter = parser.formatter_class(prog=f"{parser.prog} {verb}")
    formatter.add_usage(f"{parser.prog} {verb} {words}".strip() + " [OPTION ...]", (), ())
    formatter.add_text(f"{about[0].upper()}{about[1:]}.")
    formatter.start_section("options")
    formatter.add_arguments(each for each, owner in zip(options, owners, strict=True) if not owner or verb in owner)
    formatter.end_section()
    sample = " ".join(SAMPLES.get(word, word) for word in words.split() if word in SAMPLES or word[0] != "[")
    formatter.add_text(f"example:\n  {parser.prog} {verb} {sample}".rstrip())
    return formatter.format_help()


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

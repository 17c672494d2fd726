"""State what a study, an experiment or a running service promises its people: to read, check and sign."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from maskedbandit.cli import study as studies
from maskedbandit.errors import InvalidValue

if TYPE_CHECKING:
    from maskedbandit.statement.content import Statement

EXAMPLE = (
    "maskedbandit statement --data demo --out demo-statement         # demo-statement.json and .html\n"
    "  maskedbandit statement check demo-statement.json --data demo    # is it what the ledger says?\n"
    "  maskedbandit statement quickstart                               # an experiment\n"
    "  maskedbandit statement --url http://127.0.0.1:8000 --study demo # a running service, MASKEDBANDIT_KEY its key"
)

TWO_FILES = "the name of two files, without .json and .html, in a folder that is there"
TAKES = {  # the options of each form of the command
    "": "data database witness study audit out json",
    "--url": "url study out json",
    "EXPERIMENT": "audit out json",
    "check": "data database witness signed_by",
    "check --url": "url signed_by",
    "sign": "",
    "schema": "",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options: what is stated, and where the statement goes."""
    parser.add_argument(
        "what",
        nargs="*",
        metavar="WHAT",
        help="nothing: state a study; EXPERIMENT: state an experiment, by its file or its name; `check FILE`: refuse a "
        "statement that contradicts the ledger of the database, or with --url of the service; "
        "`sign FILE`: write FILE.sig, with the private key in MASKEDBANDIT_SIGNER; `schema`: show the JSON schema of "
        "statements",
    )
    studies.options(parser)
    parser.add_argument("--url", metavar="URL", help="ask the running service at this address, in place of a database")
    parser.add_argument(
        "--audit",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="add an audit.json as evidence; may be repeated",
    )
    parser.add_argument(
        "--signed-by", metavar="KEY", help="with `check`: refuse it unless FILE.sig is a signature with this public key"
    )
    parser.add_argument("--out", type=Path, metavar="NAME", help="write NAME.json, and NAME.html to print and sign")
    parser.add_argument("--json", action="store_true", help="print the JSON")


def do(options: argparse.Namespace) -> None:
    """Make the statement, or check, sign or describe one."""
    import json

    from maskedbandit.statement.content import encode_statement, make_statement_schema

    check_options(options)
    if options.out is not None and options.out.name in ("", ".."):
        raise InvalidValue("--out", str(options.out), TWO_FILES)
    if options.what == ["schema"]:
        print(json.dumps(make_statement_schema(), indent=2))
        return
    if options.what[:1] == ["check"]:
        print(checked(options))
        return
    if options.what[:1] == ["sign"]:
        print(write_signature(options))
        return
    if options.what:
        said = of_experiment(options)
    elif options.url is not None:
        said = of_service(options)
    else:
        said = of_study(options)
    text = encode_statement(said)
    if options.out is not None:
        write(options.out, said, text)
    elif options.json:
        sys.stdout.write(text.decode())
    else:
        print(in_words(said))


def write(out: Path, said: Statement, text: bytes) -> None:
    """Write a statement as JSON and as a page."""
    from maskedbandit.lab.files import whole_file
    from maskedbandit.statement.page import print_statement

    for ending, content in ((".json", text), (".html", print_statement(said).encode())):
        path = out.with_name(out.name + ending)
        try:
            with whole_file(path) as file:
                file.write(content)
        except OSError as why:
            raise InvalidValue("--out", str(out), f"{TWO_FILES}, which can be written ({why.strerror})") from None
        print(path)


def form(options: argparse.Namespace) -> str:
    """Which row of `TAKES` the command is, or raise `InvalidValue`."""
    verb = options.what[0] if options.what else ""
    if verb in ("check", "sign"):
        return "check --url" if verb == "check" and options.url is not None else verb
    if len(options.what) > 1:
        raise InvalidValue("what is stated", " ".join(options.what), "one experiment, `check FILE`, or `schema`")
    if verb:
        return verb if verb == "schema" else "EXPERIMENT"
    return "--url" if options.url is not None else ""


def check_options(options: argparse.Namespace) -> None:
    """Raise `InvalidValue` at the first option that is not taken here, as it would be passed over in silence."""
    command = form(options)
    takes = TAKES[command].split()
    untouched = {"database": studies.DATABASE, "audit": [], "json": False}
    for name in ("data", "database", "witness", "study", "url", "audit", "signed_by", "out", "json"):
        value = getattr(options, name)
        if name in ("database", "witness") and options.data is not None:  # which has set both
            continue
        if value != untouched.get(name) and name not in takes:
            known = ", ".join(f"--{each.replace('_', '-')}" for each in takes) or "nothing"
            allowed = f"left out: `maskedbandit {' '.join(['statement', *command.split()])}` takes {known}"
            given = " ".join(map(str, value)) if isinstance(value, list) else str(value)
            raise InvalidValue(f"--{name.replace('_', '-')}", given, allowed)


def of_study(options: argparse.Namespace) -> Statement:
    """Make the statement of a study in a database, after all that is stored of it was recomputed."""
    from maskedbandit.statement.check import make_statement
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.studies import choose_study, find_witness

    database = open_database(options.database, create=False)
    try:
        witness, study = find_witness(database, options.witness), choose_study(database, options.study)
        return make_statement(database, witness, study, audits=options.audit)
    finally:
        database.close()


def of_experiment(options: argparse.Namespace) -> Statement:
    """Make the statement of an experiment."""
    from maskedbandit.lab.experiments.examples import find_experiment
    from maskedbandit.lab.experiments.experiment import read_experiment
    from maskedbandit.reports.statement import statement_of_experiment

    return statement_of_experiment(read_experiment(find_experiment(options.what[0])), options.audit)


def of_service(options: argparse.Namespace) -> Statement:
    """Fetch the statement of a running service; the ledger that it shows has to agree."""
    from maskedbandit.statement.service import fetch_statement

    return fetch_statement(options.url, key_of_staff(), options.study)


def key_of_staff() -> str:
    """Read the key with which a service is asked."""
    if not (key := os.environ.get("MASKEDBANDIT_KEY")):
        raise InvalidValue("MASKEDBANDIT_KEY", key, "the key of an owner or an officer, in the environment")
    return key


def named_file(options: argparse.Namespace) -> Path:
    """The file that follows a verb."""
    if len(options.what) != 2:
        name = f"the number of words after `statement {options.what[0]}`"
        raise InvalidValue(name, len(options.what) - 1, "1: a file of JSON")
    return Path(options.what[1])


def signature_of(file: Path) -> Path:
    """Where the signature of a file is."""
    return file.with_name(f"{file.name}.sig")


def write_signature(options: argparse.Namespace) -> Path:
    """Sign a file."""
    from maskedbandit.lab.files import whole_file
    from maskedbandit.statement.check import sign_statement
    from maskedbandit.statement.content import decode_statement

    file = named_file(options)
    text = file.read_bytes()
    decode_statement(text)
    content = sign_statement(text, os.environ.get("MASKEDBANDIT_SIGNER", ""))
    with whole_file(signature_of(file)) as out:
        out.write(content)
    return signature_of(file)


def checked(options: argparse.Namespace) -> str:
    """Compare a file with a ledger."""
    from maskedbandit.statement.check import check_signature

    file = named_file(options)
    text = file.read_bytes()
    if options.signed_by is not None:
        check_signature(text, signature_of(file).read_bytes(), options.signed_by)
    said = compared(text, options)
    if said.ledger is None:
        return f"{said.name}: it is what the draft says"
    return (
        f"{said.name}: it is what the ledger says, up to entry {said.ledger.entries - 1} with hash "
        f"{said.ledger.head[:16]}, after {said.ledger.releases} releases"
    )


def compared(text: bytes, options: argparse.Namespace) -> Statement:
    """The statement in a file, after it was compared with the ledger of a database or of a service."""
    if options.url is not None:
        from maskedbandit.statement.service import check_served

        return check_served(text, options.url, key_of_staff())
    from maskedbandit.statement.check import check_statement
    from maskedbandit.store.databases.connection import open_database
    from maskedbandit.store.studies import find_witness

    database = open_database(options.database, create=False)
    try:
        return check_statement(text, database, find_witness(database, options.witness))
    finally:
        database.close()


def in_words(said: Statement) -> str:
    """Write the statement in words, for a terminal."""
    from textwrap import fill

    from maskedbandit.statement.page import POINT_NAMES

    state = f"as of {said.as_of}, {said.state}" if said.as_of else said.state
    lines = [f"Privacy statement of {said.kind} {said.name}, {state}", "", said.odds, ""]
    wide = max(len(each.what) for each in said.person)
    lines += [f"  {each.what:{wide}}  {each.loss}" for each in said.person] if said.kind == "study" else []
    if said.kind == "experiment":
        lines += [f"  {each.label:24} {each.policy:28} {each.trust:12} {each.loss.loss}" for each in said.promises]
    lines += ["", said.trust, "", "Not protected:", *(f"- {each}" for each in said.not_protected)]
    lines += ["", "What this rests on:", *(f"- {each}" for each in said.assumptions), ""]
    lines += [f"{title}: {getattr(said.points, name)}" for name, title in POINT_NAMES.items()]
    lines += ["", f"Evidence: {sum(len(each.tests) for each in said.evidence.tested)} tests (--json names them) and "]
    lines[-1] += f"{len(said.evidence.audits)} audits."
    return "\n".join(fill(each, 100, subsequent_indent="  " * each.startswith("- ")) for each in lines)

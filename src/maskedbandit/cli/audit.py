"""Audit a study, an experiment, a channel or a running service: whether it keeps what it promises."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from maskedbandit.errors import InvalidValue
from maskedbandit.extras import import_extra

if TYPE_CHECKING:
    from maskedbandit.reports.audit.audit import Audit, How

EXAMPLE = (
    "maskedbandit audit newsletter --out results/audit\n"
    "  maskedbandit audit quickstart                # all channels of an experiment\n"
    "  maskedbandit audit --channel '{ name = \"distributed\", epsilon = 1, honest = 0.8 }'\n"
    "  maskedbandit audit --url https://studies.example.org --study newsletter   # the key is in MASKEDBANDIT_KEY"
)
INTERRUPTED = ""
BROKEN, NOTHING_PROVED = 2, 3  # exit codes


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options: what is audited, and how."""
    parser.add_argument(
        "target", nargs="?", metavar="FILE", help="a study or an experiment: a TOML file, or a name that `list` shows"
    )
    parser.add_argument("--channel", metavar="TABLE", help="audit this channel: a name, or a table as in experiments")
    parser.add_argument("--policy", metavar="TABLE", help="with this policy: a name, or a table as in experiments")
    parser.add_argument("--url", metavar="URL", help="audit the running service at this address")
    parser.add_argument("--key", metavar="KEY", help="the key of an owner of the service (MASKEDBANDIT_KEY)")
    parser.add_argument(
        "--officer-key",
        metavar="KEY",
        help="the key of an officer, if the service has one, to approve the audit's studies (MASKEDBANDIT_OFFICER_KEY)",
    )
    parser.add_argument("--study", metavar="NAME", help="the study to audit, if the service has several")
    parser.add_argument("--people", type=int, default=4, metavar="N", help="people in a cohort (4)")
    parser.add_argument("--samples", type=int, metavar="N", help="the number of samples (as many as ε demands)")
    parser.add_argument(
        "--error",
        type=float,
        default=1e-5,
        metavar="P",
        help="the largest probability that a sound part is found broken (1e-5)",
    )
    parser.add_argument(
        "--seed", type=int, default=1, metavar="N", help="the seed of everything but the service's own noise (1)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="write audit.json, audit.txt and audit.svg to this folder"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def do(options: argparse.Namespace) -> int:
    """Print what was found: 0 if promises are kept, 2 if one is broken, 3 if that could not have been noticed."""
    from maskedbandit.cli.parts.progress import Progress
    from maskedbandit.privacy.exact import to_whole
    from maskedbandit.reports.audit.audit import How

    targets = [name for name in ("target", "channel", "url") if getattr(options, name) is not None]
    if len(targets) != 1:
        raise InvalidValue("what is audited", targets or None, "one of FILE, --channel and --url")
    if not 0 < options.error <= 0.1:
        raise InvalidValue("--error", options.error, "a probability above 0 and at most 0.1")
    to_whole("--people", options.people, 1, 1000)
    if options.samples is not None:
        to_whole("--samples", options.samples, 400, 10**7)
    if options.out:  # said now, and not after an hour
        import_extra("matplotlib")
    with Progress(0, "sample", quiet=options.quiet) as progress:
        progress.begin("audit")
        how = How(options.people, options.samples, options.error, options.seed, progress.advance)
        found = audited(options, how)
    print(json.dumps(found.to_dict()) if options.json else found)
    if options.out:
        write(found, options.out)
    if not found.proves:
        print("maskedbandit: a broken twin was not caught, so this audit proves nothing", file=sys.stderr)
        return BROKEN if found.violation else NOTHING_PROVED
    if found.violation:
        print(f"maskedbandit: {found.worst.part}: a promise is broken", file=sys.stderr)
        return BROKEN
    return 0


def audited(options: argparse.Namespace, how: How) -> Audit:
    """Audit what the options name."""
    from maskedbandit.cli.parts.inline import read_inline_table
    from maskedbandit.lab.experiments.examples import STUDIES, find_experiment, find_packaged_folder
    from maskedbandit.reports.audit import targets as targets
    from maskedbandit.study.naming import STUDY_PARTS
    from maskedbandit.study.protocol import Protocol

    if options.url is not None:
        key = options.key or os.environ.get("MASKEDBANDIT_KEY")
        if key is None:
            raise InvalidValue("--key", None, "given, or in MASKEDBANDIT_KEY")
        officer = options.officer_key or os.environ.get("MASKEDBANDIT_OFFICER_KEY")
        return targets.audit_service(options.url, key, options.study, how, officer)
    if options.channel is not None:
        policy = None if options.policy is None else STUDY_PARTS.made("policy", read_inline_table(options.policy))
        return targets.audit_channel(STUDY_PARTS.made("channel", read_inline_table(options.channel)), policy, how)
    names = {each.stem for each in (find_packaged_folder() / STUDIES).glob("*.toml")}
    path = (
        find_experiment(options.target, "study", STUDIES)
        if options.target in names
        else find_experiment(options.target)
    )
    if is_study(path):
        return targets.audit_protocol(Protocol.from_file(path), how)
    from maskedbandit.lab.experiments.experiment import read_experiment  # of what it needs, nothing above does

    return targets.audit_experiment(read_experiment(path), how)


def is_study(path: Path) -> bool:
    """Whether a file is the protocol of a study, and no experiment: it has arms."""
    try:
        return "arms" in tomllib.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as wrong:
        raise InvalidValue("FILE", str(path), f"a TOML file that can be read ({wrong})") from None


def write(found: Audit, folder: Path) -> None:
    """Write the audit as files."""
    from maskedbandit.lab.files import whole_file
    from maskedbandit.reports.audit.figure import save_audit_figure

    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("audit.json", json.dumps(found.to_dict(), indent=2)), ("audit.txt", str(found))):
        with whole_file(folder / name) as file:
            file.write(f"{text}\n".encode())
    save_audit_figure(found, folder / "audit.svg")
    print("\n".join(str(folder / name) for name in ("audit.json", "audit.txt", "audit.svg")), file=sys.stderr)

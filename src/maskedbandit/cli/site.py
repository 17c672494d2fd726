"""A site that keeps its people's outcomes: join a coordinator and its studies, or invite a site to one's own."""

import argparse
from typing import Any

from maskedbandit.cli import study as studies
from maskedbandit.cli.parts.data_folder import make_data_folder
from maskedbandit.cli.parts.pairing import print_invitation, print_line, print_partners
from maskedbandit.cli.parts.verbs import add_verbs, check_words

EXAMPLE = (
    "maskedbandit site invite --data coordinator\n"
    "  maskedbandit site join https://trial.example INVITATION --name North --data north\n"
    "  maskedbandit site enter trial --data north\n"
    "  maskedbandit serve --role site --data north --port 8001"
)
VERBS = {
    "invite": ("", "on the coordinator: make an invitation for one site, which is shown once and is valid for a day"),
    "change": (
        "STUDY FILE",
        "on the coordinator: have the sites of the [sites] table in FILE from now on, to which each site has to agree",
    ),
    "join": ("URL INVITATION", "on the site: join the coordinator at URL; --name is the name of this site for it"),
    "enter": ("STUDY", "on the site: take part in a study of the coordinator, once it is started; shows all its sites"),
    "confirm": ("STUDY HASH", "on the site: agree to another list of sites, of which `enter` shows this HASH"),
    "show": ("", "show the fingerprint of this operator, those with whom it is paired, and its studies"),
}


def add(parser: argparse.ArgumentParser) -> None:
    """Add the verbs, and the options that say which database is meant."""
    add_verbs(parser, VERBS)
    studies.place(parser)
    parser.add_argument("--name", default="site", metavar="NAME", help="with `join`: the name of this site (site)")


def do(options: argparse.Namespace) -> None:
    """Do what the verb says, and print the result as lines of JSON."""
    check_words("site", VERBS, options)
    if options.verb != "show":
        make_data_folder(options)
    globals()[f"do_{options.verb}"](options, *options.given)


def do_invite(options: argparse.Namespace) -> None:
    """Print a new invitation, and this operator's fingerprint."""
    print_invitation(options, "leader", "site")


def do_change(options: argparse.Namespace, study: str, file: str) -> None:
    """Have another list of sites, and print it, to be compared."""
    from pathlib import Path

    from maskedbandit.store.studies import open_study
    from maskedbandit.study.tables import read_toml_file

    with open_study(options.database, study, options.witness) as held:
        held.change_sites(read_toml_file(Path(file)).get("sites"))
        print_list(study, held.protocol.digest, held.site_lists.stages[-1])


def do_join(options: argparse.Namespace, url: str, invitation: str) -> None:
    """Join a coordinator, and print both fingerprints, to be compared."""
    import asyncio

    from maskedbandit.service.host.helper_pairing import pair_with_operator

    given = options.database, options.witness, url, invitation, options.name
    paired = asyncio.run(pair_with_operator(*given, role="coordinator"))
    print_line(site=paired.own, coordinator=paired.other.fingerprint)
    print("Compare both fingerprints with the coordinator by other means, before a study names them.")


def do_enter(options: argparse.Namespace, study: str) -> None:
    """Take part in a study, and print what it says of its sites, to be compared with what was agreed."""
    import asyncio

    from maskedbandit.service.host.enter_study import enter_study

    found = asyncio.run(enter_study(options.database, options.witness, study))
    print_list(study, found.protocol.digest, found.newest)
    if found.agreed:
        print("Compare the protocol and the fingerprints with the other sites by other means, before people come.")
    else:
        print(
            "This site has not agreed to this list. Compare the fingerprints with the sites by other means, then agree:"
        )
        print(f"maskedbandit site confirm {study} {found.newest.name}")


def print_list(study: str, protocol: str, stage: Any) -> None:
    """Print a list of sites, and its hash."""
    print_line(study=study, protocol=protocol, sites=stage.name)
    for each in stage.sites.sites:
        print_line(name=each.name, fingerprint=each.key, share=str(each.share))


def do_confirm(options: argparse.Namespace, study: str, name: str) -> None:
    """Agree to another list of sites."""
    import asyncio

    from maskedbandit.service.host.enter_study import confirm_list

    asyncio.run(confirm_list(options.database, options.witness, study, name))
    print_line(study=study, sites=name, agreed=True)


def do_show(options: argparse.Namespace) -> None:
    """Print a line for this operator, for each with which it is paired, and for each study that others lead."""
    print_partners(options)

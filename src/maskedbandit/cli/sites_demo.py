"""Run a small study of sites on this machine: a coordinator, and sites that keep the outcomes of their own people."""

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from maskedbandit.cli.devices_demo import wait_for_end
from maskedbandit.cli.parts.progress import Progress
from maskedbandit.errors import InvalidValue

EXAMPLE = "maskedbandit sites-demo --sites 3 --people 60\n  maskedbandit sites-demo --sites 5 --people 2000 --serve"
INTERRUPTED = ""
LEAST_SITES, LARGEST_DEMO = 3, 20
FEWEST_OF_DEMO, MOST_OF_DEMO = 40, 100_000


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--sites", type=int, default=3, metavar="S", help="the number of sites (3)")
    parser.add_argument("--people", type=int, default=200, metavar="N", help="the number of people of all sites (200)")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="keep the data of all in this folder, which must be new"
    )
    parser.add_argument(
        "--serve", action="store_true", help="print the addresses of the pages, and go on until the command is ended"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def do(options: argparse.Namespace) -> None:
    """Run a coordinator and sites as processes, with people, and print the result."""
    from maskedbandit.cli.parts.sites import SitesOfDemo

    for name, value, least, most in (
        ("--sites", options.sites, LEAST_SITES, LARGEST_DEMO),
        ("--people", options.people, FEWEST_OF_DEMO, MOST_OF_DEMO),
    ):
        if not least <= value <= most:
            raise InvalidValue(name, value, f"a number from {least} to {most}")
    if options.data and options.data.exists():
        raise InvalidValue("--data", str(options.data), "a folder that is not there yet")
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(TemporaryDirectory()))
        steps = 2 * options.sites + options.people
        progress = stack.enter_context(Progress(steps, "step", quiet=options.quiet))
        demo = SitesOfDemo(folder.absolute(), options.sites, options.people)
        stack.callback(demo.end)
        progress.begin("the sites join")
        demo.begin(progress.advance)
        if options.serve:
            print(f"page         {demo.urls['coordinator']}/\nowner  key   {demo.owner}", flush=True)
            for name in demo.names:
                officer = demo.processes.keys[name]["officer"]
                print(f"{name:12} {demo.urls[name]}/sign-in#{officer}", flush=True)
        progress.begin("people come")
        demo.play(progress.advance)
        progress.begin("the sites add up")
        found = demo.finish()
        print(f"sites {found.sites}, people {found.people}, answer {found.answer}", flush=True)
        if options.serve:
            wait_for_end()

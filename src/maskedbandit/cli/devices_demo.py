"""Run a small study of two operators on this machine: a leader, a helper, and a device for each person."""

import argparse
import signal
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from maskedbandit.cli.parts.progress import Progress
from maskedbandit.errors import InvalidValue

EXAMPLE = "maskedbandit devices-demo -n 40\n  maskedbandit devices-demo -n 300 --serve"
INTERRUPTED = ""
LEAST_DEVICES, MOST_DEVICES = 4, 10_000
TRUST = "two_servers", "shuffled"


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("-n", type=int, default=200, metavar="N", help="the number of people, each with a device (200)")
    parser.add_argument(
        "--trust",
        choices=TRUST,
        default=TRUST[0],
        help="two servers add up (two_servers), or the second operator mixes what devices send (shuffled)",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="keep the data of both operators and all devices in this folder, which must be new",
    )
    parser.add_argument(
        "--serve", action="store_true", help="print the address of the page, and go on until the command is ended"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def do(options: argparse.Namespace) -> None:
    """Run both operators as processes and people with devices, and print the result."""
    from maskedbandit.cli.parts.shuffler import SHUFFLER
    from maskedbandit.cli.parts.two_operators import HELPER, TwoOperators

    if not LEAST_DEVICES <= options.n <= MOST_DEVICES:
        raise InvalidValue("-n", options.n, f"a number of people from {LEAST_DEVICES} to {MOST_DEVICES}")
    if options.data and options.data.exists():
        raise InvalidValue("--data", str(options.data), "a folder that is not there yet")
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(TemporaryDirectory()))
        progress = stack.enter_context(Progress(2 * options.n, "step", quiet=options.quiet))
        demo = TwoOperators(folder.absolute(), options.n, SHUFFLER if options.trust == "shuffled" else HELPER)
        stack.callback(demo.end)
        progress.begin("both operators start")
        demo.begin()
        if options.serve:
            print(f"page         {demo.leader}/\nowner  key   {demo.owner}\nhelper       {demo.helper}", flush=True)
        progress.begin("people come")
        demo.play(progress.advance)
        progress.begin("both operators release")
        found = demo.finish()
        print(f"people {found.people}, missing {found.missing}, answer {found.answer}", flush=True)
        if options.serve:
            wait_for_end()


def wait_for_end() -> None:
    """Wait until the user or the system ends this process."""
    ended = Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: ended.set())
    ended.wait()

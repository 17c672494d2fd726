"""Run a small study on this machine whose operator sees no outcome, with a device for each person.

The devices seal their reports for two operators, a leader and a helper; or they stay, and add up by themselves (secure
aggregation).
"""

import argparse
import signal
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

from maskedbandit.cli.parts.progress import Progress
from maskedbandit.errors import InvalidValue

EXAMPLE = (
    "maskedbandit devices-demo -n 40\n  maskedbandit devices-demo --trust secagg -n 80\n"
    "  maskedbandit devices-demo -n 300 --serve"
)
INTERRUPTED = ""
TRUSTS = ("two_servers", "secagg")
MOST_DEVICES = 10_000


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("-n", type=int, default=200, metavar="N", help="the number of people, each with a device (200)")
    parser.add_argument(
        "--trust", choices=TRUSTS, default=TRUSTS[0], help="what the channel of the study is built on (two_servers)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="keep the data of all servers and devices in this new folder"
    )
    parser.add_argument(
        "--serve", action="store_true", help="print the address of the page, and go on until the command is ended"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def do(options: argparse.Namespace) -> None:
    """Run the servers as processes, and people with devices, and print the result."""
    from maskedbandit.cli.parts.staying_devices import StayingDevices
    from maskedbandit.cli.parts.two_operators import TwoOperators

    chosen = StayingDevices if options.trust == "secagg" else TwoOperators
    if not chosen.least <= options.n <= MOST_DEVICES:
        raise InvalidValue("-n", options.n, f"a number of people from {chosen.least} to {MOST_DEVICES}")
    if options.data and options.data.exists():
        raise InvalidValue("--data", str(options.data), "a folder that is not there yet")
    with ExitStack() as stack:
        folder = options.data or Path(stack.enter_context(TemporaryDirectory()))
        progress = stack.enter_context(Progress(2 * options.n, "step", quiet=options.quiet))
        demo = chosen(folder.absolute(), options.n)
        stack.callback(demo.end)
        progress.begin("the servers start")
        demo.begin()
        if options.serve:
            print("\n".join(f"{name:<12} {value}" for name, value in demo.where.items()), flush=True)
        progress.begin("people come")
        demo.play(progress.advance)
        progress.begin("the sums are opened")
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

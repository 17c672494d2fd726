"""What a report through a shuffler costs its device, and the service and the shuffler: CPU time, and bytes.

`python -m bench.shuffled_reports` measures these alone. A report is sealed, stored, mixed and released; the baseline is
a report to a trusted service, in the same run. What HTTP adds to that is added here twice, for the pass and the report.
"""

import json
from base64 import urlsafe_b64decode
from contextlib import ExitStack
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

from bench.devices import CENTRAL
from bench.protocols import agreements
from bench.report import row
from bench.whole_reports import (
    MINUTE,
    PEOPLE,
    SHORT,
    TOGETHER,
    Clock,
    come,
    find_cheapest,
    measure_trusted,
    prepare_operators,
)
from maskedbandit.device.own_place import OwnPlace, read_place
from maskedbandit.device.shuffled_reports import draw_bundle, seal_bundle_report
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.mixes import open_mix
from maskedbandit.store.own_keys import read_seal_key
from maskedbandit.store.shuffling.mixes import MOST_OF_PAGE
from maskedbandit.store.shuffling.study import ShufflerStudy
from maskedbandit.store.study import Study


class ShuffledCost(NamedTuple):
    """What a report through a shuffler costs, for each person."""

    device: float  # seconds of CPU
    both: float  # of the service and the shuffler together, with the release
    sent: float  # bytes that the device sends
    messages: float


class WithShuffler:
    """A service and its shuffler, whose databases are in a folder, without the network between them."""

    def __init__(self, folder: Path, stack: ExitStack, channel: dict[str, Any], delta: str) -> None:
        reward = SHORT["reward"] | {"grace": "1 minute"}
        parts = {
            "channel": channel | {"backend": "shuffler"},
            "reward": reward,
            "budget": {"epsilon": 1, "delta": delta},
        }
        made, self.clock = prepare_operators(folder, parts, shuffles=True), Clock()
        self.protocol, self.keys, self.private = made.protocol, made.keys, read_seal_key(made.witnesses[0])
        first, second = (open_database(each) for each in made.addresses)
        self.study = stack.enter_context(Study(first, made.witnesses[0], "bench", self.clock, "bench"))
        self.mixer = stack.enter_context(ShufflerStudy(second, made.witnesses[1], "bench", self.clock, "bench"))

    def read_place(self, given: Any) -> OwnPlace:
        """The place that a person's device has."""
        operators = [
            {"name": name, "seals": keys.seals.hex(), "signs": keys.signs.hex(), "address": address}
            for name, keys, address in zip("AB", self.keys, ("", "https://b.example"), strict=True)
        ]
        (offer,) = given.offers
        terms = {"protocol": self.protocol.digest, "cohort": given.cohort}
        place = {"study": "bench", "ticket": given.ticket, "again": False, "exposed": self.clock(), "terms": terms}
        limits = {"window": MINUTE, "grace": MINUTE, "least": 0, "most": 1, "default": 0}
        return read_place(place | limits | {"offer": offer.to_text(), "operators": operators})

    def settle(self, cohort: int) -> int:
        """Both release a cohort, as their processes do it: how many messages were mixed."""

        def do(study: Any, *operation: Any) -> Any:
            return study.apply([operation])[0].value()

        asked = do(self.study, "ask_mix", cohort)
        said, messages = do(self.mixer, "mix_cohort", *asked), list[bytes]()
        for start in range(0, said.messages, MOST_OF_PAGE):
            messages += do(self.mixer, "read_messages", asked.cohort, start)
        do(self.study, "settle_mix", cohort, said, open_mix(self.protocol, asked, said, messages, self.private))
        return len(messages)


def apply_all(study: Any, operations: list[Any]) -> list[Any]:
    """What comes of these, as many in a transaction as a busy service has."""
    parts = [operations[i : i + TOGETHER] for i in range(0, len(operations), TOGETHER)]
    return [done.value() for part in parts for done in study.apply(part)]


def report_through_shuffler(folder: Path, channel: dict[str, Any], delta: str) -> ShuffledCost:
    """Two cohorts, from the passes of their people to their releases."""
    with ExitStack() as stack:
        both = WithShuffler(folder, stack, channel, delta)
        both.study.start()
        places = [both.read_place(each) for each in come(both.study)]
        start = process_time()
        shown = apply_all(both.study, [("pass", each.ticket) for each in places])
        took = process_time() - start
        start = process_time()
        bodies = [
            seal_bundle_report(place, draw_bundle(place, place.offer.steps), each)
            for place, each in zip(places, shown, strict=True)
        ]
        sealed = process_time() - start
        start = process_time()
        apply_all(both.mixer, [read_bundle(body) for body in bodies])
        both.clock.now += 3 * MINUTE
        messages = sum(both.settle(each.cohort) for each in both.study.apply([("due",)])[0].value())
        took += process_time() - start
        assert len(both.study.releases()) == 2
        asked = len(json.dumps({"ticket": places[0].ticket}, separators=(",", ":")))
        return ShuffledCost(sealed / PEOPLE, took / PEOPLE, asked + sum(map(len, bodies)) / PEOPLE, messages / PEOPLE)


def read_bundle(body: str) -> tuple[Any, ...]:
    """What the shuffler does with the body of a report."""
    given = json.loads(body)
    place = given["cohort"], given["n"], given["place"], bytes.fromhex(given["who"]), bytes.fromhex(given["offer"])
    return "take_bundle", *place, given["shown"], urlsafe_b64decode(given["sealed"])


def shuffled_reports() -> None:
    """Reports of bits and coins, and of shares of 255 steps, in cohorts of a thousand people."""
    base, (central, over_http), plain = 1000 * agreements(1), measure_trusted(), len(json.dumps(CENTRAL.body))
    for what, channel in (
        ("bits and coins", {"name": "shuffled", "epsilon": 1, "delta": "1/1000000", "honest": "3/4"}),
        ("255 steps", {"name": "split_and_mix", "epsilon": 1, "honest": "3/4", "grid": 255}),
    ):
        found: ShuffledCost = find_cheapest(report_through_shuffler, channel, "1/1000000")
        device, both = 1000 * found.device, 1000 * found.both
        note = f"{device / base:.1f} key agreements, {found.messages:.3g} messages"
        row(f"through a shuffler, {what}: a device seals it", device, "ms", note=note)
        served = both + 2 * max(0.0, over_http - central)
        note = f"{served:.3g} ms, {both:.3g} without HTTP; {over_http:.3g} and {central:.3g} to a trusted service"
        row("  service and shuffler, with the release", served / over_http, "times it", note=note)
        note = f"{found.sent / plain:.1f} times the report to a trusted service"
        row("  what its device sends", found.sent, "bytes", note=note)


if __name__ == "__main__":
    shuffled_reports()

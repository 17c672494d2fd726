"""What a report for two operators costs its device and both of them, and what a round of devices that stay does.

`python -m bench.devices` measures these alone: CPU time of one thread, and bytes. The baseline in bytes is the report
to a trusted service; that in time is, for two operators, the key agreements that sealing and opening cannot do without,
and for rounds what that report costs a service. Of a round it is all that follows the window, from the first message of
each device to the release, over HTTP, with all that device and service write to their disks.
"""

import json
from os import urandom
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

import httpx
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from bench.least import least
from bench.protocols import agreements
from bench.report import row
from bench.service import measure, running
from maskedbandit.client.outbox import Message
from maskedbandit.device import Agreed, Device
from maskedbandit.secagg.prio3 import HELPER, LEADER
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, Upload, seal_report

REPORTS = 300
ROUND = 100  # devices, each of which has all others for neighbours
REQUESTS = 6000
PRIVATE = [X25519PrivateKey.generate() for _ in (LEADER, HELPER)]
KEYS = PRIVATE[0].public_key().public_bytes_raw(), PRIVATE[1].public_key().public_bytes_raw()
VERIFY = urandom(32)
CENTRAL = Message(1, "newsletter", "k3" * 16, "report", "", 1.0, "0" * 32)


def seal(terms: ReportTerms) -> list[Upload]:
    """What devices do."""
    return [seal_report(terms, 1, KEYS, 0, urandom) for _ in range(REPORTS)]


def verify(terms: ReportTerms, shares: list[tuple[bytes, bytes, bytes]]) -> None:
    """What both operators do with shares that they have opened."""
    for report, leader, helper in shares:
        mine = terms.range.query(LEADER, VERIFY, report, leader)
        his = terms.range.query(HELPER, VERIFY, report, helper)
        terms.range.check(mine[1], his[1])


def read(terms: ReportTerms, uploads: list[Upload]) -> None:
    """What both operators do with sealed reports."""
    readers = [ShareReader(role, private, VERIFY) for role, private in enumerate(PRIVATE)]
    for upload in uploads:
        mine = readers[LEADER].read(terms, upload.report, upload.turn, upload.leader)
        his = readers[HELPER].read(terms, upload.report, upload.turn, upload.helper)
        terms.range.check(mine.verifier, his.verifier)


def devices() -> None:
    """Reports of one step, which are bits, and of 255 steps."""
    base = 1000 * agreements(1)
    for largest, goal in ((1, 0.08), (255, 0.2)):
        terms = ReportTerms(bytes(32), 3, bytes(32), largest, 7)
        uploads = seal(terms)
        shares = [(urandom(16), *terms.range.shard(1, urandom(64))) for _ in range(REPORTS)]
        took, checked, opened = (
            1000 * least(work) / REPORTS
            for work in (lambda: seal(terms), lambda: verify(terms, shares), lambda: read(terms, uploads))  # noqa: B023
        )
        row(f"a report of {largest} steps: a device seals it", took, "ms", note=f"{took / base:.1f} key agreements")
        row("  both operators check its proof", checked, "ms", goal)
        row("  both open it and check its proof", opened, "ms", note=f"{opened / base:.1f} key agreements")
        size = 4 * sum(len(part) for part in (uploads[0].leader, uploads[0].helper)) / 3 + 2 * len(uploads[0].report)
        times = size / len(json.dumps(CENTRAL.body))
        row("  what its device sends", size, "bytes", note=f"{times:.1f} times the report to a trusted service")
    rounds()


class RoundCosts(NamedTuple):
    """What a round costs, for each device."""

    device: float  # seconds of CPU
    service: float
    sent: float  # bytes of bodies
    told: float


class CountedTransport(httpx.HTTPTransport):
    """Counts the bytes of bodies."""

    sent = told = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer of the service."""
        found = super().handle_request(request)
        CountedTransport.sent += len(request.read())
        CountedTransport.told += len(found.read())
        return found


def play_round(n: int) -> RoundCosts:
    """Two cohorts of n devices that are all in contact until both are released."""
    with running(f"rounds of {n}") as server, TemporaryDirectory() as folder:
        agreed, url = Agreed(1, corrupted="1/10"), f"http://127.0.0.1:{server.port}"

        def begin(i: int) -> Device:
            device = Device(
                Path(folder) / str(i),
                url,
                agreed,
                key=server.key,
                transport=lambda: CountedTransport(trust_env=False, verify=False),
            )
            device.consent(True)
            device.assign("bench", f"person {i}", "")
            device.expose("bench")
            device.record("bench", 1)
            return device

        there = [begin(i) for i in range(2 * n)]
        CountedTransport.sent = CountedTransport.told = 0
        served, start = server.cpu(), process_time()
        while any(not device.show()[0].ended for device in there):
            for device in there:
                device.contact()
        spent = process_time() - start, server.cpu() - served, CountedTransport.sent, CountedTransport.told
        for device in there:
            device.close()
        return RoundCosts(*(each / (2 * n) for each in spent))


def rounds() -> None:
    """Rounds in which devices add up by themselves."""
    central, body = measure("service", REQUESTS, reports=True)[1].cpu, len(json.dumps(CENTRAL.body))
    found = play_round(ROUND)
    times = f"{found.device / central:.0f} times what a report costs a trusted service"
    row(f"a round of {ROUND} devices: a device", 1000 * found.device, "ms", None, times)
    row("  the service, for each", 1000 * found.service, "ms", None, f"{found.service / central:.0f} times that")
    times = f"{found.sent / body:.0f} times the report to a trusted service"
    row("  what a device sends", found.sent / 1000, "kB", None, times)
    row("  what it is told", found.told / 1000, "kB", None, f"{found.told / body:.0f} times it")


if __name__ == "__main__":
    devices()

"""What a report for two operators costs its device and both of them: CPU time of one thread, and bytes.

`python -m bench.devices` measures these alone. The baseline in bytes is the report to a trusted service; that in time
is the key agreements that sealing and opening cannot do without.
"""

import json
from os import urandom

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from bench.least import least
from bench.protocols import agreements
from bench.report import row
from maskedbandit.client.outbox import Message
from maskedbandit.secagg.prio3 import HELPER, LEADER
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, Upload, seal_report

REPORTS = 300
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


if __name__ == "__main__":
    devices()

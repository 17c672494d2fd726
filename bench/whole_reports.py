"""What a whole report for two operators costs both of them, against a report to a trusted service, on the same disk.

A report is stored, and its cohort is released: for two operators the leader stores it sealed, both open it and check
its proof, and the helper stores what it was offered. The device's part is told apart. All of it is durable, with as
many reports in a transaction as a busy service has.
"""

from contextlib import ExitStack, closing
from os import urandom
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any, NamedTuple

from bench.report import row
from bench.service import measure
from bench.studies import PROTOCOL
from maskedbandit.secagg.prio3 import LEADER
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, Upload, seal_report
from maskedbandit.store.batches import compare_proofs, open_batch
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.reports import OfferedReport
from maskedbandit.store.helping.study import HelperStudy, register_study
from maskedbandit.store.own_keys import derive_verify_key, read_own_keys, read_seal_key
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.studies import find_witness, prepare_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.protocol import Protocol

PEOPLE, TOGETHER, REPEATS = 2048, 64, 3  # people of two arms, and how many of them in a transaction
REQUESTS = 6000
MINUTE = 60_000  # milliseconds
SHORT = {
    "people": 10**6,
    "policy": {"name": "successive_elimination", "least": PEOPLE // 2},
    "arms": [{"name": name} for name in "ab"],
    "reward": {"window": "1 minute", "exposure": "0 seconds"},
}


class Clock:
    """A clock that is moved."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


def come(study: Study) -> list[Any]:
    """All places."""
    return [done.value() for done in study.apply([("assign", f"person {i}") for i in range(PEOPLE)])]


def store(study: Study, operations: list[Any]) -> float:
    """Seconds of CPU in which these are done and on disk."""
    start = process_time()
    for i in range(0, len(operations), TOGETHER):
        for done in study.apply(operations[i : i + TOGETHER]):
            done.value()
    return process_time() - start


def report_centrally(folder: Path) -> float:
    """Seconds for each report to a trusted service, its release included."""
    clock, address = Clock(), f"sqlite:///{folder}/central.db"
    protocol = Protocol.from_table(PROTOCOL | SHORT)
    write_study(protocol, address, folder / "central")
    with closing(open_database(address)) as database:
        witness = find_witness(database, folder / "central")
    with Study(open_database(address), witness, "bench", clock, "bench") as study:
        study.start()
        given = come(study)
        took = store(study, [("report", each.ticket, 1.0) for each in given])
        clock.now += 2 * MINUTE
        start = process_time()
        study.apply([("tick",)])[0].value()
        took += process_time() - start
        assert len(study.releases()) == 2
    return took / PEOPLE


class PreparedOperators(NamedTuple):
    """Two operators that are paired, and their study."""

    protocol: Protocol
    addresses: tuple[str, str]  # of the databases of leader and helper
    witnesses: tuple[Witness, Witness]
    keys: tuple[OperatorKeys, OperatorKeys]


def prepare_operators(folder: Path, parts: dict[str, Any], shuffles: bool = False) -> PreparedOperators:
    """A leader, and a helper or a shuffler, with databases in this folder."""
    leads, helps = f"sqlite:///{folder}/leader.db", f"sqlite:///{folder}/helper.db"
    with closing(open_database(leads)) as first, closing(open_database(helps)) as second:
        witnesses = prepare_witness(first, folder / "leader"), prepare_witness(second, folder / "helper")
    leader, helper = (read_own_keys(each) for each in witnesses)
    operators = {
        "leader": {"name": "A", "key": leader.fingerprint},
        "helper": {"name": "B", "key": helper.fingerprint, "address": "https://b.example"},
    }
    protocol = Protocol.from_table(PROTOCOL | SHORT | {"operators": operators} | parts)
    write_study(protocol, leads, folder / "leader")
    for address, keys, role in ((leads, helper, "helper"), (helps, leader, "leader")):
        with closing(open_database(address)) as database, database.transaction():
            write_pairing(database, keys, role, "other", "https://b.example" * (role == "helper"), "secret", 0)
    with closing(open_database(helps)) as database:
        register_study(database, witnesses[1], protocol.text, leader.fingerprint, shuffles=shuffles)
    return PreparedOperators(protocol, (leads, helps), witnesses, (leader, helper))


def report_to_both(folder: Path, grid: int) -> tuple[float, float]:
    """Seconds of a device for each report, and of both operators together, the release included."""
    channel = {"name": "two_servers", "epsilon": 1, "grid": grid, "backend": "prio3"}
    protocol, (leads, helps), witnesses, (leader, helper) = prepare_operators(folder, {"channel": channel})
    clock = Clock()
    with ExitStack() as stack:
        study = stack.enter_context(Study(open_database(leads), witnesses[0], "bench", clock, "bench"))
        other = stack.enter_context(HelperStudy(open_database(helps), witnesses[1], "bench", clock, "bench"))
        study.start()
        given, sent = come(study), list[Upload]()
        start = process_time()
        for each in given:
            (offer,) = each.offers
            terms = ReportTerms(bytes.fromhex(protocol.digest), each.cohort, offer.digest, grid, offer.position)
            sent.append(seal_report(terms, 1, (leader.seals, helper.seals), 0, urandom))
        sealed = process_time() - start
        took = store(study, [("upload", each.ticket, *upload) for each, upload in zip(given, sent, strict=True)])
        clock.now += 2 * MINUTE
        start = process_time()
        reader = ShareReader(
            LEADER, read_seal_key(witnesses[0]), derive_verify_key(witnesses[0], helper, protocol.digest)
        )
        for due in study.apply([("due",)])[0].value():
            settle(study, other, reader, due, witnesses[0].signing_key())
        took += process_time() - start
        assert len(study.releases()) == 2
    return sealed / PEOPLE, took / PEOPLE


def settle(study: Study, other: HelperStudy, reader: ShareReader, due: Any, key: Any) -> None:
    """Both operators release a cohort, as their processes do it."""

    def do(*operation: Any) -> Any:
        return study.apply([operation])[0].value()

    start, accepted = 0, []
    while start is not None:
        batch = open_batch(reader, do("batch", due.cohort, start))
        offered = [
            OfferedReport(each.place, each.report, each.turn, each.sealed, each.verifier) for each in batch.reports
        ]
        answers = other.take_reports(due.cohort, due.n, offered) if offered else []
        shown = {each.place: answer.verifier for each, answer in zip(offered, answers, strict=True) if answer.ok}
        accepted += compare_proofs(batch, shown)
        start = batch.next
    listed = do("list", due.cohort, accepted)
    named = {"study": "bench", "protocol": study.protocol.digest, "cohort": due.cohort}
    asked = TotalRequest(**named, n=due.n, digest=listed.digest).sign(key)
    do("settle", due.cohort, other.make_total(due.cohort, due.n, listed.left_out, listed.digest, asked.signature))


def find_cheapest(work: Any, *given: Any) -> Any:
    """What a work with a folder of its own says of its costs, the lowest of some times."""
    found = []
    for _ in range(REPEATS):
        with TemporaryDirectory() as folder:
            found.append(work(Path(folder), *given))
    return min(found)


def measure_trusted() -> tuple[float, float]:
    """Milliseconds of a report to a trusted service: in its store, with the release, and over HTTP without it."""
    return 1000 * find_cheapest(report_centrally), 1000 * measure("service", REQUESTS, reports=True)[1].cpu


def whole_reports() -> None:
    """Reports of one step, which are bits, and of 255 steps."""
    central, over_http = measure_trusted()
    row(
        "HTTP: report to a trusted service, stored",
        over_http,
        "ms",
        None,
        f"{central:.3g} in its store, with the release",
    )
    for grid in (1, 255):
        sealed, both = (1000 * each for each in find_cheapest(report_to_both, grid))
        served = both + max(0.0, over_http - central)  # what HTTP adds is the same
        row(f"  of {grid} steps to two operators, both of them", served / over_http, "times it", 3, f"{served:.3g} ms")
        with_device = served + sealed
        row("    with its device", with_device / over_http, "times it", None, f"{with_device:.3g} ms")


if __name__ == "__main__":
    whole_reports()

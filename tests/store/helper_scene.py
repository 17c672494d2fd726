"""A study of two servers for tests of its helper: a leader that is played here, and devices that report to both."""

from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import apsw

from maskedbandit.channels.offers import Offer
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD, LEADER
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, digest_reports, seal_report
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.reports import OfferedReport, ReportAnswer
from maskedbandit.store.helping.study import HelperStudy, register_study
from maskedbandit.store.helping.verify import verify_help
from maskedbandit.store.own_keys import derive_verify_key, read_own_keys, read_seal_key
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.studies import prepare_witness
from maskedbandit.study.protocol import Protocol
from tests.store.small_study import Clock, small_protocol

LEADERS: dict[str, Witness] = {}  # of the tests of this process, by fingerprint
VALUES = {0: 3, 1: 0, 3: 1}  # by place
N = 4


class Sent(NamedTuple):
    """What the leader has of a report."""

    offered: OfferedReport
    share: int  # the leader's


class Operators:
    """The keys of both operators, and the database of the helper."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder, self.address, self.clock, self.random = folder, address, Clock(), Random(5)
        self.lead = Witness(folder / "leader")
        self.lead.create()
        self.leader = read_own_keys(self.lead)
        LEADERS[self.leader.fingerprint] = self.lead
        with closing(open_database(address)) as database:
            self.witness = prepare_witness(database, folder / "helper")
            with database.transaction():
                write_pairing(database, self.leader, "leader", "Clinic", "", "hash", 0)
        self.helper = read_own_keys(self.witness)
        self.protocol = self.make_protocol()
        self.key = derive_verify_key(self.lead, self.helper, self.protocol.digest)

    def make_protocol(self, **changes: Any) -> Protocol:
        """A study of these operators."""
        channel = {"name": "two_servers", "epsilon": 1, "grid": 3, "backend": "prio3"}
        operators = {
            "leader": {"name": "Clinic", "key": self.leader.fingerprint},
            "helper": {"name": "University", "key": self.helper.fingerprint, "address": "https://helper.example"},
        }
        return small_protocol(**{"channel": channel, "operators": operators} | changes)

    def register(self, protocol: Protocol | None = None) -> None:
        """The helper writes the study down."""
        with closing(open_database(self.address)) as database:
            register_study(database, self.witness, (protocol or self.protocol).text, self.leader.fingerprint)

    def verify(self) -> tuple[int, int]:
        """All that is stored fits: how many totals and reports there are."""
        with closing(open_database(self.address)) as database:
            found = verify_help(database, self.witness, self.protocol.name)
        return found.totals, found.reports

    def open(self, protocol: Protocol | None = None) -> HelperStudy:
        """The helper's part of the study."""
        database = open_database(self.address)
        try:
            return HelperStudy(database, self.witness, (protocol or self.protocol).name, self.clock, "tester")
        except BaseException:
            database.close()
            raise

    def offer(self, n: int) -> Offer:
        """What is offered to a cohort of n."""
        return self.protocol.offers(n)[0]

    def terms(self, cohort: int, n: int, place: int, protocol: Protocol | None = None) -> ReportTerms:
        """What a report is of."""
        protocol = protocol or self.protocol
        offer = protocol.offers(n)[0]
        return ReportTerms(bytes.fromhex(protocol.digest), cohort, offer.digest, offer.steps, place)

    def send(self, terms: ReportTerms, value: int, turn: int = 0) -> Sent:
        """A device reports a value, and the leader opens its share, for this study."""
        upload = seal_report(terms, value, (self.leader.seals, self.helper.seals), turn, self.random.randbytes)
        reader = ShareReader(LEADER, read_seal_key(self.lead), self.key)
        share = reader.read(terms, upload.report, turn, upload.leader)
        return Sent(OfferedReport(terms.place, upload.report, turn, upload.helper, share.verifier), share.value)

    def send_all(self, cohort: int, values: dict[int, int], n: int) -> dict[int, Sent]:
        """Devices in these places of a cohort report these values."""
        return {place: self.send(self.terms(cohort, n, place), value) for place, value in values.items()}


def digest_sent(sent: dict[int, Sent]) -> str:
    """The digest of a list of reports."""
    return digest_reports({place: each.offered.report for place, each in sent.items()})


def sign_total(protocol: Protocol, cohort: int, n: int, digest: str) -> str:
    """The signature of the leader below what it asks for."""
    assert protocol.operators
    asked = TotalRequest(study=protocol.name, protocol=protocol.digest, cohort=cohort, n=n, digest=digest)
    return asked.sign(LEADERS[protocol.operators.leader.key].signing_key()).signature


def ask_total(study: HelperStudy, cohort: int, n: int, left_out: Collection[int], digest: str) -> HelperTotal:
    """The leader asks for a total."""
    return study.make_total(cohort, n, left_out, digest, sign_total(study.protocol, cohort, n, digest))


def take(study: HelperStudy, cohort: int, n: int, sent: dict[int, Sent]) -> list[ReportAnswer]:
    """The leader offers all reports."""
    return study.take_reports(cohort, n, [each.offered for each in sent.values()])


def decode(said: HelperTotal, sent: dict[int, Sent]) -> int:
    """The sum of the reports and the helper's noise, with the leader's shares, as a signed number."""
    total = (said.total + sum(each.share for each in sent.values())) % FIELD
    return total if total < FIELD // 2 else total - FIELD


class HelpedCohorts:
    """A helper with a cohort of 4 that has its total, and one whose reports wait."""

    def __init__(self, operators: Operators) -> None:
        self.operators = operators
        operators.register()
        with operators.open() as study:
            self.done, self.waiting = (operators.send_all(cohort, VALUES, N) for cohort in (0, 1))
            take(study, 0, N, self.done)
            take(study, 1, N, self.waiting)
            self.said = ask_total(study, 0, N, [], digest_sent(self.done))

    def change(self, statement: str) -> None:
        """Change rows past all rules of the tables."""
        connection = apsw.Connection(f"{self.operators.folder}/study.db")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        before = connection.total_changes()
        connection.execute(statement)
        assert connection.total_changes() > before
        connection.close()

    def make_second(self) -> None:
        """The total of the other cohort."""
        with self.operators.open() as study:
            ask_total(study, 1, N, [], digest_sent(self.waiting))

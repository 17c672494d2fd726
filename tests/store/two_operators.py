"""A small study of two operators: devices that seal what they report, and a helper in memory that adds its shares."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.channels.codec import encode_reward
from maskedbandit.errors import ProtocolError
from maskedbandit.noises.noise import Noise
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD, HELPER, LEADER
from maskedbandit.secagg.uploads import ReportTerms, Share, ShareReader, Upload, digest_reports, seal_report
from maskedbandit.store.batches import MOST_OF_BATCH, Batch, OpenedReport, compare_proofs, open_batch
from maskedbandit.store.book.entries import Release
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.own_keys import read_own_keys, read_seal_key
from maskedbandit.store.pairing import write_pairing
from maskedbandit.store.requests import Assigned
from maskedbandit.store.settle import ListedReports
from maskedbandit.store.studies import find_witness, prepare_witness, write_study
from maskedbandit.store.study import Study
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.protocol import Protocol
from tests.store.small_study import SECOND, small_protocol

GRACE = 5 * SECOND
CHANNEL = {"name": "two_servers", "epsilon": 1, "backend": "prio3"}
REWARD = {"window": "20 seconds", "exposure": "10 seconds", "grace": "5 seconds"}


def name_operators(leader: OperatorKeys, helper: OperatorKeys) -> dict[str, Any]:
    """The [operators] table."""
    return {
        "leader": {"name": "Clinic", "key": leader.fingerprint},
        "helper": {"name": "University", "key": helper.fingerprint, "address": "https://helper.example"},
    }


class Helper:
    """The second operator, for one study: what it has stated it states again, and its noise is drawn once a total."""

    def __init__(self, seed: int = 1) -> None:
        draw = Random(f"helper {seed}").randbytes
        self.private, self.signs = (
            X25519PrivateKey.from_private_bytes(draw(32)),
            Ed25519PrivateKey.from_private_bytes(draw(32)),
        )
        self.key = draw(32)  # of the proofs
        public = (each.public_key().public_bytes_raw() for each in (self.private, self.signs))
        self.keys = OperatorKeys(*public)
        self._reader = ShareReader(HELPER, self.private, self.key)
        self.taken: dict[int, dict[int, tuple[bytes, int]]] = {}  # by cohort and place: the report, and its share
        self.said: dict[int, HelperTotal] = {}

    def show_proofs(self, protocol: Protocol, cohort: int, n: int, batch: Batch) -> dict[int, bytes]:
        """What its shares show of the proofs of a batch, of those reports that it can open."""
        found = dict[int, bytes]()
        for each in batch.reports:
            try:
                share = self.read_share(protocol, cohort, n, each)
                batch.range.check(each.verifier, share.verifier)
            except ProtocolError:
                continue
            self.taken.setdefault(cohort, {})[each.place] = each.report, share.value
            found[each.place] = share.verifier
        return found

    def read_share(self, protocol: Protocol, cohort: int, n: int, each: OpenedReport) -> Share:
        """Its share of a report."""
        (offer,) = protocol.offers(n)
        terms = ReportTerms(bytes.fromhex(protocol.digest), cohort, offer.digest, offer.steps, each.place)
        return self._reader.read(terms, each.report, each.turn, each.sealed)

    def state_total(self, protocol: Protocol, listed: ListedReports) -> HelperTotal:
        """Its share of the sum of these reports, with its noise."""
        cohort, n = listed.cohort, listed.n
        if cohort not in self.said:
            (offer,), channel = protocol.offers(n), protocol.channel
            noise: Noise = channel.release_noise(n)
            mine = {place: each for place, each in self.taken.get(cohort, {}).items() if place not in listed.left_out}
            total = sum(value for _, value in mine.values()) + noise.noise_share(1, Bits())
            digest = digest_reports({place: report for place, (report, _) in mine.items()})
            self.said[cohort] = HelperTotal(
                study=protocol.name,
                protocol=protocol.digest,
                cohort=cohort,
                n=n,
                reports=len(mine),
                digest=digest,
                offer=offer.digest.hex(),
                total=total % FIELD,
                entry=len(self.said) + 1,
            ).sign(self.signs)
        return self.said[cohort]


class Leading:
    """A study of two operators as its leader's process has it, with its devices and its helper."""

    def __init__(
        self, address: str, folder: Path, clock: Callable[[], int], helper: Helper | None = None, **changes: Any
    ) -> None:
        self.address, self.folder, self.clock, self.helper = address, folder, clock, helper or Helper()
        with closing(open_database(address)) as database:
            witness = prepare_witness(database, folder)
        self.keys = read_own_keys(witness)
        self._private = read_seal_key(witness)
        table = {"channel": CHANNEL, "reward": REWARD, "operators": name_operators(self.keys, self.helper.keys)}
        self.protocol = small_protocol(**(table | changes))
        write_study(self.protocol, address, folder)
        self.pair()
        self.study = self.open()
        self.study.start()
        self.draw = Random("devices").randbytes

    def pair(self) -> None:
        """The helper is known here from now on."""
        with closing(open_database(self.address)) as database, database.transaction():
            write_pairing(database, self.helper.keys, "helper", "University", "https://helper.example", "secret", 0)

    def open(self) -> Study:
        """The study, held by this process."""
        database = open_database(self.address)
        return Study(database, find_witness(database, self.folder), self.protocol.name, self.clock, "tester")

    def reopen(self) -> None:
        """Another process goes on with the study."""
        self.study.close()
        self.study = self.open()

    def do(self, *operation: Any) -> Any:
        """An operation in a transaction of its own."""
        return self.study.apply([operation])[0].value()

    def seal(self, given: Assigned, value: float, turn: int = 0, bits: Bits | None = None, **changes: Any) -> Upload:
        """What a device uploads of an outcome, scaled to [0, 1]."""
        (offer,) = given.offers
        told: dict[str, Any] = {
            "study": bytes.fromhex(self.protocol.digest),
            "cohort": given.cohort,
            "offer": offer.digest,
            "largest": offer.steps,
            "place": offer.position,
        }
        steps = encode_reward(value, offer.steps, bits or Bits())
        return seal_report(
            ReportTerms(**told | changes), steps, (self.keys.seals, self.helper.keys.seals), turn, self.draw
        )

    def come(self, unit: str) -> Assigned:
        """A person comes, and sees the arm."""
        given: Assigned = self.do("assign", unit)
        if given.ticket:
            self.do("expose", given.ticket)
        return given

    def upload(self, given: Assigned, sent: Upload) -> bool:
        """Whether the report of a device, or a newer one, came before."""
        return bool(self.do("upload", given.ticket, *sent).again)

    @property
    def reader(self) -> ShareReader:
        """What opens this operator's shares."""
        return ShareReader(LEADER, self._private, self.helper.key)

    def open_batch(self, cohort: int, start: int, many: int = MOST_OF_BATCH) -> Batch:
        """A batch of a cohort, with this operator's shares."""
        return open_batch(self.reader, self.do("batch", cohort, start, many))

    def list_cohort(self, cohort: int, n: int, many: int = 3) -> ListedReports:
        """All batches of a cohort, and its list."""
        start, accepted = 0, []
        while start is not None:
            batch = self.open_batch(cohort, start, many)
            accepted += compare_proofs(batch, self.helper.show_proofs(self.protocol, cohort, n, batch))
            start = batch.next
        found: ListedReports = self.do("list", cohort, accepted)
        return found

    def settle(self) -> list[Release]:
        """All that is due, as the host of a service does it."""
        found = []
        for due in self.do("due"):
            listed = due.listed or self.list_cohort(due.cohort, due.n)
            said = self.helper.state_total(self.protocol, listed)
            found.append(self.do("settle", due.cohort, said))
        return found

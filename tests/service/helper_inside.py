"""A helper's service within the process of the test, and the leader of a study, which the test plays."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD, LEADER
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.secagg.uploads import ReportTerms, ShareReader, digest_reports, seal_report
from maskedbandit.service.host.helper import HelperHost
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.verify import VerifiedHelp, verify_help
from maskedbandit.store.own_keys import derive_verify_key, read_own_keys, read_seal_key
from maskedbandit.store.pairing import sign_invitation, write_invitation
from maskedbandit.study.operators import OperatorKeys
from maskedbandit.study.protocol import Protocol
from tests.service.inside import Inside, Reply
from tests.store.helper_scene import VALUES, N
from tests.store.small_study import small_protocol

PATH = "/v1/helping/small"


class HelperInside(Inside):
    """A helper's service."""

    async def _made(self, rate: float) -> HelperHost:
        return HelperHost(self.address, self.folder, "University", rate, self.clock)

    def invite(self) -> str:
        """An invitation, as the command makes it."""
        database = open_database(self.address)
        try:
            with database.transaction():
                return write_invitation(database, self.clock())
        finally:
            database.close()

    def verify(self) -> VerifiedHelp:
        """All that is stored of the help fits."""
        database = open_database(self.address)
        try:
            return verify_help(database, self.host.witness, "small")
        finally:
            database.close()


class PlayedLeader:
    """The leader of a study with this helper."""

    def __init__(self, helper: Inside, folder: Path, helper_keys: dict[str, str] | None = None) -> None:
        self.helper, self.witness, self.random = helper, Witness(folder), Random(7)
        self.witness.create()
        self.keys = read_own_keys(self.witness)
        self.card = helper_keys or helper.ask("GET", "/v1/helper", key=None).json
        self.protocol = self.make_protocol()
        self.credential = ""

    def make_protocol(self, **changes: Any) -> Protocol:
        """A study of this leader and this helper."""
        operators = {
            "leader": {"name": "Clinic", "key": self.keys.fingerprint},
            "helper": {"name": "University", "key": self.card["fingerprint"], "address": "https://helper.example"},
        }
        channel = {"name": "two_servers", "epsilon": 1, "grid": 3, "backend": "prio3"}
        return small_protocol(**{"channel": channel, "operators": operators} | changes)

    def pair(self, token: str, **changes: Any) -> Reply:
        """Pair by an invitation."""
        seals, signs = self.keys.seals.hex(), self.keys.signs.hex()
        signature = sign_invitation(self.witness.signing_key(), self.keys, token)
        told = {"name": "Clinic", "seals": seals, "signs": signs, "signature": signature}
        body = {"token": token} | told | changes
        found = self.helper.ask("POST", "/v1/helper/pair", body, None)
        if found.status == 200:
            self.credential = found.json["credential"]
        return found

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """A request with the credential."""
        return self.helper.ask(method, PATH + path, body, self.credential)

    def register(self, protocol: Protocol | None = None, name: str = "small") -> Reply:
        """Have the helper write a study down."""
        text = (protocol or self.protocol).text
        return self.helper.ask("PUT", f"/v1/helping/{name}", {"protocol": text}, self.credential)

    @property
    def key(self) -> bytes:
        """With what both check proofs."""
        helper = OperatorKeys.from_text(self.card["seals"], self.card["signs"])
        return derive_verify_key(self.witness, helper, self.protocol.digest)

    def send(self, cohort: int, place: int, value: int, n: int = N) -> tuple[dict[str, Any], int]:
        """A device reports a value: what the helper is offered, and the leader's share."""
        offer = self.protocol.offers(n)[0]
        terms = ReportTerms(bytes.fromhex(self.protocol.digest), cohort, offer.digest, offer.steps, place)
        keys = self.keys.seals, bytes.fromhex(self.card["seals"])
        made = seal_report(terms, value, keys, 0, self.random.randbytes)
        reader = ShareReader(LEADER, read_seal_key(self.witness), self.key)
        share = reader.read(terms, made.report, 0, made.leader)
        sealed, verifier = (urlsafe_b64encode(each).decode() for each in (made.helper, share.verifier))
        offered = {"place": place, "report": made.report.hex(), "turn": 0, "sealed": sealed, "verifier": verifier}
        return offered, share.value

    def send_all(self, cohort: int, values: dict[int, int] = VALUES) -> tuple[list[dict[str, Any]], int]:
        """Devices report these values, by place: what the helper is offered, and the sum of the leader's shares."""
        sent = [self.send(cohort, place, value) for place, value in values.items()]
        return [offered for offered, _ in sent], sum(share for _, share in sent) % FIELD

    def offer(self, cohort: int, offered: Sequence[dict[str, Any]], n: int = N) -> Reply:
        """Offer reports."""
        return self.ask("POST", f"/cohorts/{cohort}/reports", {"n": n, "reports": offered})

    def write_request(
        self, cohort: int, offered: Sequence[dict[str, Any]], left_out: Sequence[int] = (), n: int = N
    ) -> dict[str, Any]:
        """The body that asks for the total of these reports."""
        kept = {each["place"]: bytes.fromhex(each["report"]) for each in offered if each["place"] not in left_out}
        asked = TotalRequest(
            study="small", protocol=self.protocol.digest, cohort=cohort, n=n, digest=digest_reports(kept)
        ).sign(self.witness.signing_key())
        return {"n": n, "left_out": list(left_out), "digest": asked.digest, "signature": asked.signature}

    def total(self, cohort: int, offered: Sequence[dict[str, Any]], left_out: Sequence[int] = ()) -> HelperTotal:
        """The total that the helper states."""
        found = self.ask("POST", f"/cohorts/{cohort}/total", self.write_request(cohort, offered, left_out))
        assert found.status == 200, found
        said = HelperTotal.from_table(found.json)
        said.verify(bytes.fromhex(self.card["signs"]))
        return said


@contextmanager
def helped_leader(address: str, folder: Path, **more: Any) -> Iterator[PlayedLeader]:
    """A helper's service with a leader that is paired with it, and whose study it helps, until the end of a block."""
    helper = HelperInside(address, folder / "helper", **more)
    try:
        leader = PlayedLeader(helper, folder / "leader")
        assert leader.pair(helper.invite()).status == 200
        assert leader.register().status == 200
        yield leader
    finally:
        helper.close()

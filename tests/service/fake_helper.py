"""A helper within the process of the test: what it is asked goes to its database; it may be away, or lie."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from maskedbandit.errors import MaskedBanditError, ProtocolError
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.helping.reports import OfferedReport
from maskedbandit.store.helping.study import HelperStudy, register_study
from maskedbandit.store.own_keys import read_own_keys
from maskedbandit.store.pairing import hash_credential, write_pairing
from maskedbandit.store.studies import prepare_witness
from maskedbandit.study.operators import OperatorKeys

CREDENTIAL = "secret"
Lie = Callable[[str, Any], Any]  # what it answers in place of this to such a request


class FakeHelper(httpx.AsyncBaseTransport):
    """Answers as the helper's server."""

    def __init__(self, folder: Path, clock: Callable[[], int]) -> None:
        self.address, self.clock = f"sqlite:///{folder}/helper.db", clock
        with closing(open_database(self.address)) as database:
            self.witness = prepare_witness(database, folder / "helper witness")
        self.keys = read_own_keys(self.witness)
        self.leader: OperatorKeys | None = None  # once it is paired
        self.away, self.lie, self.asked = False, None, list[str]()
        self.cut_at: str | None = None  # an answer to such a request is lost on its way
        self.studies: dict[str, HelperStudy] = {}

    def pair(self, leader: OperatorKeys) -> None:
        """Work with a leader from now on."""
        self.leader = leader
        with closing(open_database(self.address)) as database, database.transaction():
            write_pairing(database, leader, "leader", "Clinic", "", hash_credential(CREDENTIAL), self.clock())

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, or none."""
        what = f"{request.method} {request.url.path}"
        self.asked.append(what)
        if self.away:
            raise httpx.ConnectError("away")
        assert request.headers["authorization"] == f"Bearer {CREDENTIAL}"
        try:
            said = self.answer(request.method, request.url.path.split("/")[3:], json.loads(await request.aread()))
        except MaskedBanditError as why:
            status = 409 if isinstance(why, ProtocolError) else 422
            return httpx.Response(status, json={"code": why.code, "detail": "not for logs"})
        if self.cut_at is not None and what.endswith(self.cut_at):
            self.cut_at = None
            raise httpx.ReadError("cut off")
        return httpx.Response(200, json=self.lie(what, said) if self.lie else said)

    def answer(self, method: str, path: list[str], body: Any) -> Any:
        """What is answered."""
        assert self.leader is not None
        name = path[0]
        if method == "PUT":
            with closing(open_database(self.address)) as database:
                register_study(database, self.witness, body["protocol"], self.leader.fingerprint)
            if name not in self.studies:
                database = open_database(self.address)
                self.studies[name] = HelperStudy(database, self.witness, name, self.clock, "helper")
            return {"study": name, "entries": 1}
        if path[1] == "end":
            return {"study": name, "state": "stopped", "entries": 1}
        study, cohort = self.studies[name], int(path[2])
        if path[3] == "reports":
            given = [
                OfferedReport(
                    each["place"],
                    bytes.fromhex(each["report"]),
                    each["turn"],
                    urlsafe_b64decode(each["sealed"]),
                    urlsafe_b64decode(each["verifier"]),
                )
                for each in body["reports"]
            ]
            told = study.take_reports(cohort, body["n"], given)
            return {
                "answers": [{"ok": each.ok, "verifier": urlsafe_b64encode(each.verifier).decode()} for each in told]
            }
        named = {"study": name, "protocol": study.protocol.digest, "cohort": cohort}
        TotalRequest(**named, **{key: body[key] for key in ("n", "digest", "signature")}).verify(self.leader.signs)
        return study.make_total(cohort, body["n"], body["left_out"], body["digest"], body["signature"]).to_table()

    def restart(self) -> None:
        """Another process goes on."""
        self.close()
        self.studies = {}

    def close(self) -> None:
        """End it."""
        for each in self.studies.values():
            each.close()

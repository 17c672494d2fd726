"""The way of a study of two servers to its helper: each adds up its shares of the reports that hold for both.

due -> batch -> the helper checks its shares -> ... -> list -> the helper states its total -> settle
"""

import asyncio
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from maskedbandit.errors import Malformed
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import LEADER
from maskedbandit.secagg.total_request import TotalRequest
from maskedbandit.secagg.uploads import ShareReader
from maskedbandit.service.host.helper_link import HelperLink
from maskedbandit.store.batches import Batch, OpenedReport, compare_proofs, open_batch
from maskedbandit.store.own_keys import derive_verify_key, read_seal_key
from maskedbandit.store.settle import DueCohort, ListedReports


class TotalLink(HelperLink):
    """The link from one study of two servers to its helper."""

    _reader: ShareReader

    def _read_keys(self) -> None:
        key = derive_verify_key(self._witness, self._study.operators[1], self._study.protocol.digest)
        self._reader = ShareReader(LEADER, read_seal_key(self._witness), key)

    async def _settle(self, due: DueCohort) -> None:
        accepted = await self._offer_reports(due)  # also once they are listed: an older helper may be back
        listed: ListedReports = due.listed or await self.writer.submit("list", due.cohort, accepted)
        protocol = self._study.protocol
        named = {"study": protocol.name, "protocol": protocol.digest, "cohort": due.cohort}
        asked = TotalRequest(**named, n=listed.n, digest=listed.digest).sign(self._witness.signing_key())
        body = {"n": listed.n, "left_out": listed.left_out, "digest": listed.digest, "signature": asked.signature}
        said = HelperTotal.from_table(await self._ask("POST", f"/cohorts/{due.cohort}/total", body))
        await self.writer.submit("settle", due.cohort, said)

    async def _offer_reports(self, due: DueCohort) -> list[OpenedReport]:
        """Offer all reports of a cohort to the helper, and return those whose proofs hold for both operators."""
        start: int | None = 0
        accepted = list[OpenedReport]()
        while start is not None:
            sealed = await self.writer.submit("batch", due.cohort, start)
            batch = await asyncio.to_thread(open_batch, self._reader, sealed)
            if batch.reports:
                body = {"n": due.n, "reports": [describe_report(each) for each in batch.reports]}
                said = await self._ask("POST", f"/cohorts/{due.cohort}/reports", body)
                accepted += compare_proofs(batch, read_answers(batch, said.get("answers")))
            start = batch.next
        return accepted


def describe_report(each: OpenedReport) -> dict[str, Any]:
    """A report, as the helper is offered it."""
    sealed, verifier = (urlsafe_b64encode(part).decode() for part in (each.sealed, each.verifier))
    return {"place": each.place, "report": each.report.hex(), "turn": each.turn, "sealed": sealed, "verifier": verifier}


def read_answers(batch: Batch, given: Any) -> dict[int, bytes]:
    """What the helper's shares show of the proofs of the reports that it accepts, by place."""
    if not isinstance(given, list) or len(given) != len(batch.reports):
        raise Malformed("the helper does not answer to each report that it was asked about")
    found = dict[int, bytes]()
    for each, answer in zip(batch.reports, given, strict=True):
        if not isinstance(answer, dict) or type(answer.get("ok")) is not bool:
            raise Malformed("the helper does not say of a report whether it holds")
        if answer["ok"]:
            try:
                found[each.place] = urlsafe_b64decode(answer.get("verifier", ""))
            except (ValueError, TypeError):
                raise Malformed("what the helper shows of a proof is not base64url") from None
    return found

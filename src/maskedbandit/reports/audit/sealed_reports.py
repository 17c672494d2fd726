"""The view that each of two operators has of a release: it knows its own draw of noise, and subtracts it.

The ledger has the noisy shares of both operators. An audit plays the devices, so it knows the shares of all reports
too: the share of an operator without the value shares in it is its draw of noise. What remains to an operator is the
other's share together with its own value shares,

    release - draw of the leader = share of the helper + the leader's shares of the reports,

and the other way round. So both views are computed from the ledger of the leader alone.
"""

import json
from base64 import urlsafe_b64encode
from os import urandom
from typing import Any

from maskedbandit.channels.offers import Offer
from maskedbandit.errors import Disagreement
from maskedbandit.reports.audit.over_http import Service
from maskedbandit.secagg.prio3 import FIELD, HELPER, SEED
from maskedbandit.secagg.uploads import ReportTerms, seal_report
from maskedbandit.study.operators import OperatorKeys

LARGEST_VIEW = 2**40  # steps: by chance a number of the field is below it once in eight million times


class SealedReports:
    """The reports of an audit's devices: their shares, added up by cohort."""

    def __init__(self) -> None:
        self._sums: dict[int, tuple[int, int]] = {}  # of the leader's shares, and of the helper's

    async def send(self, service: Service, handed: dict[str, Any], high: int, key: str) -> None:
        """A device uploads the highest reward or the lowest."""
        upload = self.seal(handed, high * Offer.from_text(handed["offer"]).steps)
        await service.ask("POST", f"/v1/studies/{handed['study']}/upload", upload, key)

    def seal(self, handed: dict[str, Any], value: int) -> dict[str, Any]:
        """The upload of a device for a value in steps."""
        offer, terms = Offer.from_text(handed["offer"]), handed["terms"]
        assert offer.position is not None
        cohort = terms["cohort"]
        bound = ReportTerms(bytes.fromhex(terms["protocol"]), cohort, offer.digest, offer.steps, offer.position)
        drawn = list[bytes]()

        def draw(count: int) -> bytes:
            drawn.append(urandom(count))
            return drawn[-1]

        leader, helper = (OperatorKeys.from_text(each["seals"], each["signs"]) for each in handed["operators"])
        made = seal_report(bound, value, (leader.seals, helper.seals), 0, draw)
        share, _ = bound.range.query(HELPER, bytes(SEED), made.report, drawn[1][:SEED])
        before = self._sums.get(cohort, (0, 0))
        self._sums[cohort] = before[0] + value - share, before[1] + share
        sealed = (urlsafe_b64encode(each).decode() for each in (made.leader, made.helper))
        return {"ticket": handed["ticket"], "report": made.report.hex(), "turn": 0} | dict(
            zip(("leader", "helper"), sealed, strict=True)
        )

    def find_views(self, released: dict[str, Any]) -> list[float]:
        """The view of the leader, and that of the helper, from an entry of the ledger: numbers of steps.

        Raise `Disagreement` unless each report is in both shares, once: otherwise the rest would be any number of the
        field.
        """
        cohort = released["cohort"]
        mine, his = self._sums.get(cohort, (0, 0))
        left = int(json.loads(released["helper"])["total"]) + mine, int(released["leader"]) + his
        found = [(each + FIELD // 2) % FIELD - FIELD // 2 for each in left]
        if max(map(abs, found)) >= LARGEST_VIEW:
            raise Disagreement(f"a report of cohort {cohort} is not in the shares of both operators once")
        return [float(each) for each in found]

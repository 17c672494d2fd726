"""The devices of an audited study with a shuffler, and what the service makes of a release together with some of them.

A release is what the messages of a cohort say, added up: nobody but its devices adds noise. An audit plays them, so it
knows what they sent, and holds each release to it. As many devices as the protocol allows for work with the service,
which takes what they sent off the sum. The first person of a cohort, whose reward differs, is not one of them.
"""

import json
from typing import Any

from maskedbandit.device.own_place import OwnPlace, read_place
from maskedbandit.device.shuffled_reports import draw_bundle, seal_bundle_report
from maskedbandit.errors import Disagreement, StorageFailed, UnknownStudy
from maskedbandit.reports.audit.over_http import Service, a_while

KNOWS_STUDY = 600  # tries until the shuffler has heard of a study: for a minute


class MixedReports:
    """The reports of an audit's devices: what the messages of each say, in the order in which they got their places."""

    def __init__(self, honest: int) -> None:
        self._honest = honest  # of each cohort, the first ones
        self._sent = dict[int, list[int]]()  # by cohort, as the shuffler knows it
        self._moduli = dict[int, int]()

    async def send(self, service: Service, handed: dict[str, Any], high: int, key: str) -> None:
        """A device reports the highest reward or the lowest: it asks for its pass, and sends to the shuffler."""
        place = read_place(handed)
        assert place.cohort is not None
        given = await service.ask("POST", f"/v1/studies/{place.study}/pass", {"ticket": place.ticket}, key)
        drawn = draw_bundle(place, high * place.offer.steps)
        await send_bundle(service, place, seal_bundle_report(place, drawn, given["shown"]))
        self._sent.setdefault(place.cohort, []).append(sum(drawn.messages))
        self._moduli[place.cohort] = place.offer.modulus

    def find_views(self, released: dict[str, Any]) -> list[float]:
        """What is left of a release to a service with whom devices work, from an entry of the ledger.

        Raise `Disagreement` unless each report is in the release, once.
        """
        cohort, total = json.loads(released["mixed"])["cohort"], int(released["leader"])
        sent = self._sent.get(cohort, [])
        if total != sum(sent):
            raise Disagreement(f"a report of cohort {cohort} is not in its release once")
        left, modulus = total - sum(sent[self._honest :]), self._moduli[cohort]
        return [float((left + modulus // 2) % modulus - modulus // 2 if modulus else left)]


async def send_bundle(service: Service, place: OwnPlace, body: str) -> None:
    """A bundle comes to the shuffler of a place, which may hear of the study only now; or it raises `StorageFailed`."""
    url = f"{place.operators[1].address}/v1/studies/{place.study}/bundle"
    for _ in range(KNOWS_STUDY):
        try:
            said = await service.tell(url, body)
        except UnknownStudy:
            await a_while(place.study)
            continue
        if said.get("status") in ("stored", "duplicate"):  # it was stored, and said that it was busy
            return
        raise StorageFailed(f"the shuffler does not take a report: {said.get('status')}")
    raise StorageFailed("the shuffler did not hear of the study")

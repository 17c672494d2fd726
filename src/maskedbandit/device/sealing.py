"""A report as it is sent: made once, of one size whatever it says, and kept as the text that every retry sends."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable

from maskedbandit.device.own_place import OwnPlace


def seal_upload(place: OwnPlace, steps: int, turn: int, draw: Callable[[int], bytes]) -> str:
    """The body of the request that carries a report of so many steps; its size follows from the place and the turn."""
    from maskedbandit.secagg.uploads import ReportTerms, seal_report  # what seals takes longer to import than this room

    assert place.offer.position is not None
    assert place.cohort is not None
    terms = ReportTerms(place.protocol, place.cohort, place.offer.digest, place.offer.steps, place.offer.position)
    leader, helper = (operator.keys.seals for operator in place.operators)
    made = seal_report(terms, steps, (leader, helper), turn, draw)
    body = {
        "ticket": place.ticket,
        "report": made.report.hex(),
        "turn": made.turn,
        "leader": urlsafe_b64encode(made.leader).decode(),
        "helper": urlsafe_b64encode(made.helper).decode(),
    }
    return json.dumps(body, separators=(",", ":"))

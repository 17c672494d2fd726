"""Devices that add up by themselves: each asks what is due in the round of its cohort, and answers.

As for uploads there is no key: the ticket is a secret of the person. Whoever else has it can take the place of the
device in the round, and learns nothing by it but what the round says to every device.
"""

from base64 import urlsafe_b64encode

from maskedbandit.secagg.kept_round import RoundAnswer
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.round_messages import AnswerRound, RoundDueNow, RoundOfDevice
from maskedbandit.store.rounds import DueOfDevice


async def go_round(call: Call, body: AnswerRound) -> RoundDueNow:
    """Take what the device answers in the round of its cohort, and say what is due from it now."""
    await call.count_device()
    call.count_ticket(body.ticket)
    answers = [
        RoundAnswer(each.cohort, each.attempt, each.phase, decode_base64("message", each.message))
        for each in body.answers
    ]
    told: DueOfDevice = await call.do("device_round", body.ticket, answers)
    if told.due is None:
        return RoundDueNow(None, told.over)
    terms, message = told.due.terms, urlsafe_b64encode(told.due.message).decode()
    due = RoundOfDevice(terms.cohort, terms.attempt, terms.n, terms.ring.hex(), told.due.phase, message)
    return RoundDueNow(due, told.over)


ROUTES = [
    Route(
        *("POST", "/v1/studies/{study}/round", (), go_round, AnswerRound, RoundDueNow, 200, BATCH),
        refusals=(404, 409, 429),
        about="Take what the device answers in the round of its cohort, and say what is due from it now.",
        from_pages=True,
    )
]

"""What a device asks and answers in the round of its cohort when it is in contact."""

import json
from base64 import urlsafe_b64encode
from functools import partial

from maskedbandit.device.contacts import ENDS
from maskedbandit.device.device_book import BookedPlace, DeviceBook
from maskedbandit.device.service_calls import DeviceRequest, ServiceCalls

MOST_EXCHANGES = 6  # of a contact: one more than there are phases
ROUND_OVER = "over"  # the cohort was released, or is never: nothing more is sent


def go_on_adding(book: DeviceBook, calls: ServiceCalls, booked: BookedPlace, now: int) -> None:
    """Answer what is due in the round, one phase after the other, until the others have to answer.

    How many messages there are follows from the clock, the application, and the messages of the service.
    """
    from maskedbandit.device.adding_up import answer_due, read_due  # brings cryptography, which only a round needs

    answers: list[dict[str, object]] = []
    for _ in range(MOST_EXCHANGES):
        body = json.dumps({"ticket": booked.place.ticket, "answers": answers}, separators=(",", ":"))
        (reply,) = calls.post([DeviceRequest(booked.study, "round", body)])
        if reply.status != 200:
            if reply.said in ENDS:
                book.end_place(booked.study, reply.said)
            return
        if reply.body.get("over") is True:
            book.end_place(booked.study, ROUND_OVER)
            return
        due = read_due(reply.body.get("due"))
        sent = None if due is None else book.change_place(booked.study, partial(answer_due, due=due, now=now))
        if due is None or sent is None:
            return
        where = {"cohort": due.terms.cohort, "attempt": due.terms.attempt, "phase": due.phase}
        answers = [{**where, "message": urlsafe_b64encode(sent).decode()}]

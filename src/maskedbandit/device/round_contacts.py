"""What a device asks and answers in the round of its cohort when it is in contact."""

import json
from base64 import urlsafe_b64encode
from functools import partial

from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.device.contacts import ENDS
from maskedbandit.device.device_book import DeviceBook
from maskedbandit.device.service_calls import DeviceRequest, ServiceCalls

MOST_EXCHANGES = 6  # of a contact: one more than there are phases
ROUND_OVER = "over"  # the cohort was released, or is never: nothing more is sent


def go_on_adding(book: DeviceBook, calls: ServiceCalls, booked: BookedPlace, now: int) -> None:
    """Answer what is due in the round, one phase after the other, until the others have to answer.

    How many messages there are follows from the clock, the application, and the messages of the service.
    """
    from maskedbandit.device.adding_up import answer_due, read_due_now  # brings cryptography, which only a round needs

    with calls.connect() as ask:
        answers: list[dict[str, object]] = []
        for _ in range(MOST_EXCHANGES):
            body = json.dumps({"ticket": booked.place.ticket, "answers": answers}, separators=(",", ":"))
            reply = ask(DeviceRequest(booked.study, "round", body))
            ended = reply.said if reply.said in ENDS else ROUND_OVER if reply.body.get("over") is True else ""
            if ended:
                book.end_place(booked.study, ended)
            due = read_due_now(reply.body.get("due")) if reply.status == 200 and not ended else None
            if due is None:
                return
            sent = book.change_place(booked.study, partial(answer_due, due=due, now=now))
            if sent is None:
                return
            where = {"cohort": due.terms.cohort, "attempt": due.terms.attempt, "phase": due.phase}
            answers = [{**where, "message": urlsafe_b64encode(sent).decode()}]

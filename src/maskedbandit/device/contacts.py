"""What a device says when it is in contact, and what it makes of the answers."""

import json
import re
from collections.abc import Callable, Sequence

from maskedbandit.device.booked_place import BookedPlace
from maskedbandit.device.device_book import DeviceBook, DueReport
from maskedbandit.device.service_calls import DeviceRequest, ServiceCalls, ServiceReply

TAKEN = frozenset({"stored", "accepted", "duplicate"})
ENDS = frozenset({"late", "unknown_ticket"})  # refusals after which nothing of a place is sent any more
WITHDRAWN = frozenset({"left", "unknown_study", "forged", "disagreement"})  # a shuffler with nothing of this pass says
REFUSALS = ENDS | {"conflict"}  # an older copy of this book made another report of this turn: the next one is due


def say_farewell(book: DeviceBook, calls: ServiceCalls) -> None:
    """Ask the service to erase what it has of studies that the person left, until it has."""
    left = book.farewells()
    replies = calls.post([DeviceRequest(study, "leave", write_ticket(ticket)) for study, ticket in left])
    for (study, _), reply in zip(left, replies, strict=True):
        if reply.said == ("left" if reply.status == 200 else "unknown_ticket"):
            book.settle_farewell(study)


def withdraw_reports(book: DeviceBook, reach: Callable[[str], ServiceCalls]) -> None:
    """Ask shufflers to erase the reports of studies that the person left, until they have."""
    for each in book.withdrawals():
        (reply,) = reach(each.address).post([DeviceRequest(each.study, "withdraw", each.body)])
        if reply.said in WITHDRAWN:
            book.settle_withdrawal(each.study)


def tell_exposures(book: DeviceBook, calls: ServiceCalls, places: Sequence[BookedPlace]) -> None:
    """Tell the service which arms the person saw, until it has heard it."""
    unheard = [place for booked in places if not booked.told and (place := booked.place).exposed is not None]
    replies = calls.post([DeviceRequest(place.study, "expose", write_ticket(place.ticket)) for place in unheard])
    for place, reply in zip(unheard, replies, strict=True):
        if reply.said == "exposed" if reply.status == 200 else reply.said in ENDS:
            book.settle_exposure(place.study, "" if reply.status == 200 else reply.said)


def ask_passes(book: DeviceBook, calls: ServiceCalls, places: Sequence[BookedPlace]) -> None:
    """Ask for the passes of places with a shuffler, as soon as the service knows that their arms were seen."""
    lacking = [
        place
        for booked in places
        if not booked.shown and (place := booked.place).shuffled and place.exposed is not None
    ]
    replies = calls.post([DeviceRequest(place.study, "pass", write_ticket(place.ticket)) for place in lacking])
    for place, reply in zip(lacking, replies, strict=True):
        shown = reply.body.get("shown")
        if reply.said == "given" and isinstance(shown, str) and re.fullmatch("[0-9a-f]{128}", shown):
            book.keep_pass(place.study, shown)
        elif reply.status != 200 and reply.said in ENDS:
            book.settle_exposure(place.study, reply.said)


def send_reports(book: DeviceBook, calls: ServiceCalls, due: Sequence[DueReport]) -> None:
    """Send reports, each once, and write down what the service says of them."""
    replies = calls.post([DeviceRequest(each.study, each.action, each.body) for each in due])
    for sent, reply in zip(due, replies, strict=True):
        if answer := read_answer(reply):
            book.settle(sent, answer, answer in ENDS)


def read_answer(reply: ServiceReply) -> str:
    """The answer of the service to a report, or nothing if there is none yet."""
    return reply.said if reply.said in (TAKEN if reply.status == 200 else REFUSALS) else ""


def write_ticket(ticket: str) -> str:
    """The body of a request that has a ticket and nothing else."""
    return json.dumps({"ticket": ticket}, separators=(",", ":"))

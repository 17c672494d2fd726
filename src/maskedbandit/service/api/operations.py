"""Whether the server lives, whether it can write, and what its interface is."""

from functools import cache

from maskedbandit.service.messages import Health
from maskedbandit.service.request.openapi import write_openapi
from maskedbandit.service.request.route import Answer, Call, Route, encode_answer


async def healthz(call: Call) -> Health:
    """Whether the server answers."""
    return Health("alive")


async def readyz(call: Call) -> Health:
    """Whether the last round of the clock wrote all studies: their ledgers hold, and nobody else has them."""
    if not call.host.ready:
        raise call.host.trouble
    return Health("ready", call.host.attention.sentences)


async def openapi(call: Call) -> Answer:
    """This document."""
    return Answer(write_document())


@cache
def write_document() -> bytes:
    """The document; it takes as long as a hundred other answers, and needs no key."""
    from maskedbandit.service.api import list_routes

    return encode_answer(write_openapi(list_routes()))


ROUTES = [
    Route("GET", "/healthz", (), healthz, answer=Health),
    Route("GET", "/readyz", (), readyz, answer=Health, refusals=(503,)),
    Route("GET", "/openapi.json", (), openapi, answer=dict),
]

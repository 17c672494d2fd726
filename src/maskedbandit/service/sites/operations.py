"""Whether the server of a site lives and can write, and what it can be asked."""

from functools import cache

from maskedbandit.service.api.operations import healthz, readyz
from maskedbandit.service.messages import Health
from maskedbandit.service.request.openapi import write_openapi
from maskedbandit.service.request.route import Answer, Call, Route, encode_answer


async def show_site_document(call: Call) -> Answer:
    """This document."""
    return Answer(write_site_document())


@cache
def write_site_document() -> bytes:
    """The document; it takes as long as a hundred other answers, and needs no key."""
    from maskedbandit.service.sites import list_site_routes

    return encode_answer(write_openapi(list_site_routes()))


ROUTES = [
    Route("GET", "/healthz", (), healthz, answer=Health),
    Route("GET", "/readyz", (), readyz, answer=Health, refusals=(503,)),
    Route("GET", "/openapi.json", (), show_site_document, answer=dict),
]

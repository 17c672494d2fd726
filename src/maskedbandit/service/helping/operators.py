"""Who the helper is, leaders that pair with it, and whether its server lives and can write."""

from functools import cache

from maskedbandit.service.api.operations import healthz, readyz
from maskedbandit.service.helping.calls import find_host, take_guest
from maskedbandit.service.helping.messages import HelperCard, Pair, Paired
from maskedbandit.service.messages import Health
from maskedbandit.service.paired_keys import LEADER_ROLE
from maskedbandit.service.request.openapi import write_openapi
from maskedbandit.service.request.pairing import pair_partner
from maskedbandit.service.request.route import Answer, Call, Route, encode_answer


async def show_card(call: Call) -> HelperCard:
    """The name and the public keys of the helper; no credential is needed."""
    host = find_host(call)
    return HelperCard(host.name, host.own.seals.hex(), host.own.signs.hex(), host.own.fingerprint)


async def pair_leader(call: Call, body: Pair) -> Paired:
    """A leader pairs with the helper by an invitation, which is spent, and gets a credential, which is shown once."""
    await take_guest(call)
    host = find_host(call)
    return await pair_partner(host, body, LEADER_ROLE, host.name)


async def show_openapi(call: Call) -> Answer:
    """This document."""
    return Answer(write_helper_document(tuple(each.endpoint for each in call.scope["app"].routes)))


@cache
def write_helper_document(routes: tuple[Route, ...]) -> bytes:
    """The document; it takes as long as a hundred other answers, and needs no key."""
    return encode_answer(write_openapi(routes))


ROUTES = [
    Route("GET", "/v1/helper", (), show_card, answer=HelperCard),
    Route("POST", "/v1/helper/pair", (), pair_leader, Pair, Paired, refusals=(401, 409, 429)),
    Route("GET", "/healthz", (), healthz, answer=Health),
    Route("GET", "/readyz", (), readyz, answer=Health, refusals=(503,)),
    Route("GET", "/openapi.json", (), show_openapi, answer=dict),
]

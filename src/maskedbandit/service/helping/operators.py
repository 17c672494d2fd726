"""Who the helper is, leaders that pair with it, and whether its server lives and can write."""

from functools import cache

from maskedbandit.errors import InvalidValue
from maskedbandit.service.api.operations import healthz, readyz
from maskedbandit.service.helping.calls import find_host, take_guest
from maskedbandit.service.helping.messages import HelperCard, Pair, Paired
from maskedbandit.service.messages import Health
from maskedbandit.service.request.openapi import write_openapi
from maskedbandit.service.request.route import Answer, Call, Route, encode_answer
from maskedbandit.store.databases.database import Database, do_again
from maskedbandit.store.own_keys import agree_with
from maskedbandit.store.pairing import accept_pairing, check_invitation
from maskedbandit.study.operators import OperatorKeys


async def show_card(call: Call) -> HelperCard:
    """The name and the public keys of the helper; no credential is needed."""
    host = find_host(call)
    return HelperCard(host.name, host.own.seals.hex(), host.own.signs.hex(), host.own.fingerprint)


async def pair_leader(call: Call, body: Pair) -> Paired:
    """A leader pairs with the helper by an invitation, which is spent, and gets a credential, which is shown once."""
    await take_guest(call)
    host, keys = find_host(call), OperatorKeys.from_text(body.seals, body.signs)
    if keys.fingerprint == host.own.fingerprint:
        raise InvalidValue("keys of the leader", keys.fingerprint, "those of another operator than the helper")
    check_invitation(keys, body.token, body.signature)
    agree_with(host.witness, keys)
    if not body.name.isprintable():
        raise InvalidValue("name", body.name, "printable characters")

    def question(database: Database) -> str:
        def once() -> str:
            with database.transaction():
                return accept_pairing(database, body.token, keys, body.name, host.clock())

        credential = do_again(once)
        host.keys.read(database)
        return credential

    return Paired(await host.read(question), host.name, host.own.seals.hex(), host.own.signs.hex())


async def show_openapi(call: Call) -> Answer:
    """This document."""
    return Answer(write_helper_document())


@cache
def write_helper_document() -> bytes:
    """The document; it takes as long as a hundred other answers, and needs no key."""
    from maskedbandit.service.helping import list_helper_routes

    return encode_answer(write_openapi(list_helper_routes()))


ROUTES = [
    Route("GET", "/v1/helper", (), show_card, answer=HelperCard),
    Route("POST", "/v1/helper/pair", (), pair_leader, Pair, Paired, refusals=(401, 409, 429)),
    Route("GET", "/healthz", (), healthz, answer=Health),
    Route("GET", "/readyz", (), readyz, answer=Health, refusals=(503,)),
    Route("GET", "/openapi.json", (), show_openapi, answer=dict),
]

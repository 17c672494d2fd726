"""Studies: new ones, how they stand, and their states."""

import asyncio
from functools import partial
from hashlib import sha256
from typing import Any

from maskedbandit.errors import Conflict, Forbidden, InvalidValue
from maskedbandit.service.api.ledger import whole_number
from maskedbandit.service.host.host import Host
from maskedbandit.service.keys import OWNER, STAFF, write_change
from maskedbandit.service.messages import Erase, Erased, Studies, StudyState, Validated
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.views.describe import protocol_of, read_listed_state, read_state
from maskedbandit.store.databases.database import Database
from maskedbandit.store.studies import write_study
from maskedbandit.store.study_rows import read_studies
from maskedbandit.study.protocol import Protocol


def check_table(body: Any) -> Protocol:
    """The protocol that was sent; it names classes of this package alone, as importing others runs them."""
    if not isinstance(body, dict):
        raise InvalidValue("protocol", type(body).__name__, "a table: an object in JSON, or TOML")
    check_classes(body)
    return Protocol.from_table(body)


def check_classes(body: dict[str, Any]) -> None:
    """Raise `InvalidValue` if a protocol names a class that is not of this package."""
    parts = [body.get("policy"), body.get("channel")]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += part.values()
        elif isinstance(part, str) and ":" in part:
            raise InvalidValue("name", part, "one of this package: `maskedbandit study new` takes your own classes too")


async def validate_protocol(call: Call, body: Any) -> Validated:
    """Check a protocol, and say what it promises. Nothing is written."""
    protocol = check_table(body)
    price = protocol.price(max(protocol.people or 1000, 1000))
    return Validated(protocol.name, protocol.digest, str(price), str(protocol.budget), protocol.channel.trust)


async def create_study(call: Call, body: Any) -> StudyState:
    """Write a study down as a draft, in place of a draft of the same name."""
    protocol = check_table(body)
    if call.key and call.key.study not in (None, protocol.name):
        raise Forbidden("this key is for another study")
    once = call.header("idempotency-key")
    request = sha256(f"{call.key.key if call.key else ''} {once}".encode()).hexdigest()
    sent = sha256(call.raw).hexdigest()
    if once is None or not await call.host.read(partial(came_before, request, sent)):
        await write_draft_of(call.host, protocol)
        if once is not None:  # only now: a request that failed, or was cut off before this, may come again
            await call.host.read(partial(note_request, request, sent, call.host.clock()))
    return await call.host.read(partial(read_state, witness=call.host.witness, name=protocol.name))


async def write_draft_of(host: Host, protocol: Protocol) -> None:
    """Write a study down as a draft; only then, as it may be refused, whoever holds an older draft of it lets it go."""
    await asyncio.to_thread(write_study, protocol, host.address, host.folder)
    await host.drop(protocol.name)


def came_before(request: str, sent: str, database: Database) -> bool:
    """Whether this request was done before, with this body; if it was with another one raise `Conflict`."""
    row = database.one("SELECT body FROM made_once WHERE request = ?", request)
    if row is not None and row[0] != sent:
        raise Conflict("this Idempotency-Key came before with another body: the first one stands")
    return row is not None


def note_request(request: str, sent: str, now: int, database: Database) -> None:
    """This request was done."""
    new = "INSERT INTO made_once (request, body, made) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    write_change(database, new, request, sent, now)


async def list_studies(call: Call) -> Studies:
    """All studies that the key may see."""
    only = call.key.study if call.key else None

    def question(database: Database) -> Studies:
        witness = call.host.witness
        names = [each.name for each in read_studies(database)]
        return Studies([read_listed_state(database, witness, name) for name in names if only in (None, name)])

    return await call.host.read(question)


async def show_study(call: Call) -> StudyState:
    """How a study stands."""
    return await call.host.read(partial(read_state, witness=call.host.witness, name=call.study))


async def begin_study(call: Call) -> StudyState:
    """Freeze the protocol and begin; with `?simulated=1` the ledger says for ever that nobody takes part."""
    await call.do("start", whole_number("simulated", call.query.get("simulated")) > 0)
    return await show_study(call)


async def stop_study(call: Call) -> StudyState:
    """Give no more places, for ever; with `?without_helper=1` what waits for a helper is given up."""
    given_up = whole_number("without_helper", call.query.get("without_helper")) > 0
    await call.do("give_up_helper" if given_up else "stop")
    return await show_study(call)


async def change_state(call: Call, verb: str) -> StudyState:
    """Have a study in another state."""
    await call.do(verb)
    return await show_study(call)


async def show_protocol(call: Call) -> dict[str, Any]:
    """The protocol of a study, as it was sent."""
    return (await call.host.read(partial(protocol_of, name=call.study))).table


async def erase_unit(call: Call, body: Erase) -> Erased:
    """Erase a person's data. What was released, and charged, stays; the person takes no further part."""
    return Erased(await call.do("erase", body.unit))


PATH = "/v1/studies/{study}"
MOVES = {
    "start": ((OWNER,), "Freeze the protocol and begin."),
    "pause": (STAFF, "Give no more places; reports and releases go on."),
    "resume": ((OWNER,), "Go on after a pause."),
    "stop": (STAFF, "Give no more places, for ever; releases of full cohorts go on."),
    "archive": ((OWNER,), "Erase the data of all people; releases stay."),
}
ROUTES = [
    Route("GET", "/v1/studies", STAFF, list_studies, answer=Studies),
    Route("POST", "/v1/studies", (OWNER,), create_study, Any, StudyState, 201, refusals=(409,)),
    Route("POST", "/v1/studies/validate", (OWNER,), validate_protocol, Any, Validated),
    Route("GET", PATH, STAFF, show_study, answer=StudyState, refusals=(404,)),
    Route("GET", f"{PATH}/protocol", STAFF, show_protocol, answer=dict, refusals=(404,)),
    Route("POST", f"{PATH}/start", (OWNER,), begin_study, answer=StudyState, refusals=(404, 409, 422)),
    Route(
        *("POST", f"{PATH}/stop", STAFF, stop_study, None, StudyState),
        refusals=(404, 409, 422),
        about=f"{MOVES['stop'][1]} With `?without_helper=1` cohorts that wait for a helper are given up.",
    ),
    Route("POST", f"{PATH}/erase", STAFF, erase_unit, Erase, Erased, refusals=(404,)),
    *(
        Route(
            "POST",
            f"{PATH}/{verb}",
            roles,
            partial(change_state, verb=verb),
            None,
            StudyState,
            refusals=(404, 409),
            about=about,
        )
        for verb, (roles, about) in MOVES.items()
        if verb not in ("start", "stop")
    ),
]

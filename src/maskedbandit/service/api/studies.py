"""Studies: new ones, how they stand, and their states."""

import asyncio
import re
from functools import partial
from hashlib import sha256
from typing import Any

from maskedbandit.errors import Conflict, Forbidden, InvalidValue
from maskedbandit.service.api.ledger import whole_number
from maskedbandit.service.host.host import Host
from maskedbandit.service.keys import OFFICER, OWNER, STAFF
from maskedbandit.service.messages import Erase, Erased
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.study_messages import Approve, Deleted, Start, Studies, StudyState, Validated
from maskedbandit.service.views.describe import protocol_of, read_listed_state
from maskedbandit.store.databases.database import Database
from maskedbandit.store.studies import delete_draft, write_study
from maskedbandit.store.study_rows import read_studies
from maskedbandit.study.faults import list_faults
from maskedbandit.study.protocol import Protocol


def check_table(body: Any) -> Protocol:
    """The protocol that was sent; it names classes of this package alone, as importing others runs them.

    The error of one that is not allowed has all that is wrong with it.
    """
    if not isinstance(body, dict):
        raise InvalidValue("protocol", type(body).__name__, "a table: an object in JSON, or TOML")
    check_classes(body)
    try:
        return Protocol.from_table(body)
    except InvalidValue as wrong:
        wrong.faults = tuple((".".join(map(str, place)), str(error)) for place, error in list_faults(body))
        raise


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
    protocol = await asyncio.to_thread(check_table, body)
    price = protocol.price(max(protocol.people or 1000, 1000))
    return Validated(protocol.name, protocol.digest, str(price), str(protocol.budget), protocol.channel.trust)


async def create_study(call: Call, body: Any) -> StudyState:
    """Write a new study down as a draft; its name must be free."""
    protocol = await asyncio.to_thread(check_table, body)
    if call.key and call.key.study not in (None, protocol.name):
        raise Forbidden("this key is for another study")
    if (once := call.header("idempotency-key")) is None:
        await write_draft_of(call.host, protocol)
    else:
        request = sha256(f"{call.key.key if call.key else ''} {once}".encode()).hexdigest()
        sent = sha256(call.raw).hexdigest()
        came = partial(came_before, request, sent)
        if not await call.host.read(came):
            try:
                await write_draft_of(call.host, protocol, along=partial(note_request, request, sent, call.host.clock()))
            except Conflict:
                if not await call.host.read(came):  # at the same time
                    raise
    return await call.host.state(protocol.name)


async def write_draft_of(host: Host, protocol: Protocol, **how: Any) -> None:
    """Write a study down as a draft; only then, as it may be refused, whoever holds an older draft of it lets it go."""
    await asyncio.to_thread(write_study, protocol, host.address, host.folder, **how)
    await host.drop(protocol.name)


def read_looked_at(call: Call) -> str:
    """The hash of the protocol that was looked at, from the header `If-Match`."""
    found = re.fullmatch('"?([0-9a-f]{64})"?', call.header("if-match") or "")
    if found is None:
        raise InvalidValue("If-Match", call.header("if-match"), "the hash of the protocol that was looked at")
    return found[1]


def check_same_name(name: str, protocol: Protocol) -> None:
    """Raise `InvalidValue` unless a changed draft has the name of the study."""
    if protocol.name != name:
        raise InvalidValue("name", protocol.name, f"{name}: a draft keeps its name, and a copy may have another")


async def change_draft(call: Call, body: Any) -> StudyState:
    """Put another protocol in place of a draft's, whose hash `If-Match` says."""
    looked_at, protocol = read_looked_at(call), await asyncio.to_thread(check_table, body)
    check_same_name(call.study, protocol)
    await write_draft_of(call.host, protocol, looked_at=looked_at)
    return await show_study(call)


async def remove_draft(call: Call) -> Deleted:
    """Delete a draft, the hash of whose protocol `If-Match` says; nothing of it is kept."""
    await delete_draft_of(call.host, call.study, read_looked_at(call))
    return Deleted(call.study)


async def delete_draft_of(host: Host, name: str, looked_at: str) -> None:
    """Delete a draft, and let it go."""
    await asyncio.to_thread(delete_draft, name, looked_at, host.address)
    await host.drop(name)


def came_before(request: str, sent: str, database: Database) -> bool:
    """Whether this request was done before, with this body; if it was with another one raise `Conflict`."""
    row = database.one("SELECT body FROM made_once WHERE request = ?", request)
    if row is not None and row[0] != sent:
        raise Conflict("this Idempotency-Key came before with another body: the first one stands")
    return row is not None


def note_request(request: str, sent: str, now: int, database: Database) -> None:
    """This request was done, in the transaction that does it."""
    database.change("INSERT INTO made_once (request, body, made) VALUES (?, ?, ?)", request, sent, now)


async def list_studies(call: Call) -> Studies:
    """All studies that the key may see."""
    only = call.key.study if call.key else None

    def question(database: Database) -> Studies:
        host, now = call.host, call.host.clock()
        names = [each.name for each in read_studies(database) if only in (None, each.name)]
        return Studies([read_listed_state(database, host.witness, name, now, host.tally_of(name)) for name in names])

    return await call.host.read(question)


async def show_study(call: Call) -> StudyState:
    """How a study stands."""
    return await call.host.state(call.study)


async def approve_study(call: Call, body: Approve) -> StudyState:
    """Approve the protocol of a draft, by its hash: with an officer in the project, it is not started without that."""
    await call.change("approve", body.protocol)
    return await show_study(call)


async def begin_study(call: Call, body: Start | None) -> StudyState:
    """Freeze the protocol and begin; with `?simulated=1` the ledger says for ever that nobody takes part.

    A body says the hash of the protocol that was looked at; without one it is whichever is there.
    """
    simulated = whole_number("simulated", call.query.get("simulated")) > 0
    await call.change("start", simulated, body.protocol if body else None)
    return await show_study(call)


async def stop_study(call: Call) -> StudyState:
    """Give no more places, for ever; with `?without_helper=1` cohorts that wait for a helper are given up."""
    given_up = whole_number("without_helper", call.query.get("without_helper")) > 0
    await call.change("give_up_helper" if given_up else "stop")
    return await show_study(call)


async def change_state(call: Call, verb: str) -> StudyState:
    """Have a study in another state."""
    await call.change(verb)
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
    Route("PUT", PATH, (OWNER,), change_draft, Any, StudyState, refusals=(404, 409)),
    Route("DELETE", PATH, (OWNER,), remove_draft, answer=Deleted, refusals=(404, 409, 422)),
    Route("GET", f"{PATH}/protocol", STAFF, show_protocol, answer=dict, refusals=(404,)),
    Route("POST", f"{PATH}/approve", (OFFICER,), approve_study, Approve, StudyState, refusals=(404, 409, 422)),
    Route("POST", f"{PATH}/start", (OWNER,), begin_study, Start | None, StudyState, refusals=(404, 409, 422)),
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

"""What was released, what it cost, and whether all of it fits together."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import Any

from maskedbandit.errors import BehindWitness, Corrupted, InvalidValue, UnknownStudy
from maskedbandit.service.describe import is_simulated, protocol_of, releases_of, simulated
from maskedbandit.service.keys import STAFF
from maskedbandit.service.messages import Ledger, LedgerEntry, LedgerHead, Releases, Verified
from maskedbandit.service.problems import of_status
from maskedbandit.service.route import PROBLEM, Answer, Call, Route, encode
from maskedbandit.store.chain import Entry
from maskedbandit.store.connection import connect
from maskedbandit.store.database import Database
from maskedbandit.store.status import published
from maskedbandit.store.verify import verify
from maskedbandit.store.witness import Witness

MOST = 10_000  # entries in an answer


def entries_after(database: Database, witness: Witness, name: str, after: int) -> list[Entry]:
    """The published entries of a study's ledger whose number is larger than `after`."""
    protocol_of(database, name)  # is there such a study?
    seen = witness.seen(name)
    find = (
        "SELECT number, body, hash, signature FROM entry WHERE study = ? AND number > ? AND number < ? "
        "ORDER BY number LIMIT ?"
    )
    return [Entry(*row) for row in database.rows(find, name, after, seen.head.entries if seen else 0, MOST)]


def whole_number(name: str, text: str | None) -> int:
    """The number of an entry after which to go on."""
    if text is None or text == "":
        return -1
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidValue(name, text, "the number of an entry")
    return int(text)


async def ledger(call: Call) -> Ledger:
    """The entries of the ledger after entry number `after`, at most 10 000 of them."""
    after = whole_number("after", call.query.get("after"))
    witness = call.host.witness
    found = await call.host.read(partial(entries_after, witness=witness, name=call.study, after=after))
    key = witness.signing_key().public_key().public_bytes_raw().hex()
    return Ledger(call.study, key, [LedgerEntry(*entry) for entry in found])


async def head(call: Call) -> LedgerHead:
    """The newest entry that was published: note it, and no later ledger can leave it out unnoticed."""

    def question(database: Database) -> LedgerHead:
        protocol_of(database, call.study)
        seen = call.host.witness.seen(call.study)
        if seen is None:
            raise UnknownStudy(f"the witness knows no study {call.study!r}")
        return LedgerHead(call.study, *seen.head)

    return await call.host.read(question)


async def releases(call: Call) -> Releases:
    """All that was released."""

    def question(database: Database) -> Releases:
        protocol, found = protocol_of(database, call.study), published(database, call.host.witness, call.study)
        return Releases(call.study, is_simulated(found), releases_of(protocol, found))

    return await call.host.read(question)


async def verified(call: Call) -> Verified | Answer:
    """Recompute all that is stored of the study. Whatever does not fit is an error, and nothing is changed."""

    def question() -> Verified:
        database = connect(call.host.address, create=False)  # of its own, as it takes a while
        try:
            found = verify(database, call.host.witness, call.study)
            return Verified(call.study, *found[:4], str(found.worst))
        finally:
            database.close()

    try:
        return await asyncio.to_thread(question)
    except (Corrupted, BehindWitness) as why:  # staff may know what does not fit
        return Answer(encode(of_status(409, why.code, str(why))), PROBLEM, 409)


async def events(call: Call) -> None:
    """The ledger as it grows, as server-sent events: each entry with its number, and `changed` when a count has."""
    host, name, send = call.host, call.study, call.send
    after = whole_number("Last-Event-ID", call.header("last-event-id") or call.query.get("after"))
    label = await host.read(partial(simulated, name=name))
    await host.version(name)  # is there such a study?
    headers = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-store"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    gone = asyncio.ensure_future(disconnected(call.receive))
    shown, quiet = None, 0
    try:
        while not gone.done() and not host.stopping.is_set():
            text, version = "", await host.version(name)
            if version != shown:
                for entry in await host.read(partial(entries_after, witness=host.witness, name=name, after=after)):
                    data = json.dumps({"study": name, "simulated": label, "hash": entry.hash, **entry.says})
                    text += f"id: {entry.number}\nevent: {entry.says['kind']}\ndata: {data}\n\n"
                    after = entry.number
                text += f"event: changed\ndata: {json.dumps({'study': name, 'simulated': label})}\n\n"
                shown, quiet = version, 0
            elif (quiet := quiet + 1) % 15 == 0:
                text = ": nothing new\n\n"
            if text:
                await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
            await asyncio.wait([gone, host.stops], timeout=1, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
    await send({"type": "http.response.body", "body": b""})


async def disconnected(receive: Any) -> None:
    """Until whoever listens goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass


PATH = "/v1/studies/{study}"
ROUTES = [
    Route("GET", f"{PATH}/releases", STAFF, releases, answer=Releases, refusals=(404,)),
    Route("GET", f"{PATH}/ledger", STAFF, ledger, answer=Ledger, refusals=(404, 422)),
    Route("GET", f"{PATH}/ledger/head", STAFF, head, answer=LedgerHead, refusals=(404,)),
    Route("POST", f"{PATH}/verify", STAFF, verified, answer=Verified, refusals=(404, 409)),
    Route("GET", f"{PATH}/events", STAFF, events, answer="text/event-stream", refusals=(404, 422)),
]

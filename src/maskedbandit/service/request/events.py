"""Events: a study's ledger as it grows, so whoever was away can ask for what was missed.

That a study has finished is no entry, as it follows from the ledger and from who saw the arm. It has an event of its
own, which whoever comes later is told too.
"""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

from starlette.responses import StreamingResponse

from maskedbandit.errors import Refused, StoreError
from maskedbandit.service.host.host import Host
from maskedbandit.service.keys import Key
from maskedbandit.service.request.limits import OpenStreams
from maskedbandit.service.views.describe import protocol_of, read_simulated
from maskedbandit.store.book.book import seen_head
from maskedbandit.store.book.chain import Link
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database

MOST_ENTRIES = 10_000  # entries at once
QUIET = 15  # seconds after which a connection is shown to live


def read_entries_after(database: Database, witness: Witness, name: str, after: int) -> list[Link]:
    """The published entries of a study's ledger whose number is larger than `after`."""
    protocol_of(database, name)  # is there such a study?
    head = seen_head(database, witness, name)
    find = (
        "SELECT number, body, hash, signature FROM entry WHERE study = ? AND number > ? AND number < ? "
        "ORDER BY number LIMIT ?"
    )
    return [Link(*row) for row in database.rows(find, name, after, head.entries, MOST_ENTRIES)]


async def event_stream(host: Host, name: str, after: int, key: Key | None, address: str = "") -> StreamingResponse:
    """Server-sent events: entries after one of the ledger, by number, `finished`, and `changed` when a count has.

    They end when the server does, and when the key of whoever listens is revoked; and if the database fails, after
    which whoever listens asks again. Whoever has no key is told apart by address.
    """
    await host.version(name)  # is there such a study?
    streams, who = (host.streams, key.key) if key else (host.open_streams, address)
    streams.check(who)
    found = _stream(host, name, after, key, streams, who)
    return StreamingResponse(found, media_type="text/event-stream", headers=HEADERS)


HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff"}


async def _stream(
    host: Host, name: str, after: int, key: Key | None, streams: OpenStreams, who: str
) -> AsyncIterator[str]:
    shown, told = None, None

    def may_listen() -> bool:
        return not host.stopping.is_set() and (key is None or host.keys.public(key.key, host.clock()) is not None)

    # others may have come since it was looked, and a draft may have been deleted
    with suppress(StoreError, Refused), streams.place(who), host.watch(name).listen(may_listen) as listener:
        yield ": the ledger, as it grows\n\n"
        version = await host.version(name)
        while may_listen():
            if version != shown:
                label = await host.read(partial(read_simulated, name=name))
                while found := await host.read(
                    partial(read_entries_after, witness=host.witness, name=name, after=after)
                ):
                    for link in found:
                        says = json.loads(link.body)
                        data = json.dumps({"study": name, "simulated": label, "hash": link.hash, **says})
                        yield f"id: {link.number}\nevent: {says['kind']}\ndata: {data}\n\n"
                        after = link.number
                if (finish := await host.finish(name, version)) != told and finish is not None:
                    data = json.dumps({"study": name, "simulated": label, **finish._asdict()})
                    yield f"event: finished\ndata: {data}\n\n"
                told = finish
                yield f"event: changed\ndata: {json.dumps({'study': name, 'simulated': label})}\n\n"
                shown = version
            else:
                yield ": nothing new\n\n"
            version = await listener.await_version(shown, QUIET)

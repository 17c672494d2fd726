"""Keys over HTTP, for owners."""

from collections.abc import Callable
from typing import TypeVar

from maskedbandit.errors import Forbidden
from maskedbandit.service import keys
from maskedbandit.service.keys import OWNER, Key
from maskedbandit.service.messages import KeyListed, KeyMade, KeysListed, NewKey
from maskedbandit.service.request.route import Call, Route
from maskedbandit.store.databases.database import Database

T = TypeVar("T")


def only_unscoped(call: Call) -> None:
    """Keys are for whoever owns all studies."""
    if call.key and call.key.study is not None:
        raise Forbidden("this key is for one study, and keys are for all")


def shown(key: Key) -> KeyListed:
    """A key without its hash."""
    return KeyListed(key.key, key.role, key.study, key.made, key.ends)


async def changed(call: Call, change: Callable[[Database], T]) -> T:
    """What a change of the keys gives; this process knows it at once."""
    only_unscoped(call)

    def question(database: Database) -> T:
        found = change(database)
        call.host.keys.read(database)
        return found

    return await call.host.read(question)


async def make(call: Call, body: NewKey) -> KeyMade:
    """Make a key, which is shown this once."""
    now = call.host.clock()
    return KeyMade(await changed(call, lambda database: keys.make(database, body.role, body.study, now)))


async def list_all(call: Call) -> KeysListed:
    """All keys, without their secrets."""
    only_unscoped(call)
    return KeysListed([shown(key) for key in await call.host.read(keys.listed)])


async def rotate(call: Call) -> KeyMade:
    """Make a key in place of another, which holds for one more day."""
    now = call.host.clock()
    return KeyMade(await changed(call, lambda database: keys.rotate(database, call.path["key"], now)))


async def revoke(call: Call) -> KeyListed:
    """End a key now."""
    now = call.host.clock()
    return shown(await changed(call, lambda database: keys.end(database, call.path["key"], now)))


ROUTES = [
    Route("GET", "/v1/keys", (OWNER,), list_all, answer=KeysListed),
    Route("POST", "/v1/keys", (OWNER,), make, NewKey, KeyMade, 201, refusals=(404,)),
    Route("POST", "/v1/keys/{key}/rotate", (OWNER,), rotate, answer=KeyMade, refusals=(404,)),
    Route("POST", "/v1/keys/{key}/revoke", (OWNER,), revoke, answer=KeyListed, refusals=(404,)),
]

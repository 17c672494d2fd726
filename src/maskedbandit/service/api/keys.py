"""Keys over HTTP, for owners."""

from collections.abc import Callable
from typing import TypeVar

from maskedbandit.errors import Forbidden
from maskedbandit.service import keys
from maskedbandit.service.host.host import Host
from maskedbandit.service.key_messages import KeyListed, KeyMade, KeysListed, NewKey
from maskedbandit.service.keys import OWNER, Key
from maskedbandit.service.request.route import Call, Route
from maskedbandit.store.databases.database import Database

T = TypeVar("T")


def only_unscoped(key: Key | None) -> None:
    """Keys are for whoever owns all studies."""
    if key and key.study is not None:
        raise Forbidden("this key is for one study, and keys are for all")


def show_key(key: Key) -> KeyListed:
    """A key without its hash."""
    return KeyListed(key.key, key.role, key.study, key.made, key.ends, list(key.origins), key.last_used)


async def change_keys(host: Host, change: Callable[[Database], T]) -> T:
    """What a change of the keys gives; this process knows it at once."""

    def question(database: Database) -> T:
        found = change(database)
        host.keys.read(database)
        return found

    return await host.read(question)


async def make_key(call: Call, body: NewKey) -> KeyMade:
    """Make a key, which is shown only once."""
    only_unscoped(call.key)
    now = call.host.clock()

    def change(database: Database) -> str:
        return keys.write_key(database, body.role, body.study, now, body.origins)

    return KeyMade(await change_keys(call.host, change))


async def list_keys(call: Call) -> KeysListed:
    """All keys, without their secrets."""
    only_unscoped(call.key)
    return KeysListed([show_key(key) for key in await call.host.read(keys.read_keys)])


async def rotate_key(call: Call) -> KeyMade:
    """Make a key in place of another, which is valid for one more day."""
    only_unscoped(call.key)
    now = call.host.clock()
    return KeyMade(await change_keys(call.host, lambda database: keys.replace_key(database, call.path["key"], now)))


async def revoke_key(call: Call) -> KeyListed:
    """End a key at once."""
    only_unscoped(call.key)
    now = call.host.clock()
    return show_key(await change_keys(call.host, lambda database: keys.end_key(database, call.path["key"], now)))


ROUTES = [
    Route("GET", "/v1/keys", (OWNER,), list_keys, answer=KeysListed),
    Route("POST", "/v1/keys", (OWNER,), make_key, NewKey, KeyMade, 201, refusals=(404,)),
    Route("POST", "/v1/keys/{key}/rotate", (OWNER,), rotate_key, answer=KeyMade, refusals=(404,)),
    Route("POST", "/v1/keys/{key}/revoke", (OWNER,), revoke_key, answer=KeyListed, refusals=(404,)),
]

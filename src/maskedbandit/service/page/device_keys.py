"""The device keys of a study on the page: owners make them, and end them. A key is shown once, when it is made."""

from functools import partial
from typing import Any

from starlette.responses import RedirectResponse, Response

from maskedbandit.errors import InvalidValue, UnknownKey, shorten_value
from maskedbandit.service import keys
from maskedbandit.service.api.keys import change_keys, only_unscoped
from maskedbandit.service.keys import DEVICE, OWNER, Key
from maskedbandit.service.page.visit import Visit
from maskedbandit.store.databases.database import Database


async def show_device_keys(visit: Visit, status: int = 200, **given: Any) -> Response:
    """The keys that hold, and the form of a new one."""
    check_owner(visit)
    await visit.may_see()
    listed = await visit.host.read(partial(list_device_keys, study=visit.name, now=visit.host.clock()))
    return await visit.show("device_keys", status, study=visit.name, listed=listed, values=visit.values, **given)


def list_device_keys(database: Database, study: str, now: int) -> list[Key]:
    """Those of a study that hold."""
    return [key for key in keys.read_keys(database) if key.role == DEVICE and key.study == study and key.holds(now)]


def end_device_key(database: Database, study: str, public: str, now: int) -> Key:
    """End one of them; keys of another kind are not ended here."""
    if public not in {key.key for key in list_device_keys(database, study, now)}:
        raise UnknownKey(f"{study} has no device key {shorten_value(public)} that holds")
    return keys.end_key(database, public, now)


async def change_device_keys(visit: Visit) -> Response:
    """Make a key for pages of the origins in the form, or end the key that it names."""
    check_owner(visit)
    now = visit.host.clock()
    if ended := visit.values.get("end"):
        await change_keys(visit.host, partial(end_device_key, study=visit.name, public=ended, now=now))
        return RedirectResponse(f"/studies/{visit.name}/keys", 303)
    origins = visit.values.get("origins", "").split()
    make = partial(keys.write_key, role=DEVICE, study=visit.name, now=now, origins=origins)
    try:
        return await show_device_keys(visit, notice=await change_keys(visit.host, make))
    except InvalidValue as why:
        return await show_device_keys(visit, 422, problem=str(why))


def check_owner(visit: Visit) -> None:
    """Raise unless an owner of all studies is signed in."""
    visit.allow((OWNER,))
    only_unscoped(visit.key)

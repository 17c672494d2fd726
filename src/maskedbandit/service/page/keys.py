"""The keys on the page, all of them or those of one study: owners of all studies make, rotate and revoke them.

A key is shown once, when it is made. Before one is revoked the page asks, as whatever uses it is refused from then on.
"""

from functools import partial
from typing import Any

from starlette.responses import RedirectResponse, Response

from maskedbandit.errors import InvalidValue, UnknownKey
from maskedbandit.service import keys
from maskedbandit.service.api.keys import change_keys, only_unscoped
from maskedbandit.service.keys import DEVICE, OWNER, Key
from maskedbandit.service.page.visit import Visit
from maskedbandit.store.databases.database import Database
from maskedbandit.store.study_rows import read_studies
from maskedbandit.value_words import shorten_value

ROLE_CHOICES = (
    ("client", "An application (client)"),
    ("device", "Pages and apps (device)"),
    ("officer", "An officer of privacy (officer)"),
    ("owner", "An owner (owner)"),
)


async def show_keys(visit: Visit, status: int = 200, **given: Any) -> Response:
    """The keys, the newest first, and the form of a new one."""
    study = await find_study(visit)
    found, studies = await visit.host.read(partial(list_keys, study=study))
    now, own = visit.host.clock(), visit.key.key if visit.key else ""
    listed = [each for each in found if each.holds(now)]
    ended = [each for each in found if not each.holds(now)]
    given |= {
        "listed": listed,
        "ended": ended,
        "studies": studies,
        "own": own,
        "values": visit.values,
        "roles": ROLE_CHOICES,
    }
    return await visit.show("keys", status, study=study, **given)


async def find_study(visit: Visit) -> str | None:
    """The study whose keys are asked for, or None for all; raise unless an owner of all studies is signed in."""
    visit.allow((OWNER,))
    only_unscoped(visit.key)
    if "study" not in visit.request.path_params:
        return None
    await visit.may_see()
    return visit.name


def list_keys(database: Database, study: str | None) -> tuple[list[Key], list[str]]:
    """The keys of a study, or all, the newest first; and the names of all studies."""
    found = [each for each in keys.read_keys(database) if study in (None, each.study)]
    return found[::-1], [each.name for each in read_studies(database)]


def find_listed_key(database: Database, study: str | None, public: str) -> Key:
    """A key of those on the page."""
    for each in list_keys(database, study)[0]:
        if each.key == public:
            return each
    raise UnknownKey(f"there is no key {shorten_value(public)} here")


async def submit_keys(visit: Visit) -> Response:
    """Make a key, or another one in its place, or revoke one, once the page has asked."""
    study, values, now = await find_study(visit), visit.values, visit.host.clock()
    if public := values.get("ask"):
        key = await visit.host.read(partial(find_listed_key, study=study, public=public))
        return await visit.show("revoke_key", study=study, key=key, own=visit.key and key.key == visit.key.key)

    def change(database: Database) -> str:
        if public := values.get("revoke") or values.get("rotate"):
            find_listed_key(database, study, public)
            if values.get("revoke"):
                return keys.end_key(database, public, now).key
            return keys.replace_key(database, public, now)
        role, of = values.get("role", ""), study or values.get("study") or None
        origins = values.get("origins", "").split() if role == DEVICE else []
        return keys.write_key(database, role, of, now, origins)

    try:
        changed = await change_keys(visit.host, change)
    except InvalidValue as why:
        return await show_keys(visit, 422, problem=str(why))
    if values.get("revoke"):
        return RedirectResponse(visit.request.url.path, 303)
    return await show_keys(visit, notice=changed)

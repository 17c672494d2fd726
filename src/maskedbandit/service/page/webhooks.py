"""Webhooks on the page: owners of all studies add and delete them, and see how their receivers do."""

from functools import partial
from typing import Any

from starlette.responses import RedirectResponse, Response

from maskedbandit.errors import InvalidValue
from maskedbandit.service import webhooks
from maskedbandit.service.api.keys import only_unscoped
from maskedbandit.service.keys import OWNER
from maskedbandit.service.page.visit import Visit
from maskedbandit.service.views.receivers import list_receivers
from maskedbandit.store.databases.database import Database
from maskedbandit.store.study_rows import read_studies

SAID_KINDS = {
    "released": "A release",
    "finished": "A study has finished, and gives nobody a place any more",
    "state": "A study was started, paused, resumed, stopped or archived",
    "arm": "An arm was paused, resumed or added, or was found harmful",
    "attention": "Something needs a look, or no longer does",
}


async def show_webhooks(visit: Visit, status: int = 200, **given: Any) -> Response:
    """The webhooks, and the form of a new one."""
    check_owner(visit)
    witness = visit.host.witness

    def question(database: Database) -> dict[str, Any]:
        names = [each.name for each in read_studies(database)]
        return {"listed": list_receivers(database, witness), "studies": names}

    found = await visit.host.read(question)
    return await visit.show("webhooks", status, kinds=SAID_KINDS, values=visit.values, **found, **given)


async def submit_webhook(visit: Visit) -> Response:
    """Add the webhook that the form describes, or delete the one that it names."""
    check_owner(visit)
    values, witness, now = visit.values, visit.host.witness, visit.host.clock()
    if name := values.get("delete"):
        await visit.host.read(partial(webhooks.delete_webhook, name=name))
        return RedirectResponse("/webhooks", 303)
    kinds = [kind for kind in SAID_KINDS if kind in values]

    def change(database: Database) -> str:
        if not kinds:
            raise InvalidValue("what is said", "nothing", "at least one of these")
        url, study = values.get("url", "").strip(), values.get("study") or None
        return webhooks.write_webhook(database, witness, url, study, kinds, now)[1]

    try:
        return await show_webhooks(visit, notice=await visit.host.read(change))
    except InvalidValue as why:
        return await show_webhooks(visit, 422, problem=str(why))


def check_owner(visit: Visit) -> None:
    """Raise unless an owner of all studies is signed in."""
    visit.allow((OWNER,))
    only_unscoped(visit.key)

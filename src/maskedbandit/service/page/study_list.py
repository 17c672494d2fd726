"""The list of studies, and how to find one in it without a script."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response

from maskedbandit.service.page.visit import Visit
from maskedbandit.service.views.describe import read_simulated
from maskedbandit.service.views.summaries import STATES, StudySummary, read_summaries
from maskedbandit.store.databases.database import Database


async def list_seen_studies(visit: Visit) -> list[StudySummary]:
    """The studies that the visitor may see; nothing is counted of others."""
    host, key, now = visit.host, visit.key, visit.host.clock()

    def question(database: Database) -> list[StudySummary]:
        def may_be_seen(name: str) -> bool:
            return read_simulated(database, name) if key is None else key.study in (None, name)

        return read_summaries(database, host.witness, now, host.tally_of, may_be_seen)

    return [each for each in await host.read(question) if key is not None or each.simulated]


async def show_studies(visit: Visit) -> Response:
    """Show the studies that the visitor may see, and has searched for."""
    asked = visit.request.query_params
    text, state = asked.get("q", ""), asked.get("state", "")
    return await visit.show("list", **choose_studies(await list_seen_studies(visit), text, state))


def choose_studies(seen: Sequence[StudySummary], text: str = "", state: str = "") -> dict[str, Any]:
    """What the template needs: the studies with these words and in this state, and how many there are."""
    found = [each for each in seen if each.is_about(text) and state in ("", each.state)]
    return {"studies": found, "many": len(seen), "states": STATES, "text": text, "state": state}

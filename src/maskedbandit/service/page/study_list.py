"""The list of studies, and how to find one in it without a script."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from starlette.responses import Response

from maskedbandit.service.page.visit import Visit
from maskedbandit.service.views.summaries import STATES, StudySummary, read_summaries


async def list_seen_studies(visit: Visit) -> list[StudySummary]:
    """The studies that these eyes may see."""
    host, key = visit.host, visit.key
    ask = partial(read_summaries, witness=host.witness, now=host.clock(), tally_of=host.tally_of)
    found = await host.read(ask)
    return [each for each in found if (each.simulated if key is None else key.study in (None, each.name))]


async def show_studies(visit: Visit) -> Response:
    """The studies that these eyes may see, of those the ones that are looked for."""
    asked = visit.request.query_params
    text, state = asked.get("q", ""), asked.get("state", "")
    return await visit.show("list", **choose_studies(await list_seen_studies(visit), text, state))


def choose_studies(seen: Sequence[StudySummary], text: str = "", state: str = "") -> dict[str, Any]:
    """What the template needs: the studies with these words and in this state, and how many there are."""
    found = [each for each in seen if each.is_about(text) and state in ("", each.state)]
    return {"studies": found, "many": len(seen), "states": STATES, "text": text, "state": state}

"""The pages of a site's own, for whoever signs in with a key of the site: its studies, and its part of each."""

from functools import partial
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute

from maskedbandit.errors import BehindWitness, Corrupted
from maskedbandit.service.host.elsewhere import RELAYED
from maskedbandit.service.keys import OFFICER, STAFF
from maskedbandit.service.page.signing_in import list_common_pages, route_pages
from maskedbandit.service.page.visit import Handler, Visit
from maskedbandit.service.request.holders import find_writer
from maskedbandit.service.sites.people import erase_person
from maskedbandit.service.views.describe import check_visible
from maskedbandit.store.sites.verify import verify_site
from maskedbandit.store.study_rows import read_studies
from maskedbandit.words import say_things


async def show_site_studies(visit: Visit) -> Response:
    """The studies that this site has entered."""
    visit.allow(STAFF)
    assert visit.key is not None
    seen = [each for each in await visit.host.read(read_studies) if visit.key.study in (None, each.name)]
    return await visit.show("site_studies", studies=seen, own=visit.host.own.fingerprint)


async def show_site_study(visit: Visit, **given: Any) -> Response:
    """This site's part of a study."""
    visit.allow(STAFF)
    check_visible(visit.key, visit.name)
    return await visit.show("site_study", view=await visit.host.view(visit.name), **given)


async def verify_site_study(visit: Visit) -> Response:
    """Recompute all that this site has stored of a study, and say what came of it."""
    visit.allow(STAFF)
    check_visible(visit.key, visit.name)
    try:
        verify = partial(verify_site, witness=visit.host.witness, study=visit.name)
        found = await visit.host.recompute(verify)
    except (Corrupted, BehindWitness) as why:
        return await visit.show("problem", 409, title="Refused", detail=f"This does not fit: {why}")
    return await show_site_study(
        visit,
        notice=f"Everything fits: {found.entries} entries, the newest with hash {found.head[:16]}, as the witness has "
        f"it; {say_things(found.joined, 'attempt')} at sums joined, {say_things(found.agreed, 'sum')} agreed to.",
    )


async def erase_on_page(visit: Visit) -> Response:
    """Erase the data of the person whom the form names, here and at the coordinator."""
    visit.allow((OFFICER,))
    check_visible(visit.key, visit.name)
    writer = await find_writer(visit.host, visit.name, RELAYED in visit.request.headers)
    places = await erase_person(visit.host, writer, visit.values.get("unit", "").strip())
    notice = f"Erased: {say_things(places, 'place')} of this person, with all that was reported of it."
    return await show_site_study(visit, notice=notice)


def list_site_pages() -> list[BaseRoute]:
    """All pages of a site."""
    one = "/studies/{study}"
    pages: dict[tuple[str, str], Handler] = {
        ("GET", "/"): show_site_studies,
        ("GET", one): show_site_study,
        ("POST", f"{one}/verify"): verify_site_study,
        ("POST", f"{one}/erase"): erase_on_page,
    }
    return [*route_pages(pages), *list_common_pages()]

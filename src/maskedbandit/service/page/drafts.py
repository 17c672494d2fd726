"""What owners do with drafts on the page: new ones, copies, changes, and deleting them.

A change, and deleting, is of the protocol that the form has shown: the form has its hash.
"""

import asyncio
from functools import partial

from starlette.responses import RedirectResponse, Response

from maskedbandit.errors import MaskedBanditError
from maskedbandit.service.api.studies import check_same_name, check_table, delete_draft_of, write_draft_of
from maskedbandit.service.keys import OWNER
from maskedbandit.service.page.form import EXAMPLE_FORM, read_protocol_form
from maskedbandit.service.page.sentences import say_preview
from maskedbandit.service.page.staff import PLANNED_NUMBERS, read_planned_numbers
from maskedbandit.service.page.visit import Visit
from maskedbandit.service.request.problems import describe_problem
from maskedbandit.service.views.describe import check_visible, protocol_of
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.toml_text import write_toml

FORECAST = {name: EXAMPLE_FORM[name] for name in PLANNED_NUMBERS}


async def show_new_form(visit: Visit) -> Response:
    """The form of a new study."""
    visit.allow((OWNER,))
    return await visit.show("new", values=EXAMPLE_FORM, problems=[], preview=[])


async def preview_protocol(visit: Visit, protocol: Protocol) -> list[tuple[str, str]]:
    """What a study would mean."""
    would = say_preview(protocol)
    if visit.host.forecast is not None:
        async with visit.host.forecasting:
            would += await visit.host.forecast(protocol, *read_planned_numbers(visit.values))
    return would


async def draft_study(visit: Visit) -> Response:
    """Say what a study would mean, or write it down as a draft."""
    visit.allow((OWNER,))
    would: list[tuple[str, str]] = []
    try:
        protocol = check_table(await asyncio.to_thread(read_protocol_form, visit.values))
        check_visible(visit.key, protocol.name)
        if visit.values.get("do") == "create":
            await write_draft_of(visit.host, protocol)
            return RedirectResponse(f"/studies/{protocol.name}", 303)
        would = await preview_protocol(visit, protocol)
    except MaskedBanditError as why:
        status = describe_problem(why).status
        return await visit.show("new", status, values=visit.values, problems=[str(why)], preview=would)
    return await visit.show("new", values=visit.values, problems=[], preview=would)


async def find_shown_protocol(visit: Visit) -> Protocol:
    """The protocol of the study that the path names, for an owner."""
    visit.allow((OWNER,))
    check_visible(visit.key, visit.name)
    return await visit.host.read(partial(protocol_of, name=visit.name))


async def show_copy_form(visit: Visit) -> Response:
    """The form of a new study, with the protocol of another one, which may be a draft or not."""
    table = (await find_shown_protocol(visit)).table
    copied = write_toml(table | {"name": f"{visit.name[:59]}-copy"})
    return await visit.show("new", values=FORECAST | {"protocol": copied}, problems=[], preview=[])


async def show_draft_form(visit: Visit) -> Response:
    """The form of a draft, with its protocol."""
    protocol = await find_shown_protocol(visit)
    values = FORECAST | {"protocol": write_toml(protocol.table), "looked_at": protocol.digest}
    return await visit.show("draft", study=visit.name, values=values, preview=[])


async def submit_draft(visit: Visit) -> Response:
    """Say what a changed draft would mean, put it in place of the one that the form has shown, or delete that one."""
    await find_shown_protocol(visit)
    looked_at, status, problem_text, would = visit.values.get("looked_at", ""), 200, "", list[tuple[str, str]]()
    try:
        if visit.values.get("do") == "delete":
            await delete_draft_of(visit.host, visit.name, looked_at)
            return RedirectResponse("/studies", 303)
        protocol = check_table(await asyncio.to_thread(read_protocol_form, visit.values))
        check_same_name(visit.name, protocol)
        if visit.values.get("do") == "change":
            await write_draft_of(visit.host, protocol, looked_at=looked_at)
            return RedirectResponse(f"/studies/{visit.name}", 303)
        would = await preview_protocol(visit, protocol)
    except MaskedBanditError as why:
        status, problem_text = describe_problem(why).status, str(why)
    given = {"study": visit.name, "values": visit.values, "preview": would, "problem": problem_text}
    return await visit.show("draft", status, **given)

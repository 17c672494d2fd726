"""What owners do with drafts on the page: new ones, copies, changes, and deleting them.

A change, and deleting, is of the protocol that the form has shown: the form has its hash. What is wrong with a form is
shown at its fields, all of it at once.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from starlette.responses import RedirectResponse, Response

from maskedbandit.errors import InvalidValue, MaskedBanditError
from maskedbandit.service.api.studies import check_classes, check_same_name, delete_draft_of, write_draft_of
from maskedbandit.service.keys import OWNER
from maskedbandit.service.page.form import (
    EXAMPLE_FORM,
    PLANNED_NUMBERS,
    SentForm,
    fill_protocol_form,
    find_rank,
    list_arm_rows,
    name_field,
    read_sent_form,
)
from maskedbandit.service.page.policy_choices import list_policy_choices
from maskedbandit.service.page.sentences import say_preview
from maskedbandit.service.page.staff import read_planned_numbers
from maskedbandit.service.page.trust_models import list_trust_models
from maskedbandit.service.page.visit import Visit, name_attachment
from maskedbandit.service.request.problems import describe_problem
from maskedbandit.service.views.describe import check_visible, protocol_of
from maskedbandit.study.faults import Fault, list_faults
from maskedbandit.study.protocol import Protocol
from maskedbandit.study.toml_text import write_toml

FEWEST_ROWS, MORE_ROWS = 3, 5  # of arms


class Preview(NamedTuple):
    """What a study would mean, and the same protocol as TOML."""

    meant: list[tuple[str, str]]
    toml: str


async def show_form(
    visit: Visit,
    study: str,
    values: Mapping[str, str],
    faults: list[Fault] | None = None,
    protocol: Protocol | None = None,
    preview: Preview | None = None,
    status: int = 200,
) -> Response:
    """The form, of a new study or of a draft; what is wrong stands at its fields, and all together above them."""
    given = await asyncio.to_thread(fill_form, study, values, faults or [], protocol, preview)
    return await visit.show("new", status, **given)


def fill_form(
    study: str,
    values: Mapping[str, str],
    faults: list[Fault],
    protocol: Protocol | None = None,
    preview: Preview | None = None,
) -> dict[str, Any]:
    """What the template of the form needs."""
    problems = [(name_field(place, values), say_fault(error)) for place, error in faults]
    problems.sort(key=lambda each: find_rank(each[0]))
    return {
        "study": study,
        "values": values,
        "rows": max(len(list_arm_rows(values)), FEWEST_ROWS),
        "problems": problems,
        "faults": {name: "; ".join(said for at, said in problems if at == name) for name, _ in problems if name},
        "preview": preview,
        "policies": list_policy_choices(),
        "trust_models": list_trust_models(protocol),
    }


def say_fault(error: MaskedBanditError) -> str:
    """What is wrong, in the words of the error; an empty field is what people leave out.

    >>> say_fault(InvalidValue("people", None, "a whole number"))
    'people is left out: it must be a whole number'
    """
    return str(error).replace(" is None: it must", " is left out: it must", 1)


def fill_values(table: dict[str, Any]) -> tuple[dict[str, str], list[Fault]]:
    """The form of a protocol: its fields if they can say all of it, or else its TOML; or why neither can."""
    if (filled := fill_protocol_form(table)) is not None:
        return filled, []
    try:
        return {"protocol": write_toml(table)}, []
    except InvalidValue as why:
        return {}, [Fault(("protocol",), why)]


async def show_new_form(visit: Visit) -> Response:
    """The form of a new study: empty, or with an example."""
    visit.allow((OWNER,))
    return await show_form(visit, "", EXAMPLE_FORM if visit.request.query_params.get("example") else {})


async def find_shown_protocol(visit: Visit) -> Protocol:
    """The protocol of the study that the path names, for an owner."""
    visit.allow((OWNER,))
    check_visible(visit.key, visit.name)
    return await visit.host.read(partial(protocol_of, name=visit.name))


async def show_copy_form(visit: Visit) -> Response:
    """The form of a new study, with the protocol of another one, which may be a draft or not."""
    table = (await find_shown_protocol(visit)).table
    return await show_form(visit, "", *fill_values(table | {"name": f"{visit.name[:59]}-copy"}))


async def show_draft_form(visit: Visit) -> Response:
    """The form of a draft, with its protocol."""
    protocol = await find_shown_protocol(visit)
    values, faults = fill_values(protocol.table)
    return await show_form(visit, visit.name, values | {"looked_at": protocol.digest}, faults, protocol)


async def submit_new_form(visit: Visit) -> Response:
    """Say what a study would mean, or write it down as a draft."""
    visit.allow((OWNER,))
    return await answer_form(visit, "")


async def submit_draft(visit: Visit) -> Response:
    """Say what a changed draft would mean, put it in place of the one that the form has shown, or delete that one."""
    await find_shown_protocol(visit)
    return await answer_form(visit, visit.name)


async def answer_form(visit: Visit, study: str) -> Response:
    """Do what the pressed button says, with the form of a new study, or of the draft of this name."""
    do, looked_at = visit.values.get("do"), visit.values.get("looked_at", "")
    sent = await asyncio.to_thread(read_sent_form, visit.values)
    values = sent.values | ({"looked_at": looked_at} if study else {})
    faults, status, protocol, preview = list[Fault](), 422, None, None
    try:
        if do == "delete" and study:
            await delete_draft_of(visit.host, study, looked_at)
            return RedirectResponse("/studies", 303)
        if do == "rows":
            rows = max(len(list_arm_rows(values)), FEWEST_ROWS)
            return await show_form(visit, study, {f"arms.{each}.name": "" for each in range(rows + MORE_ROWS)} | values)
        protocol, faults = await asyncio.to_thread(check_form, sent, study)
        if protocol is not None:
            check_visible(visit.key, protocol.name)
            if do in ("create", "change"):
                await write_draft_of(visit.host, protocol, **({"looked_at": looked_at} if study else {}))
                return RedirectResponse(f"/studies/{protocol.name}", 303)
            preview, faults = await preview_protocol(visit, protocol)
    except MaskedBanditError as why:
        status, faults = describe_problem(why).status, [Fault((), why)]
    return await show_form(visit, study, values, faults, protocol, preview, status if faults else 200)


def check_form(sent: SentForm, study: str) -> tuple[Protocol | None, list[Fault]]:
    """The protocol that a form means, or all that is wrong with it; a draft keeps its name."""
    faults = [*sent.faults]
    if sent.table is None:
        return None, faults
    check_classes(sent.table)
    faults += list_faults(sent.table)
    if not faults:
        protocol = Protocol.from_table(sent.table)
        try:
            if study:
                check_same_name(study, protocol)
            return protocol, []
        except InvalidValue as wrong:
            faults.append(Fault(("name",), wrong))
    return None, faults


async def preview_protocol(visit: Visit, protocol: Protocol) -> tuple[Preview, list[Fault]]:
    """What a study would mean, and what it would bring if the form says what to expect."""
    meant, faults = say_preview(protocol), list[Fault]()
    try:
        toml = write_toml(protocol.table)
    except InvalidValue as why:
        toml = f"# {why}"
    if visit.host.forecast is not None and any(visit.values.get(name) for name in PLANNED_NUMBERS):
        try:
            numbers = read_planned_numbers(visit.values)
            async with visit.host.forecasting:
                meant += await visit.host.forecast(protocol, *numbers)
        except InvalidValue as why:
            name = "per_day" if why.name == "people on a day" else why.name.split()[0]
            faults.append(Fault((name,), why))
    return Preview(meant, toml), faults


async def download_toml(visit: Visit) -> Response:
    """The protocol of a study as a file that the form and the command take."""
    await visit.may_see()
    protocol = await visit.host.read(partial(protocol_of, name=visit.name))
    text = f"{write_toml(protocol.table)}\n"
    return Response(text, headers=name_attachment(f"{visit.name}.toml"), media_type="application/toml")

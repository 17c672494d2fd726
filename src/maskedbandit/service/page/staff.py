"""What owners and officers do on the page: plans and audits of studies, and changes of those that there are.

What is computed when somebody asks, a plan and an audit, and a forecast in drafts.py, depends on no outcome. It is
computed in another process (cli/parts/own_process.py), one at a time, and other pages are answered meanwhile.
"""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import RedirectResponse, Response

from maskedbandit.errors import BehindWitness, Corrupted, MaskedBanditError
from maskedbandit.service.api.ledger import recompute_study
from maskedbandit.service.host.elsewhere import RELAYED
from maskedbandit.service.keys import OWNER, STAFF
from maskedbandit.service.page.form import PLANNED_NUMBERS, read_form_number, read_form_payload
from maskedbandit.service.page.visit import Handler, Visit
from maskedbandit.service.request.holders import find_writer
from maskedbandit.service.request.problems import describe_problem
from maskedbandit.service.views.describe import check_visible


def read_planned_numbers(values: Mapping[str, str]) -> list[float]:
    """The numbers that a forecast and a plan need, as they were typed."""
    return [read_form_number(name, values.get(name, "")) for name in PLANNED_NUMBERS]


async def show_plan(visit: Visit) -> Response:
    """The form that asks what a study would take under each trust model, and what it would take once it was sent."""
    visit.allow(STAFF)
    sent = visit.request.method == "POST"
    values = visit.values if sent else {}
    view, found, status, problem_text = await visit.view(), ((), (), ""), 200, ""
    if sent and visit.host.trust_plan is not None:
        try:
            numbers = read_planned_numbers(values)
            async with visit.host.forecasting:
                found = await visit.host.trust_plan(view.protocol, *numbers)
        except MaskedBanditError as why:
            status, problem_text = describe_problem(why).status, str(why)
    head, rows, about = found
    given = {"head": head, "rows": rows, "about": about, "problem": problem_text}
    return await visit.show("trust_plan", status, view=view, values=values, **given)


async def show_audit(visit: Visit) -> Response:
    """What an audit of the study shows."""
    visit.allow(STAFF)
    view, found, status, problem_text = await visit.view(), list[dict[str, Any]](), 200, ""
    if visit.host.own_audit is not None:
        try:
            async with visit.host.forecasting:
                found = await visit.host.own_audit(view.protocol)
        except MaskedBanditError as why:
            status, problem_text = describe_problem(why).status, str(why)
    return await visit.show("audit", status, view=view, parts=found, problem=problem_text)


async def show_verification(visit: Visit) -> Response:
    """Recompute all that is stored of the study, and say what came of it."""
    visit.allow(STAFF)
    await visit.may_see()
    try:
        found = await recompute_study(visit.host, visit.name)
    except (Corrupted, BehindWitness) as why:
        return await visit.show("problem", 409, title="Refused", detail=f"This does not fit: {why}")
    notice = (
        f"Everything fits: {found.entries} entries, the newest with hash {found.head[:16]}, as the witness has it; "
        f"{found.releases} releases recomputed; {found.people} people charged, of whom none more than {found.worst}."
    )
    return await visit.show("ledger", view=await visit.view(), notice=notice)


def submit_state(verb: str, roles: tuple[str, ...]) -> Handler:
    """A form that moves a study to another state."""
    return submit_change(verb, roles, lambda visit: ())


async def submit_start(visit: Visit) -> Response:
    """The form that starts the protocol which it has shown, by its hash."""
    start = submit_change("start", (OWNER,), lambda visit: (False, visit.values.get("looked_at", "")))
    return await start(visit)


def submit_arms(what: str, roles: tuple[str, ...]) -> Handler:
    """A form that changes the arms of a study."""

    def change(visit: Visit) -> tuple[Any, ...]:
        name = visit.request.path_params.get("arm", visit.values.get("name", "").strip())
        return what, name, read_form_payload(visit.values.get("payload", ""))

    return submit_change("change_arms", roles, change)


def submit_change(verb: str, roles: tuple[str, ...], given: Callable[[Visit], tuple[Any, ...]]) -> Handler:
    """A form that has something done with a study, wherever it is held, and leads back to its page."""

    async def answer(visit: Visit) -> Response:
        visit.allow(roles)
        check_visible(visit.key, visit.name)
        writer = await find_writer(visit.host, visit.name, RELAYED in visit.request.headers)
        await writer.submit(verb, *given(visit))
        return RedirectResponse(f"/studies/{visit.name}", 303)

    return answer

"""What owners and officers have computed on the page: plans, audits and verifications of studies.

What is computed when somebody asks, a plan and an audit, and a forecast in drafts.py, depends on no outcome. It is
computed in another process (cli/parts/own_process.py), one at a time, and other pages are answered meanwhile.
"""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from maskedbandit.errors import BehindWitness, Corrupted, MaskedBanditError
from maskedbandit.service.api.ledger import recompute_study
from maskedbandit.service.keys import STAFF
from maskedbandit.service.page.form import PLANNED_NUMBERS, read_form_number
from maskedbandit.service.page.visit import Visit
from maskedbandit.service.request.problems import describe_problem


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

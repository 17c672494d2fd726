"""Pages of what is computed when somebody asks: a study's plan under each trust model, and its audit.

Nothing of it depends on outcomes. It is computed in another process (cli/parts/computed.py), one at a time, and other
pages are answered meanwhile.
"""

from collections.abc import Mapping
from typing import Any

from starlette.responses import HTMLResponse, Response

from maskedbandit.errors import MaskedBanditError
from maskedbandit.service.keys import STAFF
from maskedbandit.service.page import render
from maskedbandit.service.page.form import EXAMPLE, as_number
from maskedbandit.service.page.visit import Visit
from maskedbandit.service.request.problems import problem
from maskedbandit.service.shown.describe import visible

PLANNED = ("baseline", "difference", "per_day")  # what a forecast and a plan are told of the application


async def plan_page(visit: Visit) -> Response:
    """The form that asks what a study would take under each trust model."""
    visit.allow(STAFF)
    visible(visit.who.key, visit.name)
    return await planned(visit, {name: EXAMPLE[name] for name in PLANNED})


async def plan_table(visit: Visit) -> Response:
    """What it would take."""
    visit.allow(STAFF)
    visible(visit.who.key, visit.name)
    return await planned(visit, visit.values, compute=True)


async def planned(visit: Visit, values: Mapping[str, str], compute: bool = False) -> Response:
    """The page of a plan; other pages are answered while it is computed."""
    view, found, status, problem_text = await visit.view(), ((), (), ""), 200, ""
    if compute and visit.host.trust_plan is not None:
        try:
            numbers = [as_number(name, values.get(name, "")) for name in PLANNED]
            async with visit.host.forecasting:
                found = await visit.host.trust_plan(view.protocol, *numbers)
        except MaskedBanditError as why:
            status, problem_text = problem(why).status, str(why)
    return HTMLResponse(render.render_trust_plan(view, values, problem_text, found, visit.who, visit.csrf), status)


async def audit_page(visit: Visit) -> Response:
    """What an audit shows; other pages are answered while it is computed."""
    visit.allow(STAFF)
    visible(visit.who.key, visit.name)
    view, found, status, problem_text = await visit.view(), list[dict[str, Any]](), 200, ""
    if visit.host.own_audit is not None:
        try:
            async with visit.host.forecasting:
                found = await visit.host.own_audit(view.protocol)
        except MaskedBanditError as why:
            status, problem_text = problem(why).status, str(why)
    return HTMLResponse(render.render_audit(view, found, problem_text, visit.who, visit.csrf), status)

"""People: they are assigned, see their arm, and their outcomes are reported."""

import asyncio
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

from maskedbandit.errors import MaskedBanditError, Unauthorized
from maskedbandit.service.host.held import Held
from maskedbandit.service.keys import CLIENT
from maskedbandit.service.messages import (
    Assign,
    AssignBatch,
    Assigned,
    Budget,
    Expose,
    ExposeBatch,
    Exposed,
    Item,
    Items,
    Report,
    ReportBatch,
    Reported,
)
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.problems import problem
from maskedbandit.service.request.route import Call, Route, asked_of
from maskedbandit.store.operation import About
from maskedbandit.study.signatures import is_signed


async def ask(call: Call, verb: str, study: str, body: Any) -> Any:
    """What comes of a request about a person."""
    held = call.host.held.get(study)
    if not isinstance(held, Held):
        held = await asked_of(call.host, study, call.relayed)
    if verb == "assign":
        call.host.people.take(body.unit)
    if not isinstance(held, Held):
        return await held.ask(verb, body, call.bearer)
    if verb == "assign" and (key := held.study.protocol.signed_by) and not is_signed(key, study, body.unit, body.token):
        raise Unauthorized("this study asks for units that the application has signed: the token does not hold")
    return await held.ask(verb, body)


def assign(call: Call, body: Assign) -> Awaitable[Assigned]:
    """Give a person an arm. The same person always gets the same one, and is charged once."""
    return ask(call, "assign", call.study, body)


def expose(call: Call, body: Expose) -> Awaitable[Exposed]:
    """Say that the person saw the arm: from now on the outcome counts."""
    return ask(call, "expose", call.study, body)


def report(call: Call, body: Report) -> Awaitable[Reported]:
    """Report the person's outcome. The first report counts; whether there was one is told by its proof alone."""
    return ask(call, "report", call.study, body)


async def together(call: Call, verb: str, requests: Sequence[Any]) -> Items[Any]:
    """What comes of each, one refused or not whatever the others are; all are in hardly more than one transaction."""
    call.count(len(requests))

    async def one(request: Any) -> Item[Any]:
        try:
            return Item(200, answer=await ask(call, verb, call.study, request))
        except MaskedBanditError as why:
            said = problem(why)
            return Item(said.status, problem=said)

    await call.host.hold(call.study)  # is there such a study?
    return Items(list(await asyncio.gather(*[one(each) for each in requests])))


async def assign_batch(call: Call, body: AssignBatch) -> Items[Assigned]:
    """Give several people their arms."""
    return await together(call, "assign", body.requests)


async def expose_batch(call: Call, body: ExposeBatch) -> Items[Exposed]:
    """Say of several people that they saw their arms."""
    return await together(call, "expose", body.requests)


async def report_batch(call: Call, body: ReportBatch) -> Items[Reported]:
    """Report the outcomes of several people."""
    return await together(call, "report", body.requests)


async def budget(call: Call, body: Expose) -> Budget:
    """What the person who has this ticket has spent in this period, in all studies of the project, and may spend."""
    held = await call.held()
    spent = await held.do(partial(held.study.op_spent, body.ticket), About(ticket=body.ticket))
    return Budget(str(spent), str(held.study.protocol.budget), held.study.protocol.period)


PATH = "/v1/studies/{study}"
ROUTES = [
    Route("POST", f"{PATH}/assign", (CLIENT,), assign, Assign, Assigned, refusals=(404, 409)),
    Route("POST", f"{PATH}/expose", (CLIENT,), expose, Expose, Exposed, refusals=(404, 410)),
    Route("POST", f"{PATH}/report", (CLIENT,), report, Report, Reported, refusals=(404, 409, 410)),
    Route("POST", f"{PATH}/assign/batch", (CLIENT,), assign_batch, AssignBatch, Items[Assigned], 200, BATCH, (404,)),
    Route("POST", f"{PATH}/expose/batch", (CLIENT,), expose_batch, ExposeBatch, Items[Exposed], 200, BATCH, (404,)),
    Route("POST", f"{PATH}/report/batch", (CLIENT,), report_batch, ReportBatch, Items[Reported], 200, BATCH, (404,)),
    Route("POST", f"{PATH}/budget", (CLIENT,), budget, Expose, Budget, refusals=(404,)),
]

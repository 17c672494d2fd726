"""People: they are assigned, see their arm, and their outcomes are reported."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from maskedbandit.errors import MaskedBanditError, Unauthorized
from maskedbandit.service.host import Held
from maskedbandit.service.keys import CLIENT
from maskedbandit.service.limits import BATCH
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
from maskedbandit.service.problems import problem
from maskedbandit.service.route import Call, Route
from maskedbandit.store.study import Study
from maskedbandit.study.signatures import is_signed

STATUSES = "accepted", "duplicate"


def given(study: Study, unit: str) -> Assigned:
    """Within a transaction: what the person gets."""
    found = study.op_assign(unit)
    name, payload = study.protocol.arms[found.arm]
    offer = study.op_offer(found.ticket).to_text() if found.ticket and study.protocol.on_devices else None
    return Assigned(study.name, name, payload, found.ticket, str(found.propensity), found.again, offer)


def enrol(call: Call, held: Held, body: Assign) -> Any:
    """What comes of a person."""
    key = held.study.protocol.signed_by
    if key and not is_signed(key, held.study.name, body.unit, body.token):
        raise Unauthorized("this study asks for units that the application has signed: the token does not hold")
    call.host.people.take(body.unit)
    return held.do(partial(given, held.study, body.unit), unit=body.unit)


async def assign(call: Call, body: Assign) -> Assigned:
    """Give a person an arm. The same person always gets the same one, and is charged once."""
    found: Assigned = await enrol(call, await call.host.hold(call.study), body)
    return found


async def expose(call: Call, body: Expose) -> Exposed:
    """Say that the person saw the arm: from now on the outcome counts."""
    held = await call.host.hold(call.study)
    await held.do(partial(held.study.op_expose, body.ticket), ticket=body.ticket)
    return Exposed()


async def report(call: Call, body: Report) -> Reported:
    """Report the person's outcome. A retry has no effect; another value is a conflict."""
    held = await call.host.hold(call.study)
    return await reported(held, body)


async def reported(held: Held, body: Report) -> Reported:
    """A report, once."""
    done = partial(held.study.op_report, body.ticket, body.value, body.event)
    found = await held.do(done, ticket=body.ticket)
    return Reported(STATUSES[found.again])


async def together(requests: Sequence[Any], do: Callable[[Any], Awaitable[Any]]) -> Items[Any]:
    """What comes of each, one refused or not whatever the others are; all are in hardly more than one transaction."""

    async def one(request: Any) -> Item[Any]:
        try:
            return Item(200, answer=await do(request))
        except MaskedBanditError as why:
            said = problem(why)
            return Item(said.status, problem=said)

    return Items(list(await asyncio.gather(*[one(each) for each in requests])))


async def assign_batch(call: Call, body: AssignBatch) -> Items[Assigned]:
    """Give several people their arms."""
    held = await call.host.hold(call.study)
    call.count(len(body.requests))

    async def one(request: Assign) -> Any:
        return await enrol(call, held, request)

    return await together(body.requests, one)


async def expose_batch(call: Call, body: ExposeBatch) -> Items[Exposed]:
    """Say of several people that they saw their arms."""
    held = await call.host.hold(call.study)
    call.count(len(body.requests))

    async def one(request: Expose) -> Exposed:
        await held.do(partial(held.study.op_expose, request.ticket), ticket=request.ticket)
        return Exposed()

    return await together(body.requests, one)


async def report_batch(call: Call, body: ReportBatch) -> Items[Reported]:
    """Report the outcomes of several people."""
    held = await call.host.hold(call.study)
    call.count(len(body.requests))
    return await together(body.requests, partial(reported, held))


async def budget(call: Call, body: Expose) -> Budget:
    """What the person who has this ticket has spent in this period, in all studies of the project, and may spend."""
    held = await call.host.hold(call.study)
    spent = await held.do(partial(held.study.op_spent, body.ticket), ticket=body.ticket)
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

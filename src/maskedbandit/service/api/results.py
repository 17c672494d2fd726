"""What a study has found so far, and what it promises: from what was released alone."""

from __future__ import annotations

from functools import partial

import msgspec

from maskedbandit.errors import BehindWitness, Corrupted
from maskedbandit.service.api.ledger import misfit
from maskedbandit.service.keys import STAFF
from maskedbandit.service.messages import ArmResult, GuardrailResult, Results
from maskedbandit.service.route import Answer, Call, Route
from maskedbandit.service.statement import recomputed_statement
from maskedbandit.service.view import View, view
from maskedbandit.statement.content import Statement


async def seen(call: Call) -> View:
    """All that may be shown of the study."""
    return await call.host.read(partial(view, witness=call.host.witness, name=call.study, now=call.host.clock()))


async def results(call: Call) -> Results:
    """The estimate of each arm, with half the widths of its two bands: of people, and of people and privacy noise."""
    found = await seen(call)
    units, width = found.protocol.reward.in_units, found.protocol.reward.most - found.protocol.reward.least
    arms = [
        ArmResult(
            arm=arm.name,
            stands=arm.stands,
            n=arm.estimate.n if arm.estimate else 0,
            mean=units(arm.estimate.mean) if arm.estimate else None,
            people=arm.estimate.people * width if arm.estimate else None,
            people_and_noise=arm.estimate.both * width if arm.estimate else None,
            chance_of_being_best=arm.chance,
            guardrail=GuardrailResult(**msgspec.structs.asdict(arm.guarded)) if arm.guarded else None,
        )
        for arm in found.arms
    ]
    answer = None if found.answer is None else found.arms[found.answer].name
    return Results(found.name, found.simulated, found.state, answer, str(found.loss), arms)


async def stated(call: Call) -> Statement | Answer:
    """The privacy statement, after all that is stored of the study was recomputed; what does not fit is an error."""
    try:
        return await recomputed_statement(call.host, call.study)
    except (Corrupted, BehindWitness) as why:  # staff may know what does not fit
        return misfit(why)


PATH = "/v1/studies/{study}"
ROUTES = [
    Route("GET", f"{PATH}/results", STAFF, results, answer=Results, refusals=(404,)),
    Route("GET", f"{PATH}/statement", STAFF, stated, answer=Statement, refusals=(404, 409)),
]

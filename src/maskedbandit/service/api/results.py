"""What a study has found so far, and what it promises: from what was released alone."""

from functools import partial

from maskedbandit.errors import BehindWitness, Corrupted
from maskedbandit.policies.parts.selection import Selection
from maskedbandit.service.api.ledger import answer_misfit
from maskedbandit.service.keys import STAFF
from maskedbandit.service.request.route import Answer, Call, Route
from maskedbandit.service.views.answers import ArmResult, Compared, Results
from maskedbandit.service.views.estimates import ArmDifference
from maskedbandit.service.views.view import StudyView
from maskedbandit.statement.check import make_statement
from maskedbandit.statement.content import Statement


async def list_results(call: Call) -> Results:
    """The estimate of each arm, with its interval, and what that would be without privacy noise."""
    found = await call.host.view(call.study)
    units, arms = found.protocol.reward.in_units, list[ArmResult]()
    for arm in found.arms:
        best, beaten = arm.confidence or (None, None)
        if arm.estimate is None:
            nothing = ArmResult(
                arm.name, arm.stands, 0, None, None, None, None, None, best, beaten, guardrail=arm.guarded
            )
            arms.append(nothing)
            continue
        low, high, *inner = (units(end) for end in (*arm.estimate.outer, *arm.estimate.inner))
        arms.append(
            ArmResult(
                arm=arm.name,
                stands=arm.stands,
                n=arm.estimate.n,
                mean=units(arm.estimate.mean),
                low=low,
                high=high,
                low_without_noise=inner[0],
                high_without_noise=inner[1],
                surely_best=best,
                surely_beaten=beaten,
                compared=None if arm.more is None else in_units(found, arm.more),
                guardrail=arm.guarded,
                metrics=arm.metrics,
            )
        )
    names = None if found.named is None else [found.arms[arm].name for arm in found.named]
    several = isinstance(found.protocol.policy, Selection)
    answer, selected = names[0] if names and not several else None, names if several else None
    gain = None if found.gain is None else in_units(found, found.gain)
    return Results(found.name, found.simulated, found.state, answer, selected, str(found.loss), arms, gain)


def in_units(found: StudyView, more: ArmDifference) -> Compared:
    """A difference from the arm that others are compared with, in units of the outcome."""
    width = found.protocol.reward.width
    return Compared(found.base.name, *(width * each for each in (more.mean, *more.interval)))


async def state_privacy(call: Call) -> Statement | Answer:
    """The privacy statement, after all that is stored of the study was recomputed; what does not fit is an error."""
    try:
        return await call.host.recompute(partial(make_statement, witness=call.host.witness, study=call.study))
    except (Corrupted, BehindWitness) as why:  # staff may know what does not fit
        return answer_misfit(why)


PATH = "/v1/studies/{study}"
ROUTES = [
    Route("GET", f"{PATH}/results", STAFF, list_results, answer=Results, refusals=(404,)),
    Route("GET", f"{PATH}/statement", STAFF, state_privacy, answer=Statement, refusals=(404, 409)),
]

"""The arms of a study that runs: paused, resumed and added. What follows from that is in store/book/standing.py."""

from functools import partial
from typing import Any

from maskedbandit.service.keys import OWNER, STAFF
from maskedbandit.service.messages import Body, Name, StudyState
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.shown.describe import described


class NewArm(Body):
    """An arm to be added to a study that runs."""

    name: Name
    payload: Any = None


async def changed(call: Call, what: str, name: str, payload: Any = None) -> StudyState:
    """The study after a change of its arms."""
    await call.do("change_arms", what, name, payload)
    return await call.host.read(partial(described, witness=call.host.witness, name=call.study))


async def pause(call: Call) -> StudyState:
    """Give nobody this arm from now on; people who have it keep it."""
    return await changed(call, "pause", call.path["arm"])


async def resume(call: Call) -> StudyState:
    """Give people this arm again."""
    return await changed(call, "resume", call.path["arm"])


async def add(call: Call, body: NewArm) -> StudyState:
    """Add an arm. Its name was never that of another arm of the study, and never will be."""
    return await changed(call, "add", body.name, body.payload)


PATH = "/v1/studies/{study}/arms"
ROUTES = [
    Route("POST", PATH, (OWNER,), add, NewArm, StudyState, refusals=(404, 409)),
    Route("POST", f"{PATH}/{{arm}}/pause", STAFF, pause, answer=StudyState, refusals=(404, 409, 422)),
    Route("POST", f"{PATH}/{{arm}}/resume", (OWNER,), resume, answer=StudyState, refusals=(404, 409, 422)),
]

"""The arms of a study that runs: paused, resumed and added. What follows from that is in store/book/standing.py."""

from functools import partial
from typing import Any

from maskedbandit.service.api.studies import show_study
from maskedbandit.service.keys import OWNER, STAFF
from maskedbandit.service.messages import Body, ShortName
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.study_messages import StudyState


class NewArm(Body):
    """An arm to be added to a study that runs."""

    name: ShortName
    payload: Any = None


async def change_arm(call: Call, what: str) -> StudyState:
    """Pause or resume an arm."""
    await call.change("change_arms", what, call.path["arm"])
    return await show_study(call)


async def add_arm(call: Call, body: NewArm) -> StudyState:
    """Add an arm. Its name was never that of another arm of the study, and never will be."""
    await call.change("change_arms", "add", body.name, body.payload)
    return await show_study(call)


PATH = "/v1/studies/{study}/arms"
ROUTES = [
    Route("POST", PATH, (OWNER,), add_arm, NewArm, StudyState, refusals=(404, 409)),
    Route(
        *("POST", f"{PATH}/{{arm}}/pause", STAFF, partial(change_arm, what="pause"), None, StudyState),
        refusals=(404, 409, 422),
        about="Give nobody this arm from now on; people who have it keep it.",
    ),
    Route(
        *("POST", f"{PATH}/{{arm}}/resume", (OWNER,), partial(change_arm, what="resume"), None, StudyState),
        refusals=(404, 409, 422),
        about="Give people this arm again.",
    ),
]

"""The forms that change the arms of a study."""

from starlette.responses import RedirectResponse, Response

from maskedbandit.service.host.elsewhere import RELAYED
from maskedbandit.service.page.form import arm_payload
from maskedbandit.service.page.visit import Handler, Visit
from maskedbandit.service.request.route import find_writer
from maskedbandit.service.shown.describe import visible


def changed(what: str, roles: tuple[str, ...]) -> Handler:
    """A form that changes the arms of a study."""

    async def change(visit: Visit) -> Response:
        visit.allow(roles)
        visible(visit.who.key, visit.name)
        writer = await find_writer(visit.host, visit.name, RELAYED in visit.request.headers)
        name = visit.request.path_params.get("arm", visit.values.get("name", "").strip())
        given = arm_payload(visit.values.get("payload", ""))
        await writer.submit("change_arms", what, name, given)
        return RedirectResponse(f"/studies/{visit.name}", 303)

    return change

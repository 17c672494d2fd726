"""People: they are assigned, see their arm, and their outcomes are reported."""

from typing import Any

from maskedbandit.errors import FencedOff
from maskedbandit.service.device_places import describe_device_place
from maskedbandit.service.host.elsewhere import Elsewhere
from maskedbandit.service.keys import CLIENT, DEVICE
from maskedbandit.service.messages import (
    Assign,
    AssignBatch,
    Assigned,
    Budget,
    Expose,
    ExposeBatch,
    Exposed,
    Items,
    Report,
    ReportBatch,
    Reported,
)
from maskedbandit.service.request.batches import answer_each
from maskedbandit.service.request.holders import HeldElsewhere, find_holder, find_writer, find_writer_after
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.route import Call, Route
from maskedbandit.study.signatures import check_token


async def answer_person(call: Call, body: Assign | Expose | Report) -> Any:
    """What comes of a request about a person."""
    if call.by_device and not isinstance(body, Assign):
        call.count_ticket(body.ticket)
    holder = await find_holder(call.host, call.study, call.relayed)
    if isinstance(body, Assign) and not call.by_device:
        call.host.people.take(body.unit)
    if isinstance(holder, Elsewhere):
        if call.by_device:
            raise HeldElsewhere(holder)  # the request as it is: no device may send batches
        try:
            return await holder.ask(body, call.bearer)
        except FencedOff:
            holder = await find_writer_after(call.host, holder)
    if isinstance(body, Report):
        done = await holder.submit("report", body.ticket, body.value, body.event, body.metric, body.proof)
        return Reported("duplicate" if done.again else "accepted")
    if isinstance(body, Expose):
        await holder.submit("expose", body.ticket)
        return Exposed()
    study: Any = holder.study
    protocol = study.protocol
    if protocol.signed_by or call.by_device:
        check_token(protocol.signed_by, call.study, body.unit, body.token, call.host.clock())
    if call.by_device:  # now that it is certain who comes, as everybody may name everybody
        call.host.people.take(body.unit)
    given = await holder.submit("assign", body.unit, body.evaluated, body.attributes)
    name, payload = study.protocol.arms[given.arm]  # as it is now: arms are added meanwhile
    found = Assigned(call.study, name, payload, given.ticket, str(given.propensity), given.again)
    found.exposed, found.why = given.exposed, given.why
    if given.offers:
        found.device = describe_device_place(study, name, given)
        found.offer = found.device.offer if protocol.on_devices else None
    return found


async def answer_people(call: Call, body: AssignBatch | ExposeBatch | ReportBatch) -> Items[Any]:
    """What comes of each, one refused or not whatever the others are; all are in hardly more than one transaction."""
    return await answer_each(call, body.requests, answer_person)


async def show_budget(call: Call, body: Expose) -> Budget:
    """What the person who has this ticket has spent in this period, in all studies of the project, and may spend."""
    if call.by_device:
        call.count_ticket(body.ticket)
    writer = await find_writer(call.host, call.study, call.relayed)
    spent, protocol = await writer.submit("spent", body.ticket), writer.study.protocol
    return Budget(str(spent), str(protocol.budget), protocol.period)


APPLICATIONS = (CLIENT, DEVICE)
PATH = "/v1/studies/{study}"
ROUTES = [
    Route(
        *("POST", f"{PATH}/assign", APPLICATIONS, answer_person, Assign, Assigned),
        refusals=(404, 409),
        from_pages=True,
        about="Give a person an arm. The same person always gets the same one, and is charged once.",
    ),
    Route(
        *("POST", f"{PATH}/expose", APPLICATIONS, answer_person, Expose, Exposed),
        refusals=(404, 410),
        from_pages=True,
        about="Say that the person saw the arm: from now on the outcome counts.",
    ),
    Route(
        *("POST", f"{PATH}/report", APPLICATIONS, answer_person, Report, Reported),
        refusals=(404, 409, 410),
        from_pages=True,
        about="Report the person's outcome. The first report counts; only its proof tells whether there was one.",
    ),
    Route(
        *("POST", f"{PATH}/assign/batch", (CLIENT,), answer_people, AssignBatch, Items[Assigned], 200, BATCH, (404,)),
        about="Give several people their arms.",
    ),
    Route(
        *("POST", f"{PATH}/expose/batch", (CLIENT,), answer_people, ExposeBatch, Items[Exposed], 200, BATCH, (404,)),
        about="Say of several people that they saw their arms.",
    ),
    Route(
        *("POST", f"{PATH}/report/batch", (CLIENT,), answer_people, ReportBatch, Items[Reported], 200, BATCH, (404,)),
        about="Report the outcomes of several people.",
    ),
    Route("POST", f"{PATH}/budget", APPLICATIONS, show_budget, Expose, Budget, refusals=(404,), from_pages=True),
]

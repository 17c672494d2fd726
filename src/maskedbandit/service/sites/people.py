"""People of a site: the coordinator gives them places, and their outcomes stay here.

The application asks the site as it would ask a service. The coordinator is told by what name the site knows a person in
this study alone, and whether the person saw the arm.
"""

import json
from typing import Any

from msgspec import ValidationError, convert, to_builtins
from msgspec.structs import replace

from maskedbandit.service.host.elsewhere import Said
from maskedbandit.service.host.partner_calls import PartnerAway, PartnerRefuses
from maskedbandit.service.host.site import SiteHost
from maskedbandit.service.keys import CLIENT, OFFICER
from maskedbandit.service.messages import (
    Assign,
    AssignBatch,
    Assigned,
    Erase,
    Erased,
    Expose,
    ExposeBatch,
    Exposed,
    Items,
    Report,
    ReportBatch,
    Reported,
)
from maskedbandit.service.request.batches import answer_each
from maskedbandit.service.request.holders import find_writer
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.problems import make_problem
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.site_messages import PlaceOfSite
from maskedbandit.store.sites.people import SitePlace, name_for_coordinator
from maskedbandit.store.writer import Writer
from maskedbandit.study.signatures import check_token


def find_site_host(call: Call) -> SiteHost:
    """The host of a site."""
    host: Any = call.host
    assert isinstance(host, SiteHost)
    return host


async def answer_person_of_site(call: Call, body: Assign | Expose | Report) -> Any:
    """What comes of a request about a person of this site."""
    writer = await find_writer(call.host, call.study, call.relayed)
    if isinstance(body, Report):
        done = await writer.submit("report", body.ticket, body.value, body.event, body.metric, body.proof)
        return Reported("duplicate" if done.again else "accepted")
    if isinstance(body, Expose):
        try:
            await find_site_host(call).ask_coordinator("POST", f"{call.study}/site/expose", {"ticket": body.ticket})
        except (PartnerAway, PartnerRefuses) as why:
            raise pass_on(why) from None
        await writer.submit("expose", body.ticket)
        return Exposed()
    return await assign_person(call, writer, body)


def pass_on(why: PartnerAway | PartnerRefuses) -> Said:
    """What the coordinator does not do, as this site says it to the application."""
    if isinstance(why, PartnerAway):
        away = "the coordinator of the study does not answer: send it again"
        return Said(make_problem(503, "coordinator_away", away))
    return Said(make_problem(why.status, why.said, "the coordinator of the study refuses this"))


async def assign_person(call: Call, writer: Writer, body: Assign) -> Assigned:
    """The arm of a person: the one that she has for ever if she is in a sum, or else that which the coordinator gives.

    While the coordinator is away whoever is known here has the arm that was given before. An arm of which no outcome
    can count here has no ticket.
    """
    host, signers = find_site_host(call), writer.study.protocol.signed_by
    if signers:
        check_token(signers, call.study, body.unit, body.token, host.clock())
    person = name_for_coordinator(host.witness, writer.study.protocol.project, body.unit)
    if (known := await writer.submit("place", person, True)) is not None:
        return repeat_answer(known)
    asked = {"person": person, "evaluated": body.evaluated, "attributes": body.attributes}
    try:
        given = await host.ask_coordinator("POST", f"{call.study}/site/assign", asked)
    except PartnerRefuses as why:
        raise pass_on(why) from None
    except PartnerAway as away:
        if (known := await writer.submit("place", person)) is None:
            raise pass_on(away) from None
        return repeat_answer(known)
    found = read_place(given)
    if found.assigned.ticket is not None:
        noted = await writer.submit("note_place", person, found.cohort, to_builtins(found.assigned))
        if noted is None:
            return replace(found.assigned, ticket=None)
        if found.assigned.exposed:
            await writer.submit("expose", found.assigned.ticket)
    return found.assigned


def repeat_answer(known: SitePlace) -> Assigned:
    """What a person was told, who is told it again."""
    return Assigned(**{**json.loads(known.answer), "again": True, "exposed": known.exposed is not None})


def read_place(given: Any) -> PlaceOfSite:
    """What the coordinator gives a person; what cannot be read is no answer."""
    try:
        found = convert(given, PlaceOfSite)
        if found.assigned.ticket is None or (found.cohort is not None and found.assigned.ticket.isalnum()):
            return found
    except ValidationError:
        pass
    raise Said(make_problem(503, "coordinator_away", "the coordinator of the study says what cannot be read"))


async def erase_at_site(call: Call, body: Erase) -> Erased:
    """Erase a person's data at this site, and have the coordinator erase what it keeps of the person."""
    writer = await find_writer(call.host, call.study, call.relayed)
    return Erased(await erase_person(find_site_host(call), writer, body.unit))


async def erase_person(host: SiteHost, writer: Writer, unit: str) -> int:
    """Of how many places the person's data was erased, once the coordinator has erased what it keeps."""
    person = name_for_coordinator(host.witness, writer.study.protocol.project, unit)
    try:
        await host.ask_coordinator("POST", f"{writer.study.name}/site/erase", {"person": person})
    except (PartnerAway, PartnerRefuses) as why:
        raise pass_on(why) from None
    erased: int = await writer.submit("erase", person)
    return erased


async def answer_people_of_site(call: Call, body: AssignBatch | ExposeBatch | ReportBatch) -> Items[Any]:
    """What comes of each, one refused or not whatever the others are."""
    return await answer_each(call, body.requests, answer_person_of_site)


PATH = "/v1/studies/{study}"
ROUTES = [
    Route(
        *("POST", f"{PATH}/assign", (CLIENT,), answer_person_of_site, Assign, Assigned),
        refusals=(404, 409, 503),
        about="Give a person an arm. The same person always gets the same one.",
    ),
    Route(
        *("POST", f"{PATH}/expose", (CLIENT,), answer_person_of_site, Expose, Exposed),
        refusals=(404, 410, 503),
        about="Say that the person saw the arm: from now on the outcome counts.",
    ),
    Route(
        *("POST", f"{PATH}/report", (CLIENT,), answer_person_of_site, Report, Reported),
        refusals=(404, 409, 410),
        about="Report the person's outcome, which stays at this site. The first report counts.",
    ),
    Route("POST", f"{PATH}/erase", (OFFICER,), erase_at_site, Erase, Erased, refusals=(404, 503)),
    Route(
        *("POST", f"{PATH}/assign/batch", (CLIENT,), answer_people_of_site, AssignBatch, Items[Assigned], 200),
        limit=BATCH,
        refusals=(404,),
        about="Give several people their arms.",
    ),
    Route(
        *("POST", f"{PATH}/expose/batch", (CLIENT,), answer_people_of_site, ExposeBatch, Items[Exposed], 200),
        limit=BATCH,
        refusals=(404,),
        about="Say of several people that they saw their arms.",
    ),
    Route(
        *("POST", f"{PATH}/report/batch", (CLIENT,), answer_people_of_site, ReportBatch, Items[Reported], 200),
        limit=BATCH,
        refusals=(404,),
        about="Report the outcomes of several people, which stay at this site.",
    ),
]

"""Sites of studies: each joins once, gives its people places, and takes part in rounds; no outcome comes with it."""

from base64 import urlsafe_b64encode
from typing import Any

from maskedbandit.errors import Forbidden
from maskedbandit.secagg.kept_round import RoundAnswer, RoundDue
from maskedbandit.service.api.studies import show_study
from maskedbandit.service.helping.messages import Pair, Paired
from maskedbandit.service.keys import STAFF
from maskedbandit.service.messages import Assigned, Erased, Exposed
from maskedbandit.service.paired_keys import SITE_ROLE
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.holders import find_writer
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.pairing import pair_partner
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.site_messages import (
    AnswerRounds,
    AssignAtSite,
    ChangeSites,
    EraseAtSite,
    ExposeAtSite,
    ListOfSites,
    PlaceOfSite,
    RoundOfSite,
    RoundsDue,
    StudyOfSite,
)
from maskedbandit.service.study_messages import StudyState
from maskedbandit.store.writer import Writer
from maskedbandit.study.site_stages import SiteStage, Stages, find_numbers


async def pair_site(call: Call, body: Pair) -> Paired:
    """A site pairs with this coordinator by an invitation, which is spent, and gets a credential, shown once."""
    await call.count_device()
    return await pair_partner(call.host, body, SITE_ROLE, "coordinator")


async def find_site(call: Call) -> tuple[Writer, int]:
    """The writer of the study that the path names, and the number of the site that asks, or raise `Forbidden`."""
    writer = await find_writer(call.host, call.study, call.relayed)
    study: Any = writer.study
    stages, sites = study.site_lists.stages, study.protocol.sites
    numbers = find_numbers(stages) if stages or sites is None else {each.key: each.number for each in sites.sites}
    number = None if call.key is None else numbers.get(call.key.key)
    if number is None:
        raise Forbidden("this site has no part in this study")
    return writer, number


async def show_study_of_site(call: Call) -> StudyOfSite:
    """The protocol of a study of sites, and, once it is started, the keys of all sites and later lists of them."""
    study: Any = (await find_site(call))[0].study
    stages: Stages = study.site_lists.stages
    keys = [[each.seals.hex(), each.signs.hex()] for stage in stages[:1] for each in stage.keys.values()]
    later = [ListOfSites(stage.first, [each.to_text() for each in stage.listed]) for stage in stages[1:]]
    return StudyOfSite(study.name, study.state, study.protocol.text, keys, later)


async def change_sites(call: Call, body: ChangeSites) -> StudyState:
    """Have another list of sites: some join, leave, or have other shares. Each site has to agree to it."""
    await call.change("change_sites", {"list": body.list})
    return await show_study(call)


async def assign_at_site(call: Call, body: AssignAtSite) -> PlaceOfSite:
    """Give a person of the site an arm. The same person always gets the same one, and is charged once."""
    writer, site = await find_site(call)
    given = await writer.submit("assign", body.person, body.evaluated, body.attributes, site)
    name, payload = writer.study.protocol.arms[given.arm]
    found = Assigned(call.study, name, payload, given.ticket, str(given.propensity), given.again)
    found.exposed, found.why = given.exposed, given.why
    return PlaceOfSite(found, given.cohort)


async def expose_at_site(call: Call, body: ExposeAtSite) -> Exposed:
    """Say that a person of the site saw the arm: from now on the outcome counts."""
    writer, site = await find_site(call)
    await writer.submit("expose", body.ticket, site)
    return Exposed()


async def erase_for_site(call: Call, body: EraseAtSite) -> Erased:
    """Erase the data of a person of the site. What was released, and charged, stays."""
    writer, site = await find_site(call)
    return Erased(await writer.submit("erase", body.person, site))


async def go_round_of_site(call: Call, body: AnswerRounds) -> RoundsDue:
    """Take what the site answers in rounds, and say what is due from it now."""
    writer, site = await find_site(call)
    answers = [
        RoundAnswer(each.cohort, each.attempt, each.phase, decode_base64("message", each.message))
        for each in body.answers
    ]
    study: Any = writer.study
    due: list[RoundDue] = await writer.submit("rounds", site, answers, body.confirmed, body.signed)
    call.host.contacts[call.study, site] = call.host.clock()
    newest: SiteStage = study.site_lists.stages[-1]
    told = [describe_due(each) for each in due]
    return RoundsDue(study.state, told, newest.name, newest.first, site in newest.keys)


def describe_due(due: RoundDue) -> RoundOfSite:
    """What is due from a site, as it is told."""
    terms, message = due.terms, urlsafe_b64encode(due.message).decode()
    ring = terms.ring.hex()
    return RoundOfSite(
        terms.cohort, terms.attempt, terms.n, list(terms.weights), ring, due.phase, message, list(due.invited)
    )


PATH = "/v1/studies/{study}/site"
ROLES = (SITE_ROLE,)
ROUTES = [
    Route("POST", "/v1/sites/pair", (), pair_site, Pair, Paired, refusals=(401, 409, 429)),
    Route("PUT", f"{PATH}s", STAFF, change_sites, ChangeSites, StudyState, limit=BATCH, refusals=(404, 409, 422)),
    Route("GET", PATH, ROLES, show_study_of_site, answer=StudyOfSite, refusals=(404,)),
    Route("POST", f"{PATH}/assign", ROLES, assign_at_site, AssignAtSite, PlaceOfSite, refusals=(404, 409)),
    Route("POST", f"{PATH}/expose", ROLES, expose_at_site, ExposeAtSite, Exposed, refusals=(404, 410)),
    Route("POST", f"{PATH}/erase", ROLES, erase_for_site, EraseAtSite, Erased, refusals=(404,)),
    Route(
        *("POST", f"{PATH}/rounds", ROLES, go_round_of_site, AnswerRounds, RoundsDue, 200, BATCH, (404, 409)),
        about="Take what the site answers in rounds, and say what is due from it now.",
    ),
]

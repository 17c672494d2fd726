"""Sites of studies: each joins once, gives its people places, and takes part in rounds; no outcome comes with it."""

from base64 import urlsafe_b64encode
from typing import Any

from maskedbandit.errors import Forbidden
from maskedbandit.secagg.kept_round import RoundAnswer, RoundDue
from maskedbandit.service.helping.messages import Pair, Paired
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
    EraseAtSite,
    ExposeAtSite,
    PlaceOfSite,
    RoundOfSite,
    RoundsDue,
    StudyOfSite,
)
from maskedbandit.store.writer import Writer


async def pair_site(call: Call, body: Pair) -> Paired:
    """A site pairs with this coordinator by an invitation, which is spent, and gets a credential, shown once."""
    await call.count_device()
    return await pair_partner(call.host, body, SITE_ROLE, "coordinator")


async def find_site(call: Call) -> tuple[Writer, int]:
    """The writer of the study that the path names, and the number of the site that asks, or raise `Forbidden`."""
    writer = await find_writer(call.host, call.study, call.relayed)
    sites = writer.study.protocol.sites
    number = None if sites is None or call.key is None else sites.number_of(call.key.key)
    if number is None:
        raise Forbidden("this site has no part in this study")
    return writer, number


async def show_study_of_site(call: Call) -> StudyOfSite:
    """The protocol of a study of sites, and the public keys of all its sites, once it is started."""
    study: Any = (await find_site(call))[0].study
    keys = [[each.seals.hex(), each.signs.hex()] for each in study.site_keys]
    return StudyOfSite(study.name, study.state, study.protocol.text, keys)


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
    due: list[RoundDue] = await writer.submit("rounds", site, answers)
    call.host.contacts[call.study, site] = call.host.clock()
    return RoundsDue(study.state, [describe_due(each) for each in due])


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
    Route("GET", PATH, ROLES, show_study_of_site, answer=StudyOfSite, refusals=(404,)),
    Route("POST", f"{PATH}/assign", ROLES, assign_at_site, AssignAtSite, PlaceOfSite, refusals=(404, 409)),
    Route("POST", f"{PATH}/expose", ROLES, expose_at_site, ExposeAtSite, Exposed, refusals=(404, 410)),
    Route("POST", f"{PATH}/erase", ROLES, erase_for_site, EraseAtSite, Erased, refusals=(404,)),
    Route(
        *("POST", f"{PATH}/rounds", ROLES, go_round_of_site, AnswerRounds, RoundsDue, 200, BATCH, (404, 409)),
        about="Take what the site answers in rounds, and say what is due from it now.",
    ),
]

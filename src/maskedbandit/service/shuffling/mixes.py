"""The mix of a cohort, which the study's service asks for, and whether all that a shuffler stores fits."""

from base64 import urlsafe_b64encode
from functools import partial
from typing import Any

from msgspec import Struct

from maskedbandit.errors import BehindWitness, Corrupted, InvalidValue
from maskedbandit.service.api.ledger import answer_misfit, whole_number
from maskedbandit.service.helping.calls import find_help
from maskedbandit.service.helping.messages import Signature, Size
from maskedbandit.service.helping.studies import COHORT, LEAD, PATH, cohort_number
from maskedbandit.service.helping.totals import LONGEST_LIST
from maskedbandit.service.keys import STAFF
from maskedbandit.service.messages import Body
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.route import Answer, Call, Route
from maskedbandit.store.shuffling.verify import verify_shuffling


class AskMix(Body):
    """The messages of a cohort of n are asked for; the service signs for it."""

    n: Size
    people: str  # the names of those who have the places, one after the other
    signature: Signature


class MixStated(Struct):
    """What the shuffler states of a cohort, and signs; without messages too few came, or one twice."""

    study: str
    protocol: str
    cohort: int
    n: int
    reports: int
    messages: int
    digest: str
    offer: str
    entry: int
    signature: str


class MixPage(Struct):
    """Messages of a mix in their order, each of so many bytes, one after the other."""

    width: int
    messages: str


class ShufflingVerified(Struct):
    """What was found to fit."""

    study: str
    entries: int
    head: str
    mixes: int
    bundles: int  # that wait


async def ask_mix(call: Call, body: AskMix) -> Any:
    """The signed statement of what was mixed; asked again, it is the same."""
    await find_help(call)
    given = body.n, decode_base64("people", body.people), body.signature
    return (await call.do("mix_cohort", cohort_number(call), *given)).to_table()


async def show_mix(call: Call) -> MixPage:
    """Some of the messages of a cohort that was mixed, from number `start` on."""
    await find_help(call)
    if (start := whole_number("start", call.query.get("start", "0"))) < 0:
        raise InvalidValue("start", start, "a whole number of at least 0")
    found = await call.do("read_messages", cohort_number(call), start)
    return MixPage(len(found[0]) if found else 0, urlsafe_b64encode(b"".join(found)).decode())


async def verify_mixes(call: Call) -> ShufflingVerified | Answer:
    """Recompute all that is stored. Whatever does not fit is an error, and nothing is changed."""
    try:
        found = await call.host.recompute(partial(verify_shuffling, witness=call.host.witness, study=call.study))
    except (Corrupted, BehindWitness) as why:
        return answer_misfit(why)
    return ShufflingVerified(call.study, *found)


ROUTES = [
    Route("POST", f"{COHORT}/mix", LEAD, ask_mix, AskMix, MixStated, limit=LONGEST_LIST, refusals=(404, 409)),
    Route("GET", f"{COHORT}/mix", LEAD, show_mix, answer=MixPage, refusals=(404, 409, 422)),
    Route("POST", f"{PATH}/verify", STAFF, verify_mixes, answer=ShufflingVerified, refusals=(404, 409)),
]

"""The person's own side: what a study has of whoever brings a token, and leaving it. Nobody is given a place here.

It is for the page `/person` of this service, whose address brings a device key and the token behind its #.
"""

from functools import partial

from maskedbandit.service.keys import DEVICE
from maskedbandit.service.messages import Body, StudyLeft, Token, Unit
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.views.describe import protocol_of
from maskedbandit.service.views.person import PersonShown, read_person
from maskedbandit.study.signatures import check_token


class AskPerson(Body):
    """A person, with the token of the application's backend."""

    unit: Unit
    token: Token | None = None


async def show_person(call: Call, body: AskPerson) -> PersonShown:
    """What a study has of the person who has this token; nobody is enrolled."""
    await check_person(call, body)
    ask = partial(read_person, witness=call.host.witness, name=call.study, unit=body.unit, now=call.host.clock())
    return await call.host.read(ask)


async def leave_as_person(call: Call, body: AskPerson) -> StudyLeft:
    """Erase what is kept of the person who has this token. It may be asked again, and is answered the same."""
    await check_person(call, body)
    await call.do("erase", body.unit)
    return StudyLeft()


async def check_person(call: Call, body: AskPerson) -> None:
    """Raise unless the token holds; then count a request about the person."""
    protocol = await call.host.read(partial(protocol_of, name=call.study))
    check_token(protocol.signed_by, call.study, body.unit, body.token, call.host.clock())
    call.host.people.take(body.unit)


PATH = "/v1/studies/{study}/person"
ROUTES = [
    Route("POST", PATH, (DEVICE,), show_person, AskPerson, PersonShown, refusals=(404,)),
    Route("POST", f"{PATH}/leave", (DEVICE,), leave_as_person, AskPerson, StudyLeft, refusals=(404,)),
]

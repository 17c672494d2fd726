"""The OpenFeature remote evaluation protocol: a study is a flag, its arms are the variants, and the unit is the
targeting key. The ticket travels in the metadata.

Evaluating one flag gives the person an arm, and enrols. It also counts as exposure, unless the protocol of the study
says otherwise: an application that knows OFREP alone says nothing more, and a place that nobody sees is lost, with what
the person was charged for it. Evaluating all flags returns the arms that the person has already, and neither enrols nor
exposes: a web page evaluates every flag that there is.
"""

from typing import Any

import msgspec
from msgspec import Struct

from maskedbandit.channels.offers import to_lines
from maskedbandit.errors import InvalidValue, MaskedBanditError, Unauthorized, UnknownStudy
from maskedbandit.person_attributes import pick_attributes
from maskedbandit.service.api.people import answer_person
from maskedbandit.service.keys import CLIENT
from maskedbandit.service.messages import Assign, Assigned, Token, Unit
from maskedbandit.service.request.bodies import BadBody
from maskedbandit.service.request.problems import describe_problem
from maskedbandit.service.request.route import Answer, Call, Route, encode_answer, study_name
from maskedbandit.service.views.describe import protocol_of
from maskedbandit.store.accounts import find_places
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import read_entries
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.study_rows import read_studies
from maskedbandit.study.signatures import check_token

CODES = {422: "INVALID_CONTEXT", 404: "FLAG_NOT_FOUND"}


class Evaluate(Struct):
    """The context of an evaluation: `targetingKey` is the unit; texts, numbers and booleans are its attributes."""

    context: dict[str, Any] = {}


class Person(Struct):
    """What a context says of the person."""

    targetingKey: Unit
    token: Token | None = None


class Evaluation(Struct, omit_defaults=True):
    """A flag for a person: its value is the payload of the arm, or the arm's name if it has none."""

    key: str
    value: Any
    variant: str
    reason: str
    metadata: dict[str, str | bool]


class Fault(Struct):
    """Why a flag could not be evaluated."""

    key: str
    errorCode: str
    errorDetails: str


class Evaluations(Struct):
    """All flags that the person has."""

    flags: list[Evaluation]


def as_flag(found: Assigned) -> Evaluation:
    """An assignment as a flag."""
    metadata: dict[str, str | bool] = {"propensity": found.propensity, "again": found.again, "exposed": found.exposed}
    if found.ticket is not None:
        metadata["ticket"] = found.ticket
    if found.offer is not None:
        metadata["offer"] = found.offer
    if found.device is not None:
        metadata["device"] = encode_answer(found.device).decode()  # as text: metadata are flat
    if found.why is not None:
        metadata["why"] = found.why
    value = found.arm if found.payload is None else found.payload
    return Evaluation(found.study, value, found.arm, "SPLIT" if found.ticket else "DEFAULT", metadata)


def read_unit(body: Evaluate) -> Assign:
    """The person that a context is about."""
    unit = body.context.get("targetingKey")
    if not isinstance(unit, str) or not unit:
        raise NoTargetingKey
    try:  # as strictly as an assignment: one that is not valid would spoil the batch in which it is sent elsewhere
        person = msgspec.convert(body.context, Person)
    except msgspec.ValidationError as why:
        raise BadBody(why) from None
    return Assign(person.targetingKey, person.token, evaluated=True)


class NoTargetingKey(InvalidValue):
    """The context names no person."""

    def __init__(self) -> None:
        Exception.__init__(self, "the context must have a targetingKey, the name of a person")


def code_fault(why: MaskedBanditError) -> str:
    """What OFREP calls an error."""
    return (
        "TARGETING_KEY_MISSING"
        if isinstance(why, NoTargetingKey)
        else CODES.get(describe_problem(why).status, "GENERAL")
    )


async def evaluate_flag(call: Call, body: Evaluate) -> Evaluation | Answer:
    """Give a person an arm."""
    name = call.path["key"]
    try:
        study_name(name)
        if call.key and call.key.study not in (None, name):
            raise UnknownStudy(f"there is no study {name!r} for this key")
        call.path = {"study": name}
        person = read_unit(body)
        person.attributes = pick_attributes(body.context, "targetingKey", "token")
        return as_flag(await answer_person(call, person))
    except MaskedBanditError as why:
        said = describe_problem(why)
        if said.status >= 500 or said.status == 429:
            raise
        fault = Fault(name, code_fault(why), f"{said.code}: {said.detail}")
        return Answer(encode_answer(fault), status=404 if said.status == 404 else 400)


async def evaluate_flags(call: Call, body: Evaluate) -> Evaluations | Answer:
    """The arms that a person has in all studies; nobody is enrolled."""
    try:
        unit = read_unit(body)
    except InvalidValue as why:
        return Answer(encode_answer(Fault("", code_fault(why), str(why))), status=400)
    only = call.key.study if call.key else None

    now = call.host.clock()

    def question(database: Database) -> list[Assigned]:
        names = [each.name for each in read_studies(database) if each.state != "draft" and only in (None, each.name)]
        found = [find_flag(database, call.host.witness, name, unit, now) for name in names]
        return [each for each in found if each is not None]

    return Evaluations([as_flag(each) for each in await call.host.read(question)])


def find_flag(database: Database, witness: Witness, name: str, body: Assign, now: int) -> Assigned | None:
    """The place that a person has in a study, if the person's token holds in those that ask for one."""
    protocol = protocol_of(database, name)
    if protocol.signed_by:
        try:
            check_token(protocol.signed_by, name, body.unit, body.token, now)
        except Unauthorized:
            return None
    person = witness.pseudonyms(protocol.project).of(body.unit)
    columns = "arm, ticket, propensity, cohort, place, exposed, returned"
    rows = [row for *row, returned in find_places(database, name, person, columns) if returned is None]
    if not rows:
        return None
    ((number, ticket, propensity, cohort, place, exposed),) = rows
    book, offer = Book(name, protocol, read_entries(database, name, "arm_"), database), None
    arm, payload = book.protocol.arms[number]
    if protocol.on_devices:
        size = book.demand.deck.cohorts[cohort].size
        offer = to_lines(each.at(place) for each in protocol.offers(size))
    return Assigned(name, arm, payload, ticket, propensity, True, offer, exposed is not None)


ROUTES = [
    Route(
        "POST",
        "/ofrep/v1/evaluate/flags/{key}",
        (CLIENT,),
        evaluate_flag,
        Evaluate,
        Evaluation,
        refusals=(400, 404),
        fault=Fault,
    ),
    Route(
        "POST",
        "/ofrep/v1/evaluate/flags",
        (CLIENT,),
        evaluate_flags,
        Evaluate,
        Evaluations,
        refusals=(400,),
        fault=Fault,
    ),
]

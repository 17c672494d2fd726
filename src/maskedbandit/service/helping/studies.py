"""Studies that are helped, by a helper or a shuffler: how they begin and end, and how the help stands."""

from functools import partial
from typing import Any

from maskedbandit.errors import InvalidValue, UnknownStudy
from maskedbandit.service.api.ledger import read_ledger, whole_number
from maskedbandit.service.api.studies import check_classes
from maskedbandit.service.helping.calls import find_help, find_host
from maskedbandit.service.helping.messages import HelpState, HelpStudy, StudyHelped
from maskedbandit.service.keys import STAFF
from maskedbandit.service.paired_keys import LEADER_ROLE
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.route import Call, Route
from maskedbandit.service.views.answers import Ledger
from maskedbandit.store.book.entries import CohortHelped, read_entries
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.study import ServingStudy, read_table, register_study


def cohort_number(call: Call) -> int:
    """The cohort that the path names."""
    found = whole_number("cohort", call.path["cohort"])
    if found < 0:
        raise InvalidValue("cohort", call.path["cohort"], "a whole number of at most 15 digits")
    return found


async def begin_help(call: Call, body: HelpStudy) -> StudyHelped:
    """Write a study down that is to be helped; if it is, this changes nothing."""
    assert call.key is not None
    host, name = find_host(call), call.study

    def question(database: Database) -> None:
        check_classes(read_table(body.protocol))
        register_study(database, host.witness, body.protocol, leader, name, host.role == "shuffler")

    leader = call.key.key
    await host.read(question)
    await find_help(call)
    return StudyHelped(name, count_entries(call))


def count_entries(call: Call) -> int:
    """The entries of the ledger that the witness has seen."""
    seen = call.host.witness.seen(call.study)
    return seen.head.entries if seen else 0


async def end_help(call: Call) -> HelpState:
    """The study ended: no total is made any more, and the shares that are left are erased."""
    await find_help(call)
    await call.do("close_help")
    return await show_help(call)


async def show_help(call: Call) -> HelpState:
    """How the help of a study stands."""
    study = await find_help(call)
    return await call.host.read(partial(read_help, call=call, study=study))


def read_help(database: Database, call: Call, study: ServingStudy[Any]) -> HelpState:
    """How the help of a study stands, as far as its ledger was published."""
    seen, leader = call.host.witness.seen(study.name), study.leader
    if seen is None:
        raise UnknownStudy(f"the witness knows no study {study.name!r}")
    made = [each for each in read_entries(database, study.name) if isinstance(each, CohortHelped)]
    cohorts = [each.cohort for each in made if each.number < seen.head.entries]
    contact = find_host(call).contacts.get(leader)
    return HelpState(study.name, study.state, study.protocol.digest, leader, cohorts, *seen.head, contact)


async def list_help_entries(call: Call) -> Ledger:
    """The entries of the helper's ledger after entry number `after`, at most 10 000 of them."""
    await find_help(call)
    after = whole_number("after", call.query.get("after"))
    return await call.host.read(partial(read_ledger, witness=call.host.witness, name=call.study, after=after))


PATH = "/v1/helping/{study}"
COHORT = f"{PATH}/cohorts/{{cohort}}"
LEAD, READ = (LEADER_ROLE,), (LEADER_ROLE, *STAFF)
ROUTES = [
    Route("PUT", PATH, LEAD, begin_help, HelpStudy, StudyHelped, limit=BATCH, refusals=(409,)),
    Route("POST", f"{PATH}/end", LEAD, end_help, answer=HelpState, refusals=(404,)),
    Route("GET", PATH, READ, show_help, answer=HelpState, refusals=(404,)),
    Route("GET", f"{PATH}/ledger", READ, list_help_entries, answer=Ledger, refusals=(404, 422)),
]

"""Studies that are helped: the reports of their cohorts, the totals of these, and how the help stands."""

from base64 import urlsafe_b64encode
from functools import partial
from typing import Any

from maskedbandit.errors import BehindWitness, Corrupted, InvalidValue, UnknownStudy
from maskedbandit.service.api.ledger import answer_misfit, read_ledger, whole_number
from maskedbandit.service.api.studies import check_classes
from maskedbandit.service.helping.calls import find_help, find_host
from maskedbandit.service.helping.messages import (
    AskTotal,
    HelpState,
    HelpStudy,
    HelpVerified,
    OfferReports,
    ReportChecked,
    ReportsChecked,
    StudyHelped,
    TotalStated,
)
from maskedbandit.service.keys import STAFF
from maskedbandit.service.paired_keys import LEADER_ROLE
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.route import Answer, Call, Route
from maskedbandit.service.views.answers import Ledger
from maskedbandit.store.book.entries import Helped, read_entries
from maskedbandit.store.databases.database import Database
from maskedbandit.store.helping.reports import OfferedReport
from maskedbandit.store.helping.study import HelperStudy, read_table, register_study
from maskedbandit.store.helping.verify import verify_help

LONGEST_LIST = 16 * BATCH  # bytes: a cohort of a million, of whom nobody reported


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
        register_study(database, host.witness, body.protocol, leader, name)

    leader = call.key.key
    await host.read(question)
    await find_help(call)
    return StudyHelped(name, count_entries(call))


def count_entries(call: Call) -> int:
    """The entries of the ledger that the witness has seen."""
    seen = call.host.witness.seen(call.study)
    return seen.head.entries if seen else 0


async def offer_reports(call: Call, body: OfferReports) -> ReportsChecked:
    """Check reports of a cohort with what the leader's shares show of them; asked again, the answers are the same."""
    await find_help(call)
    offered = [
        OfferedReport(
            each.place,
            bytes.fromhex(each.report),
            each.turn,
            decode_base64("sealed", each.sealed),
            decode_base64("verifier", each.verifier),
        )
        for each in body.reports
    ]
    found = await call.do("take_reports", cohort_number(call), body.n, offered)
    return ReportsChecked([ReportChecked(each.ok, urlsafe_b64encode(each.verifier).decode()) for each in found])


async def ask_total(call: Call, body: AskTotal) -> Any:
    """The signed total of a cohort, with its noise; asked again, it is the same."""
    await find_help(call)
    given = body.n, body.left_out, body.digest, body.signature
    return (await call.do("make_total", cohort_number(call), *given)).to_table()


async def end_help(call: Call) -> HelpState:
    """The study ended: no total is made any more, and the shares that are left are erased."""
    await find_help(call)
    await call.do("close_help")
    return await show_help(call)


async def show_help(call: Call) -> HelpState:
    """How the help of a study stands."""
    study = await find_help(call)
    return await call.host.read(partial(read_help, call=call, study=study))


def read_help(database: Database, call: Call, study: HelperStudy) -> HelpState:
    """How the help of a study stands, as far as its ledger was published."""
    seen, leader = call.host.witness.seen(study.name), study.leader
    if seen is None:
        raise UnknownStudy(f"the witness knows no study {study.name!r}")
    made = [each for each in read_entries(database, study.name, "helped") if isinstance(each, Helped)]
    cohorts = [each.cohort for each in made if each.number < seen.head.entries]
    contact = find_host(call).contacts.get(leader)
    return HelpState(study.name, study.state, study.protocol.digest, leader, cohorts, *seen.head, contact)


async def list_help_entries(call: Call) -> Ledger:
    """The entries of the helper's ledger after entry number `after`, at most 10 000 of them."""
    await find_help(call)
    after = whole_number("after", call.query.get("after"))
    return await call.host.read(partial(read_ledger, witness=call.host.witness, name=call.study, after=after))


async def verify_helping(call: Call) -> HelpVerified | Answer:
    """Recompute all that is stored of the help. Whatever does not fit is an error, and nothing is changed."""
    try:
        found = await call.host.recompute(partial(verify_help, witness=call.host.witness, study=call.study))
    except (Corrupted, BehindWitness) as why:
        return answer_misfit(why)
    return HelpVerified(call.study, *found)


PATH = "/v1/helping/{study}"
COHORT = f"{PATH}/cohorts/{{cohort}}"
LEAD, READ = (LEADER_ROLE,), (LEADER_ROLE, *STAFF)
ROUTES = [
    Route("PUT", PATH, LEAD, begin_help, HelpStudy, StudyHelped, limit=BATCH, refusals=(409,)),
    Route(
        "POST", f"{COHORT}/reports", LEAD, offer_reports, OfferReports, ReportsChecked, limit=BATCH, refusals=(404, 409)
    ),
    Route("POST", f"{COHORT}/total", LEAD, ask_total, AskTotal, TotalStated, limit=LONGEST_LIST, refusals=(404, 409)),
    Route("POST", f"{PATH}/end", LEAD, end_help, answer=HelpState, refusals=(404,)),
    Route("GET", PATH, READ, show_help, answer=HelpState, refusals=(404,)),
    Route("GET", f"{PATH}/ledger", READ, list_help_entries, answer=Ledger, refusals=(404, 422)),
    Route("POST", f"{PATH}/verify", STAFF, verify_helping, answer=HelpVerified, refusals=(404, 409)),
]

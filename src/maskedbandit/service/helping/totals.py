"""The reports of cohorts that are offered to a helper, the totals of these, and whether all that it stores fits."""

from base64 import urlsafe_b64encode
from functools import partial
from typing import Any

from maskedbandit.errors import BehindWitness, Corrupted
from maskedbandit.service.api.ledger import answer_misfit
from maskedbandit.service.helping.calls import find_help
from maskedbandit.service.helping.messages import (
    AskTotal,
    HelpVerified,
    OfferReports,
    ReportChecked,
    ReportsChecked,
    TotalStated,
)
from maskedbandit.service.helping.studies import COHORT, LEAD, PATH, cohort_number
from maskedbandit.service.keys import STAFF
from maskedbandit.service.request.bodies import decode_base64
from maskedbandit.service.request.limits import BATCH
from maskedbandit.service.request.route import Answer, Call, Route
from maskedbandit.store.helping.reports import OfferedReport
from maskedbandit.store.helping.verify import verify_help

LONGEST_LIST = 16 * BATCH  # bytes: a cohort of a million, of whom nobody reported


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


async def verify_helping(call: Call) -> HelpVerified | Answer:
    """Recompute all that is stored of the help. Whatever does not fit is an error, and nothing is changed."""
    try:
        found = await call.host.recompute(partial(verify_help, witness=call.host.witness, study=call.study))
    except (Corrupted, BehindWitness) as why:
        return answer_misfit(why)
    return HelpVerified(call.study, *found)


ROUTES = [
    Route(
        "POST", f"{COHORT}/reports", LEAD, offer_reports, OfferReports, ReportsChecked, limit=BATCH, refusals=(404, 409)
    ),
    Route("POST", f"{COHORT}/total", LEAD, ask_total, AskTotal, TotalStated, limit=LONGEST_LIST, refusals=(404, 409)),
    Route("POST", f"{PATH}/verify", STAFF, verify_helping, answer=HelpVerified, refusals=(404, 409)),
]

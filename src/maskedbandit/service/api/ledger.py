"""What was released, what it cost, and whether all of it fits together."""

from functools import partial

from starlette.responses import StreamingResponse

from maskedbandit.errors import BehindWitness, Corrupted, InvalidValue, UnknownStudy
from maskedbandit.service.host.host import Host
from maskedbandit.service.keys import STAFF
from maskedbandit.service.request.events import event_stream, read_entries_after
from maskedbandit.service.request.problems import make_problem
from maskedbandit.service.request.route import PROBLEM, Answer, Call, Route, encode_answer
from maskedbandit.service.views.answers import Ledger, LedgerEntry, LedgerHead, Releases, Verified
from maskedbandit.service.views.describe import protocol_of
from maskedbandit.service.views.release_answers import show_release
from maskedbandit.service.views.releases_csv import write_csv
from maskedbandit.store.book.book import read_published
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database


def whole_number(name: str, text: str | None) -> int:
    """A number in a query, such as that of an entry after which to go on; -1 if it is left out."""
    if text is None or text == "":
        return -1
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidValue(name, text, "a whole number of at most 15 digits")
    return int(text)


async def list_entries(call: Call) -> Ledger:
    """The entries of the ledger after entry number `after`, at most 10 000 of them."""
    after = whole_number("after", call.query.get("after"))
    return await call.host.read(partial(read_ledger, witness=call.host.witness, name=call.study, after=after))


def read_ledger(database: Database, witness: Witness, name: str, after: int) -> Ledger:
    """The entries of a study's ledger after one of them."""
    found = read_entries_after(database, witness, name, after)
    key = witness.signing_key().public_key().public_bytes_raw().hex()
    return Ledger(name, key, [LedgerEntry(*link) for link in found])


async def show_head(call: Call) -> LedgerHead:
    """The newest entry that was published: note it, and no later ledger can leave it out unnoticed."""

    def question(database: Database) -> LedgerHead:
        protocol_of(database, call.study)
        seen = call.host.witness.seen(call.study)
        if seen is None:
            raise UnknownStudy(f"the witness knows no study {call.study!r}")
        return LedgerHead(call.study, *seen.head)

    return await call.host.read(question)


async def list_releases(call: Call) -> Releases:
    """All that was released."""
    return await call.host.read(partial(read_released, witness=call.host.witness, name=call.study))


def read_released(database: Database, witness: Witness, name: str) -> Releases:
    """All that was released of a study."""
    book = read_published(database, witness.as_now(), name)
    return Releases(name, book.is_simulated, [show_release(book, each) for each in book.releases])


async def list_releases_as_csv(call: Call) -> Answer:
    """All that was released, one row a release, as CSV."""
    return Answer(write_csv(await list_releases(call)).encode(), CSV)


async def verify_ledger(call: Call) -> Verified | Answer:
    """Recompute all that is stored of the study. Whatever does not fit is an error, and nothing is changed."""
    try:
        return await recompute_study(call.host, call.study)
    except (Corrupted, BehindWitness) as why:
        return answer_misfit(why)


def answer_misfit(why: Corrupted | BehindWitness) -> Answer:
    """What does not fit: staff may know."""
    return Answer(encode_answer(make_problem(409, why.code, str(why))), PROBLEM, 409)


async def recompute_study(host: Host, name: str) -> Verified:
    """What was found to fit."""
    found = await host.recompute(partial(verify_study, witness=host.witness, study=name))
    return Verified(name, *found[:4], str(found.worst))


async def stream_events(call: Call) -> StreamingResponse:
    """The ledger as it grows, as server-sent events: each entry with its number, and `changed` when a count has."""
    after = whole_number("Last-Event-ID", call.header("last-event-id") or call.query.get("after"))
    return await event_stream(call.host, call.study, after, call.key)


CSV = b"text/csv; charset=utf-8"
PATH = "/v1/studies/{study}"
ROUTES = [
    Route("GET", f"{PATH}/releases", STAFF, list_releases, answer=Releases, refusals=(404,)),
    Route("GET", f"{PATH}/releases.csv", STAFF, list_releases_as_csv, answer="text/csv", refusals=(404,)),
    Route("GET", f"{PATH}/ledger", STAFF, list_entries, answer=Ledger, refusals=(404, 422)),
    Route("GET", f"{PATH}/ledger/head", STAFF, show_head, answer=LedgerHead, refusals=(404,)),
    Route("POST", f"{PATH}/verify", STAFF, verify_ledger, answer=Verified, refusals=(404, 409)),
    Route("GET", f"{PATH}/events", STAFF, stream_events, answer="text/event-stream", refusals=(404, 422)),
]

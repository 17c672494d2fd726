"""Studies as the service describes them, from the database and what the witness has seen."""

from maskedbandit.errors import BehindWitness, Corrupted, Forbidden, UnknownStudy
from maskedbandit.service.keys import Key
from maskedbandit.service.study_messages import Finished, StudyState
from maskedbandit.service.views.attention import find_attention
from maskedbandit.service.views.counts import count_places
from maskedbandit.service.views.tally import Tally
from maskedbandit.store.approvals import Approvals, read_approvals
from maskedbandit.store.book.book import Book, read_published
from maskedbandit.store.book.chain import Link
from maskedbandit.store.book.entries import Started, parse_entry
from maskedbandit.store.book.finish import Finish, find_finish
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol


def protocol_of(database: Database, name: str) -> Protocol:
    """The protocol of a study, without arms that were added."""
    row = database.one("SELECT protocol FROM study WHERE study = ?", name)
    if row is None:
        raise UnknownStudy(f"there is no study {name!r}")
    return Protocol.from_text(row[0])


def read_simulated(database: Database, name: str) -> bool:
    """Whether the ledger of a study says that all its people are simulated; its first entry alone is read."""
    row = database.one("SELECT number, body, hash, signature FROM entry WHERE study = ? AND number = 0", name)
    first = None if row is None else parse_entry(name, Link(*row))
    return isinstance(first, Started) and first.simulated


def read_state(database: Database, witness: Witness, name: str, now: int, tally: Tally) -> StudyState:
    """How a study stands, in what the witness has seen: a release may pause it, or put an arm out of play."""
    witness = witness.as_now()  # first: the ledger may only go on from what was seen
    with database.still():
        book = read_published(database, witness, name)
        people = book.people
        if people is None:
            kept = "SELECT COUNT(*) FROM place WHERE study = ? AND assigned < ? AND returned IS NULL"
            ((people,),) = database.rows(kept, name, book.horizon.time)
        finish, approvals = find_finish(book), find_approvals(database, book, now)
        items = find_attention(book, count_places(database, book, now, tally), finish, now)
    found = describe_study(book, int(people), "finished" if finish else book.state)
    found.finished = None if finish is None else Finished(finish.why, finish.since)
    found.approved_by, found.needs_approval = list(approvals.given), approvals.missing
    found.attention = items
    return found


def read_finish(database: Database, witness: Witness, name: str) -> Finish | None:
    """Why and since when a study has finished, in what the witness has seen."""
    witness = witness.as_now()
    with database.still():
        return find_finish(read_published(database, witness, name))


def find_approvals(database: Database, book: Book, now: int) -> Approvals:
    """Who approved the protocol: of a draft whoever may, and of a study that was started as its ledger says."""
    if (begin := book.started) is not None:
        return Approvals(given=(begin.approved_by,) if begin.approved_by else ())
    return read_approvals(database, book.study, book.draft.project, book.draft.digest, now)


def read_listed_state(database: Database, witness: Witness, name: str, now: int, tally: Tally) -> StudyState:
    """How a study stands; if its ledger is not the one that the witness knows, only what was planned."""
    try:
        return read_state(database, witness, name, now, tally)
    except (BehindWitness, Corrupted) as why:
        return describe_study(Book(name, protocol_of(database, name)), 0, why.code)


def describe_study(book: Book, people: int, state: str) -> StudyState:
    """How a study stands by its book."""
    protocol, names = book.protocol, [arm for arm, _ in book.protocol.arms]
    return StudyState(
        study=protocol.name,
        about=protocol.about,
        state=state,
        simulated=book.is_simulated,
        people=people,
        of=protocol.people,
        arms=names,
        in_play=[names[arm] for arm in book.standing.in_play],
        policy=type(protocol.policy).__name__,
        channel=type(protocol.channel).__name__,
        trust=protocol.channel.trust,
        budget=str(protocol.budget),
        period=protocol.period,
        window=protocol.reward.window,
        protocol=protocol.digest,
        control=None if (arm := book.standing.control) is None else names[arm],
    )


def check_visible(key: Key | None, name: str) -> None:
    """Raise `Forbidden` if a key is for another study."""
    if key is not None and key.study not in (None, name):
        raise Forbidden("this key is for another study")

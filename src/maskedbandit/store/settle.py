"""How a cohort of two operators is released, whose devices have uploaded sealed reports: step by step, with the helper.

    cohorts_due -> read_batch -> open_batch, for the helper, who answers what its shares show of the proofs
                -> compare_proofs -> ... -> fix_list -> the helper states its total -> settle_cohort

Each of these is within a transaction, but for what is done with a batch (batches.py). When a cohort is due nothing more
is uploaded, so whatever is cut off begins again with the same reports. The list of those that hold is written down
before the helper is asked for its total, with this operator's share of the sum: should the data of a person be erased
after that, both shares still fit, and the person's outcome is in the sum as in one that was released before.

**Guarantee**: a cohort is released once, with what both operators state of the same list, and with fresh noise of each;
whatever the helper answers, nothing else is written. No share of it alone, and no share of a sum, tells an outcome.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from maskedbandit.errors import Conflict, NotRunning, ProtocolError
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.helper_total import HelperTotal
from maskedbandit.secagg.prio3 import FIELD
from maskedbandit.secagg.uploads import digest_reports
from maskedbandit.store.batches import MOST_OF_BATCH, OpenedReport, SealedBatch
from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.shares import decode_total, match_total
from maskedbandit.store.release import check_newest, close_cohort, list_due, may_answer, write_release
from maskedbandit.store.requests import Done
from maskedbandit.store.session import Session
from maskedbandit.store.states import move_study
from maskedbandit.store.uploads import list_uploads
from maskedbandit.study.deck import Places


class ListedReports(NamedTuple):
    """The reports that are in the sum of a cohort of n."""

    cohort: int
    n: int
    reports: int  # how many
    left_out: tuple[int, ...]  # the places of all others
    digest: str  # `digest_reports`
    total: int  # of this operator's shares


class DueCohort(NamedTuple):
    """A cohort that may be settled now; of one that was begun the list may be written down already."""

    cohort: int
    n: int
    listed: ListedReports | None


def cohorts_due(session: Session) -> list[DueCohort]:
    """The cohorts whose last report has come, each arm's in their order: the first of an arm is to be settled first."""
    if session.protocol.operators is None or session.helper_lost:
        return []
    check_newest(session)
    session.write()
    return [DueCohort(each.cohort, each.size, read_listed(session, each)) for each in list_due(session)]


def waits_for_release(session: Session) -> bool:
    """Whether a cohort will be due, now or once the last window of it is over."""
    return any(places.full for places in session.driver.deck.unreleased())


def read_batch(session: Session, cohort: int, start: int, many: int = MOST_OF_BATCH) -> SealedBatch:
    """The reports of a cohort from a place on, at most so many."""
    places = find_due(session, cohort)
    (offer,) = session.offers(places.size)
    rows = list_uploads(session, cohort, "report, turn, leader, helper", start, many)
    last = rows[-1][0] + 1 if len(rows) == many else None
    return SealedBatch(bytes.fromhex(session.protocol.digest), cohort, offer, rows, last)


def fix_list(session: Session, cohort: int, accepted: Sequence[OpenedReport]) -> ListedReports:
    """Write down which reports are in the sum, of those whose proofs hold, or give back what was written before.

    The helper must have answered every batch: what is not in the list is deleted. A report of somebody whose data was
    erased meanwhile is not in it.
    """
    places = find_due(session, cohort)
    if (before := read_listed(session, places)) is not None:
        return before
    rows = list_uploads(session, cohort, "report, upload.ticket")
    stored = {place: name for place, name, _ in rows}
    kept = {each.place: each for each in accepted if stored.get(each.place) == each.report.hex()}
    left_out = tuple(place for place in range(places.size) if place not in kept)
    digest = digest_reports({place: each.report for place, each in kept.items()})
    total = sum(each.value for each in kept.values()) % FIELD
    database, name = session.database, session.name
    lost = [(name, ticket) for place, _, ticket in rows if place not in kept]
    if lost:
        database.each("DELETE FROM upload WHERE study = ? AND ticket = ?", lost)
    columns = "study, cohort, reports, left_out, digest, total"
    database.insert("listed", columns, [(name, cohort, len(kept), json.dumps(left_out), digest, str(total))])
    return ListedReports(cohort, places.size, len(kept), left_out, digest, total)


def settle_cohort(session: Session, cohort: int, said: HelperTotal) -> Release | Done:
    """Release a cohort, with the helper's share of the sum as it states it, or refuse with why that does not fit."""
    places, database, name, protocol = find_due(session, cohort), session.database, session.name, session.protocol
    if (listed := read_listed(session, places)) is None:
        raise Conflict(f"cohort {cohort} of {name} has no list of reports yet: nobody can have stated its total")
    channel: Any = protocol.channel
    try:
        match_total(protocol, cohort, places.size, said, session.operators[1].signs)
        said.match(reports=listed.reports, digest=listed.digest)
        own = (listed.total + channel.release_noise(places.size).noise_share(1, Bits())) % FIELD  # fresh bits
        total = decode_total(protocol, own, said)
    except ProtocolError as why:
        return Done(None, why)  # and others, who are in the same transaction, do not fail with it
    made = write_release(session, places, total, close_cohort(session, places), leader=str(own), helper=said.to_text())
    empty = "UPDATE upload SET leader = NULL, helper = NULL WHERE study = ? AND ticket IN "
    database.change(f"{empty}(SELECT ticket FROM place WHERE study = ? AND cohort = ?)", name, name, cohort)
    database.change("DELETE FROM listed WHERE study = ? AND cohort = ?", name, cohort)
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)  # both seals are in the files still
    if may_answer(session):
        session.driver.ask()
    return made


def give_up_helper(session: Session, by: str = "") -> None:
    """End a study whose helper is away for ever, without what was not released: the ledger says so."""
    if session.protocol.operators is None or session.helper_lost:
        raise NotRunning(f"{session.name} has no helper to be given up")
    if session.state not in ("running", "paused", "stopped"):
        raise NotRunning(f"{session.name} is {session.state}: nothing of it waits for its helper")
    session.write()
    waiting = [each.cohort for each in session.driver.deck.unreleased() if each.full]
    session.enter(by, kind="helper_lost", cohorts=waiting)
    session.helper_lost = True
    if session.state != "stopped":
        move_study(session, by, kind="stopped")
    database, name = session.database, session.name
    released = "SELECT place.ticket FROM place JOIN release ON release.study = place.study "
    released += "AND release.cohort = place.cohort WHERE place.study = ?"
    database.change(f"DELETE FROM upload WHERE study = ? AND ticket NOT IN ({released})", name, name)
    database.change("DELETE FROM listed WHERE study = ?", name)
    database.change("UPDATE study SET traces = traces + 1 WHERE study = ?", name)


def find_due(session: Session, cohort: int) -> Places:
    """A cohort that is the next one of its arm to be settled, or raise `Conflict`."""
    check_newest(session)
    session.write()
    due = [] if session.protocol.operators is None or session.helper_lost else list(list_due(session))
    for places in due:
        if places.cohort == cohort and next(each for each in due if each.arm == places.arm) is places:
            return places
    raise Conflict(f"cohort {cohort} of {session.name} is not the next one of its arm to be settled now")


def read_listed(session: Session, places: Places) -> ListedReports | None:
    """Which reports are in the sum of a cohort, once that is written down."""
    find = "SELECT reports, left_out, digest, total FROM listed WHERE study = ? AND cohort = ?"
    row = session.database.one(find, session.name, places.cohort)
    if row is None:
        return None
    reports, left_out, digest, total = row
    return ListedReports(places.cohort, places.size, reports, tuple(json.loads(left_out)), digest, int(total))

"""Whether a study has finished: it will give nobody a place any more, unless somebody changes its arms.

That is no entry of the ledger, as it follows from what is there: from the releases and the changes of arms, and from
who has a place and saw the arm. Whoever has a place reports until the window is over, as ever.
"""

from typing import Literal, NamedTuple

from maskedbandit.store.book.book import Book
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.databases.database import Database
from maskedbandit.study.protocol import Protocol

Reason = Literal["answer_found", "people_used_up", "asks_for_nobody", "all_arms_harmful"]
MAY_FINISH = ("running", "paused")  # what was stopped has ended by that


class Finish(NamedTuple):
    """Why a study has finished, and since when, in milliseconds."""

    why: Reason
    since: int


def find_finish(book: Book) -> Finish | None:
    """Why a study gives nobody a place any more: harm, or else what came first; None if it may, or was stopped."""
    if book.state not in MAY_FINISH:
        return None
    if (harm := find_harm(book)) is not None:
        return harm
    found = [find_last_word(book), find_last_person(book)]
    return min((each for each in found if each is not None), key=lambda each: each.since, default=None)


def find_harm(book: Book) -> Finish | None:
    """Since when all arms in play are harmful."""
    now, since = Standing.at_start(book.draft.k, book.draft.control_arm), None
    for each in book.changes:
        now = now.after(each.kind, each.arm)
        since = (since or each.at) if now.all_harmful else None
    return None if since is None else Finish("all_arms_harmful", since)


def find_last_word(book: Book) -> Finish | None:
    """Since when the policy asks for nobody, for ever: with its answer, or with an arm that is alone in play."""
    if book.demand.last_word is None:
        return None
    steps = [(each.step, each.at) for each in book.releases]
    steps += [(each.step, each.at) for each in book.stage_changes if each.step is not None]
    before = [at for step, at in steps if step <= book.demand.last_word]
    if book.database is not None:  # places of cohorts that were asked for before were given meanwhile
        newest = "SELECT MAX(assigned) FROM place WHERE study = ? AND assigned < ?"
        ((placed,),) = book.database.rows(newest, book.study, book.horizon.time)
        before += [] if placed is None else [int(placed)]
    answers = book.demand.answer is not None and not book.protocol.policy.purpose.serves
    started = book.entries[0].at
    return Finish("answer_found" if answers else "asks_for_nobody", max(before, default=started))


def is_used_up(database: Database, study: str, placed: int | None, protocol: Protocol) -> bool:
    """Whether as many people as planned have a place, and each has seen the arm."""
    if protocol.people is None or placed is None or placed < protocol.people:
        return False
    unseen = "SELECT assigned FROM place WHERE study = ? AND exposed IS NULL AND returned IS NULL"
    return database.one(f"{unseen} ORDER BY assigned, cohort LIMIT 1", study) is None  # as indexed


def find_last_person(book: Book) -> Finish | None:
    """Since when as many people as planned have seen their arms: a place that nobody saw may go to somebody else."""
    database, study = book.database, book.study
    if database is None or not book.horizon.whole or not is_used_up(database, study, book.people, book.protocol):
        return None
    newest = database.rows("SELECT MAX(assigned) FROM place WHERE study = ? AND returned IS NULL", study)[0][0]
    latest = "SELECT MAX(exposed) FROM place WHERE study = ? AND assigned >= ? AND returned IS NULL"
    # whoever came before was late by then
    ((since,),) = database.rows(latest, study, newest - book.protocol.reward.exposure)
    return Finish("people_used_up", int(since))

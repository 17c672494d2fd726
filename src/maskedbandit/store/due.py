"""What the clock brings: places that go back, and the cohorts that are released, all in one transaction."""

from maskedbandit.store.book.entries import Release
from maskedbandit.store.release import check_newest, list_due, may_answer, release_cohort
from maskedbandit.store.rounds import go_on_with_rounds
from maskedbandit.store.session import Session


def do_what_is_due(session: Session) -> list[Release]:
    """Give back the places that nobody saw in time, and release the cohorts whose last window is over.

    Those of two operators are settled by both of them instead (settle.py), and those of sites, and of devices that add
    up, in rounds (rounds.py).
    """
    check_newest(session)
    session.write()
    give_back_unseen(session)
    if session.protocol.operators is not None:
        return []
    if session.protocol.wait:
        return go_on_with_rounds(session)
    released = [release_cohort(session, places) for places in list_due(session)]
    if released and may_answer(session):
        session.driver.ask()
    return released


def give_back_unseen(session: Session) -> None:
    """Give back the places that nobody saw in time."""
    name, database = session.name, session.database
    unseen = database.rows(
        "SELECT ticket, cohort, place, site FROM place "
        "WHERE study = ? AND assigned < ? AND exposed IS NULL AND returned IS NULL",
        *(name, session.now - session.protocol.reward.exposure),
    )
    for ticket, cohort, place, site in unseen:
        database.change("UPDATE place SET returned = ? WHERE study = ? AND ticket = ?", session.now, name, ticket)
        session.driver.give_back(cohort, place)
        if site is not None:
            session.of_sites[cohort, site] -= 1

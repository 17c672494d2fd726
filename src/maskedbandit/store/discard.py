"""A cohort that can never be released is discarded: its people are charged, and its places dealt to other people."""

from typing import Any

from maskedbandit.store.session import Session


def discard_cohort(session: Session, cohort: int, attempt: int, **more: Any) -> None:
    """Discard a cohort after this attempt at its sum, within a transaction."""
    session.driver.close(cohort)
    session.driver.reopen(cohort)
    session.database.change(
        "UPDATE place SET returned = ? WHERE study = ? AND cohort = ? AND returned IS NULL",
        *(session.now, session.name, cohort),
    )
    session.exposed.pop(cohort, None)
    session.of_sites = {of: many for of, many in session.of_sites.items() if of[0] != cohort}
    session.rows.clear()
    session.discards[cohort] += 1
    session.enter(kind="discarded", cohort=cohort, attempt=attempt, **more)

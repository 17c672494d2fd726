"""The arms that are named by a policy whose answer is all arms of a kind.

The log of a study says when its policy gave its answer, and which arm is served from then on. Which arms it named
follows from the log, as everything that a policy does: whoever has no driver does again what the log says.
"""

from __future__ import annotations

from collections.abc import Sequence

from maskedbandit.policies.parts.selection import Selection
from maskedbandit.store.chain import Entry
from maskedbandit.store.checked import replayed
from maskedbandit.store.database import Database
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol


def selected(driver: Driver) -> tuple[int, ...] | None:
    """The arms that the policy has named; None if it has not answered, or if its answer is one arm."""
    if driver.answer is None or not isinstance(driver.policy, Selection):
        return None
    return tuple(arm for arm, named in zip(driver.arms, driver.policy.selected(driver.state), strict=True) if named)


def selected_by(
    database: Database, study: str, protocol: Protocol, found: Sequence[Entry], until: int
) -> tuple[int, ...] | None:
    """The same, by the steps of the log before this one, of which `found` are the entries in the ledger."""
    (seed,) = database.rows("SELECT seed FROM study WHERE study = ?", study)[0]
    upto = "WHERE study = ? AND step < ? ORDER BY step"
    decisions = database.rows(f"SELECT step, number, arm, n, close FROM decision {upto}", study, until)
    releases = database.rows(f"SELECT cohort, step, arm, n, total FROM release {upto}", study, until)
    return selected(replayed(study, protocol, bytes.fromhex(seed), list(found), decisions, releases, []))

"""Who is in a cohort, with which rewards, and the digest that seals it.

    leaf = SHA-256(salt, ticket, person, reports),    digest = SHA-256(all leaves, in the order of the places)

The reports of a guardrail, if there are any, are in the leaf after the others. The salt is random, and nowhere but in
the row: without it nobody can try which reports fit a leaf, also not whoever knows the ticket. When a person's data is
erased the salt goes and the leaf stays, so that the digest can still be computed. Cohorts that were released by
versions which had no salts have none in their leaves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple

from maskedbandit.store.database import Database
from maskedbandit.store.requests import GUARDRAIL


class Member(NamedTuple):
    """A person of a cohort, and what was reported, in the order in which it came."""

    place: int
    ticket: str
    person: str | None
    salt: str | None
    kept: str | None  # the leaf, if the data was erased
    reports: list[float]
    guardrail: list[float]  # reports of the second outcome

    @property
    def leaf(self) -> str:
        """The hash of this row."""
        if self.kept:
            return self.kept
        row: list[Any] = [self.ticket, self.person, self.reports, *([self.guardrail] if self.guardrail else [])]
        return sha256(json.dumps(row if self.salt is None else [self.salt, *row]).encode()).hexdigest()


def members(database: Database, study: str, cohort: int) -> list[Member]:
    """The people of a cohort, by place, with the first report of each event."""
    rows = database.rows(
        "SELECT place.place, place.ticket, place.person, place.salt, place.leaf, reward.value, reward.event FROM place "
        "LEFT JOIN reward ON reward.study = place.study AND reward.ticket = place.ticket "
        "WHERE place.study = ? AND place.cohort = ? AND place.returned IS NULL "
        "ORDER BY place.place, reward.position",
        *(study, cohort),
    )
    found = []
    for (place, ticket, person, salt, leaf), group in groupby(rows, key=lambda row: row[:5]):
        reports: tuple[list[float], list[float]] = [], []
        known = set[str]()
        for *_, value, event in group:
            if value is not None and event not in known:
                known.add(event)
                reports[event.startswith(GUARDRAIL)].append(value)
        found.append(Member(place, ticket, person, salt, leaf, *reports))
    return found


def sealed(found: Sequence[Member]) -> str:
    """The digest of a cohort's membership."""
    return sha256("".join(member.leaf for member in found).encode()).hexdigest()

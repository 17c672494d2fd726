"""Who is in a cohort, with which rewards, and the digest that seals it.

    leaf = SHA-256(ticket, person, reports),    digest = SHA-256(all leaves, in the order of the places, and the memory)

The memory is what the channel keeps for its next release, such as the noise of a tree. A ticket is random and secret,
so the digest tells nothing of rewards or noise to whoever does not know all of them. When a person's data is erased the
leaf stays, so that the digest can still be computed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from itertools import groupby
from typing import NamedTuple

from maskedbandit.store.database import Database


class Member(NamedTuple):
    """A person of a cohort, and what was reported, in the order in which it came."""

    place: int
    ticket: str
    person: str | None
    kept: str | None  # the leaf, if the data was erased
    reports: list[float]

    @property
    def leaf(self) -> str:
        """The hash of this row."""
        return self.kept or sha256(json.dumps([self.ticket, self.person, self.reports]).encode()).hexdigest()


def members(database: Database, study: str, cohort: int) -> list[Member]:
    """The people of a cohort, by place."""
    rows = database.rows(
        "SELECT place.place, place.ticket, place.person, place.leaf, reward.value FROM place "
        "LEFT JOIN reward ON reward.study = place.study AND reward.ticket = place.ticket "
        "WHERE place.study = ? AND place.cohort = ? AND place.returned IS NULL "
        "ORDER BY place.place, reward.position",
        *(study, cohort),
    )
    return [
        Member(place, ticket, person, leaf, [row[4] for row in group if row[4] is not None])
        for (place, ticket, person, leaf), group in groupby(rows, key=lambda row: row[:4])
    ]


def sealed(found: Sequence[Member], memory: str) -> str:
    """The digest of a cohort's membership, and of what its channel keeps."""
    return sha256("".join([*(member.leaf for member in found), memory]).encode()).hexdigest()

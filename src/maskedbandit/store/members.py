"""Who is in a cohort, with which rewards, and the digest that seals it.

    leaf = SHA-256(salt, ticket, person, reports),    digest = SHA-256(all leaves, in the order of the places)

All reports are in a leaf, with their events and proofs; of each event the first one counts. Of a report that a device
sealed for two operators the name and the turn are in it, if it is in the sum. The salt is random, and
nowhere but in the row: without it nobody can try which reports fit a leaf, also not whoever knows the ticket. When a
person's data is erased the salt goes and the leaf stays, so that the digest can still be computed. In cohorts that were
released by versions which had no salts the leaf has the values alone, those of a guardrail after the others.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple

from maskedbandit.store.databases.database import Database, Row
from maskedbandit.store.requests import GUARDRAIL


class Member(NamedTuple):
    """A person of a cohort, and what was reported, in the order in which it came."""

    place: int
    ticket: str
    person: str | None
    salt: str | None
    kept: str | None  # the leaf, if the data was erased
    told: list[Row]  # all that was reported: value, event and proof
    upload: Row | None = None  # of a sealed report: its name and its turn

    def reports(self, prefix: str = "") -> list[float]:
        """The reports that count of the outcome with this prefix; of the reward if it is left out."""
        found = dict[str, float]()
        for value, event, _ in self.told:
            if event[: event.find("\n") + 1] == prefix:
                found.setdefault(event, value)
        return list(found.values())

    @property
    def leaf(self) -> str:
        """The hash of this row."""
        if self.kept:
            return self.kept
        row: list[Any] = [self.salt, self.ticket, self.person, self.told, *([self.upload] if self.upload else [])]
        if self.salt is None:
            guardrail = self.reports(GUARDRAIL)
            row = [self.ticket, self.person, self.reports(), *([guardrail] if guardrail else [])]
        return sha256(json.dumps(row).encode()).hexdigest()


def read_members(database: Database, study: str, cohort: int) -> list[Member]:
    """The people of a cohort, by place."""
    rows = database.rows(
        "SELECT place.place, place.ticket, place.person, place.salt, place.leaf, "
        "upload.report, upload.turn, reward.value, reward.event, reward.proof FROM place "
        "LEFT JOIN reward ON reward.study = place.study AND reward.ticket = place.ticket "
        "LEFT JOIN upload ON upload.study = place.study AND upload.ticket = place.ticket "
        "WHERE place.study = ? AND place.cohort = ? AND place.returned IS NULL "
        "ORDER BY place.place, reward.position",
        *(study, cohort),
    )
    found = []
    for (place, ticket, person, salt, leaf, *upload), group in groupby(rows, key=lambda row: row[:7]):
        told = [row[7:] for row in group if row[7] is not None]
        found.append(Member(place, ticket, person, salt, leaf, told, None if upload[0] is None else tuple(upload)))
    return found


def seal_members(found: Sequence[Member]) -> str:
    """The digest of a cohort's membership."""
    return sha256("".join(member.leaf for member in found).encode()).hexdigest()

"""What was released of a study of sites, held against what each site stores, and what clients sent."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from maskedbandit.store.databases.connection import open_database


class HeldBySites(NamedTuple):
    """What sites have."""

    stored: dict[str, float]  # outcomes by ticket
    joined: int  # attempts, each by each site


def hold_against_sites(
    sent: Mapping[str, float], releases: Sequence[Mapping[str, Any]], addresses: Sequence[str]
) -> HeldBySites:
    """No outcome is another than was sent, doubled or left out, and no attempt is joined twice: what sites have.

    The releases must have no noise. `sent` are outcomes by ticket, some of which may have come too late.
    """
    cohort_of, stored, joined = dict[str, int](), dict[str, float](), 0
    for number, address in enumerate(addresses):
        with closing(open_database(address, create=False)) as database:
            here: dict[str, int] = dict(database.rows("SELECT ticket, cohort FROM site_place"))
            assert here.keys().isdisjoint(cohort_of), "two sites have the same place"
            cohort_of |= here
            reports = database.rows("SELECT ticket, value FROM site_report")
            assert len(dict(reports)) == len(reports), f"a report of site {number} is doubled"
            stored |= dict(reports)
            entries = database.rows("SELECT body FROM entry WHERE body LIKE '%site_joined%'")
            attempts = [(body["cohort"], body["attempt"]) for body in (json.loads(row[0]) for row in entries)]
            assert len(set(attempts)) == len(attempts), "an attempt is joined twice"
            joined += len(attempts)
    wrong = {ticket for ticket, value in sent.items() if stored.get(ticket, value) != value}
    assert not wrong, "a site has another outcome than it was sent"
    assert len({each["cohort"] for each in releases}) == len(releases), "a cohort was released twice"
    for each in releases:
        of_cohort = [ticket for ticket, cohort in cohort_of.items() if cohort == each["cohort"]]
        total = each["total"] if isinstance(each["total"], float) else float.fromhex(each["total"])
        assert total == sum(stored.get(ticket, 0) for ticket in of_cohort), "an outcome is doubled, or left out"
    return HeldBySites(stored, joined)

"""What was released of a study of sites, held against what each site stores, and what clients were told."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from maskedbandit.store.databases.connection import open_database


def hold_against_sites(
    told: Mapping[str, float], releases: Sequence[Mapping[str, Any]], addresses: Sequence[str]
) -> int:
    """Nothing that was told is lost, doubled or left out, and no attempt is joined twice: how many attempts were.

    The releases must have no noise. `told` are the outcomes that clients were told are stored, by ticket.
    """
    cohort_of, stored, joined = dict[str, int](), dict[str, float](), 0
    for number, address in enumerate(addresses):
        with closing(open_database(address, create=False)) as database:
            here = dict(database.rows("SELECT ticket, cohort FROM site_place"))
            assert here.keys().isdisjoint(cohort_of), "two sites have the same place"
            cohort_of |= here
            reports = database.rows("SELECT ticket, value FROM site_report")
            assert len(dict(reports)) == len(reports), f"a report of site {number} is doubled"
            stored |= dict(reports)
            entries = database.rows("SELECT body FROM entry WHERE body LIKE '%site_joined%'")
            attempts = [(body["cohort"], body["attempt"]) for body in (json.loads(row[0]) for row in entries)]
            assert len(set(attempts)) == len(attempts), "an attempt is joined twice"
            joined += len(attempts)
    wrong = {ticket for ticket, value in told.items() if stored.get(ticket, value) != value}
    assert not wrong, "a site has another outcome than it was told"
    lost = {ticket for ticket in told.keys() & cohort_of.keys() if ticket not in stored}
    assert not lost, "an outcome is lost"
    assert len({each["cohort"] for each in releases}) == len(releases), "a cohort was released twice"
    for each in releases:
        of_cohort = [ticket for ticket, cohort in cohort_of.items() if cohort == each["cohort"]]
        total = each["total"] if isinstance(each["total"], float) else float.fromhex(each["total"])
        assert total == sum(stored.get(ticket, 0) for ticket in of_cohort), "an outcome is doubled, or left out"
    return joined

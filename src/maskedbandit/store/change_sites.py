"""The list of the sites of a running study changes: sites join or leave, or have other shares, within a transaction.

A stage begins, as with a change of arms (arms.py). Cohorts that were full by then have their round among the sites of
the list before, a site that has left included, so that nobody is in two sums. Other cohorts are given up, and are never
released. Each site agrees to the new list before its people are given places of it, and before it answers a round.
"""

from typing import Any

from maskedbandit.errors import Conflict, InvalidValue, NotRunning
from maskedbandit.store.arms import begin_stage
from maskedbandit.store.book.site_lists import check_confirmation
from maskedbandit.store.session import Session
from maskedbandit.store.start import find_site_keys
from maskedbandit.study.naming import refuse_unknown
from maskedbandit.study.site_stages import ListedSite, add_stage
from maskedbandit.study.sites import SitesOfStudy


def change_sites(session: Session, by: str, given: Any) -> None:
    """Have this list of sites from now on, or raise why that cannot be: it is held to the rules of a new protocol."""
    if session.state not in ("running", "paused"):
        raise NotRunning(f"{session.name} is {session.state}: its sites change only while it is running or paused")
    if session.protocol.sites is None:
        raise InvalidValue("sites", "given", "left out: this study has none")
    if not session.protocol.stages:
        allowed = "policies for regret and searches, on channels whose releases are independent: only these begin anew"
        raise InvalidValue("a change of sites", "given", f"left to {allowed}")
    named = SitesOfStudy.from_table(given)
    refuse_unknown("key of the new list of sites", given, ("list",))
    keys = find_site_keys(session, named)
    listed = [ListedSite(each.name, str(each.share), of) for each, of in zip(named.sites, keys, strict=True)]
    before, first = session.site_lists.stages, len(session.driver.cohorts)
    made = add_stage(before, first, listed)
    if made[-1].listed == before[-1].listed:
        raise Conflict(f"{session.name} has this list of sites already")
    protocol = session.protocol.among(made[-1])
    protocol.check()
    for size in {places.size for places in session.driver.cohorts}:
        protocol.channel.check_size(size)
    after = session.arms.with_other_sites
    says = begin_stage(session, after) | {"first": first, "sites": [each.to_text() for each in made[-1].listed]}
    session.enter(by, kind="sites_changed", **says)
    session.arms, session.protocol, session.site_lists = after, protocol, session.site_lists.also(made)


def note_confirmation(session: Session, site: int, name: str, signed: str) -> None:
    """A site says to which list it has agreed last, with its signature: the ledger says so once of each list."""
    if not session.site_lists.stages:
        raise NotRunning(f"{session.name} was not started")
    if name != session.site_lists.stages[-1].name or site not in session.site_lists.missing:
        return
    check_confirmation(session.site_lists, site, name, signed)
    session.enter(kind="sites_confirmed", site=site, name=name, signed=signed)
    session.site_lists = session.site_lists.after(site)

"""The sites of a study on its page: who they are, when each last asked, and how far the sums of cohorts are."""

from fractions import Fraction
from typing import Any

from markupsafe import Markup

from maskedbandit.channels.channel import find_backend
from maskedbandit.service.page.operators import PRINTED
from maskedbandit.service.views.rounds_of_devices import DueRound
from maskedbandit.service.views.sums_of_sites import DueSum
from maskedbandit.service.views.view import StudyView
from maskedbandit.study.site_stages import find_sites_ever, find_stage
from maskedbandit.words import say_count, say_things, say_time

ROUND_PHASES = ("keys", "sealed key shares", "masked values", "votes", "key shares")  # what sites send, in turn
MOST_SUMS = 100
SITES_HEAD = ("Site", "Fingerprint", "At most, of a cohort", "Missing in sums", "Last asked")
SUMS_HEAD = ("Cohort", "Attempt", "Phase", "Since", "Waits for", "May still be lost")


def tabulate_sites(view: StudyView) -> list[list[str | Markup]]:
    """The sites, by number; when each last asked is known to the process that holds the study."""
    if view.protocol.sites is None:
        return []
    contacts, lists = dict(view.contacts), view.site_lists
    found = list[list[str | Markup]]()
    for site in view.protocol.sites.sites:
        number = site.number
        sums = [each for each in view.releases if number in find_stage(lists.stages, each.cohort).keys]
        missing = sum(number not in each.sites for each in sums)
        asked = say_time(contacts[number], True) if number in contacts else "not since this server began"
        of = f"{say_count(missing)} of {say_count(len(sums))}"
        found.append([site.name, f"{site.key[:PRINTED]}…", str(site.share), of, asked])
    return found


def say_margin(view: StudyView) -> str:
    """What a sum may lack before it is not opened."""
    channel: Any = view.protocol.channel
    backend: Any = find_backend(channel)
    colluding = (
        f", even if {say_things(backend.colluding, 'site')} told the coordinator all" if backend.colluding else ""
    )
    lost = f"up to {say_things(backend.lost, 'site')} may be lost" if backend.lost else "no site may be lost"
    return f"A sum is opened if it has the noise of {Fraction(channel.honest)} of the people{colluding}; {lost}."


def tabulate_due_sums(view: StudyView) -> list[list[str | Markup]]:
    """The sums that are due, or will be, and how many people may be lost before a cohort cannot be released."""
    assert view.protocol.sites is not None
    sites = find_sites_ever(view.site_lists.stages)
    found = list[list[str | Markup]]()
    for each in view.due_sums[:MOST_SUMS]:
        waits = ", ".join(sites[site].name for site in each.waits_for) or "–"
        found.append([*tabulate_progress(each, ROUND_PHASES), waits, say_spare(each)])
    return found


def tabulate_progress(due: DueSum | DueRound, phases: tuple[str, ...]) -> list[str | Markup]:
    """Of which cohort a sum is, the attempt, the phase, and since when it is due."""
    if due.since is None:
        return [f"Cohort {due.cohort}", "–", "not begun", "–"]
    phase = f"{phases[due.phase]}, {due.phase + 1} of {len(phases)}"
    return [f"Cohort {due.cohort}", str(due.attempt), phase, say_time(due.since, True)]


def say_spare(due: DueSum) -> str:
    """How many people may still be lost from a sum."""
    if due.spare is None:
        return "it is settled who is in it"
    if not due.spare_sites:
        return "no site"
    return f"{say_things(due.spare, 'person', 'people')} of {say_things(due.spare_sites, 'site')}"


def name_undecided(view: StudyView) -> str:
    """The sites that have not agreed to the newest list."""
    newest = view.site_lists.stages[-1:]
    return ", ".join(each.name for one in newest for each in one.sites.sites if each.number in view.site_lists.missing)

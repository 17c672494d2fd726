"""The sites of a study on its page: who they are, in how many sums they were missing, and when each last asked."""

from markupsafe import Markup

from maskedbandit.service.page.operators import PRINTED
from maskedbandit.service.views.view import StudyView
from maskedbandit.study.site_stages import find_stage
from maskedbandit.words import say_count, say_time

SITES_HEAD = ("Site", "Fingerprint", "At most, of a cohort", "Missing in sums", "Last asked")


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


def name_undecided(view: StudyView) -> str:
    """The sites that have not agreed to the newest list."""
    newest = view.site_lists.stages[-1:]
    return ", ".join(each.name for one in newest for each in one.sites.sites if each.number in view.site_lists.missing)

"""The sites of a study on its page: who they are, how many of their people were in sums, and when each last asked."""

from markupsafe import Markup

from maskedbandit.service.page.operators import PRINTED
from maskedbandit.service.views.view import StudyView
from maskedbandit.words import say_count, say_time

SITES_HEAD = ("Site", "Fingerprint", "At most, of a cohort", "Missing in sums", "Last asked")


def tabulate_sites(view: StudyView) -> list[list[str | Markup]]:
    """The sites, by number; when each last asked is known to the process that holds the study."""
    if view.protocol.sites is None:
        return []
    contacts, sums = dict(view.contacts), len(view.releases)
    found = list[list[str | Markup]]()
    for site in view.protocol.sites.sites:
        number = site.number
        missing = sum(number not in each.sites for each in view.releases)
        asked = say_time(contacts[number], True) if number in contacts else "not since this server began"
        asked += "; has not agreed to this list of sites, so its rounds wait" if number in view.undecided else ""
        of = f"{say_count(missing)} of {say_count(sums)}"
        found.append([site.name, f"{site.key[:PRINTED]}…", str(site.share), of, asked])
    return found

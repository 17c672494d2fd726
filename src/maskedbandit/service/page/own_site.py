"""The page of a site's own: its people's places, the rounds that it joined, its ledger, and with whom it works."""

from markupsafe import Markup

from maskedbandit.service.page.sites import ROUND_PHASES
from maskedbandit.service.views.site_view import SiteRound, SiteView
from maskedbandit.store.book.site_entries import SiteAdmitted, SiteAgreed, SiteJoined, SumAttempt
from maskedbandit.study.cohort_numbers import say_cohort
from maskedbandit.study.site_stages import find_stage
from maskedbandit.words import say_count, say_part, say_things, say_time

Row = list[str | Markup]
COHORTS_HEAD = ("Cohort", "Arm", "People here", "Saw the arm", "State")
ROUNDS_HEAD = ("Cohort", "Attempt", "People here", "People of all sites", "Joined", "State")
LEDGER_HEAD = ("Entry", "Time", "What", "Cohort", "Attempt", "Sites", "Hash")
PARTNERS_HEAD = ("Name", "Fingerprint", "At most, of a cohort")
MOST_LISTED = 100  # rounds, and entries of the ledger
MOST_MISSING = 2  # sites that are named
SAID_ENTRIES = {
    "site_began": "it takes part in the study",
    "site_joined": "it joined an attempt at the sum",
    "site_masked": "it sent its masked value",
    "site_agreed": "it agreed that the sum be opened",
    "site_admitted": "it agreed to another list of sites",
    "site_ended": "the study ended",
}


def tabulate_own_cohorts(view: SiteView) -> list[Row]:
    """The cohorts in which the site has people; those that begin to be added up take nobody more."""
    return [
        [
            say_cohort(each.number),
            Markup('<span class="arm">{}</span>').format(each.arm),
            *(say_count(each.people), say_count(each.seen)),
            "open" if each.round is None else "added up" if each.round.is_over else "being added up",
        ]
        for each in view.cohorts
    ]


def say_round(found: SiteRound) -> str:
    """How far a round is, and what is waited for."""
    if found.is_over:
        return f"over: {say_things(len(found.agreed or ()), 'site')} added up"
    if found.left:
        return "left: waits for the next attempt"
    return f"{ROUND_PHASES[found.phase]} sent, {found.phase + 1} of {len(ROUND_PHASES)}"


def tabulate_own_rounds(view: SiteView) -> list[Row]:
    """The newest attempts at the sums of cohorts, the last joined first."""
    newest = sorted(view.rounds, key=lambda each: -each.joined.number)
    return [
        [
            *(say_cohort(each.joined.cohort), str(each.joined.attempt)),
            *(say_count(each.here), say_count(each.joined.n)),
            *(say_time(each.joined.at, True), say_round(each)),
        ]
        for each in newest[:MOST_LISTED]
    ]


def tabulate_own_ledger(view: SiteView) -> list[Row]:
    """The newest entries of the site's ledger, the newest first."""
    found = list[Row]()
    for each in reversed(view.ledger[-MOST_LISTED:]):
        cohort = attempt = ""
        if isinstance(each, SumAttempt):
            cohort, attempt = say_cohort(each.cohort).removeprefix("Cohort "), str(each.attempt)
        sites = ""
        if isinstance(each, SiteAgreed):
            sites = say_sites(view, each.cohort, each.sites)
        if isinstance(each, SiteJoined):
            numbers = find_stage(view.stages, each.cohort).keys
            there = tuple(number for number, many in zip(numbers, each.weights, strict=True) if many)
            sites = say_sites(view, each.cohort, there)
        if isinstance(each, SiteAdmitted):
            sites = ", ".join(site.name for site in each.sites)
        digest = Markup('<code title="{}">{}</code>').format(each.hash, each.hash[:10])
        found.append(
            [f"Entry {each.number}", say_time(each.at, True), SAID_ENTRIES[each.kind], cohort, attempt, sites, digest]
        )
    return found


def say_sites(view: SiteView, cohort: int, sites: tuple[int, ...]) -> str:
    """Which sites of a cohort's list, by those that are missing; nothing, if there are none."""
    if not sites:
        return ""
    listed = find_stage(view.stages, cohort).sites.sites
    missing = [each.name for each in listed if each.number not in sites]
    if len(missing) > MOST_MISSING:
        return say_part(len(sites), len(listed))
    return f"all but {', '.join(missing)}" if missing else f"all {len(sites)}"


def tabulate_partners(view: SiteView) -> list[Row]:
    """All sites of the study and the coordinator, with what they are known by, in full: it is for comparing."""
    found = list[Row]()
    for each in view.sites:
        name = f"{each.name} (this site)" if each.number == view.number else each.name
        found.append([name, mark_fingerprint(each.key), str(each.share)])
    return [*found, ["the coordinator", mark_fingerprint(view.began.coordinator), "–"]]


def mark_fingerprint(text: str) -> Markup:
    """A fingerprint in groups of four digits, as it is read out."""
    groups = " ".join(text[start : start + 4] for start in range(0, len(text), 4))
    return Markup("<code>{}</code>").format(groups)


def say_contact(view: SiteView) -> Markup:
    """When the coordinator last answered, and whether it does now."""
    link = view.link
    if link is None:
        return Markup("Whether the coordinator answers is known to the process that holds the study.")
    if link.reached is None and link.away_since is None:
        return Markup("The coordinator was not asked yet since this server began.")
    answered = Markup("The coordinator has not answered since this server began.")
    if link.reached is not None:
        answered = Markup("The coordinator last answered at {}.").format(say_time(link.reached, True))
    if link.away_since is not None:
        now = "It does not answer since {}: rounds and new people wait for it, and outcomes are stored here."
        return answered + " " + Markup(now).format(say_time(link.away_since, True))
    if link.refusal:
        return answered + " " + Markup("It refuses what this site asks: {}.").format(link.refusal)
    if link.unlisted:
        left = "This site left the study: its people keep their arms, and what they report is in sums of earlier lists."
        return answered + " " + Markup(left)
    if link.unconfirmed:
        waits = "It has another list of sites, and its rounds wait for this site: <code>{}</code> shows it."
        return answered + " " + Markup(waits).format(f"maskedbandit site enter {view.name}")
    return answered

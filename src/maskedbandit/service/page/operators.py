"""The two operators of a study on its page: who they are, and how this server stands with the helper."""

from markupsafe import Markup

from maskedbandit.service.views.view import StudyView
from maskedbandit.words import say_count, say_time

PRINTED = 10  # digits of a fingerprint that are shown
REFUSED = (
    "it disagrees with what is here, or refuses what it is asked ({}): nothing is released until that is settled "
    "between both operators"
)


def tabulate_operators(view: StudyView) -> list[tuple[str, str | Markup]]:
    """Both operators, and how this server stands with the helper, if it is the one that holds the study."""
    named, link = view.protocol.operators, view.link
    if named is None:
        return []
    second = "Shuffler" if view.protocol.shuffled else "Helper"
    found: list[tuple[str, str | Markup]] = [
        ("Leader", f"{named.leader.name}, fingerprint {named.leader.key[:PRINTED]}…"),
        (second, f"{named.helper.name}, fingerprint {named.helper.key[:PRINTED]}…, at {named.helper.address}"),
    ]
    totals = [each.helper for each in view.releases if each.helper is not None]
    if totals:
        found.append(("List of its last total", f"{totals[-1].digest[:PRINTED]}…"))
    mixes = [each.mixed for each in view.releases if each.mixed is not None]
    if mixes:
        found.append(("Messages of its last mix", f"{mixes[-1].digest[:PRINTED]}…"))
        found.append(("Reports in it", f"{say_count(mixes[-1].reports)} of {say_count(mixes[-1].n)}"))
    if link is None:
        return found
    found.append(("Reached", "not yet" if link.reached is None else say_time(link.reached, True)))
    if link.away_since is not None:
        found.append(("Away", Markup("since {}").format(say_time(link.away_since, True))))
    if link.refusal:
        found.append(("Disagrees", REFUSED.format(link.refusal)))
    found.append(("Cohorts that wait for it", say_count(link.waiting)))
    return found

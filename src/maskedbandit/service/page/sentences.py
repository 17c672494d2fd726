"""What the page says of a study in sentences."""

from __future__ import annotations

from maskedbandit.service.page.words import count, counted
from maskedbandit.service.view import View


def state(view: View) -> str:
    """How the study stands, in a few sentences."""
    if view.state == "draft":
        return "A draft: nobody is given an arm until it is started."
    people, asked = sum(view.counts.dealt), view.protocol.people
    of = f" of {count(asked)}" if asked else ""
    leads = "Nothing was released yet."
    if view.leader is not None:
        leads = f"{view.arms[view.leader].name} leads in what was released."
    return f"{view.state.capitalize()}: {count(people)}{of} people have a place. {leads}"


def widening(view: View) -> str:
    """By how much the noise widens the bands."""
    found = [arm.estimate.widening for arm in view.arms if arm.estimate]
    if not found:
        return ""
    low, high = min(found), max(found)
    how = f"×{high:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"×{low:.2f} to ×{high:.2f}"
    return f"Noise added for privacy widens the bands by {how}."


def releases(view: View) -> str:
    """How many releases there are."""
    return counted(len(view.releases), "release")

"""In which order the arms of a study are shown: that of the protocol, or the one that whoever looks has chosen.

Arms that are out of play come last in every order, the harmful ones after those that are paused.
"""

from typing import Any

from maskedbandit.service.views.view import ArmView, StudyView

SORTS = {"": "as planned", "name": "name", "people": "people", "mean": "mean"}  # as the address has them, and as said
OUT_OF_PLAY = ("paused", "harmful")


def say_arm(arm: ArmView) -> str:
    """The name of an arm, and that it is out of play."""
    return f"{arm.name} ({arm.stands})" if arm.stands in OUT_OF_PLAY else arm.name


def list_out_of_play(view: StudyView) -> list[str]:
    """The names of the arms that nobody is given."""
    return [arm.name for arm in view.arms if arm.stands in OUT_OF_PLAY]


def choose_sort(text: str) -> str:
    """The order that an address names; what it cannot name is that of the protocol."""
    return text if text in SORTS else ""


def order_arms(view: StudyView, sort: str = "") -> list[int]:
    """The numbers of the arms, in this order: names as in a dictionary, all else with the largest first."""

    def place(arm: int) -> Any:
        found, estimate = view.arms[arm], view.arms[arm].estimate
        if sort == "name":
            return found.name.casefold()
        if sort == "people":
            return -view.counts.dealt[arm]
        if sort == "mean":
            return (estimate is None, -estimate.mean if estimate else 0.0)
        return arm

    def rank(arm: int) -> int:
        stands = view.arms[arm].stands
        return OUT_OF_PLAY.index(stands) + 1 if stands in OUT_OF_PLAY else 0

    return sorted(range(len(view.arms)), key=lambda arm: (rank(arm), place(arm), arm))

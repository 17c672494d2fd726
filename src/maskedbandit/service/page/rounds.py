"""The rounds of devices that add up on the page of their study: how far they are, and how many devices may be lost."""

from fractions import Fraction
from typing import Any

from markupsafe import Markup

from maskedbandit.channels.channel import find_backend
from maskedbandit.service.page.sites import MOST_SUMS, tabulate_progress
from maskedbandit.service.views.view import StudyView
from maskedbandit.words import say_count, say_duration, say_things

DEVICE_PHASES = ("keys", "sealed key shares", "masked values", "key shares")  # what devices send, in turn
ROUNDS_OF_DEVICES = ("Cohort", "Attempt", "Phase", "Since", "Answered", "May still be lost")


def say_rounds(view: StudyView) -> str:
    """What a round needs, and how long it waits."""
    channel: Any = view.protocol.channel
    backend: Any = find_backend(channel)
    corrupted = f", even if {backend.corrupted} of its devices told the server all" if backend.corrupted else ""
    return (
        f"A sum is opened if it has the noise of {Fraction(channel.honest)} of its cohort{corrupted}. Each of the "
        f"{say_count(len(DEVICE_PHASES))} phases waits {say_duration(view.protocol.wait)} at most for devices that are "
        f"not in contact, and goes on without them. A cohort is tried {say_things(backend.attempts, 'time')}."
    )


def tabulate_due_rounds(view: StudyView) -> list[list[str | Markup]]:
    """The rounds that are due, or will be."""
    found = list[list[str | Markup]]()
    for each in view.due_rounds[:MOST_SUMS]:
        answered = "–" if each.since is None else f"{say_count(each.answered)} of {say_count(each.there)}"
        spare = "it is settled who is in it" if each.spare is None else say_things(each.spare, "device")
        found.append([*tabulate_progress(each, DEVICE_PHASES), answered, spare])
    return found

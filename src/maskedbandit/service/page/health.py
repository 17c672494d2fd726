"""What is as it should be in a study; what is not is among what needs attention (views/attention.py)."""

import math
from typing import NamedTuple

from maskedbandit.service.views.health import NEWEST_PLACES
from maskedbandit.service.views.sample_ratio import RATIO_ALARM
from maskedbandit.service.views.view import StudyView
from maskedbandit.words import say_count, say_things


class Check(NamedTuple):
    """Something that is as it should be; or it is too early to say."""

    early: bool
    title: str
    text: str


def check_health(view: StudyView) -> list[Check]:
    """What is as it should be."""
    found, bad = list[Check](), {each.kind for each in view.attention}
    released = sum(each.state == "released" for each in view.counts.cohorts)
    if released and "wrong_places" not in bad:
        text = f"Each of the {say_things(released, 'released cohort')} has exactly one person in each place."
        found.append(Check(False, "Places fit.", text))
    if view.counts.columns and "places_unseen" not in bad:
        text = f"Of the {NEWEST_PLACES} newest places whose time to be seen is over, nobody saw {view.counts.wasted}."
        found.append(Check(False, "Places are seen.", text))
    ratio, alarm = view.counts.ratio, round(1 / RATIO_ALARM)
    if ratio.groups == 0:
        text = "Too few places went back, or too few people came with them, to tell whether an arm is seen less often."
        found.append(Check(True, "Too early.", text))
    elif "sample_ratio" not in bad:
        odds = say_count(max(math.floor(math.exp(ratio.nats)), 1))
        text = (
            "The evidence that an arm is seen less often than the others, by people who were assigned together, is "
            f"{odds} to 1 at the most so far. An alarm is given at {say_count(alarm)} to 1, which chance alone ever "
            f"reaches in at most one of {say_count(alarm)} studies."
        )
        found.append(Check(False, "No arm is known to be seen less often than others.", text))
    return found

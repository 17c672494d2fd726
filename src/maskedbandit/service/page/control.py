"""What the page says of a control arm: who gets it, and what the policy brings beside it."""

from maskedbandit.service.views.view import StudyView
from maskedbandit.statement.sentences import say_control
from maskedbandit.words import say_decimal


def say_gain(view: StudyView) -> str:
    """What all whom the policy placed had more than the control; nothing without a control."""
    if view.protocol.control is None:
        return ""
    given = say_control(view.protocol)
    if view.gain is None:
        return f"{given} Nothing was released yet of people to whom the control and other arms were dealt."
    width, name = view.protocol.reward.width, view.base.name
    mean, low, high = (width * each for each in (view.gain.mean, *view.gain.interval))
    side = "more" if mean >= 0 else "less"
    return (
        f"{given} What the policy brings: all whom it placed, whichever of the other arms they had, had "
        f"{say_decimal(abs(mean))} {side} than those with {name}, on average over the same people. In 95 of 100 "
        f"studies the difference is between {say_decimal(low)} and {say_decimal(high)} at all times."
    )

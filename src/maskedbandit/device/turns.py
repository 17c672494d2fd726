"""When a device reports: the rule on which everything rests, as a function that is not told the outcome.

A message may be sent only at a time, of a size and in a number that do not depend on the outcome. So what decides is
when the application was in contact, what the clock says, and whether the service has answered:

    standing    from exposure on, every contact within the window reports what holds by then, and the first contact
                after it what held at its end; whoever never comes back has reported the default
    deadline    the first contact after the window reports what held at its end, for everybody

Under local trust there are no standing reports: each would cost epsilon again. Nor are there with a shuffler, which
could not tell which report another one replaces once they are mixed.

The report of the whole window is sent again, as it is, by later contacts until the service has answered. Nothing is
sent after the last moment at which reports are taken. Of the reports of a place the one with the highest turn counts.
"""

from typing import NamedTuple

from maskedbandit.device.own_place import OwnPlace

WAYS_TO_REPORT = ("standing", "deadline")


class KeptReport(NamedTuple):
    """A report that was made."""

    turn: int
    made: int  # when, in milliseconds
    says: int  # for the person alone: so many steps, or under local trust the number that was sent
    size: int  # bytes of the request's body
    answer: str  # of the service: stored, accepted, duplicate, or the code of a refusal; empty while there is none
    metric: str = ""  # the name of a further outcome; empty: of the reward


def choose_turn(place: OwnPlace, last: KeptReport | None, now: int, standing: bool) -> int | None:
    """The turn of the report that a contact sends: a new one, the last one again, or None."""
    if now > place.last_call:
        return None
    if last is not None and last.made >= place.end:
        return None if last.answer else last.turn
    if now >= place.end or (standing and place.operators and not place.shuffled):
        return 0 if last is None else last.turn + 1
    return None

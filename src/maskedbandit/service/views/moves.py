"""What a move of a study will do, and what of it cannot be undone: said before somebody makes it, with its numbers.

The page asks so, and so does the command. The numbers are those of the view: who came, what was released, and the plan.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from maskedbandit.service.views.view import StudyView
from maskedbandit.store.book.entries import HelperLost
from maskedbandit.store.states import BEFORE
from maskedbandit.words import say_count, say_duration, say_things


class Question(NamedTuple):
    """Whether a move is to be made."""

    title: str
    does: tuple[str, ...]  # what it will do
    lasts: str  # what cannot be undone
    answer: str  # of whoever wants it
    hindrance: str = ""  # why it cannot be made now, and what is to be done first


def ask_start(view: StudyView) -> Question:
    """Before a draft is started."""
    protocol, reward = view.protocol, view.protocol.reward
    arms, people = say_things(protocol.k, "arm"), protocol.people
    who = "as many people as it takes to find its answer" if people is None else say_things(people, "person", "people")
    period = "for ever" if protocol.period is None else f"in {say_duration(protocol.period)}"
    does = [
        f"From then on whoever comes is given one of {arms}, until {who} {'has' if people == 1 else 'have'} a place.",
        f"An outcome counts for {say_duration(reward.window)} after the person saw the arm; a place that nobody saw "
        f"within {say_duration(reward.exposure)} goes to somebody else.",
        f"Each person has a budget of {protocol.budget} {period}, in all studies of the project {protocol.project}. "
        f"This study takes at most {view.loss} of it, and what was taken does not come back.",
    ]
    if view.approvals.given:
        does.append(f"An officer of privacy has approved this protocol (key {', '.join(view.approvals.given)}).")
    lasts = "The protocol is frozen: it cannot be changed any more, and the study cannot be deleted."
    hindrance = ""
    if view.approvals.missing:
        hindrance = (
            f"An officer of privacy is to approve this protocol first. Ask {view.approvals.whom} to sign in on the "
            f"page, to look at the study, and to approve the protocol with the hash {protocol.digest}."
        )
    return Question(f"Start {view.name}?", tuple(does), lasts, "Start the study", hindrance)


def ask_approval(view: StudyView) -> Question:
    """Before an officer approves a draft."""
    does = (
        "You say that the protocol below may be started, with real people. An owner starts it.",
        *ask_start(view).does[:3],
        "The ledger will begin with your key's public part, and the privacy statement will name it.",
    )
    lasts = (
        "If somebody changes the draft, your approval ends; once the study is started, it stays in the ledger for ever."
    )
    return Question(f"Approve {view.name}?", does, lasts, "Approve this protocol")


def ask_stop(view: StudyView, without_helper: bool = False) -> Question:
    """Before a study is stopped, and its helper of two operators perhaps given up."""
    open_cohorts = [each for each in view.counts.cohorts if each.state == "open" and not each.may_be_released]
    waiting, lost = count_waiting(view), sum(each.dealt for each in open_cohorts)
    does = [
        f"{say_placed(view)}, and nobody is ever given a place again. Whoever comes is served an arm, and "
        "loses nothing.",
        f"Whoever has a place reports until the window of {say_duration(view.protocol.reward.window)} is over.",
    ]
    if waiting:
        fate = "given up, as the helper is away for ever" if without_helper else "released all the same"
        does.append(f"{say_things(waiting, 'full cohort is', 'full cohorts are')} {fate}.")
    if lost:
        does.append(
            f"{say_things(lost, 'person is', 'people are')} in cohorts that are not full. These are never released, "
            "and what their people were charged is lost."
        )
    lasts = "Nobody is ever given a place again. To give no places for a while, pause the study instead."
    return Question(f"Stop {view.name} for ever?", tuple(does), lasts, "Stop for ever")


def ask_archive(view: StudyView) -> Question:
    """Before everybody's data is erased."""
    waiting = count_waiting(view)
    people = say_things(count_placed(view), "person", "people")
    does = (
        f"The data of {people} is erased for ever: pseudonyms, tickets and reports.",
        f"What was released stays, {say_things(len(view.releases), 'release')} in all, with the ledger and the privacy "
        "statement; and what people were charged stays.",
    )
    lasts = "Nobody can bring back what is erased."
    hindrance = ""
    if waiting:
        waits = say_things(waiting, "full cohort waits", "full cohorts wait")
        hindrance = f"{waits} for the release: archive the study after that."
    return Question(f"Archive {view.name}, and erase everybody's data?", does, lasts, "Erase and archive", hindrance)


def count_waiting(view: StudyView) -> int:
    """How many full cohorts are still to be released."""
    lost = any(isinstance(each, HelperLost) for each in view.ledger)
    return 0 if lost else sum(each.may_be_released for each in view.counts.cohorts)


def count_placed(view: StudyView) -> int:
    """How many people have a place, as far as that may be shown."""
    return sum(view.counts.dealt) if view.counts.placed is None else view.counts.placed


def say_placed(view: StudyView) -> str:
    """How many people have a place, of how many who were planned."""
    many, people = count_placed(view), view.protocol.people
    who = say_things(many, "person", "people")
    planned = "" if people is None else f" of {say_count(people)} who were planned"
    return f"{who}{planned} {'has' if many == 1 else 'have'} a place"


QUESTIONS: dict[str, Callable[[StudyView], Question]] = {
    "start": ask_start,
    "approve": ask_approval,
    "stop": ask_stop,
    "give_up_helper": partial(ask_stop, without_helper=True),
    "archive": ask_archive,
}
STATES_BEFORE = {
    "start": BEFORE["started"],
    "approve": BEFORE["started"],
    "stop": BEFORE["stopped"],
    "give_up_helper": (*BEFORE["stopped"], "stopped"),
    "archive": BEFORE["archived"],
}


def ask_move(view: StudyView, verb: str) -> Question:
    """What is to be said before a move is made, and why it cannot be made if the study is in another state."""
    asked = QUESTIONS[verb](view)
    if view.state in STATES_BEFORE[verb]:
        return asked
    state = "finished" if view.finish else view.state
    needed = (
        "stop it first" if verb == "archive" and view.state in BEFORE["stopped"] else "this cannot be done any more"
    )
    if view.state == "draft":
        needed = "start it first"
    return asked._replace(hindrance=f"{view.name} is {state}: {needed}.")

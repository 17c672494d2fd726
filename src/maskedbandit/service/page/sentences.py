"""What the page says of a study in sentences."""

from markupsafe import Markup

from maskedbandit import core
from maskedbandit.privacy.odds import best_guess, in_hundred
from maskedbandit.service.page.arm_order import say_arm
from maskedbandit.service.page.metrics import say_metrics
from maskedbandit.service.views.counts import CohortStanding
from maskedbandit.service.views.estimates import ALPHA, estimate_arms
from maskedbandit.service.views.view import SAID_FINISH, StudyView
from maskedbandit.statement.coalitions import say_coalitions
from maskedbandit.statement.sentences import say_control
from maskedbandit.store.book.entries import Release
from maskedbandit.store.book.standing import wrong_at_most
from maskedbandit.study.protocol import Protocol
from maskedbandit.words import say_count, say_decimal, say_duration, say_things, say_time


def say_state(view: StudyView) -> Markup:
    """How the study stands, and what it has found."""
    return Markup(" ").join(each for each in (_stands(view), _leads(view)) if each)


def _stands(view: StudyView) -> str:
    placed, people = view.counts.placed, view.protocol.people
    if view.state == "draft":
        return "A draft: nobody is given an arm until it is started."
    if view.state == "archived":
        return "Archived: everybody's data was erased, and what was released stays."
    if view.finish is not None:
        many = "" if placed is None else f" {say_things(placed, 'person has', 'people have')} a place."
        why = SAID_FINISH[view.finish.why]
        return Markup("Finished since {}, as {}.{}").format(say_time(view.finish.since), why, many)
    if placed is None:
        return f"{view.state.capitalize()}."
    if people is None:
        return f"{view.state.capitalize()}: {say_things(placed, 'person has', 'people have')} a place."
    if placed >= people:
        all_placed = f"all {say_count(people)} people have a place."
        return all_placed.capitalize() if view.state == "running" else f"{view.state.capitalize()}: {all_placed}"
    return f"{view.state.capitalize()}: {say_count(placed)} of {say_count(people)} people have a place."


def _leads(view: StudyView) -> Markup:
    if view.named is not None and not view.protocol.policy.purpose.serves:
        ended, wrong = "study", wrong_at_most(view.protocol, view.standing)
        surely = ""
        if wrong is not None:
            ended, surely = "search", f", wrong with probability at most {say_decimal(wrong)}"
        return Markup("The {} has ended, and its answer is {}{}.").format(ended, _names(view, view.named), surely)
    if not view.releases:
        return Markup("") if view.state == "draft" else Markup("Nothing was released yet.")
    if view.best is not None:
        text = "<strong>{}</strong> is the best arm in play, wrong with probability at most {}."
        return Markup(text).format(view.arms[view.best].name, say_decimal(bound_wrong_best(view)))
    if any(arm.confidence for arm in view.arms):
        known = "not known" if view.over else "too early to tell"
        return Markup("It is {} which arm is best.").format(known)
    if view.standing.is_alone:
        harmful = ", and it was found harmful too" if view.standing.all_harmful else ""
        return Markup("<strong>{}</strong> is the only arm in play{}.").format(
            view.arms[view.standing.in_play[0]].name, harmful
        )
    return Markup("No two arms in play were compared over the same people, so it is not known which is best.")


def bound_wrong_best(view: StudyView) -> float:
    """The probability with which an arm is ever called the best wrongly: twice as much if arms were added."""
    return ALPHA * (2 if view.protocol.added else 1)


def _names(view: StudyView, arms: tuple[int, ...]) -> Markup:
    """The names of these arms."""
    names = [Markup("<strong>{}</strong>").format(view.arms[arm].name) for arm in arms]
    return Markup(", ").join(names) or Markup("<strong>no arm</strong>")


def say_next_step(view: StudyView) -> Markup:
    """What happens next, and what people who come now are given."""
    found: list[str] = []
    waiting = [each.deadline for each in list_unreleased(view) if each.state == "waiting" and each.deadline is not None]
    waiting = [] if view.state == "archived" else waiting
    adding = [each for each in waiting if each < view.now] if (adds := say_who_adds(view.protocol)) else []
    closing = [each for each in waiting if each not in adding]
    opened = [each for each in list_unreleased(view) if each.state == "open"]
    if view.state == "paused":
        found.append("No places are given until it is resumed. Reports and releases go on.")
    if adding:
        one, many = "window of 1 full cohort is", f"windows of {say_count(len(adding))} full cohorts are"
        found.append(f"The {one if len(adding) == 1 else many} over: {adds}.")
    if closing:
        one, many = "full cohort waits until its window is", "full cohorts wait until their windows are"
        cohorts = f"{say_things(len(closing), one, many)} over"
        found.append(Markup("{}; the next closes at {}.").format(cohorts, say_time(min(closing))))
    if view.over:
        if view.answer is not None and view.finish is None:
            found.append("The policy asks for nobody any more.")
        found.append("No more updates can be published for this study.")
    elif opened and not waiting and view.state == "running":
        left = sum(each.size - each.seen for each in opened)
        places = say_things(left, "place that nobody saw", "places that nobody saw")
        has = "The open cohort has" if len(opened) == 1 else f"The {say_count(len(opened))} open cohorts have"
        found.append(f"{has} {places} yet. {say_first_release(view)}")
    if view.state in ("paused", "stopped") or view.answer is not None or view.over:
        arm = view.served
        best = "any arm, each with the same probability" if arm is None else say_arm(view.arms[arm])
        if view.state != "archived":
            found.append(Markup("Whoever comes is served {}, and is asked for nothing.").format(best))
    return Markup(" ").join(found)


def say_first_release(view: StudyView) -> str:
    """When there may be a release."""
    window = say_duration(view.protocol.reward.taken_for)
    if adds := say_who_adds(view.protocol):
        return f"{window.capitalize()} after the last person of a cohort saw the arm {adds}, and it is released."
    return f"A cohort is released {window} after its last person saw the arm."


def say_who_adds(protocol: Protocol) -> str:
    """What has to happen after a window, unless this server does it alone and at once."""
    if protocol.sites is not None:
        return "the sites add up"
    if protocol.rounds is not None:
        return "the devices add up"
    if protocol.operators is not None:
        return "the shuffler mixes the reports" if protocol.shuffled else "both operators add up"
    return ""


def say_missing_reports(protocol: Protocol) -> str:
    """What becomes of people of whom no outcome is known, or no device comes back."""
    default = say_decimal(protocol.reward.default)
    if protocol.rounds is None and not protocol.shuffled:
        return (
            "How many people reported, and when, is not shown to anybody. A person who never reports counts as "
            f"{default}, so whether a report came says what the outcome was."
        )
    where = "to the shuffler, from each device that comes back" if protocol.shuffled else "into a masked sum"
    return (
        f"Reports go {where}, and a person whose outcome is not known counts as {default}: so nobody sees who reported "
        "what. Whoever’s device does not come back after the window is not in the sum."
    )


def say_widening(view: StudyView) -> str:
    """By how much the noise widens the bands."""
    found = [f"×{arm.estimate.widening:.2f}" for arm in view.arms if arm.estimate]
    low, high = min(found, key=lambda each: float(each[1:])), max(found, key=lambda each: float(each[1:]))
    return f"Noise added for privacy widens the bands by {low if low == high else f'{low} to {high}'}."


def explain_negative(view: StudyView) -> str:
    """Why a mean is below what an outcome can be, or above."""
    means = [arm.estimate.mean for arm in view.arms if arm.estimate]
    least, most = view.protocol.reward.least, view.protocol.reward.highest
    found = []
    if min(means) < 0:
        found.append(f"Below {'zero' if least == 0 else say_decimal(least)}")
    if max(means) > 1:
        found.append(f"{'above' if found else 'Above'} {say_decimal(most)}")
    return f"{' and '.join(found)} because noise was added; shown as it was released." if found else ""


def say_mean(view: StudyView, release: Release) -> str:
    """The mean of a release in the units of the outcome."""
    return say_decimal(view.protocol.reward.in_units(release.total / release.n))


def list_unreleased(view: StudyView) -> list[CohortStanding]:
    """The cohorts that may still be released."""
    return [each for each in view.counts.cohorts if each.state in ("open", "waiting")]


def say_closing(cohort: CohortStanding) -> Markup:
    """When a cohort closes."""
    if cohort.deadline is None:
        return Markup("when it is full and seen")
    if cohort.state == "waiting":
        return say_time(cohort.deadline)
    return Markup("not before {}").format(say_time(cohort.deadline))


def say_cohorts(view: StudyView) -> str:
    """How many cohorts there are in each state."""
    states = [each.state for each in view.counts.cohorts]
    whole = say_things(len(states), "cohort")
    parts = [
        f"{say_count(states.count(state))} {text}"
        for state, text in (("open", "open"), ("waiting", "waiting"), ("released", "released"))
    ]
    if given_up := states.count("given up"):
        parts.append(f"{say_count(given_up)} given up, as their places are given to nobody any more")
    return f"The policy has asked for {whole}: {', '.join(parts)}."


def say_harm(protocol: Protocol) -> str:
    """What harm is, in a sentence."""
    found = protocol.guardrail
    assert found is not None
    width = found.outcome.most - found.outcome.least
    side, times = "below" if found.below else "above", f"{100 * found.alpha:g} of 100 studies"
    if found.against is None:
        what = f"a mean of {found.name} {side} {found.outcome.in_units(found.limit):.4g}"
    else:
        name = protocol.arms[found.against][0]
        what = f"a mean of {found.name} whose difference from that of {name} is {side} {found.limit * width:.4g}"
    return (
        f"Harm is {what}, over all its people, or over those since any of its releases. An arm of which the releases "
        f"show that is put out of play at once, and for good. An arm that does no harm is taken for one that "
        f"does in at most {times}, however long they go on."
    )


def say_preview(protocol: Protocol) -> list[tuple[str, str]]:
    """What a study would mean, before it is written down: its cost, and how much noise widens its answer.

    >>> protocol = Protocol.from_table({
    ...     "name": "example", "people": 1000, "policy": "successive_elimination",
    ...     "channel": {"name": "central", "epsilon": 1},
    ...     "arms": [{"name": "a"}, {"name": "b"}], "budget": {"epsilon": 1}})
    >>> [name for name, _ in say_preview(protocol)]
    ['What a place costs', 'Budget of a person', 'People', 'The answer']
    """
    people, reward = protocol.people, protocol.reward
    loss = protocol.price(max((people or 1000) // protocol.k, 1))
    control = f" {said}" if (said := say_control(protocol)) else ""
    period = "for ever" if protocol.period is None else f"in {say_duration(protocol.period)}"
    times = in_hundred(best_guess(loss))
    found = [
        (
            "What a place costs",
            f"{loss}: a guess between two equally likely outcomes is right at most {times} times in 100.",
        ),
        ("Budget of a person", f"{protocol.budget} {period}, in all studies of project {protocol.project}."),
    ]
    if protocol.metrics:
        found.append(("Metrics", say_metrics(protocol)))
    if protocol.sites is not None:
        found.append(("Its sites", say_coalitions(protocol)))
    if people is None:
        found.append(("People", f"As many as it needs until its answer is certain: that depends on the arms.{control}"))
        return found
    found.append(("People", f"{say_count(people)}, for {say_things(protocol.k, 'arm')}.{control}"))
    each = max(people // protocol.k, 1)
    (known,) = estimate_arms(protocol.channel.law(), [[core.Release(0, each, each / 2)]])
    assert known is not None
    both, alone = (reward.width * band.width / 2 for band in (known.outer, known.inner))
    text = (
        f"If each arm had {say_things(each, 'person', 'people')} in one cohort, its mean would be known to "
        f"±{say_decimal(both, 2)} at any time: ±{say_decimal(alone, 2)} from how much people differ, and "
        f"×{known.widening:.2f} by privacy noise."
    )
    found.append(("The answer", text))
    return found

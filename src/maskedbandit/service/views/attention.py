"""What of a study needs somebody's attention: one list for the page, the interface and the command line.

All of it follows from who came, when, and which arm, from charges, from clocks, and from what was released: nothing of
an outcome before its release, nor whether one was reported. An arm that somebody paused needs no attention.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from maskedbandit.service.study_messages import AttentionItem
from maskedbandit.service.views.arrivals import find_silence
from maskedbandit.service.views.counts import StudyCounts
from maskedbandit.service.views.health import AHEAD, MANY_WASTED, NEWEST_PLACES
from maskedbandit.service.views.sample_ratio import RATIO_ALARM
from maskedbandit.service.views.silent_releases import NEAR_DEFAULT, SILENT_ERROR, find_silent_releases
from maskedbandit.service.views.spent_budgets import MANY_SPENT, find_spent_budgets
from maskedbandit.store.book.book import Book
from maskedbandit.store.book.entries import ArmHarmful
from maskedbandit.store.book.finish import Finish
from maskedbandit.words import say_count, say_decimal, say_duration, say_part

Found = Iterator[AttentionItem]


def find_attention(book: Book, counts: StudyCounts, finish: Finish | None, now: int) -> tuple[AttentionItem, ...]:
    """What needs attention at a time, the most urgent first; nothing of a draft or an archive, which nobody is in."""
    if book.database is None or not book.entries or book.state == "archived":
        return ()
    kinds: list[Callable[..., Found]] = [find_harmful_arms, find_wrong_places, find_sample_ratio]
    if book.state in ("running", "paused"):
        kinds += [find_hidden_entries, find_clock, find_early_assignment, find_missing_reports]
    if book.state == "running" and finish is None:
        kinds += [find_unseen_places, find_missing_people, find_budgets]
    found = [each for find in kinds for each in find(book, counts, now)]
    return tuple(sorted(found, key=lambda each: URGENCY.index(each.kind)))


URGENCY = (
    "harmful_arm",
    "wrong_places",
    "places_unseen",
    "sample_ratio",
    "clock_ahead",
    "witness_behind",
    "nobody_comes",
    "nobody_reports",
    "one_window",
    "budget_nearly_spent",
)


def find_harmful_arms(book: Book, counts: StudyCounts, now: int) -> Found:
    """Arms of which the releases showed harm."""
    since = {each.arm: each.at for each in book.changes if isinstance(each, ArmHarmful)}
    for arm in sorted(book.standing.harmful):
        name = book.protocol.arms[arm][0]
        stands = "It is out of play for good: nobody else is given it."
        if arm in book.standing.in_play:
            stands = "No other arm is left, so no places are given any more; whoever comes may still be served it."
        advice = (
            f"People who had {name} before keep it: have the application show them another arm, and look for what does "
            "the harm."
        )
        yield AttentionItem("harmful_arm", f"{name} was found to do harm. {stands}", advice, name, since.get(arm))


def find_wrong_places(book: Book, counts: StudyCounts, now: int) -> Found:
    """Cohorts that have not the people whom they were to have, which can never be."""
    wrong = [
        each.number
        for each in counts.cohorts
        if each.dealt > each.size or each.seen > each.dealt or (each.state == "released" and each.seen != each.size)
    ]
    if wrong:
        numbers = ", ".join(map(str, wrong[:5]))
        says = f"Cohort {numbers} has not as many people as places: what is in the database is wrong."
        yield AttentionItem("wrong_places", says, "Stop the study, and verify its ledger.")


def find_unseen_places(book: Book, counts: StudyCounts, now: int) -> Found:
    """Places whose time to be seen is over."""
    if (wasted := counts.wasted) < MANY_WASTED or book.database is None:
        return
    exposure = book.protocol.reward.exposure
    newest = (
        "SELECT assigned, exposed FROM place WHERE study = ? AND assigned < ? ORDER BY assigned DESC, cohort, place"
    )
    find = f"SELECT MIN(assigned) FROM ({newest} LIMIT ?) AS newest WHERE exposed IS NULL"
    until = min(book.horizon.time, now - exposure)
    ((since,),) = book.database.rows(find, book.study, until, NEWEST_PLACES)
    says = (
        f"Of the {NEWEST_PLACES} newest places whose time to be seen is over, nobody saw {wasted}. They go to others, "
        "and the budgets of those who had them are used up for nothing."
    )
    advice = "See whether the application says that it shows an arm, and in time."
    yield AttentionItem("places_unseen", says, advice, since=None if since is None else int(since) + exposure)


def find_sample_ratio(book: Book, counts: StudyCounts, now: int) -> Found:
    """An arm that is seen less often by people who were assigned together."""
    ratio = counts.ratio
    if ratio.since is None or ratio.arm is None:
        return
    name = book.protocol.arms[ratio.arm][0]
    says = (
        f"{name} is seen less often than the other arms, by people who were assigned together. If all arms were seen "
        f"alike, this would ever be said of at most one of {round(1 / RATIO_ALARM)} studies. The people of the arms "
        "can no longer be compared."
    )
    advice = "See whether the application shows this arm less often, or later, or fails to say so; then begin anew."
    yield AttentionItem("sample_ratio", says, advice, name, ratio.since)


def find_hidden_entries(book: Book, counts: StudyCounts, now: int) -> Found:
    """Entries of the ledger that the witness has not seen."""
    if not book.horizon.whole:
        says = "The newest entries of the ledger are not at their witness, so nothing after them is shown."
        advice = "See whether the folder of the witness can be written, and has room; it is written again each second."
        yield AttentionItem("witness_behind", says, advice, since=book.horizon.time)


def find_clock(book: Book, counts: StudyCounts, now: int) -> Found:
    """A time of the study that is ahead of the clock."""
    assert book.database is not None
    ((reached,),) = book.database.rows("SELECT reached FROM study WHERE study = ?", book.study)
    if (ahead := min(int(reached), book.horizon.time) - now) > AHEAD:
        says = (
            f"The time of this study is {say_duration(ahead)} ahead of the server's clock, which was wrong or is. "
            "Until the clock has caught up, nothing is released and no place goes back."
        )
        yield AttentionItem("clock_ahead", says, "Set the clock of the server right, and keep it so, as by NTP.")


def find_early_assignment(book: Book, counts: StudyCounts, now: int) -> Found:
    """People who had all their places before there was anything to go by."""
    if (early := counts.early) is None:
        return
    people, window = int(book.protocol.people or 0), say_duration(book.protocol.reward.taken_for)
    says = (
        f"This is an A/B test, not a bandit: {say_part(early.many, people)} people came within "
        f"{window}, before anything was released, so the policy learned from nobody for anybody else."
    )
    advice = (
        f"Next time spread the people over several windows of {window}: the preview of a new study says over how many, "
        "and so does the command maskedbandit plan."
    )
    yield AttentionItem("one_window", says, advice, since=early.since)


def find_missing_reports(book: Book, counts: StudyCounts, now: int) -> Found:
    """Releases that are as they would be without reports."""
    if (silent := find_silent_releases(book)) is None:
        return
    reward = book.protocol.reward
    releases = "newest release is" if silent.many == 1 else f"{say_count(silent.many)} newest releases are"
    says = (
        f"The {releases} what they would be if nobody had reported, or if outcomes are rare. If the mean of their "
        f"{say_count(silent.people)} people were further than {say_decimal(NEAR_DEFAULT * reward.width)} from "
        f"{say_decimal(reward.default)}, this would be said of at most one of {round(1 / SILENT_ERROR)} such sets."
    )
    advice = (
        "See in the application's own log whether its reports are sent and accepted. If outcomes are rare, all is well."
    )
    yield AttentionItem("nobody_reports", says, advice, since=silent.since)


def find_missing_people(book: Book, counts: StudyCounts, now: int) -> Found:
    """Places that wait for somebody for long."""
    if (since := find_silence(book, counts, now)) is None:
        return
    says = f"Nobody was given a place for {say_duration(now - since)}, which is long for this study. It has places."
    advice = "See whether the application still asks for arms, with a key that holds; or stop the study."
    yield AttentionItem("nobody_comes", says, advice, since=since)


def find_budgets(book: Book, counts: StudyCounts, now: int) -> Found:
    """People who cannot be in another study like this one."""
    if (spent := find_spent_budgets(book, now)) is None:
        return
    project = book.protocol.project
    says = (
        f"At least {MANY_SPENT} of the newest people of this study have spent so much in the studies of project "
        f"{project} that another place like this one would be refused."
    )
    until = "for ever" if spent.ends is None else f"until {datetime.fromtimestamp(spent.ends / 1000, UTC):%-d %B %Y}"
    advice = f"That is so {until}: begin the next study of these people later, or at a smaller ε; or with other people."
    yield AttentionItem("budget_nearly_spent", says, advice)

"""What needs attention depends on no outcome before its release: two services that differ in one person's reports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from maskedbandit.service.study_messages import AttentionItem
from maskedbandit.service.views import attention
from maskedbandit.service.views.counts import StudyCounts
from maskedbandit.store.book.book import Book
from tests.service.inside import Inside
from tests.service.test_two_worlds import FLAGS, STUDY, asking
from tests.service.two_worlds import SAID, VICTIM, WINDOW, Worlds, asked, exported, sign

PAGES = (STUDY, "/v1/studies", "/studies/small", "/studies")
LARGE = {"name": "successive_elimination", "least": 400}  # whose cohorts are never full
SHOWN = {"places_unseen", "sample_ratio", "one_window", "budget_nearly_spent"}
ROOM = {"people": 80, "policy": "contemporaneous_klucb", "project": "shop", "budget": {"epsilon": 2}}  # for two studies


def cause_all(service: Inside) -> None:
    """People come at once, who are in another study too, and of one arm most never say that they see it."""
    public = service.ask("GET", f"{STUDY}/protocol", None, "owner").json
    service.begin(**public | {"name": "other", "signed_by": None, "enrolment": None, "people": 1000, "policy": LARGE})
    of_b = 0
    for i in range(64):
        given = service.assign(f"lost {i}")
        assert service.study("assign", {"unit": f"lost {i}"}, name="other").status == 200
        of_b += given["arm"] == "b"
        if given["arm"] == "a" or of_b > 26:
            assert service.study("expose", {"ticket": given["ticket"]}).status == 200
    for verb in ("stop", "archive"):  # so that one study is held, whose statements come one after the other
        assert service.study(verb, key="owner", name="other").status == 200


def kinds(worlds: Worlds) -> set[str]:
    """What both say that needs attention."""
    (found,) = {
        frozenset(each["kind"] for each in world.service.ask("GET", STUDY, None, "owner").json["attention"])
        for world in worlds.both
    }
    return set(found)


def look(worlds: Worlds) -> None:
    """Whoever looks sees the same in both."""
    for path in PAGES:
        worlds.probe(*asked("GET", path, None, "owner", not path.startswith("/v1")))
    worlds.probe("an export", exported)


def check_worlds(folder: Path) -> set[str]:
    """The victim's application reports in one of them alone: all that was said to need attention."""
    said = set[str]()
    with pytest.MonkeyPatch.context() as patch:
        worlds = Worlds(folder, patch, True, prepare=cause_all, **ROOM)
        try:
            said |= kinds(worlds)
            report = asking("report", {"ticket": worlds.tickets[VICTIM], "value": 4})
            worlds.differ([], [report])
            look(worlds)
            for i in range(16):  # so that the victim's cohort is full; who evaluates a flag has seen the arm
                context = SAID | {"targetingKey": f"more {i}", "token": sign(f"more {i}")}
                worlds.probe(*asked("POST", f"{FLAGS}/small", {"context": context}))
            for seconds in (WINDOW - 2, 3, 86_400, 86_400):  # the last moment; the release; a day, and another
                worlds.tick(seconds)
                look(worlds)
                said |= kinds(worlds)
            worlds.clock.now -= 3_600_000
            look(worlds)
            said |= kinds(worlds)
            assert worlds.released
        finally:
            worlds.end()
    return said


@pytest.mark.slow
def test_what_needs_attention_tells_nothing_of_outcomes(tmp_path: Path) -> None:
    said = check_worlds(tmp_path)
    assert said >= SHOWN | {"nobody_comes", "clock_ahead"}, said


def no_report_for_long(book: Book, counts: StudyCounts, now: int) -> Iterator[AttentionItem]:
    """No report for a second, from the reports that are stored."""
    assert book.database is not None
    ((latest,),) = book.database.rows("SELECT MAX(received) FROM reward WHERE study = ?", book.study)
    if now - (latest or 0) > 1000:
        yield AttentionItem("nobody_reports", "Nobody has reported.", "See why.")


def early_release(book: Book, counts: StudyCounts, now: int) -> Iterator[AttentionItem]:
    """Everybody has reported."""
    assert book.database is not None
    ((many,),) = book.database.rows("SELECT COUNT(DISTINCT ticket) FROM reward WHERE study = ?", book.study)
    if many:
        yield AttentionItem("nobody_comes", f"{many} people have reported.", "Wait for no other.")


@pytest.mark.slow
@pytest.mark.parametrize("twin", [no_report_for_long, early_release])
def test_an_item_that_follows_from_stored_reports_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: Any
) -> None:
    monkeypatch.setattr(attention, "find_missing_reports", twin)
    with pytest.raises(AssertionError, match="tells"):
        check_worlds(tmp_path)

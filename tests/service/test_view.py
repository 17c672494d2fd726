"""What may be shown of a study: nothing of a reward that was not released, and nothing beyond what was published."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from maskedbandit.errors import BehindWitness, StorageFailed, UnknownStudy
from maskedbandit.service.page.study_list import choose_studies
from maskedbandit.service.page.visit import render_page
from maskedbandit.service.views.counted_places import DELAYS
from maskedbandit.service.views.describe import read_state
from maskedbandit.service.views.health import NEWEST_PLACES
from maskedbandit.service.views.status import write_status
from maskedbandit.service.views.summaries import read_summaries
from maskedbandit.service.views.tally import Tally
from maskedbandit.service.views.view import StudyView, read_view
from maskedbandit.store.book.book import EVER, Book, Horizon, read_published
from maskedbandit.store.databases.database import Database
from tests.service.all_pages import render_study
from tests.service.played import HOUR, MINUTE, Played, quick_folder
from tests.store.databases import fresh_postgresql
from tests.store.stage import failing_witness

MEANS = [0.5, 0.6, 0.45]
OWNER = "owner"
Viewer = Callable[..., StudyView]


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as found:
        yield found


@pytest.fixture
def played(folder: Path) -> Iterator[Played]:
    made = Played(folder / "study")
    made.study.start()
    yield made
    made.study.close()


def shown(played: Played, viewer: Viewer = read_view, **more: Any) -> bytes:
    """Everything that anybody sees, as bytes."""
    found = viewer(played.database, played.witness(), played.protocol.name, played.now, **more)
    pages = render_study(found, OWNER, "token")
    listed = read_summaries(played.database, played.witness(), played.now)
    pages.append(render_page("list", OWNER, "token", **choose_studies(listed)))
    return msgspec.json.encode(found, enc_hook=str) + "".join(pages).encode()


def open_tickets(played: Played) -> list[str]:
    """Of people whose window is not over, and who have not reported."""
    find = (
        "SELECT ticket FROM place WHERE returned IS NULL AND exposed >= ? AND NOT EXISTS "
        "(SELECT 1 FROM reward WHERE reward.ticket = place.ticket) ORDER BY ticket"
    )
    since = played.now - played.protocol.reward.window
    return [ticket for (ticket,) in played.database.rows(find, since)]


def check_reports_are_not_seen(played: Played, viewer: Viewer) -> None:
    """Nobody can tell whether reports came, how many, or what they said."""
    before, tickets = shown(played, viewer), open_tickets(played)
    assert len(tickets) > 10
    for i, ticket in enumerate(tickets[: len(tickets) // 2]):
        played.study.report(ticket, i % 2)
        assert i > 2 or shown(played, viewer) == before
    assert shown(played, viewer) == before
    assert played.database.rows("SELECT COUNT(*) FROM reward")[0][0] >= len(tickets) // 2


@pytest.fixture(scope="module")
def template() -> Iterator[Played]:
    """A study with releases behind it, and people of whom nobody reported yet; no arm is ever found to be the best."""
    with quick_folder() as folder:
        made = Played(folder / "study", people=10**9)
        made.study.start()
        made.come(330, [0.5] * 3)
        made.wait(HOUR)
        for _ in range(100):
            if len(open_tickets(made)) < 30:
                made.come(10, [0.5] * 3, lost=1.0)
        made.reopen()
        yield made
        made.study.close()


@pytest.fixture
def waiting(template: Played, folder: Path) -> Iterator[Played]:
    """A copy of it."""
    made = Played.copied(template, folder / "copy")
    yield made
    made.study.close()


def test_reports_are_not_seen(waiting: Played) -> None:
    assert len(read_view(waiting.database, waiting.witness(), "newsletter", waiting.now).releases) > 2
    check_reports_are_not_seen(waiting, read_view)


def leaks_how_many(database: Database, *which: Any, **more: Any) -> StudyView:
    """A broken twin: how many reports are missing."""
    found = read_view(database, *which, **more)
    (reports,) = database.rows("SELECT COUNT(*) FROM reward")[0]
    return msgspec.structs.replace(
        found, counts=msgspec.structs.replace(found.counts, inside=sum(found.counts.seen) - reports)
    )


def leaks_when(database: Database, *which: Any, **more: Any) -> StudyView:
    """A broken twin: the last time at which the study did anything, reports among it."""
    found = read_view(database, *which, **more)
    (latest,) = database.rows("SELECT MAX(received) FROM reward")[0]
    return msgspec.structs.replace(found, now=latest or 0)


def leaks_state(database: Database, *which: Any, **more: Any) -> StudyView:
    """A broken twin: a cohort is ready when all its reports are there."""
    found = read_view(database, *which, **more)
    find = "SELECT cohort, COUNT(*) FROM place JOIN reward USING (study, ticket) GROUP BY cohort"
    there = dict(database.rows(find))
    cohorts = [
        msgspec.structs.replace(each, deadline=there.get(each.number, 0) if each.state != "released" else None)
        for each in found.counts.cohorts
    ]
    return msgspec.structs.replace(found, counts=msgspec.structs.replace(found.counts, cohorts=tuple(cohorts)))


@pytest.mark.parametrize("broken", [leaks_how_many, leaks_when, leaks_state])
def test_a_view_that_shows_something_of_reports_is_rejected(waiting: Played, broken: Viewer) -> None:
    with pytest.raises(AssertionError):
        check_reports_are_not_seen(waiting, broken)


def test_values_that_differ_are_not_seen(waiting: Played, folder: Path) -> None:
    """Two copies of a study in which the same people report other outcomes."""
    other, tickets = Played.copied(waiting, folder / "other"), open_tickets(waiting)
    for each, value in ((waiting, 0), (other, 1)):
        each.study.apply([("report", ticket, value) for ticket in tickets])
    assert shown(waiting) == shown(other)
    sums = [each.database.rows("SELECT SUM(value) FROM reward")[0][0] for each in (waiting, other)]
    assert sums[1] - sums[0] == len(tickets)
    other.study.close()


def check_no_question_is_about_rewards(waiting: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the table of rewards is read, nor a column that depends on one, nor the totals outside of the ledger."""
    asked: list[str] = []
    rows = type(waiting.database).rows

    def spied(database: Database, statement: str, *values: Any) -> Any:
        asked.append(statement)
        return rows(database, statement, *values)

    monkeypatch.setattr(type(waiting.database), "rows", spied)
    witness = waiting.witness()
    asked.clear()
    read_view(waiting.database, witness, "newsletter", waiting.now)
    read_summaries(waiting.database, witness, waiting.now)
    assert len(asked) > 8
    # what people spent is no outcome
    charges = [each for each in asked if "JOIN account USING (person, period)" in each]
    assert not any(word in " ".join(charges) for word in ("reward", "release", "received", "ticket"))
    asked = [each for each in asked if each not in charges]
    words = set(" ".join(asked).replace(",", " ").replace("(", " ").replace(")", " ").split())
    assert not words & {"reward", "release", "received", "value", "leaf", "person", "ticket", "memory", "lease"}


def test_no_question_is_about_rewards(waiting: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    check_no_question_is_about_rewards(waiting, monkeypatch)


def test_no_question_is_about_rewards_once_a_selection_has_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which arms it named is computed from the ledger as well; it is another one with probability below 1e-11."""
    search = {"policy": {"name": "top_arms", "m": 2}, "delta": 0.4, "people": None}
    quick = {"channel": {"name": "central", "epsilon": 8}, "budget": {"epsilon": 8}, "reward": {"window": "1 minute"}}
    ended = Played(folder / "ended", **search, **quick)
    ended.study.start()
    for _ in range(50):
        ended.come(20, [1.0, 0.0, 1.0], every=1, unseen=0, lost=0)
        ended.wait(2 * HOUR)
        if ended.study.named is not None:
            break
    assert now(ended).named == (0, 2)
    check_no_question_is_about_rewards(ended, monkeypatch)
    ended.study.close()


def unseen_release(played: Played) -> None:
    """A release that is in the database and not at the witness, and people who came after it."""
    for _ in range(300):
        if {each.state for each in now(played).counts.cohorts} - {"released"} == {"waiting"}:
            break
        played.come(4, MEANS)
    played.now += 2 * HOUR
    before = len(now(played).ledger)
    with failing_witness(played.study), pytest.raises(StorageFailed):
        played.study.apply([("tick",), *(("assign", f"late {i}") for i in range(5))])
    assert len(now(played).ledger) == before
    assert played.database.rows("SELECT COUNT(*) FROM entry")[0][0] > before


def now(played: Played, **more: Any) -> StudyView:
    """The view of now."""
    return read_view(played.database, played.witness(), played.protocol.name, played.now, **more)


def check_bounded(played: Played, viewer: Viewer) -> None:
    """What the witness has not seen changes nothing but that the number of people is not known, which is said."""
    unseen_release(played)
    at = played.now
    found = viewer(played.database, played.witness(), "newsletter", at)
    played.database.change("DELETE FROM place WHERE assigned >= ?", at)
    unseen = [
        (number, json.loads(body))
        for number, body in played.database.rows("SELECT number, body FROM entry ORDER BY number")
        if number >= played.witness().seen("newsletter").head.entries
    ]
    later = "DELETE FROM decision WHERE step > ?"
    assert played.database.change(later, min(says["step"] for _, says in unseen)) > 1
    played.database.change("DELETE FROM entry WHERE number >= ?", unseen[0][0])
    expected = read_view(played.database, played.witness(), "newsletter", at)
    unknown = msgspec.structs.replace(expected, counts=msgspec.structs.replace(expected.counts, placed=None))
    said = [each.since for each in found.attention if each.kind == "witness_behind"]
    kept = tuple(each for each in found.attention if each.kind != "witness_behind")
    assert (msgspec.structs.replace(found, attention=kept), said) == (unknown, [unseen[0][1]["at"]])


@pytest.fixture
def quick(folder: Path) -> Iterator[Played]:
    """A study that asks for more people as soon as something is released."""
    made = Played(folder / "quick", policy={"name": "successive_elimination", "least": 2})
    made.study.start()
    yield made
    made.study.close()


def test_nothing_is_shown_that_the_witness_has_not_seen(quick: Played) -> None:
    check_bounded(quick, read_view)


@pytest.mark.parametrize("beyond", [Horizon(EVER, EVER, True), Horizon(0, EVER, False)], ids=["all", "decisions"])
def test_a_view_beyond_the_witness_is_rejected(quick: Played, monkeypatch: pytest.MonkeyPatch, beyond: Horizon) -> None:

    of = Horizon.of

    def later(unseen: Any) -> Horizon:
        return beyond._replace(time=max(beyond.time, of(unseen).time)) if unseen else of(unseen)

    def viewer(*which: Any) -> StudyView:
        with monkeypatch.context() as patch:
            patch.setattr(Horizon, "of", later)
            return read_view(*which)

    with pytest.raises(AssertionError):
        check_bounded(quick, viewer)


def check_others_show_no_more(played: Played) -> None:
    """The places of `study status` are those of the view, and the people of the API."""
    unseen_release(played)
    dealt = now(played).counts.dealt
    given = "SELECT arm, COUNT(*) FROM place WHERE returned IS NULL GROUP BY arm ORDER BY arm"
    assert dealt != tuple(count for _, count in played.database.rows(given)), "nobody came after it"
    lines = write_status(played.database, played.witness(), "newsletter", played.now).splitlines()
    assert tuple(int(line.split()[1]) for line in lines[2:5]) == dealt
    assert lines[0].startswith(f"newsletter: running, {sum(dealt)} of")
    assert read_state(played.database, played.witness(), "newsletter", played.now, Tally()).people == sum(dealt)


def test_status_and_the_api_show_no_more_than_a_view(quick: Played) -> None:
    check_others_show_no_more(quick)


@pytest.mark.parametrize("where", ["service.views.view", "service.views.describe"])
def test_what_shows_more_is_rejected(quick: Played, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def everything(*given: Any) -> Book:
        ((people,),) = given[0].rows("SELECT people FROM study")
        return replace(read_published(*given), people=people, horizon=Horizon(EVER, EVER, True))

    monkeypatch.setattr(f"maskedbandit.{where}.read_published", everything)
    with pytest.raises(AssertionError):
        check_others_show_no_more(quick)


def test_what_was_not_published_is_shown_once_it_is(quick: Played) -> None:
    played = quick
    unseen_release(played)
    found = now(played)
    assert found.counts.placed is None
    assert "not known yet" in render_page("study", OWNER, "", view=found)
    played.study.tick()
    later = now(played)
    assert len(later.releases) > len(found.releases)
    assert later.counts.placed == played.study.people


def test_another_copy_is_not_shown(played: Played) -> None:
    played.come(5, MEANS)
    with pytest.raises(UnknownStudy):
        read_view(played.database, played.witness(), "another", played.now)
    played.database.change("UPDATE entry SET hash = 'another'")
    with pytest.raises(BehindWitness):
        now(played)
    played.database.change("DELETE FROM entry")
    with pytest.raises(BehindWitness):
        now(played)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_counts_are_those_of_the_rows(folder: Path, kind: str) -> None:
    """Counted one by one; and a tally that is kept changes nothing, whatever happens to the study."""
    played = Played(folder, address=fresh_postgresql() if kind == "postgresql" else None)
    tally, states = Tally(), set()

    def check() -> None:
        found = now(played, tally=tally)
        assert found == now(played)
        states.add(found.state)
        rows = played.database.rows("SELECT arm, assigned, exposed, returned, cohort FROM place")
        kept = [row for row in rows if row[3] is None]
        counts, arms = found.counts, range(3)
        assert counts.dealt == tuple(sum(row[0] == arm for row in kept) for arm in arms)
        assert counts.seen == tuple(sum(row[0] == arm and row[2] is not None for row in kept) for arm in arms)
        assert counts.returned == tuple(sum(row[0] == arm and row[3] is not None for row in rows) for arm in arms)
        assert counts.unseen == sum(row[2] is None for row in kept)
        over = sorted(row[1:3] for row in rows if row[1] < played.now - played.protocol.reward.exposure)[
            -NEWEST_PLACES:
        ]
        assert counts.wasted == sum(seen is None for _, seen in over)
        since = played.now - played.protocol.reward.window
        assert counts.inside == sum(row[2] is not None and row[2] >= since for row in kept)
        assert sum(counts.delays) == sum(counts.seen)
        first = sum(row[2] is not None and row[2] - row[1] <= 1000 * DELAYS[1] for row in kept)
        assert sum(counts.delays[:2]) == first
        for column in counts.columns:
            inside = [row[0] for row in rows if column.at <= row[1] < column.at + counts.step]
            assert column.arms == tuple(inside.count(arm) for arm in arms)
        assert sum(sum(column.arms) for column in counts.columns) == len(rows)
        for cohort in counts.cohorts:
            assert cohort.dealt == sum(row[4] == cohort.number for row in kept) <= cohort.size
        assert (counts.placed, found.answer) == (played.study.people, played.study.answer)

    check()
    played.study.start()
    check()
    for i, every in enumerate((1000, MINUTE, MINUTE, 10 * MINUTE, 1000, 7 * HOUR)):
        played.come(12, MEANS, every=every)
        check()
        if i == 1:
            played.study.erase("person 3")
        if i == 2:
            played.study.pause()
            check()
            played.study.resume()
        if i == 3:
            played.reopen()
    assert len(now(played).releases) > 2
    played.wait(3 * HOUR)

    def states_now() -> set[str]:
        return {
            "left" if each.state == "open" and each.dealt < each.size else each.state
            for each in now(played).counts.cohorts
        }

    for _ in range(100):
        if states_now() >= {"waiting", "left"}:
            break
        played.come(1, MEANS, unseen=0)
    played.study.stop()
    check()
    assert states_now() >= {"released", "waiting", "given up"}
    played.wait(3 * HOUR)
    check()
    assert states_now() == {"released", "given up"}
    played.study.archive()
    check()
    assert states == {"draft", "running", "paused", "stopped", "archived"}
    played.study.close()


@pytest.mark.slow
def test_a_tally_counts_only_what_is_new(played: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was given before the oldest open place is not counted again."""
    tally = Tally()
    played.come(200, MEANS)
    now(played, tally=tally)
    since: list[int] = []
    rows = type(played.database).rows

    def spied(database: Database, statement: str, *values: Any) -> Any:
        if "assigned >= ?" in statement:
            since.append(values[1])
        return rows(database, statement, *values)

    monkeypatch.setattr(type(played.database), "rows", spied)
    played.come(1, MEANS)
    now(played, tally=tally)
    (inside, *counted) = sorted(since)
    assert inside == played.now - 2 * HOUR - 10 * MINUTE
    assert counted
    assert min(counted) > played.now - 30 * MINUTE


def test_a_tally_begins_again_after_another_process(played: Played) -> None:
    """It may have given settled places back, as `reconcile` does."""
    tally = Tally()
    played.come(50, MEANS)
    before = now(played, tally=tally)
    played.reopen()
    given = played.database.change("UPDATE place SET returned = exposed WHERE exposed IS NOT NULL AND returned IS NULL")
    assert given == sum(before.counts.seen) > 0
    assert sum(now(played).counts.seen) == 0
    assert now(played, tally=tally) == now(played)


def test_the_state_is_that_of_the_ledger(played: Played) -> None:
    """A state that the witness has not seen is not shown either."""
    with failing_witness(played.study), pytest.raises(StorageFailed):
        played.study.stop()
    assert played.database.rows("SELECT state FROM study") == [("stopped",)]
    assert now(played).state == "running"
    assert read_summaries(played.database, played.witness(), played.now)[0].state == "running"


def test_a_simulated_study_says_so(folder: Path) -> None:
    for simulated in (True, False):
        played = Played(folder, name=f"simulated-{simulated}")
        played.study.start(simulated)
        assert now(played).simulated is simulated
        assert read_summaries(played.database, played.witness(), played.now)[0].simulated is simulated
        played.study.close()


@pytest.mark.slow
@pytest.mark.parametrize("search", [True, False])
def test_the_answer_is_that_of_the_study(folder: Path, search: bool) -> None:
    """Of a policy that asks for nobody any more after a few people, as all of them agree."""
    aim: dict[str, Any] = {"people": 100_000}
    if search:
        aim = {"people": None, "policy": "contemporaneous_elimination", "delta": 0.4}
    reward = {"rule": "first", "window": "1 minute", "exposure": "0 seconds"}
    arms, budget = [{"name": "a"}, {"name": "b"}], {"epsilon": 8}
    played = Played(folder, channel={"name": "response", "epsilon": 8}, **aim, budget=budget, reward=reward, arms=arms)
    played.study.start()
    for i in range(200):
        assert now(played).answer is None
        played.come(10, [0.0, 1.0], every=1, unseen=0, lost=0)
        played.wait(2 * MINUTE * (i % 2))
        if played.study.answer is not None:
            break
    assert now(played).answer == now(played).served == played.study.answer
    played.wait(2 * MINUTE)  # of cohorts that a search does not wait for
    assert now(played).over
    view, (summary,) = now(played), read_summaries(played.database, played.witness(), played.now)
    assert summary.answer == ("ab"[played.study.answer or 0] if search else None)
    assert summary.best == (None if view.best is None else "ab"[view.best])
    times = (summary.started, summary.latest, summary.finished)
    assert times == (view.started, view.releases[-1].at, view.finish and view.finish.since)
    assert summary.attention == view.attention
    played.study.close()

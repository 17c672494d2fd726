"""Studies that end with an answer: of a number of people, or of all arms of a kind.

Decks and noise are drawn anew in each run. But outcomes are 0 or 1 in each arm, and the noise has epsilon = 8; it would
have to move a sum by 4 or more for another answer than the right one: false alarms below 1e-12 in each test.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.cli.parts.simulation import Clock, play_study
from maskedbandit.errors import Corrupted, InvalidValue, NotRunning, StorageFailed
from maskedbandit.service.views.status import write_status
from maskedbandit.service.views.tally import Tally
from maskedbandit.service.views.view import read_view
from maskedbandit.store import due, release
from maskedbandit.store.book.book import EVER, Book, Horizon
from maskedbandit.store.book.checks import read_book
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.study.protocol import Protocol
from tests.service.played import HOUR, MINUTE, SECOND, Played, quick_folder
from tests.store.stage import failing_witness

ONE, TWO = [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]  # means, of which so many arms are the best
EIGHT: dict[str, Any] = {
    "channel": {"name": "central", "epsilon": 8},
    "budget": {"epsilon": 8},
    "reward": {"window": "1 minute", "exposure": "0 seconds"},
}
SEARCH: dict[str, Any] = {**EIGHT, "people": None, "delta": 0.2}


@pytest.fixture
def folder() -> Iterator[Path]:
    with quick_folder() as found:
        yield found


def play(folder: Path, how: dict[str, Any], means: list[float] = TWO, people: int = 2000) -> Played:
    """A study that people come to until it has its answer."""
    played = Played(folder, **how)
    played.study.start()
    for _ in range(people // 20):
        played.come(20, means, every=1, unseen=0, lost=0)
        played.wait(2 * MINUTE)
        if played.study.named is not None:
            break
    return played


def check_its_answer(played: Played) -> None:
    """It is told the same by the study, by a process that opens it again, and by what is shown."""
    named = played.study.named
    assert named is not None, "no answer"
    shown = read_view(played.database, played.witness(), played.protocol.name, played.now)
    assert (shown.named, shown.answer) == (named, played.study.answer)
    assert shown.over
    names = ", ".join(played.protocol.arms[arm][0] for arm in named) or "no arm"
    surely = ""
    if (delta := played.protocol.table.get("delta")) is not None:
        surely = f", wrong with probability at most {delta if shown.standing.stage == 1 else 2 * delta:g}"
    assert says(played).endswith(f"\nanswer: {names}{surely}")
    verify_study(played.database, played.witness(), played.protocol.name)
    played.reopen()
    played.study.tick()
    assert played.study.named == named
    played.study.close()


def says(played: Played) -> str:
    """What `study status` prints."""
    return write_status(played.database, played.witness(), played.protocol.name, played.now)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["pooled_elimination", "equal_split", "sequential_halving"])
def test_a_number_of_people_names_the_best_arm(folder: Path, policy: str) -> None:
    """Nobody comes after the last one, and yet the answer is there when the last window is over."""
    played = Played(folder, **EIGHT, policy=policy, people=300)
    played.study.start()
    while played.study.people < 300:
        played.come(1, ONE, every=MINUTE, unseen=0, lost=0)
    assert played.study.named is None
    played.wait(2 * MINUTE)
    assert played.study.named == (1,)
    check_its_answer(played)


@pytest.mark.slow
def test_an_answer_that_waits_for_somebody_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(due, "may_answer", lambda session: False)
    with pytest.raises(AssertionError):
        test_a_number_of_people_names_the_best_arm(folder, "equal_split")


@pytest.mark.slow
def test_an_answer_that_the_witness_has_not_seen_is_told_to_nobody(folder: Path) -> None:
    played = Played(folder, **EIGHT, policy="equal_split", people=300)
    played.study.start()
    played.come(300, ONE, every=1, unseen=0, lost=0)
    with failing_witness(played.study), pytest.raises(StorageFailed):
        played.wait(3 * MINUTE)
    shown = read_view(played.database, played.witness(), played.protocol.name, played.now)
    assert (shown.named, shown.answer, "answer" in says(played)) == (None, None, False)
    played.study.tick()
    check_its_answer(played)


@pytest.mark.slow
def test_an_answer_beyond_the_witness_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Horizon, "of", lambda unseen: Horizon(EVER, EVER, True))
    with pytest.raises(AssertionError):
        test_an_answer_that_the_witness_has_not_seen_is_told_to_nobody(folder)


@pytest.mark.slow
def test_decisions_are_done_again_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each view of a study that has ended, if a tally is kept; and not before it has ended."""
    played, times, tally = Played(folder, **SEARCH, policy={"name": "top_arms", "m": 2}), list[int](), Tally()
    replay = Book.replay
    monkeypatch.setattr(Book, "replay", lambda *given: times.append(1) or replay(*given))
    played.study.start()
    shown = None
    for _ in range(50):
        if played.study.named is not None:
            break
        for _ in range(2):
            shown = read_view(played.database, played.witness(), played.protocol.name, played.now, tally)
            assert shown.named is None
        played.come(20, TWO, every=1, unseen=0, lost=0)
        played.wait(2 * MINUTE)
    assert shown is not None, "it was looked at before it ended"
    for _ in range(3):
        shown = read_view(played.database, played.witness(), played.protocol.name, played.now, tally)
        assert shown.named == (1, 2)
    assert len(times) == 1
    played.study.close()


@pytest.mark.sparing(1)
@pytest.mark.parametrize("policy", ["ucb1", "noise_aware_klucb", "released_likelihood"])
def test_a_place_that_nobody_saw_holds_up_nothing_once_the_study_is_over(folder: Path, policy: str) -> None:
    """It is dealt to nobody any more. Other cohorts of its arm are released, and then everybody can be erased."""
    how = SEARCH if policy == "released_likelihood" else {**EIGHT, "people": 1000}
    played = Played(folder, **{**how, "policy": policy, "reward": {"window": "1 hour", "exposure": "10 minutes"}})
    study = played.study
    study.start()
    missed, cohorts = study.assign("nobody").arm, study._session.driver.cohorts
    ((hole,),) = played.database.rows("SELECT cohort FROM place")
    for _ in range(1000):
        if any(each.full and each.arm == missed and each.cohort > hole for each in cohorts):
            break
        played.come(1, ONE, every=SECOND, unseen=0, lost=0)
    study.stop()
    with pytest.raises(NotRunning, match="waits for rewards of a full cohort"):
        study.archive()
    played.wait(11 * MINUTE)
    played.wait(HOUR)
    shown = read_view(played.database, played.witness(), played.protocol.name, played.now)
    assert {each.state for each in shown.counts.cohorts} == {"released", "given up"}
    assert shown.over
    assert any(each.arm == missed and each.state == "released" for each in shown.counts.cohorts)
    verify_study(played.database, played.witness(), played.protocol.name)
    study.archive()
    study.close()


def test_a_study_is_not_over_while_somebody_may_still_see_the_arm(folder: Path) -> None:
    """All places are dealt, and one person has not seen the arm yet: then there will be a release, and an answer."""
    reward = {"window": "1 minute", "exposure": "10 minutes"}
    played = Played(folder, **{**EIGHT, "policy": "equal_split", "people": 30, "reward": reward})
    study = played.study
    study.start()
    tickets = [study.assign(f"person {i}").ticket or "" for i in range(30)]
    for ticket in tickets[1:]:
        study.expose(ticket)
    played.wait(2 * MINUTE)
    shown = read_view(played.database, played.witness(), played.protocol.name, played.now)
    assert (shown.over, shown.named) == (False, None)
    study.expose(tickets[0])
    played.wait(2 * MINUTE)
    check_its_answer(played)


def test_a_place_that_holds_up_others_for_ever_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "is_over", lambda session: False)
    with pytest.raises(AssertionError):
        test_a_place_that_nobody_saw_holds_up_nothing_once_the_study_is_over(folder, "ucb1")


def test_people_who_come_while_it_waits_take_no_place(folder: Path) -> None:
    """In the lab they count, and all of the people would be gone in the first wait."""
    played = play(folder, {**EIGHT, "policy": "sequential_halving", "people": 99, "arms": arms(4)}, [0, 0, 0, 1])
    rows = played.database.rows("SELECT COUNT(*) FROM place WHERE returned IS NULL")
    assert rows[0][0] <= 99
    assert len([row for row in played.study.recorded() if row.arm == 3]) == 2, "a release in each phase"
    assert played.study.named == (3,)
    check_its_answer(played)


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["stop", "pause"])
def test_an_answer_comes_to_a_study_that_was_stopped_or_paused_meanwhile(folder: Path, ends: str) -> None:
    played = Played(folder, **EIGHT, policy="equal_split", people=300)
    played.study.start()
    played.come(300, ONE, every=1, unseen=0, lost=0)
    getattr(played.study, ends)()
    assert played.study.named is None
    played.wait(3 * MINUTE)
    assert played.study.named == (1,)
    check_its_answer(played)


def test_no_arm_leaves_phases_that_are_planned_for_it(folder: Path) -> None:
    """The policy would begin anew with nobody, and name any arm."""
    played = Played(folder, **EIGHT, policy="pooled_elimination", people=300)
    played.study.start()
    with pytest.raises(InvalidValue, match="policies for regret and searches"):
        played.study.change_arms("pause", "short")
    played.study.close()
    table = {"name": "x", **EIGHT, "arms": arms(3), "policy": "pooled_elimination", "people": 300}
    assert Protocol.from_table(table).people == 300
    with pytest.raises(InvalidValue, match="no arm can be put out of play"):
        Protocol.from_table({**table, "guardrail": {"name": "harm", "harm": {"above": 0.5}}})
    with pytest.raises(InvalidValue, match="people is 2: it must be at least 3"):
        Protocol.from_table({**table, "people": 2})


@pytest.mark.parametrize(
    "more", [{"every": "0 seconds"}, {"changes": [{"at": 5, "pause": "arm0"}, {"at": 6, "pause": "arm1"}]}]
)
def test_a_simulated_search_ends(folder: Path, more: dict[str, Any]) -> None:
    """Though all people come at the same moment, or one arm is left alone."""
    table = {key: value for key, value in SEARCH.items() if key != "people"}
    simulated = {"instance": {"name": "bernoulli", "means": ONE}, **more}
    how = {**table, "name": "x", "policy": {"name": "top_arms", "m": 1}, "arms": arms(3), "simulation": simulated}
    write_study(Protocol.from_table(how), address := f"sqlite:///{folder}/x.db", folder / "witness")
    clock = Clock()
    with open_study(address, folder=folder / "witness", clock=clock) as study:
        study.start(simulated=True)
        assert 0 < play_study(study, clock, lambda people: None).people < 10_000
        assert study.named == (None if "changes" in more else (1,))


@pytest.mark.sparing(1)
@pytest.mark.parametrize(
    ("policy", "means", "named"),
    [
        ({"name": "top_arms", "m": 2}, TWO, (1, 2)),
        ({"name": "uniform_top_arms", "m": 1}, ONE, (1,)),
        ({"name": "arms_above", "theta": 0.5}, TWO, (1, 2)),
        ({"name": "uniform_arms_above", "theta": 0.5}, [0.0, 0.0, 0.0], ()),
    ],
)
def test_all_arms_of_a_kind_are_named(
    folder: Path, policy: dict[str, Any], means: list[float], named: tuple[int, ...]
) -> None:
    played = play(folder, {**SEARCH, "policy": policy}, means)
    assert played.study.named == named
    check_its_answer(played)


@pytest.mark.slow
def test_a_paused_arm_is_not_named(folder: Path) -> None:
    played = Played(folder, **SEARCH, policy={"name": "top_arms", "m": 2}, arms=arms(4))
    played.study.start()
    played.study.change_arms("pause", "arm1")
    while played.study.named is None:
        played.come(20, [0.0, 1.0, 1.0, 1.0], every=1, unseen=0, lost=0)
        played.wait(2 * MINUTE)
    assert played.study.named == (2, 3)
    check_its_answer(played)


def test_a_log_that_was_changed_names_nothing(folder: Path) -> None:
    played = play(folder, {**SEARCH, "policy": {"name": "top_arms", "m": 2}})

    def named() -> Any:
        return read_book(played.database, played.witness(), played.protocol.name).named

    assert named() == (1, 2)
    played.database.change("UPDATE decision SET n = n + 1 WHERE step = 0")
    with pytest.raises(Corrupted):
        named()
    played.study.close()


def arms(k: int) -> list[dict[str, str]]:
    return [{"name": f"arm{arm}"} for arm in range(k)]


def test_what_is_asked_fits_the_arms() -> None:
    table = {"name": "x", **EIGHT, "arms": arms(2), "policy": {"name": "top_arms", "m": 2}}
    with pytest.raises(InvalidValue, match="number of the arms is 2: it must be at least 3"):
        Protocol.from_table(table)
    for wrong in ({"people": 100}, {"policy": "pooled_elimination", "delta": 0.1, "people": 10}):
        with pytest.raises(InvalidValue, match="left out"):
            Protocol.from_table({**table, "arms": arms(3), **wrong})
    assert isinstance(Protocol.from_table({**table, "arms": arms(3)}).policy, mb.policies.TopArms)

"""A stored study with a control arm: its share, what is stored of it, harm by it, and every kind of trust."""

from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any

import pytest

from maskedbandit.cli.parts.simulation import Clock as SimulatedClock
from maskedbandit.cli.parts.simulation import play_study
from maskedbandit.errors import Conflict, Corrupted, NotRunning
from maskedbandit.service.views.status import write_status
from maskedbandit.service.views.view import StudyView, read_view
from maskedbandit.store.book.demand import follow_decisions
from maskedbandit.store.book.standing import Standing
from maskedbandit.store.book.verify import verify_study
from maskedbandit.store.reconcile import bring_back
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.study.control import Control
from tests.for_each import for_each
from tests.store.small_study import WINDOW, Clock, small_protocol
from tests.store.test_answers import EIGHT, SEARCH, check_its_answer
from tests.store.test_answers import play as play_answer
from tests.store.test_arms import Played
from tests.store.test_guardrail import guarded, play
from tests.store.test_reconcile import PROTOCOL, House
from tests.store.test_settle import verify
from tests.store.two_operators import GRACE, Leading

HELD = [{"name": "plain", "share": "2/7"}, {"name": "b"}, {"name": "c"}]
NOISELESS = {"channel": {"name": "central", "epsilon": 1000}, "budget": {"epsilon": 1000}}


def view_of(played: Played) -> StudyView:
    """What may be shown."""
    return read_view(played.study.database, played.study._session.witness, "small", played.clock.now)


def run_study(played: Played, means: tuple[float, ...], rounds: int, many: int = 60) -> None:
    """People come and report, and their cohorts are released; those who come while nothing is asked have no place."""
    bits = Random(1)
    for _ in range(rounds):
        first = len(played.tickets)
        arms = played.come(many)
        told = [
            ("report", ticket, float(bits.random() < means[arm]))
            for ticket, arm in zip(played.tickets[first:], arms, strict=True)
            if ticket
        ]
        for done in played.study.apply(told):
            done.value()
        played.wait()


@pytest.mark.slow
def test_the_control_has_its_share_to_the_last_person(tmp_path: Path) -> None:
    """Whatever the policy does: an arm that is far better is given to most, and the control to two of seven."""
    played = Played(tmp_path, arms=HELD, people=140, policy="ucb1", **NOISELESS)
    run_study(played, (0.5, 0.1, 0.9), 6, 30)
    find = "SELECT arm, COUNT(*) FROM place WHERE returned IS NULL GROUP BY arm ORDER BY arm"
    counts = dict(played.study.database.rows(find))
    assert counts[0] == 40
    assert counts[2] > counts[1]
    assert sum(counts.values()) == played.study.people == 140
    assert played.study.assign("late").arm != 0
    played.verify()
    played.open_again()
    played.verify()
    view = view_of(played)
    assert view.finish is not None
    assert view.finish.why == "people_used_up"
    played.study.close()


@pytest.mark.slow
def test_what_is_shown_is_compared_with_the_control(tmp_path: Path) -> None:
    """The control looks best, and yet is neither the answer, nor called the best, nor served."""
    arms = [{"name": "b"}, {"name": "c"}, {"name": "plain", "share": "1/3"}]
    played = Played(tmp_path, arms=arms, people=20_000, policy="contemporaneous_klucb", **NOISELESS)
    run_study(played, (0.3, 0.45, 0.95), 8, 600)
    view = view_of(played)
    assert (played.study.answer, view.answer, view.highest) == (1, 1, 1)
    assert view.best in (None, 1)
    b, c, plain = view.arms
    assert (b.stands, c.stands, plain.stands) == ("in play", "in play", "control")
    assert plain.more is None
    assert plain.confidence is None
    assert view.base is plain
    assert b.more is not None
    assert c.more is not None
    assert b.more.interval.high < c.more.interval.high < 0
    assert view.gain is not None
    assert b.more.mean < view.gain.mean < c.more.mean
    assert view.gain.interval.high < 0
    said = write_status(played.study.database, played.study._session.witness, "small", played.clock.now)
    assert "plain" in said
    assert "  control" in said
    assert "all whom the policy placed, minus plain: -0." in said
    assert said.endswith("from now on everybody is served c")
    assert {played.study.assign(f"late {i}").arm for i in range(20)} == {1}
    assert view.statement.points.bias.endswith(
        "One in 3 people who take part is given the control arm, plain, whatever the policy does."
    )
    played.verify()
    played.study.close()


def test_the_control_is_not_paused(tmp_path: Path) -> None:
    played = Played(tmp_path, arms=HELD)
    for what in ("pause", "resume"):
        with pytest.raises(Conflict, match="plain is the control"):
            played.study.change_arms(what, "plain")
    played.come(20)
    played.study.change_arms("add", "d")
    stage = next(each for each in played.said() if each["kind"] == "arm_added")
    assert stage["arms"] == [0, 1, 2, 3]
    assert played.study.in_play == (1, 2, 3)
    played.study.change_arms("pause", "b")
    assert set(played.come(40)) <= {0, 2, 3, -1}
    played.wait()
    played.study.change_arms("pause", "c")
    with pytest.raises(Conflict, match="the only one in play"):
        played.study.change_arms("pause", "d")
    assert played.come(20) == [-1] * 20  # nothing is compared
    played.study.change_arms("resume", "c")
    assert 0 in [arm for _ in range(3) for arm in (played.wait(), played.come(40))[1]]
    played.verify()
    played.open_again()
    played.verify()
    played.study.close()


def test_a_control_that_does_harm_is_given_to_nobody(tmp_path: Path) -> None:
    played = guarded(tmp_path, arms=HELD, policy={"name": "successive_elimination", "least": 16})
    play(played, {0: 0.95}, rounds=8)
    (found,) = (each for each in played.said() if each["kind"] == "arm_harmful")
    assert (found["name"], found["arms"]) == ("plain", [1, 2])
    assert played.study.in_play == (1, 2)
    assert played.study._session.driver.control is None
    assert set(played.come(60)) <= {1, 2, -1}
    for what in ("pause", "resume"):
        with pytest.raises(Conflict, match="was found harmful"):
            played.study.change_arms(what, "plain")
    view = view_of(played)
    assert [each.stands for each in view.arms] == ["harmful", "in play", "in play"]
    assert view.base.name == "plain"  # what is known of it stays
    played.verify()
    played.open_again()
    assert played.study._session.driver.control is None
    played.verify()
    played.study.close()


def test_a_study_is_paused_though_its_control_does_no_harm(tmp_path: Path) -> None:
    played = guarded(tmp_path, arms=HELD, policy={"name": "successive_elimination", "least": 16})
    play(played, {1: 0.95, 2: 0.95}, rounds=14)
    assert played.study.state == "paused"
    with pytest.raises(NotRunning, match="without harm"):
        played.study.resume()
    assert (view := view_of(played)).finish is not None
    assert view.finish.why == "all_arms_harmful"
    played.verify()
    played.study.close()


def test_harm_against_the_control(tmp_path: Path) -> None:
    """The control is what harm is measured against, so it is never found harmful itself."""
    harm = {"name": "harm", "harm": {"above": 0.2, "against": "plain"}}
    played = guarded(tmp_path, harm, arms=HELD, policy={"name": "successive_elimination", "least": 16})
    play(played, {0: 0.1, 1: 0.9, 2: 0.1}, rounds=10)
    assert played.study.in_play == (2,)
    assert [each["name"] for each in played.said() if each["kind"] == "arm_harmful"] == ["b"]
    played.verify()
    played.study.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "how",
    [
        {"policy": "pooled_elimination", "people": 300},
        SEARCH | {"policy": "contemporaneous_elimination"},
        SEARCH | {"policy": {"name": "top_arms", "m": 1}},
    ],
    ids=["phases", "search", "selection"],
)
def test_an_answer_beside_a_control(tmp_path: Path, how: dict[str, Any]) -> None:
    """The control is the best, and the answer is the better one of the others. False alarms: as in test_answers.py."""
    arms = [{"name": "a"}, {"name": "plain", "share": "1/4"}, {"name": "b"}]
    played = play_answer(tmp_path, {**EIGHT, **how, "arms": arms}, [0.0, 1.0, 1.0])
    assert played.study.named == (2,)
    assert any(each.arm == 1 for each in played.study.releases())
    check_its_answer(played)


@pytest.mark.slow
def test_a_rehearsal_has_the_control_too(tmp_path: Path) -> None:
    means = {"instance": {"name": "bernoulli", "means": [0.5, 0.2, 0.9]}, "every": "1 second"}
    how = {"people": 400, "policy": "noise_aware_klucb", "arms": HELD, "simulation": means, **EIGHT}
    address, witness, clock = f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", SimulatedClock()
    write_study(small_protocol(**how), address, witness)
    with open_study(address, folder=witness, clock=clock) as study:
        study.start(simulated=True)
        played_now = play_study(study, clock, lambda many: None)
        assert played_now.people == 400
        assert any(each.arm == 0 for each in study.releases())
        verify_study(study.database, study._session.witness, "small")


# --- what is stored ---------------------------------------------------------------------------------------------------


@for_each(
    "change",
    [
        "UPDATE decision SET n = n + 1 WHERE arm = 0",
        "UPDATE decision SET arm = 1 WHERE arm = 0",
        "DELETE FROM decision WHERE arm = 0",
        "UPDATE decision SET close = 1 WHERE close = 2",
    ],
)
def test_other_decisions_of_the_control_are_found(change: str, tmp_path: Path) -> None:
    played = Played(Path(mkdtemp(dir=tmp_path)), arms=HELD)
    run_study(played, (0.5, 0.1, 0.9), 3)
    played.verify()
    played.study.database.change(change)
    with pytest.raises(Corrupted):
        played.verify()
    played.study.database.close()


def test_a_control_that_is_no_more_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Broken twins: a service that forgets the share when it opens the study, or rounds it in each group."""
    played = Played(tmp_path, arms=HELD)
    run_study(played, (0.5, 0.1, 0.9), 3)
    played.study.close()
    join = Control.join
    for broken in (
        lambda control, group, law, placed, given: group,
        lambda control, group, law, placed, given: join(control, group, law, 0, 0),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Control, "join", broken)
            with pytest.raises(Corrupted):
                played.open_again()
    played.open_again()
    played.study.close()


@pytest.mark.slow
def test_a_gap_with_a_control_is_brought_back(tmp_path: Path) -> None:
    arms = [{"name": "a"}, {"name": "b", "share": "1/5"}, {"name": "c"}]
    house = House(tmp_path, PROTOCOL.table | {"arms": arms})
    house.play(0, 150)
    kept = house.keep()
    house.play(150, 400)
    with house.open() as study:
        releases = study.releases()
    assert any(each.arm == 1 for each in releases)
    export = house.export()
    house.restore(kept)
    house.reconcile(bring_back, export)
    with house.open() as study:
        assert study.releases() == releases
    house.verify()
    house.play(400, 700)
    assert house.verify().releases > len(releases)


# --- the demand without a driver, and the standing --------------------------------------------------------------------


def test_a_release_of_the_control_makes_nobody_speak_again(tmp_path: Path) -> None:
    """What the log says without a driver is what the driver says, with whatever was released of the control alone."""
    played = Played(tmp_path, arms=HELD, policy="noise_aware_klucb", **NOISELESS)
    protocol = played.study.protocol
    decisions = [(0, 0, 1, 9, 2), (1, 1, 2, 9, 2), (2, 2, 0, 7, 1), (5, 3, 2, 0, 0)]
    asked = follow_decisions(protocol, decisions, {0: 3, 1: 4}, {})
    assert (asked.served, asked.answer, asked.last_word) == (2, 2, 5)
    same = follow_decisions(protocol, decisions, {0: 3, 1: 4, 2: 6}, {})
    assert same[1:] == asked[1:]
    assert follow_decisions(protocol, decisions, {0: 3, 2: 4, 1: 6}, {}).served is None
    alone = follow_decisions(protocol, decisions, {}, {6: ("stage", 900, 0, 1)})
    assert (alone.served, alone.last_word) == (1, 6)
    played.study.close()


def test_how_a_control_stands() -> None:
    standing = Standing.at_start(3, 1)
    assert (standing.in_play, standing.given, standing.is_said(1)) == ((0, 2), (0, 1, 2), "control")
    assert [standing.can(kind, 1) for kind in ("arm_paused", "arm_resumed", "arm_harmful")] == [False, False, True]
    harmful = standing.after("arm_harmful", 1)
    assert (harmful.in_play, harmful.given, harmful.stage, harmful.is_said(1)) == ((0, 2), (0, 2), 2, "harmful")
    assert not harmful.all_harmful
    alone = standing.after("arm_paused", 0)
    assert (alone.in_play, alone.given, alone.is_alone) == ((2,), (1, 2), True)
    assert not alone.can("arm_paused", 2)


# --- the other kinds of trust -----------------------------------------------------------------------------------------


@for_each("kind", ["local", "response"])
def test_under_local_trust_nothing_differs(kind: str, tmp_path: Path) -> None:
    reward = {"window": "20 seconds", "exposure": "10 seconds", "rule": "first"}
    how: dict[str, Any] = {"channel": {"name": kind, "epsilon": 4}, "reward": reward, "budget": {"epsilon": 4}}
    played = Played(Path(mkdtemp(dir=tmp_path)), arms=HELD, **how)
    for _ in range(4):
        played.come(60)
        played.wait()
    assert any(each.arm == 0 for each in played.study.releases())
    played.verify()
    played.open_again()
    played.verify()
    played.study.close()


def test_with_two_operators_nothing_differs(tmp_path: Path) -> None:
    clock = Clock()
    leading = Leading(f"sqlite:///{tmp_path}/study.db", tmp_path / "witness", clock, arms=HELD)
    for i in range(60):
        given = leading.come(f"person {i}")
        if given.ticket:
            leading.upload(given, leading.seal(given, float(i % 2)))
        else:
            clock.now += WINDOW + GRACE + 1
            leading.settle()
    clock.now += WINDOW + GRACE + 1
    leading.settle()
    assert any(each.arm == 0 for each in leading.study.releases())
    cohorts = leading.study._session.driver.cohorts
    given, placed = (sum(each.size for each in cohorts if (each.arm == 0) is held) for held in (True, False))
    assert given <= Fraction(2, 5) * placed
    verify(leading)
    leading.reopen()
    leading.study.close()

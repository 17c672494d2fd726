"""A second outcome of each person: in the same cohort, with noise of its own, charged with the first, and watched."""

import math
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from maskedbandit.errors import Conflict, Corrupted, InvalidValue, NotRunning, PersonalValue, StorageFailed
from maskedbandit.privacy.budget import Budget
from maskedbandit.privacy.loss import Loss
from maskedbandit.store.members import read_members
from maskedbandit.store.requests import GUARDRAIL
from maskedbandit.study.watch import HarmFound, Watch
from tests.for_each import for_each
from tests.store.small_study import PROOF, WINDOW, small_protocol
from tests.store.stage import failing_commit
from tests.store.test_arms import Played

HARM = {"name": "harm", "harm": {"above": 0.2}}
SURE = {"channel": {"name": "central", "epsilon": 20_000}, "budget": {"epsilon": 20_000}}  # as good as no noise


def guarded(folder: Path, guardrail: Any = HARM, **changes: Any) -> Played:
    """A study of three arms with a guardrail, whose noise is nothing."""
    return Played(folder, **{"guardrail": guardrail, **SURE, **changes})


def tell_all(played: Played, harm_of: dict[int, float], bits: Random, first: int = 0) -> None:
    """What people report: no reward, and harm with these chances."""
    place = played.study._session.rows.place
    told = {ticket: harm_of.get(place(ticket).arm, 0.0) for ticket in filter(None, played.tickets[first:])}
    for done in played.study.apply(
        [("report", ticket, int(bits.random() < chance), "", "harm") for ticket, chance in told.items()]
    ):
        done.value()


def play(played: Played, harm_of: dict[int, float], rounds: int, many: int = 48) -> None:
    """People come and report, and their cohorts are released."""
    bits = Random(1)
    for _ in range(rounds):
        first = len(played.tickets)
        played.come(many)
        tell_all(played, harm_of, bits, first)
        played.wait()


def test_both_sums_are_released_and_both_are_charged(tmp_path: Path) -> None:
    played = guarded(tmp_path, {**HARM, "share": "1/4"}, **SURE)
    played.come(12)
    for i, ticket in enumerate(played.tickets):
        played.study.report(ticket, 1)
        assert not played.study.report(ticket, i % 2, metric="harm", proof=PROOF).again
        assert played.study.report(ticket, i % 2, metric="harm", proof=PROOF).again
        with pytest.raises(Conflict):
            played.study.report(ticket, 1 - i % 2, metric="harm", proof=PROOF)
    played.wait()
    told = [each for each in played.said() if each["kind"] == "released"]
    assert [float.fromhex(each["total"]) for each in told] == [4.0, 4.0, 4.0]
    assert sum(float.fromhex(each["further"][0][0]) for each in told) == 6.0
    assert {Loss.from_text(each["loss"]).pure_epsilon for each in told} == {Fraction(20_000)}
    find = "SELECT DISTINCT text FROM account JOIN loss ON loss.loss = account.spent"
    assert played.study.database.rows(find) == [(told[0]["loss"],)], "people were charged for something else"
    played.verify()
    played.study.close()


@for_each("share", ["1/2", "1/3", "1/100"])
def test_epsilon_is_shared_exactly(share: str) -> None:
    how = small_protocol(guardrail={**HARM, "share": share})
    first, second = how.channel.loss(100), how.outcomes[1].channel.loss(100)
    assert second.pure_epsilon == Fraction(share)
    assert first.pure_epsilon + second.pure_epsilon == 1
    assert how.price(100) == first + second
    assert how.price(100).pure_epsilon == 1
    Budget(how.budget).after(None, how.price(100))  # it fits the budget of one reward at that epsilon


def test_with_gaussian_noise_both_together_cost_less_than_one_would() -> None:
    gaussian = {"name": "central", "epsilon": 1, "noise": "discrete_gaussian"}
    budget = {"rho": 0.5}
    alone = small_protocol(channel=gaussian, budget=budget).price(100).without_single()
    both = small_protocol(channel=gaussian, budget=budget, guardrail=HARM).price(100)
    assert both.curve[0] < alone.curve[0]


def test_a_study_without_a_guardrail_is_as_it_was() -> None:
    how = small_protocol()
    assert (how.guardrail, how.metrics, len(how.outcomes)) == (None, (), 1)
    assert how.channel.epsilon == 1
    assert how.price(100) == how.channel.loss(100)
    assert how.digest == "c96acef76b8b7f6df593b18b59a70e75ef1ab70a30a58220d60f2a0a69d1be49"


@for_each(
    ("wrong", "said"),
    [
        ({"guardrail": 3}, "guardrail"),
        ({"guardrail": {"name": "harm"}}, "harm is"),
        ({"guardrail": {**HARM, "harm": {"above": 0.1, "below": 0.2}}}, "harm is"),
        ({"guardrail": {**HARM, "harm": {"above": 1}}}, "harm is"),
        ({"guardrail": {**HARM, "harm": {"above": 0}}}, "harm is"),
        ({"guardrail": {**HARM, "harm": {"above": 0.1, "against": "x"}}}, "against"),
        ({"guardrail": {**HARM, "share": 1}}, "share"),
        ({"guardrail": {**HARM, "share": 0}}, "share"),
        ({"guardrail": {**HARM, "alpha": 0}}, "alpha"),
        ({"guardrail": {**HARM, "name": "a b"}}, "name of the guardrail"),
        ({"guardrail": {**HARM, "window": "1 hour"}}, "window"),
        ({"guardrail": HARM, "channel": {"name": "response"}, "reward": {"rule": "first"}}, "rule of the guardrail"),
        ({"guardrail": HARM, "policy": "ucb1", "channel": {"name": "tree", "epsilon": 1, "length": 1000}}, "channel"),
        ({"guardrail": {**HARM, "harm": {"above": 0.1, "against": "a"}}, "policy": "thompson_sampling"}, "policy"),
    ],
)
def test_what_a_guardrail_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        small_protocol(**wrong)


def test_the_units_of_a_limit() -> None:
    def limit(harm: Any, **more: Any) -> float:
        found = small_protocol(guardrail={"name": "late", "harm": harm, **more}).guardrail
        assert found is not None
        return found.limit

    assert limit({"above": 15}, least=10, most=20) == 0.5
    assert limit({"below": 12}, least=10, most=20, default=10) == 0.2
    assert limit({"above": 1, "against": "a"}, least=10, most=20) == 0.1
    assert limit({"below": -1, "against": "a"}, least=10, most=20) == -0.1


def test_what_a_report_of_the_guardrail_may_be(tmp_path: Path) -> None:
    played = guarded(tmp_path, {**HARM, "most": 10, "harm": {"above": 5}, "rule": "sum"})
    played.come(1)
    (ticket,) = played.tickets
    for value in (11, -1, math.nan):
        with pytest.raises(PersonalValue):
            played.study.report(ticket, value, metric="harm")
    with pytest.raises(PersonalValue, match="metric"):
        played.study.report(ticket, 1, metric="other")
    with pytest.raises(PersonalValue):
        played.study.report(ticket, 1, "guardrail\nharm")
    played.study.report(ticket, 1, "x")
    played.study.report(ticket, 3, "x", metric="harm")
    played.study.report(ticket, 4, "y", metric="harm")
    played.study.apply([])
    (found,) = (each for cohort in range(3) for each in read_members(played.study.database, "small", cohort))
    assert (found.reports(), found.reports(GUARDRAIL)) == ([1.0], [3.0, 4.0])
    assert played.study.erase("person 1") == 1
    assert played.study.database.rows("SELECT * FROM reward") == []
    played.study.close()
    (tmp_path / "plain").mkdir()
    plain = Played(tmp_path / "plain")
    plain.come(1)
    with pytest.raises(PersonalValue, match="metric"):
        plain.study.report(plain.tickets[0], 1, metric="harm")
    plain.study.close()


def test_an_arm_that_does_harm_is_put_out_of_play_for_ever(tmp_path: Path) -> None:
    played = guarded(tmp_path)
    play(played, {0: 0.05, 1: 0.9, 2: 0.1}, rounds=6)
    assert played.study.in_play == (0, 2)
    (found,) = (each for each in played.said() if each["kind"] == "arm_harmful")
    assert (found["arm"], found["name"], found["arms"]) == (1, "b", [0, 2])
    assert float.fromhex(found["evidence"]) >= math.log(6 / 0.05)
    for what in ("resume", "pause"):
        with pytest.raises(Conflict, match="another name"):
            played.study.change_arms(what, "b")
    assert set(played.come(30)) <= {0, 2, -1}
    played.verify()
    played.open_again()
    assert played.study.in_play == (0, 2)
    assert played.study._session.watch.declared == {1}
    played.study.change_arms("add", "b2")
    played.verify()
    played.study.close()


@pytest.mark.slow
def test_harm_below_a_limit_and_against_another_arm(tmp_path: Path) -> None:
    for i, harmful in enumerate(({"below": 0.6}, {"below": -0.2, "against": "a"})):
        (tmp_path / str(i)).mkdir()
        played = guarded(tmp_path / str(i), {"name": "harm", "harm": harmful})
        play(played, {0: 0.9, 1: 0.1, 2: 0.9}, rounds=6)
        assert played.study.in_play == (0, 2), harmful
        played.verify()
        played.study.close()
    (tmp_path / "control").mkdir()
    played = guarded(tmp_path / "control", {"name": "harm", "harm": {"above": 0.2, "against": "a"}})
    play(played, {0: 0.1, 1: 0.95, 2: 0.1}, rounds=6)
    assert played.study.in_play == (0, 2)
    played.study.close()


def test_a_study_of_which_all_arms_do_harm_is_paused(tmp_path: Path) -> None:
    played = guarded(tmp_path)
    play(played, {0: 0.95, 1: 0.95, 2: 0.95}, rounds=12)
    assert played.study.state == "paused"
    assert len(played.study.in_play) == 1
    with pytest.raises(NotRunning, match="without harm"):
        played.study.resume()
    played.verify()
    played.open_again()
    played.study.change_arms("add", "mild")
    played.study.resume()
    assert played.study.in_play == (3,)
    played.verify()
    played.study.close()


def test_harm_that_is_found_after_the_arm_was_paused(tmp_path: Path) -> None:
    played = guarded(tmp_path, policy={"name": "successive_elimination", "least": 16})
    first = len(played.tickets)
    played.come(48)
    tell_all(played, {1: 1.0}, Random(1), first)
    played.study.change_arms("pause", "b")
    played.wait()
    *_, found = (each for each in played.said() if each["kind"].startswith("arm"))
    assert (found["kind"], "step" in found) == ("arm_harmful", False)
    with pytest.raises(Conflict, match="another name"):
        played.study.change_arms("resume", "b")
    played.verify()
    played.study.close()


@pytest.mark.parametrize("how", ["before", "after"])
def test_harm_is_found_once_though_the_commit_fails(how: str, tmp_path: Path) -> None:
    played = guarded(tmp_path, policy={"name": "successive_elimination", "least": 16})
    played.come(48)
    tell_all(played, {1: 1.0}, Random(1))
    played.clock.now += WINDOW + 1
    with failing_commit(played.study, how), pytest.raises(StorageFailed):
        played.study.tick()
    played.study.tick()
    assert [each["arm"] for each in played.said() if each["kind"] == "arm_harmful"] == [1]
    assert played.study.in_play == (0, 2)
    played.verify()
    played.study.close()


# --- the ledger says what had to be found, and nothing else


class Blind(Watch):
    """It finds nothing."""

    def saw(self, release: Any) -> Any:
        super().saw(release)
        return []


class Eager(Watch):
    """It finds harm before there is enough evidence."""

    def saw(self, release: Any) -> Any:
        super().saw(release)
        return [] if release.arm in self.declared else [HarmFound(release.arm, self.evidence(release.arm))]


@pytest.mark.parametrize(
    ("kind", "rates", "said"), [(Blind, {1: 0.9}, "does not say that arm 1"), (Eager, {}, "and it was not")]
)
def test_a_rule_that_was_not_followed_is_found(
    kind: type[Watch], rates: dict[int, float], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = guarded(tmp_path)
    whole = played.study._session.watch
    played.study._session.watch = kind(whole.guardrail, whole.law, whole.k)
    play(played, rates, rounds=4)
    with pytest.raises(Corrupted, match=said):
        played.verify()
    played.study.close()


def test_a_person_is_charged_for_both_before_the_arm_is_known(tmp_path: Path) -> None:
    played = guarded(tmp_path, {**HARM, "share": "1/4"})
    played.come(1)
    assert str(played.study._do("spent", played.tickets[0])) == "ε = 2e+04"
    with pytest.raises(InvalidValue, match="enough for one cohort"):
        small_protocol(guardrail=HARM, budget={"epsilon": 0.9})
    played.study.close()

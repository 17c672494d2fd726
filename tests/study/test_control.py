"""The control arm of a driver: its share is exact, and the policy knows nothing of it.

All is exact but one claim in samples, which states its false alarm; each has a broken driver that it finds.
"""

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.core import TOGETHER, Decision
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.study.control import Control, count_enough, count_left
from maskedbandit.study.driver import Driver
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.golden import MULTI_ARMED, channel_for
from tests.statistics import mean_is, seeded
from tests.study import plays
from tests.study.plays import SEED, Played, aim_of, deck_of, driver_of, facts, play
from tests.study.test_driver_log import DEAR
from tests.thrift import thrifty

CONTROL = Control(1, Fraction(1, 10))  # in the middle, so that the policy's arms 0 and 1 are 0 and 2
POLICIES = [name for name in MULTI_ARMED if channel_for(mb.policies.room[name]()).law().counter == 0]
each_policy = for_each("name", thrifty(POLICIES, lambda name: name in DEAR))


def held(name: str, control: Control = CONTROL, make: Any = Driver) -> Driver:
    """A driver of three arms, of which one is the control."""
    policy = mb.policies.room[name]()
    return make(policy, channel_for(policy).law(), 3, aim_of(policy), SEED, control)


def groups(driver: Driver) -> list[list[Decision]]:
    """The decisions that are dealt together."""
    asks = [Decision(*entry[2:]) for entry in driver.log if entry[0] == "ask" and entry[3]]
    ends = [0, *(i + 1 for i, each in enumerate(asks) if each.close != TOGETHER)]
    return [asks[i:j] for i, j in pairwise(ends)]


def check_shares(driver: Driver, control: Control) -> None:
    """At any time the control has its share of what was asked for, but for less than is worth a cohort."""
    placed = given = 0
    for group in groups(driver):
        sizes = [each.n for each in group if each.arm != control.arm]
        placed += sum(sizes)
        given += (more := sum(each.n for each in group if each.arm == control.arm))
        if not sizes:  # it came beside a cohort that goes on
            assert more
            continue
        due = placed * control.share / (1 - control.share)
        assert given <= due, "the control has more than its share"
        assert not more or more >= count_enough(driver.law, min(sizes)), "a cohort is too small"
        follows = group[-1].close == 0
        assert follows or due - given < count_enough(driver.law, min(sizes)) + 1, "the control has less than its share"


@pytest.mark.slow
@each_policy
def test_the_control_has_its_share_of_all_places(name: str) -> None:
    for share in (Fraction(2, 7), Fraction(3, 4)):
        control = Control(1, share)
        driver = play(held(name, control), 300).driver
        check_shares(driver, control)
        assert driver.answer != 1
        assert set(driver.arms) == {0, 2}


def test_shares_that_are_rounded_in_each_group_are_found() -> None:
    """Broken twin: what is left of a group is forgotten."""

    class Forgetful(Control):
        def join(self, group: list[Decision], law: Law, placed: int, given: int) -> list[Decision]:
            return super().join(group, law, 0, 0)

    with pytest.raises(AssertionError, match="less than its share"):
        check_shares(play(held("successive_elimination", Forgetful(*CONTROL)), 400).driver, CONTROL)


def test_cohorts_of_one_person_wait_until_the_control_is_due() -> None:
    driver = play(driver_of([(0, 1, 1), (1, 1, 1)], make=lambda *how: Driver(*how, CONTROL), k=3), 100, back=0).driver
    sizes = [[tuple(each) for each in group] for group in groups(driver)[:10]]
    alone, beside = [(2, 1, 1)], [(2, 1, TOGETHER), (1, 1, 1)]
    assert sizes == [[(0, 1, 1)], *[alone] * 7, beside, alone]


def test_the_control_is_dealt_together_with_the_rest() -> None:
    driver, bits = driver_of(deck_of(90, 90), make=lambda *how: Driver(*how, CONTROL), k=3), seeded(1)
    found = [driver.assign(bits) for _ in range(200)]
    assert [(each.arm, each.size, each.epoch) for each in driver.cohorts] == [(0, 90, 0), (2, 90, 0), (1, 20, 0)]
    left = {0: 90, 1: 20, 2: 90}
    for each in found:
        assert each.propensity == Fraction(left[each.arm], sum(left.values()))
        left[each.arm] -= 1


def test_each_person_is_given_the_control_with_its_probability() -> None:
    """The first person of 1000 studies. False alarm: 1e-9."""
    bits, hits = seeded(3), []
    for _ in range(1000):
        driver = driver_of(deck_of(90, 90), make=lambda *how: Driver(*how, CONTROL), k=3)
        hits.append(driver.assign(bits).arm == 1)
    mean_is(hits, 0.1, 0.3)


def test_a_cohort_that_goes_on_has_the_control_beside_it() -> None:
    driver = driver_of([(0, 50, 0)], make=lambda *how: Driver(*how, CONTROL), k=3)
    for _ in range(105):
        driver.assign(seeded(1))
    assert [tuple(each)[2:] for each in driver.log[:4]] == [(0, 50, 0), (1, 5, 1), (0, 50, 0), (1, 6, 1)]
    assert [each.epoch for each in driver.cohorts] == [0, 1, 3]


# --- the policy knows nothing of it -----------------------------------------------------------------------------------


def play_with(make: Any, name: str, of_control: float, patch: pytest.MonkeyPatch) -> Played:
    """A study in which the releases of the control are others."""
    real = plays.rewards

    def rewards(cohort: int, n: int, arm: int) -> float:
        return of_control if arm == CONTROL.arm else real(cohort, n, arm)

    with patch.context() as within:
        within.setattr(plays, "rewards", rewards)
        return play(held(name, make=make), 300)


def check_blind(make: Any, name: str, patch: pytest.MonkeyPatch) -> None:
    """Whatever is released of the control, the same is decided, and served."""
    one, other = (play_with(make, name, total, patch) for total in (0.0, 1e6))
    asks = [[entry for entry in each.driver.log if entry[0] == "ask"] for each in (one, other)]
    assert asks[0] == asks[1], "decisions follow from the control"
    assert one.given == other.given, "who comes is served otherwise"
    assert str(one.driver.state) == str(other.driver.state), "the policy knows of the control"


@each_policy
def test_the_policy_is_told_nothing_of_the_control(name: str) -> None:
    patch = pytest.MonkeyPatch()
    check_blind(Driver, name, patch)


def test_a_driver_that_tells_of_the_control_is_found() -> None:
    """Broken twins: one tells the policy, and one serves the arm that looks best of all."""

    class Telling(Driver):
        def tell(self, cohort: int, n: int, total: float) -> None:
            if self.cohorts[cohort].arm == CONTROL.arm:
                self.policy.tell(self.state, 0, n, total)
            super().tell(cohort, n, total)

    class Serving(Driver):
        def serve(self, bits: Any) -> Any:
            known, self.arms = self.arms, (0, 1, 2)
            found = super().serve(bits)
            self.arms = known
            return found

    with pytest.raises(AssertionError, match=r"decisions follow|knows of the control"):
        check_blind(Telling, "sw_ucb", pytest.MonkeyPatch())
    with pytest.raises(AssertionError, match="served otherwise"):
        check_blind(Serving, "best_arm_elimination", pytest.MonkeyPatch())


# --- all follows from the log -----------------------------------------------------------------------------------------


@pytest.mark.slow
@each_policy
def test_a_log_with_a_control_brings_back_the_driver_that_wrote_it(name: str) -> None:
    played = play(held(name), 300)
    study, log = played.driver, json.loads(json.dumps(played.driver.log))
    how = study.policy, study.law, 3, aim_of(study.policy), SEED, log, sorted(played.dealt), played.closed
    again = Driver.replay(*how, control=CONTROL)
    assert {**facts(again), "cohorts": 0} == {**facts(study), "cohorts": 0}
    for each in (study, again):
        play(each, 100, seed=2, played=played._replace(given=[], dealt=set(), closed=set(played.closed)))
    assert again.log == study.log
    check_shares(again, CONTROL)
    if all(each.arm != CONTROL.arm for each in played.driver.cohorts):
        return  # its cohorts are so large that nothing was due yet
    for control in (None, Control(1, Fraction(1, 9)), Control(0, Fraction(1, 10))):
        with pytest.raises(InvalidValue):
            Driver.replay(*how, control=control)


@pytest.mark.slow
def test_stages_keep_the_control_until_it_is_out_of_play() -> None:
    driver = play(held("sw_ucb"), 200).driver
    driver.begin_stage((0, 1, 2), 2000)
    assert (driver.arms, driver.control) == ((0, 2), CONTROL)
    play(driver, 400)
    check_shares(driver, CONTROL)
    before = len(driver.cohorts)
    assert any(each.arm == 1 and not each.ended for each in driver.cohorts)
    driver.begin_stage((0, 2), 1000)
    assert (driver.arms, driver.control) == ((0, 2), None)
    play(driver, 300)
    assert all(each.arm != 1 for each in driver.cohorts[before:])
    driver.begin_stage((0, 2, 3), 500)
    assert driver.arms == (0, 2, 3)
    driver.begin_stage((2,), 500)
    assert driver.answer == 2
    with pytest.raises(InvalidValue):
        held("contemporaneous_klucb").begin_stage((1,), 500)


def test_an_arm_beside_the_control_alone_is_the_answer() -> None:
    driver = held("contemporaneous_klucb")
    driver.begin_stage((1, 2), 1000)
    assert driver.answer == 2
    assert {driver.assign(seeded(i))[:2] for i in range(20)} == {(2, None)}


# --- protocols --------------------------------------------------------------------------------------------------------

TABLE: dict[str, Any] = {
    "name": "held",
    "people": 3000,
    "channel": {"name": "central", "epsilon": 1},
    "arms": [{"name": "plain", "share": "1/10"}, {"name": "a"}, {"name": "b"}],
    "budget": {"epsilon": 1},
}


@for_each("people", [10, 11, 1005, 3000, 99_999])
@for_each("share", ["1/10", "1/3", "1/2", "7/9"])
def test_what_both_have_fits_the_number_of_people(people: int, share: str) -> None:
    """A policy that is planned for all people left to it ends, and the control has its share of them."""
    control = Control(0, Fraction(share))
    left = count_left(control, people)
    assert people - 1 < left + people * control.share <= people
    assert people * control.share - 1 / (1 - control.share) - 1 < control.due(left) <= people - left


@for_each("policy", ["pooled_elimination", "sequential_halving", "equal_split"])
def test_phases_are_planned_for_the_people_who_are_left(policy: str) -> None:
    protocol = Protocol.from_table(TABLE | {"policy": policy})
    assert (protocol.aim, protocol.choices, protocol.control_arm) == (2700, 2, 0)
    driver = Driver(protocol.policy, protocol.channel.law(), 3, protocol.aim, SEED, protocol.control)
    played = play(driver, 3200, back=0, slowest=1)
    assert driver.answer in (1, 2)
    check_shares(driver, Control(0, Fraction(1, 10)))
    assert 2990 < driver.deck.dealt <= 3000
    assert 290 < sum(each.arm == 0 and each.cohort is not None for each in played.given) <= 300


@for_each(
    ("change", "why"),
    [
        ({"arms": [{"name": "a", "share": "1/10"}, {"name": "b", "share": "1/10"}, {"name": "c"}]}, "at most one"),
        ({"arms": [{"name": "a", "share": 1}, {"name": "b"}, {"name": "c"}]}, "above 0 and below 1"),
        ({"arms": [{"name": "a", "share": 0}, {"name": "b"}, {"name": "c"}]}, "above 0"),
        ({"arms": [{"name": "a", "share": "half"}, {"name": "b"}, {"name": "c"}]}, "a finite number"),
        ({"arms": [{"name": "a", "share": "0.1"}, {"name": "b"}, {"name": "c"}]}, "a fraction as a text"),
        ({"arms": [{"name": "a", "share": "1/10"}, {"name": "b"}]}, "at least two without a share"),
        ({"people": 9}, "somebody gets the control"),
        ({"arms": [{"name": "a", "share": "9999/10000"}, {"name": "b"}, {"name": "c"}]}, "one is left for each"),
        ({"channel": {"name": "tree", "epsilon": 1, "length": 4000}, "policy": "dp_thompson"}, "if there is a control"),
        ({"policy": {"name": "top_arms", "m": 2}, "people": None}, "at least 3"),
    ],
)
def test_controls_that_cannot_be(change: dict[str, Any], why: str) -> None:
    table = {key: value for key, value in (TABLE | change).items() if value is not None}
    with pytest.raises(InvalidValue, match=why):
        Protocol.from_table(table)


@for_each("arms", [None, 3, [], [3, 4], [{"name": "a", "share": "1/10"}, 4]])
def test_what_is_no_arm_is_refused_as_an_arm(arms: Any) -> None:
    for ask in ("control", "aim", "choices"):
        with pytest.raises(InvalidValue, match="arms"):
            getattr(Protocol.from_text(json.dumps(TABLE | {"arms": arms})), ask)
    with pytest.raises(InvalidValue, match="name"):
        Protocol.from_table({})


def test_arms_that_are_added_have_no_share() -> None:
    protocol = Protocol.from_table(TABLE)
    added = protocol.also([("c", None)])
    assert (added.k, added.choices, added.control_arm) == (4, 2, 0)
    assert protocol.aim_of_stage(2, 1000) == 1800

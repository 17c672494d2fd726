"""What a driver decides follows from the releases and the log alone: it is what the engine decides, and comes back.

All comparisons are exact, and each has a broken driver that it finds.
"""

import json
import math
from typing import Any

import pytest

import maskedbandit as mb
from maskedbandit.core import TOGETHER, WAIT
from maskedbandit.errors import InvalidValue, OutOfTurn
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.engine.outcomes import DONE
from maskedbandit.reports.audit.runs import choose_aim
from maskedbandit.study.decisions import decision_generator
from maskedbandit.study.driver import Driver
from tests.for_each import for_each
from tests.golden import MULTI_ARMED, channel_for, interpreted
from tests.statistics import seeded
from tests.study.plays import (
    END,
    SEED,
    USERS,
    aim_of,
    deck_of,
    driver_of,
    facts,
    of_room,
    play,
    rejected,
    rewards,
    told,
)
from tests.thrift import thrifty

# Those that learn from every single user, or decide for one: their tests take longest.
DEAR = {
    "ada_p_tt",
    "ada_p_tt_star",
    "capped_thompson",
    "dp_thompson",
    "dpucb",
    "dpucb_int",
    "gaussian_thompson",
    "klucb",
    "lazy_dp_thompson",
    "ldp_ucb",
    "thompson_sampling",
    "ucb1",
}

each_policy = for_each("name", thrifty(MULTI_ARMED, lambda name: name in DEAR))

# --- the engine ------------------------------------------------------------------------------------------------------


class Numbered:
    """A policy for the engine's loop, each of whose decisions has its own generator; what it is asked and told."""

    def __init__(self, policy):
        self.policy, self.goal, self.purpose, self.init = policy, policy.goal, policy.purpose, policy.init
        self.log, self.asked = [], 0

    def ask(self, s, law, rng):
        decision = self.policy.ask(s, law, decision_generator(SEED, self.asked))
        self.log.append(("ask", self.asked, *map(int, decision)))
        self.asked += 1
        return decision

    def tell(self, s, arm, n, total):
        self.log.append(("tell", int(arm), int(n), float(total)))
        self.policy.tell(s, arm, n, total)


def check_as_the_engine(name: str, delay: int, make: Any = Driver) -> None:
    """At equal releases the driver asks for what the engine asks for, in the same order."""
    policy = mb.policies.room[name]()
    channel, horizon, study, bits = channel_for(policy), 600, of_room(name, make, k=2), seeded(11)
    study.state = policy.init(2, choose_aim(policy, horizon))
    engine = Numbered(policy)
    assert interpreted(engine, channel, mb.Bernoulli([0.2, 0.8]), horizon, delay=Constant(delay)).status == DONE
    for kind, *entry in engine.log:
        while study.deck.left:
            study.assign(bits)
        if kind == "ask":
            if entry[0] == sum(each[0] == "ask" for each in study.log):  # else it came with a deck
                study.ask()
            asks = [each for each in study.log if each[0] == "ask"]
            assert asks[entry[0] : entry[0] + 1] == [(kind, *entry)], f"the engine's decision was {entry}"
        else:
            arm, n, total = entry
            cohort = next(
                places.cohort for places in study.cohorts if places.arm == arm and places.full and not places.release
            )
            told(study, (cohort, n, total))


@pytest.mark.slow
@each_policy
@for_each("delay", [0, 70])
def test_it_decides_as_the_engine_at_equal_releases(name, delay):
    check_as_the_engine(name, delay)


class Shifted(Driver):
    """Draws the numbers of another decision."""

    def _ask(self):
        self._asked += 1
        super()._ask()
        self._asked -= 1


class Deaf(Driver):
    """Tells the policy that all rewards were 0."""

    def tell(self, cohort, n, total):
        super().tell(cohort, n, 0.0)


@for_each(("name", "broken"), [("thompson_sampling", Shifted), ("noise_aware_klucb", Deaf)])
def test_another_decision_than_that_of_the_engine_is_found(name, broken):
    with rejected("the engine's decision"):
        check_as_the_engine(name, 70, broken)


# --- replay -----------------------------------------------------------------------------------------------------------


def replayed(study: Driver, log: list[Any], dealt: Any = (), closed: Any = (), make: Any = Driver) -> Driver:
    """The driver that comes back."""
    return make.replay(study.policy, study.law, study.k, aim_of(study.policy), SEED, log, dealt, closed)


def check_replay(name: str, make: Any = Driver) -> None:
    """From the log and the places comes the same driver, and it goes on as the first would."""
    played = play(of_room(name, make), USERS)
    study, log = played.driver, json.loads(json.dumps(played.driver.log))
    again = replayed(study, log, sorted(played.dealt, reverse=True), played.closed, make)
    assert facts_of_places(again) == facts_of_places(study), "another driver came back"
    for each in (study, again):
        play(each, USERS // 4, seed=2, played=played._replace(given=[], dealt=set(), closed=set(played.closed)))
    assert again.log == study.log, "it goes on otherwise"


def facts_of_places(study: Driver) -> dict[str, Any]:
    """Its facts; of its cohorts which places are dealt."""
    cohorts = []
    for places in study.cohorts:
        left = {*range(places._next, places.size), *places._returned}
        cohorts.append((places.arm, places.size, places.complete, places.closed, places.release, left))
    return {**facts(study), "cohorts": cohorts}


@pytest.mark.slow
@each_policy
def test_a_log_brings_back_the_driver_that_wrote_it(name):
    check_replay(name)


def test_a_driver_that_remembers_what_is_not_in_the_log_is_found():
    class Moody(Driver):
        """Tells the policy something that depends on who came."""

        served = 0

        def assign(self, bits):
            self.served += 1
            return super().assign(bits)

        def tell(self, cohort, n, total):
            if self.served % 2:
                self.policy.tell(self.state, self.cohorts[cohort].arm, n, total)
            super().tell(cohort, n, total)

    with pytest.raises((AssertionError, InvalidValue), match=r"another driver|of the log"):
        check_replay("ada_p_klucb", Moody)


LOG = [("ask", 0, 0, 2, TOGETHER), ("ask", 1, 1, 2, 1), ("tell", 1, 2, 1.0), ("ask", 2, 1, 1, 1), ("ask", 3, -1, 0, 0)]
LOG += [("tell", 0, 2, 0.5), ("ask", 4, 0, 1, 1)]
ASKS = [*deck_of(2, 2), (1, 1, 1), WAIT, (0, 1, 1)]


def test_places_come_back_as_they_were():
    study = replayed(driver_of(ASKS), LOG, [(2, 0)], [2])
    assert [(places.left, places.closed, places.release) for places in study.cohorts] == [
        (0, True, (2, 0.5)),
        (0, True, (2, 1.0)),
        (0, True, None),
        (1, False, None),
    ]
    assert study.assign(seeded(1))[:3] == (0, 3, 0)


def changed(i: int, *entry: Any) -> list[Any]:
    """The log with another entry i."""
    return [*LOG[:i], entry, *LOG[i + 1 :]]


@for_each(
    ("log", "said"),
    [
        (changed(0, "ask", 0, 1, 2, TOGETHER), "entry 0 of the log is .* must be .'ask', 0, 0, 2, 2., which"),
        (changed(1, "ask", 2, 1, 2, 1), "entry 1 of the log"),
        (changed(3, "ask", 3, 1, 1, 1), "entry 3 of the log"),
        (changed(3, "ask", 2, 1, 1, 0), "entry 3 of the log"),
        (LOG[:1], "length of the log is 1: it must be longer: it ends inside a deck"),
        ([LOG[0], LOG[2], *LOG[1:]], "entry 1 of the log"),
        ([*LOG[:5], LOG[6]], "entry 5 of the log .* one that is due"),
        (changed(2, "tell", 7, 2, 1.0), "entry 2 of the log .* fits .* cohort 7 is unknown"),
        (changed(2, "tell", 1, 3, 1.0), "n of the release of cohort 1 is 3"),
        (changed(2, "tell", 1, 2, math.nan), "total of cohort 1 is nan"),
        (changed(5, "tell", 1, 2, 1.0), "entry 5 of the log .* due"),
        (changed(5, "tell", 1, 2, 2.0), "entry 5 of the log .* it cannot be"),
        (changed(5, "tell", 0, 2), "entry 5 of the log"),
        (changed(5, "said", 0, 2, 0.5), "entry 5 of the log"),
        (changed(5), "entry 5 of the log"),
        ([*LOG[:5], None, LOG[6]], "entry 5 of the log"),
    ],
)
def test_a_log_that_does_not_fit_is_refused(log, said):
    with pytest.raises(InvalidValue, match=said):
        replayed(driver_of(ASKS), log)


def test_a_cohort_that_grows_has_no_release():
    study = driver_of([(0, 1, 0), (0, 1, 1), END])
    with pytest.raises(InvalidValue, match="cohort 0 is not closed"):
        replayed(study, [("ask", 0, 0, 1, 0), ("tell", 0, 1, 1.0)])


@for_each(
    ("dealt", "closed", "said"),
    [
        ([(2, 0), (2, 0)], [], "place 0 of cohort 2 is already dealt"),
        ([(0, 1)], [], "place 1 of cohort 0 is already dealt"),
        ([(2, 1)], [], "cohort 2 has no place 1: its places are 0 to 0"),
        ([(4, 0)], [], "cohort 4 is unknown"),
        ([], [2], "cohort 2 is not full"),
        ([(2, 0)], [2, 2], "cohort 2 is already closed"),
        ([], [0], "cohort 0 is already closed"),
    ],
)
def test_places_that_do_not_fit_are_refused(dealt, closed, said):
    with pytest.raises(OutOfTurn, match=said):
        replayed(driver_of(ASKS), LOG, dealt, closed)


# --- order of tells ---------------------------------------------------------------------------------------------------


def asked_if_told(name: str, backwards: bool, together: int = 5) -> list[Any]:
    """What a policy asks for if releases come so many together, or while it asks for nobody; backwards: the arms are.

    Cohorts of one arm are told in their order: policies of phases use the last one.
    """
    study, bits = of_room(name), seeded(12)
    for _ in range(USERS):
        study.assign(bits)
        full = [places for places in study.cohorts[-99:] if places.full and not places.release]
        if len(full) >= together or study._idle:
            for places in sorted(full, key=lambda each: -each.arm) if backwards else full:
                told(study, (places.cohort, places.size, rewards(places.cohort, places.size, places.arm)))
    return [entry for entry in study.log if entry[0] == "ask"]


@pytest.mark.slow
@each_policy
def test_the_order_of_tells_between_two_asks_does_not_matter(name):
    assert asked_if_told(name, True) == asked_if_told(name, False)


@pytest.mark.slow
def test_the_ask_before_which_something_is_told_matters():
    """Negative control: the comparison sees when a release came."""
    assert asked_if_told("klucb", False, together=1) != asked_if_told("klucb", False)

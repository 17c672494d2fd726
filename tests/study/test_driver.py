"""The driver: every cohort exactly its size, each place dealt once, known propensities, and a log that tells it all.

Each rule is a function, and broken drivers show that it can fail. Seeds are fixed; under a new seed each random
assertion rejects a correct driver with probability ALPHA = 1e-9. The others are exact.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import TOGETHER, WAIT, Decision
from maskedbandit.errors import Disagreement, IllegalDecision, InvalidValue, OutOfTurn
from maskedbandit.lab.engine.deck import best_released
from maskedbandit.privacy.sampling import Bits
from maskedbandit.study import driver
from maskedbandit.study.deck import CohortDeck, Places
from maskedbandit.study.driver import Driver
from tests.contracts.rules import RAW
from tests.for_each import for_each
from tests.golden import MULTI_ARMED
from tests.statistics import same_distribution, seeded
from tests.study.plays import (
    END,
    SEED,
    USERS,
    Listed,
    Sought,
    deck_of,
    driver_of,
    facts,
    of_room,
    play,
    rejected,
    told,
    users_of,
)

# --- places -----------------------------------------------------------------------------------------------------------

MIXED = [*deck_of(5, 3, 2), (1, 4, 1), (2, 2, 0), (2, 3, 1), (0, 1, 1), *deck_of(1, 1, 6), END]


def check_places(make: Any = Driver) -> None:
    """Every cohort has exactly as many users as were asked for, and no two of them have one place."""
    study, bits = driver_of(MIXED, make, k=3), seeded(1)
    given = [study.assign(bits) for _ in range(40)]
    dealt = users_of(given)
    assert set(dealt.values()) == {1}, "a place was dealt twice"
    sizes = [sum(cohort == number for cohort, _ in dealt) for number in range(len(study.cohorts))]
    assert sizes == [5, 3, 2, 4, 5, 1, 1, 1, 6], f"cohorts have {sizes} users"
    assert all(places.full for places in study.cohorts)
    assert [each.cohort for each in given[28:]] == [None] * 12


def test_every_cohort_has_its_size_and_every_place_one_user():
    check_places()


def test_a_counter_that_forgets_is_found(monkeypatch):
    deal, calls = Places.deal, []

    def forgetful(self):
        calls.append(self)
        if len(calls) % 7 == 0:
            self._next = 0
        return deal(self)

    monkeypatch.setattr(Places, "deal", forgetful)
    with rejected("a place was dealt twice"):
        check_places()


def test_a_place_that_is_dealt_twice_is_found(monkeypatch):
    monkeypatch.setattr(Places, "deal", lambda self: self._next)
    with rejected("a place was dealt twice"):
        check_places()


class OneMore(CohortDeck):
    """Adds a place to cohorts that are asked for."""

    def add(self, decision):
        super().add(decision._replace(n=decision.n + 1))


def with_deck(kind):
    """A driver with a broken deck."""

    class Broken(Driver):
        def __init__(self, *how):
            super().__init__(*how)
            self.deck = kind()

    return Broken


def test_a_cohort_of_another_size_is_found():
    with rejected("users"):
        check_places(with_deck(OneMore))


@pytest.mark.slow
@for_each("name", MULTI_ARMED)
def test_every_policy_gets_the_cohorts_that_it_asked_for(name):
    """Though some users never see their arm, and releases are late."""
    played = play(of_room(name), USERS, back=0.1)
    study, dealt = played.driver, users_of(played.given)
    for places in study.cohorts:
        ever = sum(cohort == places.cohort for cohort, _ in dealt)
        assert ever == places.size if places.full else places.size - places.left <= ever <= places.size
    assert sum(entry[3] for entry in study.log if entry[0] == "ask") == sum(places.size for places in study.cohorts)
    assert len(played.dealt) == sum(places.size - places.left for places in study.cohorts if not places.release)


# --- order ------------------------------------------------------------------------------------------------------------


def check_shuffled(make: Any = Driver, decks: int = 2000, sizes: tuple[int, ...] = (2, 2, 1)) -> None:
    """All orders in which a deck can be dealt are as likely; what propensities say of an order is just that."""
    orders = math.factorial(sum(sizes)) // math.prod(math.factorial(n) for n in sizes)
    bits, seen, numbers = seeded(2), {}, []
    for _ in range(decks):
        study = driver_of(deck_of(*sizes), make, k=len(sizes))
        given = [study.assign(bits) for _ in range(sum(sizes))]
        said = math.prod((each.propensity for each in given), start=Fraction(1))
        assert said == Fraction(1, orders), f"propensities say that this order has probability {said}, not 1/{orders}"
        numbers.append(seen.setdefault(tuple(each.arm for each in given), len(seen)))
    assert len(seen) == orders, "some orders never come"
    same_distribution(np.array(numbers), lambda z: np.where((z >= 0) & (z < orders), 1 / orders, 0.0))


@pytest.mark.slow
def test_a_deck_is_shuffled_and_propensities_are_those_of_a_shuffled_deck():
    check_shuffled()


class NoDice:
    """Bits that are always 0."""

    def below(self, n):
        return 0


class Blocks(CohortDeck):
    """An arm is dealt after the other, with the propensities of a shuffled deck."""

    def deal(self, bits, full=()):
        return super().deal(NoDice())


class Alike(CohortDeck):
    """Any arm that has places left is as likely as any other."""

    def deal(self, bits, full=()):
        dealing = self.dealing
        chosen = dealing[bits.below(len(dealing))]
        propensity = Fraction(chosen.left, self.left)
        place = chosen.deal()
        self.sort(chosen)
        return chosen, place, propensity


class Claims(CohortDeck):
    """States that arms are equally likely."""

    def deal(self, bits, full=()):
        stated = Fraction(1, len(self.dealing))
        return (*super().deal(bits)[:2], stated)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "found"), [(Blocks, "orders never come"), (Alike, "another distribution"), (Claims, "propensities say")]
)
def test_a_deck_that_is_not_shuffled_is_found(broken, found):
    with rejected(found):
        check_shuffled(with_deck(broken))


@pytest.mark.slow
def test_a_place_that_came_back_is_shuffled_into_what_is_left():
    """Places of an arm may be left in two of its cohorts: its propensity is that of both."""
    bits, seen = seeded(3), []
    for _ in range(2000):
        study = driver_of([(0, 2, 1), *deck_of(2, 2), END])
        for _ in range(2):
            study.assign(bits)
        study.ask()
        assert study.deck.left == 4
        study.give_back(0, 1)
        given = study.assign(bits)
        assert given.propensity == (Fraction(3, 5) if given.arm == 0 else Fraction(2, 5))
        seen.append(given.cohort)
        for _ in range(4):
            study.assign(bits)
        assert [places.full for places in study.cohorts] == [True] * 3
    same_distribution(np.array(seen), lambda z: np.select([z == 0, (z == 1) | (z == 2)], [0.2, 0.4], 0.0))


def test_cohorts_are_dealt_from_in_the_order_of_their_numbers():
    """Also those to which a place comes back, or what is dealt would depend on who went away first."""
    deck, bits = CohortDeck(), Bits()
    for arm in range(3):
        deck.add(Decision(arm, 1, TOGETHER))
    for _ in range(3):
        deck.deal(bits)
    for places in reversed(deck.cohorts):
        places.give_back(0)
        deck.sort(places)
    assert [places.cohort for places in deck.dealing] == [0, 1, 2]


def test_the_deck_knows_how_many_are_dealt_whatever_comes_back():
    deck, bits, known = CohortDeck(), Bits(), []

    def note():
        assert deck.dealt == sum(places.size - places.left for places in deck.cohorts)
        known.append(deck.dealt)

    for arm, n, close in (*deck_of(3, 2), (0, 1, 0)):
        deck.add(Decision(arm, n, close))
    deck.add(Decision(0, 1, 1))  # to the cohort that grows
    for _ in range(7):
        note()
        deck.deal(bits)
    for places in deck.cohorts[:2]:
        places.give_back(0)
        deck.sort(places)
        note()
    deck.end_stage()
    note()
    deck.cohorts[2].give_back(0)
    deck.sort(deck.cohorts[2])
    note()
    assert known == [*range(7), 6, 5, 5, 4]


def test_a_place_may_come_back_while_nothing_can_be_asked():
    study, bits = driver_of([(0, 2, 1), WAIT]), seeded(3)
    for _ in range(3):
        given = study.assign(bits)
    assert given.cohort is None
    study.give_back(0, 0)
    assert [study.assign(bits).cohort for _ in range(2)] == [0, None]


# --- who is served meanwhile ------------------------------------------------------------------------------------------


def test_before_a_release_all_arms_are_served_equally_often():
    study, bits = driver_of([(0, 2, 1), WAIT], k=3), seeded(4)
    assert [study.assign(bits)[:3] for _ in range(2)] == [(0, 0, 0), (0, 0, 1)]
    given = [study.assign(bits) for _ in range(3000)]
    assert {each[1:] for each in given} == {(None, None, Fraction(1, 3))}
    same_distribution(np.array([each.arm for each in given]), lambda z: np.where((z >= 0) & (z < 3), 1 / 3, 0.0))


def test_then_the_arm_that_is_best_in_all_releases_is_served():
    """Not the one of the best release, nor the last that was asked for; of ties the first one."""
    study, bits = driver_of([(1, 1, 1), (2, 4, 1), (1, 5, 1), (0, 1, 1), WAIT], k=3), seeded(5)
    for _ in range(11):
        assert study.assign(bits).cohort is not None
    for release, best in (((0, 1, 1.0), 1), ((2, 5, 1.0), 1), ((1, 4, 2.0), 2)):
        told(study, release)
        assert study.assign(bits) == (best, None, None, 1)
    told(study, (3, 1, 0.5))
    assert study.answer is None
    with pytest.raises(IllegalDecision, match="Listed waits, but it already has every release"):
        study.assign(bits)


def test_it_is_the_arm_that_the_engine_serves():
    """Also where sums are added up in another order: here they are exact."""
    rng = np.random.default_rng(6)
    for _ in range(200):
        k, releases = 4, rng.integers(1, 7)
        arms, sizes = rng.integers(0, k, releases), rng.integers(1, 4, releases)
        totals = np.round(rng.random(releases) * sizes * 2) / 2
        study, bits = (
            driver_of([*((a, n, 1) for a, n in zip(arms, sizes, strict=True)), (0, 1, 1), WAIT], k=k),
            seeded(7),
        )
        for _ in range(sizes.sum() + 1):
            study.assign(bits)
        for i in rng.permutation(releases):
            told(study, (int(i), int(sizes[i]), float(totals[i])))
        n, total = np.bincount(arms, sizes, k).astype(np.int64), np.bincount(arms, totals, k)
        assert study.assign(bits).arm == best_released(n, total)


def test_an_answer_for_nobody_is_served_until_something_is_told():
    study, bits = driver_of([(0, 1, 1), (1, 1, 1), (1, 0, 0), (0, 0, 1), (1, 2, 1), (0, 0, 0)]), seeded(8)
    assert [study.assign(bits)[:2] for _ in range(5)] == [(0, 0), (1, 1), (1, None), (1, None), (1, None)]
    assert (len(study.log), study.answer) == (3, None)  # it is not asked for every user
    told(study, (1, 1, 1.0))
    assert [study.assign(bits)[:2] for _ in range(3)] == [(0, None)] * 3
    told(study, (0, 1, 0.0))
    assert [study.assign(bits)[:2] for _ in range(4)] == [(1, 2), (1, 2), (0, None), (0, None)]
    told(study, (2, 2, 1.0))
    assert study.answer is None
    assert study.assign(bits) == (0, None, None, 1)
    assert study.answer == 0  # nothing is in flight, so nothing can change
    before = facts(study)
    study.ask()
    assert facts(study) == before


def test_the_answer_of_a_search_is_final_though_something_is_in_flight():
    study, bits = driver_of([(0, 2, 1), (1, 0, 0), (0, 5, 1)], kind=Sought), seeded(9)
    assert [study.assign(bits)[:2] for _ in range(3)] == [(0, 0), (0, 0), (1, None)]
    assert study.answer == 1
    study.give_back(0, 1)
    assert study.assign(bits)[:2] == (1, None)  # nobody is asked for a reward that decides nothing
    study = driver_of([(0, 2, 1), (1, 0, 0), (0, 5, 1)], kind=Sought)
    for _ in range(3):
        study.assign(bits)
    told(study, (0, 2, 1.0))
    assert (study.assign(bits)[:2], study.answer, study.state.told.tolist()) == ((1, None), 1, [1, 2, 1])


# --- when it is asked -------------------------------------------------------------------------------------------------


def check_asked_in_time(make: Any = Driver) -> None:
    """When no place is left, and after an answer for nobody not before something was told."""
    study, bits = driver_of([*deck_of(2, 2), (1, 1, 1), WAIT, WAIT, (0, 1, 1), END], make), seeded(10)
    asks = []
    for _ in range(9):
        study.assign(bits)
        asks.append(sum(kind == "ask" for kind, *_ in study.log))
    assert asks == [2, 2, 2, 2, 3, 4, 4, 4, 4], f"asks after each user: {asks}"
    told(study, (1, 2, 1.0))
    told(study, (0, 2, 1.0))
    study.assign(bits)
    told(study, (2, 1, 1.0))
    study.assign(bits)
    assert [entry[1] for entry in study.log if entry[0] == "ask"] == list(range(6)), "a number is missing"


def test_it_is_asked_when_no_place_is_left_and_something_is_new():
    check_asked_in_time()


class Restless(Driver):
    """Asks for every user who is served."""

    def _due(self):
        return self.answer is None


class Unnumbered(Driver):
    """Gives an answer for nobody no number."""

    def _ask(self):
        before = self._asked
        super()._ask()
        if self._idle:
            self._asked = before


@for_each(("broken", "found"), [(Restless, "asks after"), (Unnumbered, "a number is missing")])
def test_asks_out_of_time_are_found(broken, found):
    with rejected(found):
        check_asked_in_time(broken)


# --- what is refused --------------------------------------------------------------------------------------------------


def midway() -> Driver:
    """Cohort 0 is told, 1 is closed, 2 is full, 3 has one user of three, and 4 has none of two."""
    study, bits = driver_of([(0, 2, 1), (1, 2, 1), (0, 2, 1), *deck_of(3, 2), END], k=2), seeded(13)
    for _ in range(6):
        study.assign(bits)
    told(study, (0, 2, 1.0))
    study.close(1)
    study.assign(NoDice())
    return study


REFUSED = {
    "tell of an unknown cohort": (lambda s: s.tell(9, 1, 0.0), OutOfTurn, "cohort 9 is unknown: there are 5 so far"),
    "tell of cohort -1": (lambda s: s.tell(-1, 2, 0.0), OutOfTurn, "cohort -1 is unknown"),
    "tell of no number": (lambda s: s.tell("0", 2, 1.0), OutOfTurn, "cohort '0' is unknown"),
    "tell of a cohort that is not closed": (lambda s: s.tell(2, 2, 1.0), OutOfTurn, "cohort 2 is not closed"),
    "tell of a cohort that is not full": (lambda s: s.tell(3, 3, 1.0), OutOfTurn, "cohort 3 is not closed"),
    "another release": (lambda s: s.tell(0, 2, 2.0), Disagreement, "cannot be .2, 2.0. as well"),
    "another n": (lambda s: s.tell(0, 1, 1.0), Disagreement, r"cohort 0 is \(2, 1.0\)"),
    "a release of nobody": (lambda s: s.tell(1, 0, 0.0), InvalidValue, "n of the release of cohort 1 is 0"),
    "a release of too many": (lambda s: s.tell(1, 3, 0.0), InvalidValue, "it must be at most 2"),
    "half a reward": (lambda s: s.tell(1, 1.5, 0.0), InvalidValue, "n of the release"),
    "not a number": (lambda s: s.tell(1, 2, math.nan), InvalidValue, "the total of cohort 1 is nan"),
    "an infinite sum": (lambda s: s.tell(1, 2, -math.inf), InvalidValue, "the total of cohort 1 is -inf"),
    "a sum beyond floats": (lambda s: s.tell(1, 2, 10**400), InvalidValue, "the total of cohort 1"),
    "a sum as text": (lambda s: s.tell(1, 2, "1"), InvalidValue, "the total of cohort 1 is '1'"),
    "close of an unknown cohort": (lambda s: s.close(5), OutOfTurn, "cohort 5 is unknown"),
    "close of a cohort that was told": (lambda s: s.close(0), OutOfTurn, "cohort 0 is already closed"),
    "a second close": (lambda s: s.close(1), OutOfTurn, "cohort 1 is already closed"),
    "close of a cohort that is not full": (lambda s: s.close(3), OutOfTurn, "cohort 3 is not full"),
    "a place of an unknown cohort": (lambda s: s.give_back(7, 0), OutOfTurn, "cohort 7 is unknown"),
    "a place that does not exist": (lambda s: s.give_back(2, 2), OutOfTurn, "cohort 2 has no place 2"),
    "place -1": (lambda s: s.give_back(2, -1), OutOfTurn, "cohort 2 has no place -1"),
    "a place that was not dealt": (lambda s: s.give_back(3, 1), OutOfTurn, "place 1 of cohort 3 is not dealt"),
    "a place of a closed cohort": (lambda s: s.give_back(1, 0), OutOfTurn, "cohort 1 is closed"),
    "a place of a cohort that was told": (lambda s: s.give_back(0, 0), OutOfTurn, "cohort 0 is closed"),
    "a cohort again that was told": (lambda s: s.reopen(0), OutOfTurn, "cohort 0 is already released"),
    "a cohort again that is not closed": (lambda s: s.reopen(2), OutOfTurn, "cohort 2 is not closed"),
}


@for_each("what", REFUSED)
def test_what_does_not_fit_is_refused_and_changes_nothing(what):
    do, error, said = REFUSED[what]
    study = midway()
    before = facts(study)
    with pytest.raises(error, match=said):
        do(study)
    assert facts(study) == before


def test_a_place_that_is_given_back_twice_is_refused():
    study = midway()
    study.give_back(2, 0)
    before = facts(study)
    with pytest.raises(OutOfTurn, match="place 0 of cohort 2 is not dealt"):
        study.give_back(2, 0)
    assert facts(study) == before
    with pytest.raises(OutOfTurn, match="cohort 2 is not full"):
        study.close(2)


def check_tells_once(make: Any = Driver) -> None:
    """A release that is told again has no effect."""
    study = driver_of([(0, 2, 1), WAIT, (1, 2, 1), END], make)
    for _ in range(3):
        study.assign(seeded(14))
    told(study, (0, 2, 1.5))
    before = facts(study)
    study.tell(0, 2, 1.5)
    assert facts(study) == before, "a tell was applied twice"


def test_a_tell_that_is_repeated_has_no_effect():
    check_tells_once()


def test_a_tell_that_is_applied_twice_is_found():
    class Twice(Driver):
        def tell(self, cohort, n, total):
            super().tell(cohort, n, total)
            self.policy.tell(self.state, self.cohorts[cohort].arm, n, total)

    with rejected("a tell was applied twice"):
        check_tells_once(Twice)


def test_a_cohort_that_was_thrown_away_is_dealt_again_to_others():
    study, bits = driver_of([*deck_of(2, 2), END]), seeded(15)
    for _ in range(4):
        study.assign(bits)
    told(study, (1, 2, 1.0))
    study.close(0)
    study.reopen(0)
    assert [study.assign(bits)[:3] for _ in range(3)] == [(0, 0, 0), (0, 0, 1), (0, None, None)]
    told(study, (0, 2, 1.0))
    assert [entry[0] for entry in study.log] == ["ask", "ask", "tell", "ask", "tell"]


ROOT = mb.channels.Central(epsilon=1, noise=mb.noises.DiscreteGaussian(), grid="paper").law()
ILLEGAL = {
    "no such arm": ([(2, 1, 1)], "asked for arm 2, which does not exist"),
    "arm -2": ([(-2, 0, 0)], "asked for arm -2"),
    "users of no arm": ([(-1, 3, 1)], "asked for arm -1"),
    "less than nobody": ([(0, -1, 1)], "asked for -1 users"),
    "no such close": ([(0, 1, 3)], "close = 3"),
    "waiting for nothing": ([WAIT], "waits, but it already has every release"),
    "a deck that ends with an answer": ([(0, 1, TOGETHER), (1, 0, 0)], "together, and then for 0 users of arm 1"),
    "a deck of an answer": ([(0, 0, TOGETHER)], "together, and then for 0 users of arm 0"),
    "a deck that ends open": ([(0, 1, TOGETHER), (1, 2, 0)], "together, and then for 2 users of arm 1"),
    "an arm twice in a deck": ([(0, 1, TOGETHER), (1, 2, TOGETHER), (0, 3, 1)], "and then for 3 users of arm 0"),
    "a deck of an open cohort": ([(1, 2, 0), (0, 1, TOGETHER), (1, 2, 1)], "together, and then for 2 users of arm 1"),
    "a deck that waits": ([(1, 1, 1), (0, 1, TOGETHER), WAIT], "together, and then for 0 users of arm -1"),
}


def check_refuses(asks: list[Any], said: str, make: Any = Driver, **how: Any) -> None:
    """A decision that cannot be carried out is refused, again and again, and nothing has changed."""
    study, bits = driver_of(asks, make, **how), seeded(16)
    legal = max((i for i in range(len(asks)) if asks[i][2] != TOGETHER and i + 1 < len(asks)), default=-1)
    for _ in range(sum(n for _, n, _ in asks[: legal + 1])):
        study.assign(bits)
    before = facts(study)
    for do in (study.ask, lambda: study.assign(bits)):
        with pytest.raises(IllegalDecision, match=said):
            do()
        assert facts(study) == before, "the state has changed"


@for_each("what", ILLEGAL)
def test_an_impossible_decision_is_refused_and_changes_nothing(what):
    check_refuses(*ILLEGAL[what])


def test_cohorts_of_unknown_size_are_refused_where_the_size_decides():
    assert ROOT.root > 0
    check_refuses([(0, 1, 0)], "unknown size", law=ROOT)


@for_each("answer", [None, (0, 1), (0, 0.5, 1), "010", 7])
def test_what_is_no_decision_is_refused(answer):
    class Odd(Listed):
        @staticmethod
        def ask(s, law, rng):
            s.at[0] += 1
            return answer

    study = driver_of([END], kind=Odd)
    before = facts(study)
    with pytest.raises(IllegalDecision, match="Odd answered"):
        study.ask()
    assert facts(study) == before


@for_each("part", ["ask", "tell"])
def test_a_policy_that_breaks_changes_nothing(part):
    def breaks(s, *what):
        s.at[0] += 1
        raise ZeroDivisionError

    study = driver_of([(0, 1, 1), END], kind=type("Breaking", (Listed,), {part: staticmethod(breaks)}))
    if part == "tell":
        study.assign(seeded(17))
        study.close(0)
    before = facts(study)
    with pytest.raises(ZeroDivisionError):
        study.ask() if part == "ask" else study.tell(0, 1, 1.0)
    assert facts(study) == before


def test_a_state_that_was_changed_is_found(monkeypatch):
    monkeypatch.setattr(driver, "deepcopy", lambda state: state)
    with rejected("the state has changed"):
        check_refuses(*ILLEGAL["no such arm"])


@for_each(
    ("how", "said"),
    [
        ({"seed": b"short"}, "seed is 'hidden'"),
        ({"k": 0}, "k is 0"),
        ({"policy": mb.policies.LinUCB()}, "policy is LinUCB"),
        ({"policy": 7}, "policy is 7"),
    ],
)
def test_what_is_no_study(how, said):
    with pytest.raises(InvalidValue, match=said):
        Driver(**{"policy": mb.policies.UCB1(), "law": RAW.law(), "k": 2, "aim": 100, "seed": SEED, **how})

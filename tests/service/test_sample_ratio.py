"""Whether all arms are seen alike: the bets are fair, an arm that is seen less often is found, and nothing else is."""

import math
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from maskedbandit.errors import StorageFailed
from maskedbandit.service.views import sample_ratio
from maskedbandit.service.views.sample_ratio import ODDS, RATIO_ALARM, SampleRatio, bet_on
from maskedbandit.service.views.tally import Tally
from maskedbandit.service.views.view import read_view
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from tests.service.exposed_studies import Given, bet_on_exposures, find_chi_squared_alarm, play_exposures
from tests.service.inside import Inside
from tests.statistics import at_most

Loss = Callable[[float, int], float]
PEOPLE, MANY, FEW = 1500, 200, 40  # of a study; studies, and those of a control or of a bias


def test_every_bet_is_fair() -> None:
    """Its mean is 1 over all ways to choose those who did not see their arms, of any group of up to 12 people."""
    for of_arm, others, lost in product(range(1, 7), range(1, 7), range(1, 12)):
        many = of_arm + others
        if lost >= many:
            continue
        mean = np.zeros(len(ODDS))
        for u in range(max(0, lost - others), min(lost, of_arm) + 1):
            chance = math.comb(of_arm, u) * math.comb(others, lost - u) / math.comb(many, lost)
            mean += chance * np.exp(bet_on(many, of_arm, lost, u))
        assert mean == pytest.approx(np.ones(len(ODDS)), rel=1e-12)


def test_what_is_bet_adds_up_to_at_most_one() -> None:
    for first in (2, 3, 40):
        bets = SampleRatio(first)
        assert sum(bets._share(arm) for arm in range(first)) == pytest.approx(0.5)
        assert sum(bets._share(arm) for arm in range(first, first + 60)) <= 0.5


def even(epoch: int) -> tuple[int, ...]:
    """Cohorts of one size."""
    return (50, 50)


def shifting(epoch: int) -> tuple[int, ...]:
    """What a bandit does: from some time on most people get the second arm."""
    return (100, 20) if epoch < 6 else (20, 100)


def drifting(when: float, arm: int) -> float:
    """More and more people do not see their arms, whichever these are."""
    return 0.02 + 0.4 * when


def play(
    seed: int, many: int, loss: Loss, sizes: Callable[[int], tuple[int, ...]]
) -> list[tuple[list[Given], SampleRatio]]:
    """Studies, and what is found in each."""
    rng = np.random.default_rng(seed)
    played = [play_exposures(rng, PEOPLE, loss, sizes) for _ in range(many)]
    return [(given, bet_on_exposures(given, cuts, 2)) for given, cuts in played]


def alarms(found: list[tuple[list[Given], SampleRatio]]) -> int:
    """In how many an alarm was ever given."""
    return sum(bets.found.since is not None for _, bets in found)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "sizes"), [(lambda when, arm: 0.1, even), (drifting, shifting)])
def test_arms_that_are_seen_alike_give_no_alarm(loss: Loss, sizes: Callable[[int], tuple[int, ...]]) -> None:
    """In at most one of 1000 studies at any time; and the evidence, a martingale, has a mean of at most 1."""
    found = play(1, MANY, loss, sizes)
    at_most(alarms(found), MANY, RATIO_ALARM)


@pytest.mark.slow
def test_the_control_gives_false_alarms() -> None:
    """Pearson's test over the whole study takes it for the arms' doing that people change, and the shares too."""
    found = play(2, FEW, drifting, shifting)
    assert sum(find_chi_squared_alarm(given, 2) for given, _ in found) > 0.9 * FEW
    assert alarms(found) == 0  # fails with probability below 40 / 1000, and the seed is fixed


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(0.0, 0.05), (0.02, 0.07), (0.05, 0.15)])
def test_an_arm_whose_exposures_are_lost_is_found(first: float, second: float) -> None:
    """In one of twenty cases more than the other's, or in one of ten, in most studies of 1500 people."""
    found = play(3, FEW, lambda when, arm: second if arm else first, even)
    assert alarms(found) > 0.6 * FEW
    assert {bets.found.arm for _, bets in found if bets.found.since is not None} == {1}


@pytest.mark.slow
def test_a_bet_that_is_not_fair_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if all people of a study had been assigned together."""

    def pooled(given: list[Given]) -> SampleRatio:
        bets = SampleRatio(2)
        dealt, lost = Counter(each.arm for each in given), Counter(each.arm for each in given if each.lost)
        bets.add_group([dealt[0], dealt[1]], [lost[0], lost[1]], 0)
        return bets

    rng = np.random.default_rng(4)
    found = [pooled(play_exposures(rng, PEOPLE, drifting, shifting)[0]) for _ in range(FEW)]
    with pytest.raises(AssertionError):
        at_most(sum(each.found.since is not None for each in found), FEW, RATIO_ALARM)


class PlaceTable:
    """Places as a database has them."""

    def __init__(self, given: Sequence[tuple[int, int, str, int | None]]) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "CREATE TABLE place "
            "(study, assigned, arm, propensity, returned, exposed DEFAULT NULL, cohort DEFAULT 0, loss DEFAULT 0)"
        )
        add = "INSERT INTO place (study, assigned, arm, propensity, returned) VALUES ('small', ?, ?, ?, ?)"
        self._database.executemany(add, given)

    def rows(self, statement: str, *values: Any) -> list[Any]:
        """What a statement gives."""
        return self._database.execute(statement, values).fetchall()


@pytest.mark.sparing(1)
@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (3, 2), (1, 4)])
def test_bets_on_what_is_read_are_fair(sizes: tuple[int, int]) -> None:
    """Whoever misses an arm, be it always the last but one: over all orders in which a deck can be dealt.

    The last people of a deck, who can be given one arm alone, are part of their group: which these are follows from the
    arms of the others.
    """
    arms = [arm for arm, n in enumerate(sizes) for _ in range(n)]
    for lost in range(len(arms)):
        worth = list[Any]()
        for order in permutations(arms):
            left = [Fraction(order[i:].count(arm), len(arms) - i) for i, arm in enumerate(order)]
            given = [(1 + i, arm, str(left[i]), 1000 if i == lost else None) for i, arm in enumerate(order)]
            bets = SampleRatio(2)
            bets.upto(PlaceTable(given), "small", [0], 2, 2000)
            worth.append(np.exp(bets.worth or np.zeros((2, len(ODDS)))))
        assert np.mean(worth, axis=0) == pytest.approx(np.ones((2, len(ODDS))), rel=1e-12)


def test_a_database_that_fails_has_nothing_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was read before it failed is not read again."""
    monkeypatch.setattr(sample_ratio, "FEW_CUTS", 2)
    given = [(10 * i + j + 1, j, "1/2", 10 * i + 9 if j else None) for i in range(8) for j in range(2)]
    table, bets, whole, asked = PlaceTable(given), SampleRatio(2), SampleRatio(2), list[str]()
    rows = table.rows

    def fail_once(statement: str, *values: Any) -> list[Any]:
        asked.append(statement)
        if len(asked) == 4:
            raise StorageFailed("it is away")
        return rows(statement, *values)

    known = table, "small", [0], 2, 100
    whole.upto(*known)
    monkeypatch.setattr(table, "rows", fail_once)
    with pytest.raises(StorageFailed):
        bets.upto(*known)
    assert 0 < bets.found.groups < whole.found.groups == 8
    assert bets.upto(*known) == whole.found


def come(service: Inside, rng: Generator, people: range) -> None:
    """People come one after the other, of whom some do not see their arm."""
    for i in people:
        service.tick(0.9 + 0.2 * float(rng.random()))
        given = service.assign(f"person {i}")
        if given["ticket"] and rng.random() < 0.8:
            assert service.study("expose", {"ticket": given["ticket"]}).status == 200


@pytest.mark.slow
def test_it_is_the_same_however_often_it_is_looked_at(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tally that goes on, with one that begins anew, and whatever is read at once."""
    service.begin(policy="contemporaneous_klucb")
    tally, rng, groups = Tally(), np.random.default_rng(5), list[int]()
    with closing(open_database(service.address)) as database:
        for i in range(6):
            come(service, rng, range(20 * i, 20 * (i + 1)))
            asked = database, service.host.witness, "small", service.clock()
            kept = read_view(*asked, tally).counts.ratio
            assert kept == read_view(*asked).counts.ratio
            with monkeypatch.context() as patch:
                patch.setattr(sample_ratio, "FEW_CUTS", 3)
                assert kept == read_view(*asked).counts.ratio
            groups.append(kept.groups)
        rows = database.rows("SELECT assigned, returned FROM place")
    assert groups == sorted(groups)
    assert 5 < groups[-1] <= len({back for _, back in rows})


@pytest.mark.slow
def test_who_looks_at_the_same_time_counts_nothing_twice(service: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that look at a study, each of which would wait for the other before it adds what is new."""
    service.begin(policy="contemporaneous_klucb")
    come(service, np.random.default_rng(6), range(60))
    tally, add, together = Tally(), SampleRatio.add_group, threading.Barrier(2)

    def meet(self: SampleRatio, *given: Any) -> None:
        with suppress(threading.BrokenBarrierError):
            together.wait(0.2)
        add(self, *given)

    def look(database: Database, *given: Any) -> Any:
        return read_view(database, service.host.witness, "small", service.clock(), *given).counts.ratio

    with ExitStack() as stack, ThreadPoolExecutor(2) as threads:
        databases = [stack.enter_context(closing(open_database(service.address))) for _ in range(2)]
        look(databases[0], tally)
        come(service, np.random.default_rng(7), range(60, 120))
        monkeypatch.setattr(SampleRatio, "add_group", meet)
        assert len(set(threads.map(look, databases, [tally, tally]))) == 1
        assert look(databases[0], tally) == look(databases[1])


def test_who_comes_in_the_millisecond_of_a_cut_is_left_out(service: Inside) -> None:
    """Nobody knows on which side of it that was; and people of one arm alone are compared with nobody."""
    service.begin(policy={"name": "successive_elimination", "least": 100})
    for step in range(3):
        for i in range(20):
            service.assign(f"person {step} {i}")
        service.tick(11)  # places go back, and others are given in the same millisecond
    view = service.run(service.host.view("small"))
    assert view.counts.ratio.groups == 0  # all of the first were lost, and all others came with a cut
    assert view.counts.ratio.nats == 0

"""What tests of the driver share: policies with a script, studies that are played, and all that a driver is."""

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import TOGETHER, Decision, kernel
from maskedbandit.errors import OutOfTurn
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.state_text import leaves
from maskedbandit.study.driver import Assignment, Driver
from tests.contracts.rules import RAW
from tests.golden import channel_for, choose_aim
from tests.statistics import seeded

SEED = bytes(range(16))
HORIZON, USERS = 3000, 500
END = (0, 0, 0)


class Script(NamedTuple):
    """What is to be asked for, how much of it was, and what was told."""

    asks: np.ndarray  # [any, 3]
    at: np.ndarray  # [1]
    told: np.ndarray  # [3] releases, rewards in them, their sum


@dataclass(frozen=True)
class Listed(Policy):
    """Asks for what is on a list, and then for the last of it again and again."""

    goal = "regret"

    asks: tuple[tuple[int, int, int], ...]

    def init(self, k, aim):
        return Script(np.array(self.asks), np.zeros(1, np.int64), np.zeros(3))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        arm, n, close = s.asks[min(s.at[0], s.asks.shape[0] - 1)]
        s.at[0] += 1
        return Decision(int(arm), int(n), int(close))

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.told[:] += np.array([1, n, total])


class Sought(Listed):
    goal: ClassVar = "identify"


def driver_of(asks, make=Driver, k: int = 2, law=None, kind=Listed) -> Driver:
    return make(kind(tuple(asks)), law or RAW.law(), k, 1000, SEED)


def aim_of(policy: Policy) -> float:
    """What a policy is told of how far it has to go."""
    return choose_aim(policy, HORIZON)


def of_room(name: str, make=Driver, k: int = 3) -> Driver:
    """A driver for a policy of the room, on the channel of its golden run."""
    policy = mb.policies.room[name]()
    return make(policy, channel_for(policy).law(), k, aim_of(policy), SEED)


@contextmanager
def rejected(by: str):
    """A rule must find fault with a broken driver."""
    with pytest.raises((AssertionError, OutOfTurn), match=by):
        yield


def deck_of(*sizes: int) -> list[tuple[int, int, int]]:
    """Cohorts of the first arms that are dealt together."""
    return [(arm, n, TOGETHER if arm + 1 < len(sizes) else 1) for arm, n in enumerate(sizes)]


def facts(driver: Driver) -> dict[str, Any]:
    """All that a driver is: two with the same facts do the same from now on."""
    state = [(name, np.asarray(part).tolist()) for name, part in leaves(driver.state)]
    cohorts = [repr(places) for places in driver.cohorts]
    rest = driver._asked, driver._in_flight, driver._idle, list(driver._released), driver.answer
    dealing = [places.cohort for places in driver.deck.dealing], sorted(driver.deck._growing)
    return {"state": repr(state), "log": list(driver.log), "cohorts": cohorts, "rest": rest, "dealing": dealing}


def rewards(cohort: int, n: int, arm: int) -> float:
    """The release of a cohort, whatever happened before."""
    return float(np.random.default_rng([cohort, n, arm]).binomial(n, (0.2, 0.8, 0.5)[arm]))


class Played(NamedTuple):
    """What happened in a study."""

    driver: Driver
    given: list[Assignment]
    dealt: set[tuple[int, int]]  # places of cohorts that were not told
    closed: set[int]  # cohorts that were not told


def play(
    driver: Driver, users: int, seed: int = 1, slowest: int = 60, back: float = 0.05, played: Played | None = None
) -> Played:
    """So many users come; some never see their arm; rewards come late, and so do releases, in any order."""
    chance, bits = Random(seed), seeded(seed)
    found = played or Played(driver, [], set(), set())
    due: list[tuple[int, int]] = [(chance.randrange(slowest), cohort) for cohort in sorted(found.closed)]
    for t in range(users):
        given = driver.assign(bits)
        found.given.append(given)
        if given.cohort is not None:
            if chance.random() < back:
                driver.give_back(given.cohort, given.place)
            else:
                found.dealt.add((given.cohort, given.place))
        for places in driver.cohorts[max(0, len(driver.cohorts) - 300) :]:
            if places.full and not places.closed:
                driver.close(places.cohort)
                found.closed.add(places.cohort)
                heappush(due, (t + chance.randrange(slowest), places.cohort))
        while due and due[0][0] <= t:
            cohort = heappop(due)[1]
            places = driver.cohorts[cohort]
            driver.tell(cohort, places.size, rewards(cohort, places.size, places.arm))
            found.closed.discard(cohort)
            found.dealt.difference_update((cohort, place) for place in range(places.size))
    return found._replace(driver=driver)


def told(study: Driver, *releases: tuple[int, int, float]) -> None:
    """Close these cohorts and tell their releases."""
    for release in releases:
        study.close(release[0])
        study.tell(*release)


def users_of(given: list[Assignment]) -> Counter[tuple[int, int]]:
    """How many users got each place."""
    return Counter((each.cohort, each.place) for each in given if each.cohort is not None)

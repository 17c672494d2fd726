"""Simulated studies whose people see their arms or not: for the tests of whether all arms are seen alike."""

import heapq
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from numpy.random import Generator
from scipy.special import chdtrc

from maskedbandit.core import TOGETHER, Decision
from maskedbandit.privacy.sampling import Bits
from maskedbandit.service.views.sample_ratio import RATIO_ALARM, SampleRatio
from maskedbandit.study.deck import CohortDeck

LEAST_EXPECTED = 5
EXPOSURE = 60  # people come about one in each unit of time, and a place goes back after so many


class Given(NamedTuple):
    """A place that somebody was given."""

    at: float
    epoch: int
    arm: int
    lost: bool


def play_exposures(
    rng: Generator, people: int, loss: Callable[[float, int], float], sizes: Callable[[int], tuple[int, ...]]
) -> tuple[list[Given], list[float]]:
    """The places of a study, and when places went back.

    `loss` is the probability that somebody does not see an arm, by the part of the study that is over; `sizes` are
    those of the cohorts that are dealt together, by their epoch.
    """
    deck, bits, now, epoch = CohortDeck(), Bits(rng.bytes), 0.0, 0
    given, waiting, cuts = list[Given](), list[tuple[float, int, int]](), list[float]()
    while len(given) < people:
        now += float(rng.exponential())
        while waiting and waiting[0][0] <= now:
            at, cohort, place = heapq.heappop(waiting)
            places = deck.cohort(cohort)
            places.give_back(place)
            deck.sort(places)
            cuts.append(at)
        if deck.empty:
            group = sizes(epoch)
            for arm, n in enumerate(group):
                deck.add(Decision(arm, n, TOGETHER if arm + 1 < len(group) else 1))
            epoch += 1
        places, place, _ = deck.deal(bits)
        lost = bool(rng.random() < loss(len(given) / people, places.arm))
        if lost:
            heapq.heappush(waiting, (now + EXPOSURE, places.cohort, place))
        given.append(Given(now, places.epoch, places.arm, lost))
    return given, [*cuts, *sorted(at for at, _, _ in waiting)]


def bet_on_exposures(given: list[Given], cuts: list[float], k: int) -> SampleRatio:
    """What the product's bets find, from groups of people who were assigned together."""
    groups, bets = dict[tuple[int, int], tuple[list[int], list[int]]](), SampleRatio(k)
    for each in given:
        dealt, lost = groups.setdefault((bisect_left(cuts, each.at), each.epoch), ([0] * k, [0] * k))
        dealt[each.arm] += 1
        lost[each.arm] += each.lost
    for (stretch, _), (dealt, lost) in sorted(groups.items()):
        bets.add_group(dealt, lost, stretch)
    return bets


def find_chi_squared_alarm(given: list[Given], k: int, every: int = 50) -> bool:
    """Whether Pearson's test, looked at again and again, ever says that arms are not seen alike: the control."""
    seen, missed = [0] * k, [0] * k
    for i, each in enumerate(given):
        (missed if each.lost else seen)[each.arm] += 1
        if i % every == every - 1 and (chance := exposure_chance(seen, missed)) is not None and chance < RATIO_ALARM:
            return True
    return False


def exposure_chance(seen: list[int], missed: list[int]) -> float | None:
    """The chance of a difference at least as large, by Pearson's statistic; None if it is too early to say."""
    arms = [(a, b) for a, b in zip(seen, missed, strict=True) if a + b]
    whole, lost = sum(a + b for a, b in arms), sum(b for _, b in arms)
    if len(arms) < 2 or min(a + b for a, b in arms) * min(lost, whole - lost) < LEAST_EXPECTED * whole:
        return None
    statistic = 0.0
    for a, b in arms:
        expected = (a + b) * lost / whole
        statistic += (b - expected) ** 2 / expected + (b - expected) ** 2 / (a + b - expected)
    return float(chdtrc(len(arms) - 1, statistic))

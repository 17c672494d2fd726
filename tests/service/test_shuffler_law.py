"""Studies with a shuffler over HTTP have the law of the lab, people who never report included.

Releases are the sums of what devices told, with fair coins, and decisions follow from the releases. Somebody who is
gone for ever counts as the default, which is 0, and the coins of that place are missing.
"""

from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import binom

from maskedbandit.channels.shuffled import Shuffled
from tests.service.many_shuffled_studies import ManyShuffledStudies, MixedCohort
from tests.service.many_studies_of_two import many_studies_of_two
from tests.service.shuffler_inside import even_coins
from tests.service.test_two_operators_law import check_both_ways
from tests.statistics import at_most, same_distribution

MEANS, GONE = {"a": 0.7, "b": 0.5, "c": 0.3}, 20  # of so many people one never comes back
STUDIES, PEOPLE, SIZE = 24, 66, 4
LEAST_RELEASES = 15  # of a study: but for what is left over, cohorts have 4 people
EPSILON, DELTA, HONEST = 2, "1/100", "1/4"
POLICY = {"least": SIZE, "base": 1.2, "failure": 0.95}
COINS = Shuffled(EPSILON, DELTA, honest=HONEST).coins()
TABLE: dict[str, Any] = {  # everybody sees the arm, and the device reports, at once
    "people": PEOPLE,
    "policy": {"name": "successive_elimination"} | POLICY,
    "channel": {"name": "shuffled", "epsilon": EPSILON, "delta": DELTA, "honest": HONEST, "backend": "shuffler"},
    "arms": [{"name": name} for name in MEANS],
    "reward": {"window": "1 second", "grace": "1 second", "exposure": "1 hour"},
    "budget": {"epsilon": EPSILON, "delta": DELTA},
}


class PlayedStudies(NamedTuple):
    """What came of some studies."""

    pulls: np.ndarray  # people of each arm, in each study
    cohorts: list[list[MixedCohort]]  # of each study, in the order of their releases
    last: list[dict[int, float]]  # in each study, the mean of the last release of each arm
    reports: int


def play(studies: int = STUDIES) -> PlayedStudies:
    """So many studies, from their first person to their last."""
    random, reports = Random(34), 0

    def is_gone() -> bool:
        nonlocal reports
        gone = random.randrange(GONE) == 0
        reports += not gone
        return gone

    with many_studies_of_two(ManyShuffledStudies) as both:

        async def begin() -> list[Any]:
            return [await both.begin(f"s{i}", TABLE) for i in range(studies)]

        begun = both.leader.run(begin())
        both.settle()  # the shuffler hears of them
        both.play(begun, lambda arm: int(random.random() < MEANS[arm]), is_gone)
        pulls = np.array([[each.arms.count(name) for name in MEANS] for each in begun])
        cohorts, last = ([look(each) for each in begun] for look in (both.read_mixes, both.read_last_means))
        return PlayedStudies(pulls, cohorts, last, reports)


def check_releases(studies: list[list[MixedCohort]]) -> None:
    """The coins of those who are there are fair, and no two cohorts have the same ones: three assertions.

    Each rejects what is sound with a chance of at most 1e-9.
    """
    assert sum(map(len, studies)) >= LEAST_RELEASES * len(studies), "hardly anything is released"
    for coins in (COINS, COINS * (SIZE - 1) // SIZE):
        heads = [each.heads for cohorts in studies for each in cohorts if each.coins == coins]
        same_distribution(np.array(heads), lambda z, coins=coins: binom.pmf(z, coins, 0.5))
    whole = [[each.heads for each in cohorts if each.coins == COINS] for cohorts in studies]
    pairs = [pair for heads in whole for pair in zip(heads[::2], heads[1::2], strict=False)]
    equal = float((binom.pmf(np.arange(COINS + 1), COINS, 0.5) ** 2).sum())
    at_most(sum(a == b for a, b in pairs), len(pairs), equal)


@pytest.mark.slow
def test_fifteen_hundred_people_have_the_law_of_the_lab() -> None:
    """Of 24 studies, of which half show each of the twins; it fails with other bits with a chance of at most 3e-9."""
    found = play()
    check_releases(found.cohorts)
    check_both_ways(found.pulls, found.last)
    assert sum(each.reports for cohorts in found.cohorts for each in cohorts) == found.reports < 0.98 * STUDIES * PEOPLE


# --- broken twins ---------------------------------------------------------------------------------------------------


def toss_no_coin(patch: pytest.MonkeyPatch) -> None:
    """Devices say of half of their coins that they showed heads."""
    patch.setattr(Shuffled, "randomize", even_coins)


def forget_the_missing(patch: pytest.MonkeyPatch) -> None:
    """The service takes half of all coins off, and not half of those that came."""
    patch.setattr(Shuffled, "sum_messages", lambda self, total, messages, reports, offer: Fraction(total))


@pytest.mark.slow
@pytest.mark.parametrize(("twin", "studies"), [(toss_no_coin, 12), (forget_the_missing, 12)])
def test_who_breaks_the_word_is_noticed(twin: Any, studies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    twin(monkeypatch)
    with pytest.raises(AssertionError, match=r"another distribution|half a coin"):
        check_releases(play(studies).cohorts)

"""Studies of two operators over HTTP have the law of the lab, people who never report included.

The lab adds with ideal servers, and has for somebody who is gone the reward 0, which is the default here.
"""

from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.sampling import Bits
from maskedbandit.store import settle
from maskedbandit.store.helping.session import HelperSession
from maskedbandit.store.study import Study
from tests.service.many_studies_of_two import CohortOfTwo, many_studies_of_two
from tests.statistics import same_distribution, same_distribution_of_two, shows_no_other

MEANS, GONE = {"a": 0.7, "b": 0.5, "c": 0.3}, 0.05
STUDIES, PEOPLE, EPSILON = 45, 66, 1
FAR = 200  # steps that no draw is from 0
LEAST_RELEASES = 15  # of a study: but for what is left over, cohorts have 4 people
POLICY = {"least": 4, "base": 1.2, "failure": 0.95}
TABLE: dict[str, Any] = {  # everybody sees the arm, and the device reports, at once
    "people": PEOPLE,
    "policy": {"name": "successive_elimination"} | POLICY,
    "channel": {"name": "two_servers", "epsilon": EPSILON, "backend": "prio3"},
    "arms": [{"name": name} for name in MEANS],
    "reward": {"window": "1 second", "exposure": "1 hour"},
    "budget": {"epsilon": EPSILON},
}


class PlayedStudies(NamedTuple):
    """What came of some studies."""

    pulls: np.ndarray  # people of each arm, in each study
    cohorts: list[list[CohortOfTwo]]  # of each study, in the order of their releases
    last: list[dict[int, float]]  # in each study, the mean of the last release of each arm
    uploads: int


def play(studies: int = STUDIES) -> PlayedStudies:
    """So many studies, from their first person to their last."""
    random, uploads = Random(33), 0

    def is_gone() -> bool:
        nonlocal uploads
        gone = random.random() < GONE
        uploads += not gone
        return gone

    with many_studies_of_two() as both:

        async def begin() -> list[Any]:
            return [await both.begin(f"s{i}", TABLE) for i in range(studies)]

        begun = both.leader.run(begin())
        both.play(begun, lambda arm: int(random.random() < MEANS[arm]), is_gone)
        pulls = np.array([[each.arms.count(name) for name in MEANS] for each in begun])
        cohorts, last = ([look(each) for each in begun] for look in (both.read, both.read_last_means))
        return PlayedStudies(pulls, cohorts, last, uploads)


def play_in_the_lab(runs: int) -> np.ndarray:
    """People of each arm, in each run of the lab."""
    policy = mb.policies.SuccessiveElimination(**POLICY)
    world = mb.Bernoulli([(1 - GONE) * mean for mean in MEANS.values()])
    channel = mb.channels.TwoServers(epsilon=EPSILON, backend=mb.backends.Ideal())
    found: np.ndarray = mb.simulate(policy, channel, world, PEOPLE, runs, seed=33).pulls
    return found


def probability_of_noise(draws: int) -> Callable[[Any], Any]:
    """The probabilities of the sum of so many draws of discrete Laplace noise, of one step."""
    one = np.tanh(EPSILON / 2) * np.exp(-EPSILON * np.abs(np.arange(-FAR, FAR + 1)))
    all_of_them = one
    for _ in range(draws - 1):
        all_of_them = np.convolve(all_of_them, one)
    centre = all_of_them.size // 2

    def find(values: Any) -> Any:
        inside = np.abs(values) <= centre
        return np.where(inside, all_of_them[np.where(inside, values + centre, 0)], 0.0)

    return find


def check_releases(studies: list[list[CohortOfTwo]]) -> None:
    """Each release has a draw of each operator, and no two have one together: three assertions.

    Each rejects what is sound with a chance of at most 1e-9.
    """
    assert sum(map(len, studies)) >= LEAST_RELEASES * len(studies), "hardly anything is released"
    noise = [[round(each.total - each.told) for each in cohorts] for cohorts in studies]
    drawn, one, two = np.concatenate(noise), probability_of_noise(1), probability_of_noise(2)
    same_distribution(drawn, two)
    shows_no_other(two(drawn), one(drawn))
    pairs = np.array([pair for each in noise for pair in zip(each[::2], each[1::2], strict=False)])
    shared = np.arange(-FAR, FAR + 1)  # if the two of a pair have a draw together, it is one of these
    shows_no_other(two(pairs).prod(axis=1), (one(pairs[:, :, None] - shared).prod(axis=1) * one(shared)).sum(axis=1))


def check_answers(pulls: np.ndarray, last: list[dict[int, float]]) -> None:
    """People who come after the cohorts got the arm of which the last release was the best, in each study.

    So allocation, regret and wrong answers follow from the releases, whose law is held to that of the lab.
    """
    for people, means in zip(pulls, last, strict=True):
        assert means[int(people.argmax())] == max(means.values()), "not what the releases say"
        assert np.sort(people)[0] == np.sort(people)[-2], "cohorts of different sizes"


def check_both_ways(pulls: np.ndarray, last: list[dict[int, float]]) -> None:
    """Broken twin: releases of the wrong arms, of which those of 14 studies all fit with a chance below 1e-6."""
    check_answers(pulls, last)
    with pytest.raises(AssertionError, match="not what the releases say"):
        check_answers(pulls, [{(arm + 1) % len(MEANS): mean for arm, mean in means.items()} for means in last])


def check_pulls(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Allocation, from which regret and wrong answers follow: a chance of 1e-9 to reject what is sound.

    Each arm gets most people in half of all studies at most, so an arm that always or never did would be found.
    """
    assert {*ours.sum(axis=1)} == {*theirs.sum(axis=1)}, "people are missing"
    same_distribution_of_two(ours.argmax(axis=1), theirs.argmax(axis=1))


@pytest.mark.slow
def test_three_thousand_people_have_the_law_of_the_lab() -> None:
    """Of 45 studies; it fails with other bits with a chance of at most 4e-9."""
    found = play()
    check_releases(found.cohorts)
    check_both_ways(found.pulls, found.last)
    check_pulls(found.pulls, play_in_the_lab(20_000))
    assert sum(each.reports for cohorts in found.cohorts for each in cohorts) == found.uploads < 0.97 * STUDIES * PEOPLE


# --- broken twins ---------------------------------------------------------------------------------------------------


class OwnBits(Bits):
    """With which one operator draws."""


def leave_leader_silent(patch: pytest.MonkeyPatch) -> None:
    """The leader adds no noise: who works for the helper sees the sum."""
    real = DiscreteLaplace.noise_share
    patch.setattr(settle, "Bits", OwnBits)
    patch.setattr(
        DiscreteLaplace,
        "noise_share",
        lambda self, honest, bits: 0 if type(bits) is OwnBits else real(self, honest, bits),
    )


def repeat_draws(patch: pytest.MonkeyPatch) -> None:
    """The helper has one draw for two cohorts of a study: their difference has no noise of it."""
    real, kept = HelperSession.noise, dict[str, int]()

    def noise(self: HelperSession, n: int) -> Any:
        draw = kept.pop(self.name, None)
        if draw is None:
            draw = kept[self.name] = real(self, n).noise_share(1, Bits())
        return SimpleNamespace(noise_share=lambda honest, bits: draw)

    patch.setattr(HelperSession, "noise", noise)


def count_share_twice(patch: pytest.MonkeyPatch) -> None:
    """The leader adds its share of a cohort's first report twice, and the helper once: no sum comes of that."""

    def fix(session: Any, cohort: int, accepted: Any) -> Any:
        return settle.fix_list(
            session, cohort, [each._replace(value=2 * each.value) for each in accepted[:1]] + accepted[1:]
        )

    patch.setitem(Study.operations, "list", fix)


@pytest.mark.slow
@pytest.mark.parametrize(("twin", "studies"), [(leave_leader_silent, 36), (repeat_draws, 45), (count_share_twice, 8)])
def test_operators_that_break_their_word_are_noticed(twin: Any, studies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many studies as showed it in all but one of 2000 draws of other noise."""
    twin(monkeypatch)
    with pytest.raises(AssertionError, match=r"another distribution|is more than|hardly anything"):
        check_releases(play(studies).cohorts)

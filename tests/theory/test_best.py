"""What is said of the best arm is true at any time: under drift, delay and small gaps, however surely it is stopped.

Sampled assertions are those of tests/statistics.py: each fails a correct subject with probability at most 1e-9.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.raw import Raw
from maskedbandit.core import Release
from maskedbandit.law import NO_NOISE, Law
from maskedbandit.theory.best import Confidence, confidence_of_best, parts_of_alpha
from maskedbandit.theory.differences import difference_interval
from tests.statistics import at_most
from tests.theory.chance_of_means import chances

SURE = 0.95
Means = Callable[[float], list[float]]  # of the arms, by the part of the study that is over
Arms = list[list[Release]]


class Said(NamedTuple):
    """What was ever said in a study with a confidence of 95 %."""

    wrong: bool  # something was false
    best: set[int]  # arms that were called the best


def by_people(law: Law, arms: Arms) -> dict[int, Confidence]:
    """The subject."""
    return confidence_of_best(law, arms, range(len(arms)), len(arms))


def by_means(law: Law, arms: Arms) -> dict[int, Confidence]:
    """Broken twin."""
    return {arm: Confidence(p, 0.0) for arm, p in chances(law, arms).items()} if all(arms) else {}


def by_half(law: Law, arms: Arms) -> dict[int, Confidence]:
    """Broken twin: whoever is ahead over the same people is better by a normal test, whenever somebody looks."""
    found = {}
    for arm in range(len(arms)):
        z = [ahead(law, arms[other], arms[arm]) for other in range(len(arms)) if other != arm]
        found[arm] = Confidence(0.0, SURE if max(z) > 1.645 else 0.0)
    return found


def ahead(law: Law, a: Sequence[Release], b: Sequence[Release]) -> float:
    """By how many standard deviations arm a is ahead of b over the people of the same epochs."""
    lead, variance = 0.0, 1e-9
    for x, y in zip(a, b, strict=True):
        w, p = min(x.n, y.n), min(max((x.total + y.total) / (x.n + y.n), 0.01), 0.99)
        lead += w * (x.total / x.n - y.total / y.n)
        variance += w * w * (p * (1 - p) * (1 / x.n + 1 / y.n) + 2 * law.scale**2 * (1 / x.n**2 + 1 / y.n**2))
    return lead / math.sqrt(variance)


# studies of a rule that gives the arm that leads six times as many people, two epochs after it was seen to lead


def play(channel: Channel, means: Means, seed: int, says: Any, epochs: int = 16) -> Said:
    """What was ever said; epochs grow, and each is an equal part of the study."""
    law, rng, k = channel.law(), np.random.default_rng(seed), len(means(0.0))
    arms: Arms = [[] for _ in range(k)]
    gaps, weights = np.zeros((k, k)), np.zeros((k, k))
    leads, wrong, best = [0, 0], False, set[int]()
    for epoch in range(epochs):
        at, n = means((epoch + 0.5) / epochs), [int(60 * 1.25**epoch * (6 if a == leads[-2] else 1)) for a in range(k)]
        for arm in rng.permutation(k):
            total = float(rng.binomial(n[arm], at[arm]))
            if not isinstance(channel, Raw):
                success = -math.expm1(-1 / law.scale)
                total += float(rng.negative_binomial(1, success) - rng.negative_binomial(1, success))
            arms[arm].append(Release(int(arm), n[arm], total, epoch))
        w = np.minimum.outer(n, n)
        gaps, weights = gaps + w * np.subtract.outer(at, at), weights + w
        truth = gaps / weights
        for arm, sure in says(law, arms).items():
            beaten = truth[:, arm].max() > 1e-12
            wrong |= sure.beaten >= SURE and not beaten
            if sure.best >= SURE:
                best.add(arm)
                wrong |= not all(truth[arm, other] > 1e-12 for other in range(k) if other != arm)
        leads.append(int(np.argmax([sum(r.total for r in of) / sum(r.n for r in of) for of in arms])))
    return Said(wrong, best)


def trend(part: float) -> list[float]:
    return [each + 0.3 * (0.5 - part) for each in (0.4, 0.4, 0.42)]


def rise(part: float) -> list[float]:
    return [each - 0.3 * (0.5 - part) for each in (0.4, 0.4, 0.42)]


def crossing(part: float) -> list[float]:
    return [0.3, 0.3 + 0.2 * (part < 0.4) - 0.15 * (part > 0.6), 0.3]


def equal(part: float) -> list[float]:
    return [0.3, 0.3, 0.3]


NOISY, WORLDS = Central(epsilon=0.2), (trend, rise, crossing, equal)


def wrong_studies(says: Any, worlds: Sequence[Means], studies: int) -> tuple[int, int]:
    """How many studies ever said something false, of so many of each world with noise and without; and of how many."""
    wrong = [
        play(channel, means, seed, says).wrong
        for means in worlds
        for channel in (Raw(), NOISY)
        for seed in range(studies)
    ]
    return sum(wrong), len(wrong)


@pytest.mark.slow
def test_what_is_said_of_the_best_arm_is_true() -> None:
    at_most(*wrong_studies(by_people, WORLDS, 6), 1 - SURE)


@pytest.mark.slow
def test_what_is_said_of_the_best_arm_is_true_in_many_studies() -> None:
    at_most(*wrong_studies(by_people, WORLDS, 150), 1 - SURE)


def in_turn(law: Law, arms: Arms) -> dict[int, Confidence]:
    """Broken twin: an arm is the best if all others are beaten, by whomever, more surely than it is."""
    found = by_people(law, arms)
    beaten = {arm: each.beaten for arm, each in found.items()}
    least = {arm: min(beaten[each] for each in beaten if each != arm) for arm in beaten}
    return {arm: Confidence(least[arm] * (beaten[arm] < least[arm]), beaten[arm]) for arm in beaten}


@pytest.mark.slow
def test_the_chance_of_means_is_rejected_where_days_differ() -> None:
    with pytest.raises(AssertionError, match="is more than"):
        at_most(*wrong_studies(by_means, [trend], 20), 1 - SURE)


@pytest.mark.slow
def test_a_test_for_one_look_is_rejected() -> None:
    with pytest.raises(AssertionError, match="is more than"):
        at_most(*wrong_studies(by_half, [equal], 150), 1 - SURE)


@pytest.mark.slow
def test_the_best_arm_is_found_though_days_differ() -> None:
    def clear(part: float) -> list[float]:
        return [0.3 - 0.2 * part, 0.45 - 0.2 * part, 0.3 - 0.2 * part]

    found = [play(Raw(), clear, seed, by_people).best for seed in range(10)]
    at_most(sum(best != {1} for best in found), 10, 0.1)


# stored studies would have these releases: of ContemporaneousKLUCB, 200 people late


def said_after(law: Law, rows: np.ndarray, k: int, says: Any) -> list[dict[int, Confidence]]:
    """What is said after each of these releases."""
    arms: Arms = [[] for _ in range(k)]
    found = []
    for arm, n, total, epoch in rows.tolist():
        arms[int(arm)].append(Release(int(arm), int(n), total, int(epoch)))
        found.append(says(law, arms))
    return found


def ever_wrong(said: Sequence[dict[int, Confidence]], means: Sequence[float]) -> bool:
    """Whether anything false is ever said, if drift is common to all arms."""
    top = max(means)
    return any(
        (sure.best >= SURE and means[arm] < top) or (sure.beaten >= SURE and means[arm] == top)
        for each in said
        for arm, sure in each.items()
    )


SHAPES: dict[str, tuple[float, int, Any]] = {
    "none": (0.0, 20_000, "linear"),
    "trend up": (0.15, 20_000, "linear"),
    "trend down": (0.15, 20_000, [1 - i / 50 for i in range(101)]),
    "step": (0.2, 20_000, [0.0, 1.0]),
    "weekly": (0.1, 4000, "sine"),
}
RUNS = 80


def wrong_of_shape(epsilon: float, shape: str, says: Any) -> int:
    """How many of so many studies ever say something false."""
    means, channel = [0.4, 0.4, 0.42], Central(epsilon=epsilon)
    amplitude, period, how = SHAPES[shape]
    world = mb.Drifting(mb.Bernoulli(means), amplitude, period, how)
    found = recorded(channel, world, RUNS, 3)
    return sum(ever_wrong(said_after(channel.law(), rows, len(means), says), means) for rows in found)


def of_small_gaps(epsilon: float, says: Any, runs: int) -> tuple[int, int]:
    """How many studies whose means lie close together ever say something false, and how many ever name a best arm."""
    rng, channel, wrong, named = np.random.default_rng(9), Central(epsilon=epsilon), 0, 0
    for seed in range(runs):
        means = rng.normal(0.3, 0.01, 3).tolist()
        (rows,) = recorded(channel, mb.Bernoulli(means), 1, seed)
        said = said_after(channel.law(), rows, len(means), says)
        wrong += ever_wrong(said, means)
        named += any(sure.best >= SURE for each in said for sure in each.values())
    return wrong, named


def recorded(channel: Channel, world: Any, runs: int, seed: int) -> Sequence[np.ndarray]:
    """The releases of these studies of 20 000 people."""
    how: dict[str, Any] = {"runs": runs, "seed": seed, "keep_releases": True, "delay": mb.delays.Constant(200)}
    return mb.simulate(mb.policies.ContemporaneousKLUCB(), channel, world, 20_000, **how).recorded or ()


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 0.1])
def test_studies_of_a_policy_say_nothing_wrong(epsilon: float) -> None:
    for shape in SHAPES:
        at_most(wrong_of_shape(epsilon, shape, by_people), RUNS, 1 - SURE)
    at_most(of_small_gaps(epsilon, by_people, RUNS)[0], RUNS, 1 - SURE)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["trend up", "trend down", "step"])
def test_the_chance_of_means_is_wrong_of_studies_of_a_policy(shape: str) -> None:
    with pytest.raises(AssertionError, match="is more than"):
        at_most(wrong_of_shape(1.0, shape, by_means), RUNS, 1 - SURE)


@pytest.mark.slow
def test_the_chance_of_means_is_wrong_of_small_gaps() -> None:
    """It is taken for the chance of an arm that is named, so it is held to how many of those are right."""
    with pytest.raises(AssertionError, match="is more than"):
        at_most(*of_small_gaps(0.1, by_means, 250), 1 - SURE)


# the definition


def test_two_arms_are_as_sure_as_the_interval_of_their_difference() -> None:
    law = Central(epsilon=1).law()
    for total in (420.0, 455.0, 470.0, 500.0, 530.0):
        epochs = [(Release(0, 1000, total, 0), Release(1, 1000, 405.0, 0))]
        found = by_people(law, [[a] for a, _ in epochs] + [[b] for _, b in epochs])
        assert (found[0].best >= SURE) == (difference_interval(law, epochs).low > 0)
        assert found[0].best == found[1].beaten
        assert found[1].best == found[0].beaten == 0


def test_alpha_is_shared_by_all_pairs_that_there_may_ever_be() -> None:
    for began in (2, 3, 7):
        own = sum(2 / parts_of_alpha(newer, began) for newer in range(began) for _ in range(newer))
        more = sum(2 / parts_of_alpha(newer, began) for newer in range(began, 400) for _ in range(newer))
        assert own == pytest.approx(1)
        assert 0.99 < more < 1


def test_nothing_is_said_of_arms_that_were_not_dealt_together() -> None:
    law = Law(NO_NOISE)
    arms = [[Release(0, 1000, 900.0, 0)], [Release(1, 1000, 100.0, 1)]]
    assert by_people(law, arms) == {}
    assert by_people(law, [[], []]) == {}
    arms[1].append(Release(1, 1000, 100.0, 0))
    assert by_people(law, arms)[0].best > SURE
    assert confidence_of_best(law, arms, (1,), 2) == {}


def test_an_arm_is_best_of_those_in_play_once_it_is_better_than_each() -> None:
    law = Law(NO_NOISE)
    a = [Release(0, 1000, 900.0, 1)]
    b = [Release(1, 1000, 600.0, 0), Release(1, 1000, 600.0, 1)]
    c = [Release(2, 1000, 300.0, 0)]  # never dealt with a
    assert by_people(law, [a, b, c])[0] == Confidence(0.0, 0.0)
    assert confidence_of_best(law, [a, b, c], (1, 2), 3)[1].best > SURE
    d = Release(2, 1000, 300.0, 1)
    assert by_people(law, [a, b, [*c, d]])[0].best > SURE


def test_of_arms_that_beat_each_other_in_turn_none_is_best() -> None:
    law, good, bad = Law(NO_NOISE), 150.0, 60.0
    arms = [
        [Release(0, 200, good, 0), Release(0, 200, bad, 2)],
        [Release(1, 200, bad, 0), Release(1, 200, good, 1)],
        [Release(2, 200, bad, 1), Release(2, 200, good, 2)],
    ]
    found = by_people(law, arms)
    assert all(each.beaten > SURE for each in found.values())
    assert all(each.best == 0 for each in found.values())
    arms[2][1] = Release(2, 200, 130.0, 2)  # so that one is beaten less surely than the others
    assert any(each.best > SURE for each in in_turn(law, arms).values())
    assert all(each.best == 0 for each in by_people(law, arms).values())

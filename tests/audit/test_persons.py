"""A person who has several rewards loses by all of them together what a channel says of one, exactly.

Neighbours differ in all reports of one person, also in how many there are. What is released without noise is that
person's reward rounded at random; others shift both distributions alike.
"""

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest

from maskedbandit.channels.central import Central
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.channels.response import Response
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import RewardOutOfRange
from maskedbandit.privacy.statistics import capped_sum
from maskedbandit.reports.audit.bounds import largest_ratio
from maskedbandit.reports.audit.exact import noise_sums
from maskedbandit.study.reward import Reward
from tests.for_each import for_each
from tests.statistics import seeded

CAP, FAR = 3, 400
PEOPLE = [[1.0] * n for n in range(8)] + [[0.5], [0.25, 1.0], [0.5] * 5, [0.1] * 9, [1.0, 0.0, 1.0]]
Of = Callable[[list[float]], float]


def released(channel: NoisyChannel, reward: float) -> np.ndarray:
    """The distribution of a release with this reward of one person, and 0 of all others."""
    n, parts = 4, 1
    if isinstance(channel, Distributed):
        parts = channel.counted_on(n)
    mass = noise_sums(channel.release_noise(n), parts, parts, FAR)
    whole, part = divmod(reward * channel.steps(n), 1)
    below, above = (np.roll(mass, int(whole) + step) for step in (0, 1))
    found: np.ndarray = ((1 - part) * below + part * above)[FAR // 2 : -FAR // 2]
    return found


def most_needed(channel: NoisyChannel, of: Of, people: Sequence[list[float]] = PEOPLE) -> float:
    """The ε that two people need at most."""
    laws = [released(channel, of(reports)) for reports in people]
    return max(largest_ratio(*pair) for pair in product(laws, laws))


def check_person(channel: NoisyChannel, of: Of) -> None:
    """All reports of a person cost exactly what the channel says of one reward."""
    found, said = most_needed(channel, of), channel.loss(4).epsilon()
    assert found <= said * (1 + 1e-6), f"needs ε = {found}, and says {said}"
    assert found >= said * (1 - 1e-6), f"needs ε = {found} only, and says {said}"


CHANNELS = [
    kind(epsilon, grid=grid)
    for kind, epsilon, grid in product((Central, Local, Distributed, TwoServers), ("0.3", 1), (1, CAP, 5))
]


@for_each("channel", CHANNELS, ids=lambda each: f"{type(each).__name__} {each.epsilon} {each.grid.fixed}")
def test_all_rewards_of_a_person_cost_what_one_costs(channel: NoisyChannel) -> None:
    check_person(channel.carrying(capped_sum(CAP)), Reward(rule="sum", cap=CAP).of)


@for_each("reports", PEOPLE)
def test_a_device_with_several_rewards_sends_what_one_with_their_capped_sum_sends(reports: list[float]) -> None:
    x, channel, bits = Reward(rule="sum", cap=CAP).of(reports), Response(1).carrying(capped_sum(CAP)), seeded(3)
    assert x == pytest.approx(min(sum(reports), CAP) / CAP)
    assert {channel.randomize(x, channel.offer(4), bits) for _ in range(100)} <= {0, 1}


def forgotten(reports: list[float]) -> float:
    """The twin: the sum is not cut."""
    return sum(reports) / CAP


def test_a_cap_that_is_forgotten_is_caught() -> None:
    for channel in CHANNELS[:3]:
        with pytest.raises(AssertionError, match="and says"):
            check_person(channel, forgotten)


def test_a_device_refuses_a_sum_that_was_not_cut() -> None:
    channel = Central(1).carrying(capped_sum(CAP))
    with pytest.raises(RewardOutOfRange):
        channel.randomize(forgotten([1.0] * 4), channel.offer(4), seeded(1))


def test_noise_for_one_reward_of_several_is_caught() -> None:
    """The twin: sums are of up to three rewards, and the noise is that of one, 1 / ε in units of a reward."""
    for epsilon in (0.3, 1):
        narrow = Central(CAP * epsilon)
        found = most_needed(narrow, Reward(rule="sum", cap=CAP).of)
        assert found == pytest.approx(CAP * epsilon)
        with pytest.raises(AssertionError, match="and says"):
            assert found <= Central(epsilon).loss(4).epsilon() * (1 + 1e-6), f"needs ε = {found}, and says {epsilon}"


def test_noise_that_is_widened_and_a_budget_that_is_divided_too_is_caught() -> None:
    """The twin from the other side: a cohort that pays the cap twice hides more than it says."""
    divided = Central(1 / (2 * CAP)).carrying(capped_sum(CAP))
    assert most_needed(divided, Reward(rule="sum", cap=CAP).of) < Central(1).loss(4).epsilon() * (1 - 1e-6)


def test_a_person_who_never_reports_is_hidden_like_everybody() -> None:
    of, channel = Reward(rule="sum", cap=CAP, default=0.5).of, Central(1)
    assert most_needed(channel, of, [[], [1.0] * 9]) < 1
    assert math.isclose(most_needed(channel, of, [[0.0], [1.0] * 9]), 1, rel_tol=1e-6)

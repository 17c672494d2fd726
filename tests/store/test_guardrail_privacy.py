"""What the release of both sums tells of a person: exactly from the probabilities, and from releases of real studies.

Two neighbours differ in one person's reward and harm, each 0 or 1; all else only shifts both. The pair of sums then
differs by one step in each, and the two draws of noise are independent.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskedbandit.channels.noisy import NoisyChannel
from maskedbandit.reports.audit.bounds import largest_ratio, needed_epsilon
from maskedbandit.store import release
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded
from tests.store.released_sums import play_sums
from tests.store.small_study import small_protocol

HARM = {"name": "harm", "harm": {"above": 0.2}, "share": "1/3"}
ROOM = 60


def mass(channel: Any) -> np.ndarray:
    """The probabilities of the noise of a release."""
    assert isinstance(channel, NoisyChannel)
    return channel.release_noise(1).pmf(np.arange(-ROOM, ROOM + 1))


def pair(first: np.ndarray, second: np.ndarray, reward: int, harm: int) -> np.ndarray:
    """The probabilities of both released sums, on a grid, of one person and nobody else."""
    return np.outer(np.roll(first, reward), np.roll(second, harm))[1:-1, 1:-1]


def worst(first: np.ndarray, second: np.ndarray) -> float:
    """The largest ratio of the probabilities of any pair of sums, for any two neighbours."""
    people = [(reward, harm) for reward in (0, 1) for harm in (0, 1)]
    laws = [pair(first, second, *each) for each in people]
    return max(largest_ratio(p.ravel(), q.ravel()) for p in laws for q in laws)


def test_a_person_loses_by_both_sums_exactly_what_is_charged() -> None:
    how = small_protocol(guardrail=HARM)
    assert worst(mass(how.channel), mass(how.outcomes[1].channel)) == pytest.approx(1, abs=1e-9)
    assert how.price(1).pure_epsilon == Fraction(1)


def test_so_it_is_with_gaussian_noise_at_a_delta() -> None:
    gaussian = {"name": "central", "epsilon": 1, "noise": "discrete_gaussian"}
    how = small_protocol(guardrail=HARM, channel=gaussian, budget={"rho": 1})
    p, q = (pair(mass(how.channel), mass(how.outcomes[1].channel), x, x)[1:].ravel() for x in (0, 1))
    needed = needed_epsilon(p / p.sum(), q / q.sum(), 1e-5)
    assert 0.5 * how.price(1).epsilon(1e-5) < needed <= how.price(1).epsilon(1e-5)


BROKEN: dict[str, Callable[[Protocol], np.ndarray]] = {
    "all of epsilon once more": lambda how: mass(replace(how.outcomes[1].channel, epsilon=1)),
    "no noise": lambda how: np.eye(1, 2 * ROOM + 1, ROOM)[0],
}


@for_each("twin", BROKEN)
def test_broken_twins_cost_more_than_is_charged(twin: str) -> None:
    how = small_protocol(guardrail=HARM)
    assert worst(mass(how.channel), BROKEN[twin](how)) > float(how.price(1).pure_epsilon) + 0.3


# --- what a real study releases


def check_noise(found: np.ndarray) -> None:
    """Both sums have the noise that they should have, and their sum that of two independent draws."""
    how = small_protocol(guardrail=HARM)
    first, second = (channel.release_noise(1) for channel in (how.channel, how.outcomes[1].channel))
    far = np.arange(-200, 201)
    both = np.convolve(first.pmf(far), second.pmf(far))
    same_distribution(found[:, 0], first.pmf)
    same_distribution(found[:, 1], second.pmf)
    for sign in (1, -1):
        same_distribution(
            found[:, 0] + sign * found[:, 1], lambda z: np.where(abs(z) <= 400, both[np.clip(z + 400, 0, 800)], 0.0)
        )


def test_a_study_draws_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()
    monkeypatch.setattr(release, "Bits", lambda: seeded(next(numbers)))
    check_noise(play_sums(tmp_path, guardrail=HARM))


@for_each("twin", ["the same noise twice", "no noise", "the noise of the reward"])
def test_a_study_that_does_not_is_found(twin: str) -> None:
    how = small_protocol(guardrail=HARM)
    first, second = (channel.release_noise(1) for channel in (how.channel, how.outcomes[1].channel))
    rng = np.random.default_rng(1)
    found = np.array([[noise.draws(float(noise.scale), 1.0, rng) for noise in (first, second)] for _ in range(700)])
    check_noise(found)
    if twin == "the same noise twice":
        found[:, 1] = found[:, 0]
    elif twin == "no noise":
        found[:, 1] = 0
    else:
        found[:, 1] = [first.draws(float(first.scale), 1.0, rng) for _ in range(700)]
    with pytest.raises(AssertionError):
        check_noise(found)

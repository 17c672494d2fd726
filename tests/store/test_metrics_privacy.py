"""What the release of several sums tells of a person: exactly from the probabilities, and from real studies.

Two neighbours differ in each outcome of one person, each 0 or 1. The draws of noise are independent.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from itertools import combinations, count, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.sampling import Bits
from maskedbandit.reports.audit.bounds import largest_ratio, needed_epsilon
from maskedbandit.store import release
from maskedbandit.study.outcomes import MeasuredOutcome
from maskedbandit.study.protocol import Protocol
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded
from tests.store.released_sums import play_sums
from tests.store.small_study import small_protocol

METRICS = [{"name": "spent", "share": "1/4"}, {"name": "left", "share": "1/4"}]
HARM = {"name": "harm", "harm": {"above": 0.2}, "share": "1/4"}
ROOM, FAR = 8, 200
Vector = tuple[int, ...]


def mass(channel: Any) -> np.ndarray:
    """The probabilities of the noise of a release, near 0."""
    return channel.release_noise(1).pmf(np.arange(-ROOM, ROOM + 1))


def joint(noises: Sequence[np.ndarray], person: Vector) -> np.ndarray:
    """The probabilities of the released vector, of one person and nobody else."""
    shifted = [np.roll(noise, outcome)[1:] for noise, outcome in zip(noises, person, strict=True)]
    return reduce(np.multiply.outer, shifted).ravel()


def worst(noises: Sequence[np.ndarray]) -> float:
    """The largest ratio of the probabilities of any vector, for any two neighbours."""
    laws = [joint(noises, person) for person in product((0, 1), repeat=len(noises))]
    return max(largest_ratio(p, q) for p, q in combinations(laws, 2))


def noises_of(how: Protocol) -> list[np.ndarray]:
    return [mass(outcome.channel) for outcome in how.outcomes]


MEASURED = [{"metrics": METRICS[:1]}, {"metrics": METRICS}, {"metrics": METRICS, "guardrail": HARM}]


@for_each("further", MEASURED)
def test_a_person_loses_by_the_vector_exactly_what_is_charged(further: dict[str, Any]) -> None:
    how = small_protocol(**further)
    assert worst(noises_of(how)) == pytest.approx(1, abs=1e-9)
    assert how.price(1).pure_epsilon == Fraction(1)


def test_for_equal_shares_it_is_the_laplace_mechanism_of_the_vector() -> None:
    """Of m outcomes each has the noise for a sensitivity of m, which is that of the vector in the 1-norm."""
    how = small_protocol(metrics=METRICS, guardrail=HARM)
    assert {outcome.channel.release_noise(1).scale for outcome in how.outcomes} == {4}


def test_so_it_is_with_gaussian_noise_at_a_delta() -> None:
    """Two outcomes in equal parts: each has twice the deviation, and the vector a sensitivity of the root of 2.

    So rho is (1 / 2) (root of 2 / 2)^2, half of that of one outcome at the whole epsilon.
    """
    gaussian = {"name": "central", "epsilon": 1, "noise": "discrete_gaussian"}
    how = small_protocol(metrics=[{"name": "spent", "share": "1/2"}], channel=gaussian, budget={"rho": 1})
    far = np.arange(-60, 61)
    noises = [outcome.channel.release_noise(1).pmf(far) for outcome in how.outcomes]
    p, q = (joint(noises, person) for person in ((0, 0), (1, 1)))
    needed = needed_epsilon(p / p.sum(), q / q.sum(), 1e-5)
    assert 0.5 * how.price(1).epsilon(1e-5) < needed <= how.price(1).epsilon(1e-5)
    assert how.price(1).without_single().curve == Loss.zcdp("1/4").curve


BROKEN: dict[str, Callable[[Protocol], list[np.ndarray]]] = {
    "only the share of the reward is charged": lambda how: [
        mass(replace(outcome.channel, epsilon=how.channel.epsilon * 2)) for outcome in how.outcomes
    ],
    "each has all of epsilon": lambda how: [mass(replace(outcome.channel, epsilon=1)) for outcome in how.outcomes],
    "no noise in one": lambda how: [*noises_of(how)[:-1], np.eye(1, 2 * ROOM + 1, ROOM)[0]],
}


@for_each("twin", BROKEN)
def test_broken_twins_cost_more_than_is_charged(twin: str) -> None:
    how = small_protocol(metrics=METRICS)
    assert worst(BROKEN[twin](how)) > float(how.price(1).pure_epsilon) + 0.3


def test_one_draw_of_noise_for_two_outcomes_costs_more_than_anything() -> None:
    """Their difference has no noise."""
    noise = mass(small_protocol(metrics=METRICS).channel)
    p, q = (np.diag(noise), np.roll(np.diag(noise), 1, axis=1))
    assert largest_ratio(p.ravel(), q.ravel()) == np.inf


# --- what a real study releases


def check_noise(found: np.ndarray) -> None:
    """Each sum has the noise that it should have, and sums and differences of two those of independent draws.

    Nine comparisons, each of which is a false alarm with a probability of 1e-9.
    """
    far, how = np.arange(-FAR, FAR + 1), small_protocol(metrics=METRICS)
    noises = [outcome.channel.release_noise(1) for outcome in how.outcomes]
    for i, noise in enumerate(noises):
        same_distribution(found[:, i], noise.pmf)
    for i, j in combinations(range(len(noises)), 2):
        both = np.convolve(noises[i].pmf(far), noises[j].pmf(far))

        def law(z: Any, both: np.ndarray = both) -> np.ndarray:
            return np.where(abs(z) <= 2 * FAR, both[np.clip(z + 2 * FAR, 0, 4 * FAR)], 0.0)

        for sign in (1, -1):
            same_distribution(found[:, i] + sign * found[:, j], law)


@pytest.mark.slow
def test_a_study_draws_each_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = count()
    monkeypatch.setattr(release, "Bits", lambda: seeded(next(numbers)))
    check_noise(play_sums(tmp_path, metrics=METRICS))


@for_each("twin", ["the same noise twice", "no noise", "the noise of another share"])
def test_a_study_that_does_not_is_found(twin: str) -> None:
    noises = [outcome.channel.release_noise(1) for outcome in small_protocol(metrics=METRICS).outcomes]
    rng = np.random.default_rng(1)
    found = np.array([[noise.draws(float(noise.scale), 1.0, rng) for noise in noises] for _ in range(700)])
    check_noise(found)
    if twin == "the same noise twice":
        found[:, 2] = found[:, 1]
    elif twin == "no noise":
        found[:, 2] = 0
    else:
        found[:, 2] = [noises[0].draws(float(noises[0].scale), 1.0, rng) for _ in range(700)]
    with pytest.raises(AssertionError):
        check_noise(found)


@pytest.mark.slow
def test_a_study_with_one_draw_for_two_metrics_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, real, last = count(), MeasuredOutcome.released, [0]
    monkeypatch.setattr(release, "Bits", lambda: seeded(next(numbers)))

    def shared(outcome: MeasuredOutcome, reports: Any, offer: Any, bits: Bits, *given: Any) -> float:
        """Both metrics are drawn from the same bits."""
        last[0] = next(numbers) if outcome.metric == "spent" else last[0]
        return real(outcome, reports, offer, seeded(last[0]) if outcome.metric else bits, *given)

    monkeypatch.setattr(MeasuredOutcome, "released", shared)
    with pytest.raises(AssertionError):
        check_noise(play_sums(tmp_path, metrics=METRICS))

"""The yardstick for private intervals: how often it ever misses, and how wide it is beside those of `estimate`.

Seeds are fixed; under a new seed each random assertion rejects a correct subject with probability ALPHA = 1e-9.
"""

import math

import numpy as np
import pytest

from maskedbandit.channels.response import Response
from maskedbandit.core import Release
from maskedbandit.errors import InvalidValue
from maskedbandit.theory.hoeffding_sequences import hoeffding_sequence
from maskedbandit.theory.sequences import mean_interval
from tests.for_each import for_each
from tests.statistics import at_most

STUDIES, PEOPLE, MEAN = 300, 2_000, 0.05


def randomize(epsilon: float, mean: float, seed: int) -> np.ndarray:
    r, rng = math.tanh(epsilon / 2), np.random.Generator(np.random.PCG64(seed))
    return rng.random((STUDIES, PEOPLE)) < r * mean + (1 - r) / 2


def count_misses(sequence, mean: float, seed: int) -> int:
    """In how many studies an interval ever misses the mean."""
    found = [sequence(bits) for bits in randomize(1.0, mean, seed)]
    return sum(bool(np.any(each.low > mean) or np.any(each.high < mean)) for each in found)


@pytest.mark.slow
@for_each("mean", [0.05, 0.5, 1.0])
def test_it_ever_misses_in_at_most_alpha_of_studies(mean) -> None:
    at_most(count_misses(lambda bits: hoeffding_sequence(bits, 1.0, alpha=0.1), mean, seed=1), STUDIES, 0.1)
    with pytest.raises(AssertionError):  # the control: as if the devices had flipped fewer bits
        at_most(count_misses(lambda bits: hoeffding_sequence(bits, 3.0, alpha=0.1), 0.05, seed=1), STUDIES, 0.1)


def test_intervals_of_estimate_are_narrower_for_many_people() -> None:
    n, epsilon = 10**5, 1.0
    r = math.tanh(epsilon / 2)
    bits = np.arange(n) % 20 < round(20 * (r * MEAN + (1 - r) / 2))
    theirs = hoeffding_sequence(bits, epsilon)
    total = (bits.sum() - n * (1 - r) / 2) / r
    low, high = mean_interval(Response(1).law(), [Release(0, n, float(total))])
    assert 0 < high - low < 0.7 * (theirs.high[-1] - theirs.low[-1])


@for_each(
    ("given", "name"),
    [(([0, 1, 2], 1.0), "bits"), (([[0, 1]], 1.0), "bits"), (([0, 1], 0.0), "epsilon"), (([0, 1], 1.0, 1.0), "alpha")],
)
def test_what_is_refused_is_named(given, name) -> None:
    with pytest.raises(InvalidValue, match=name):
        hoeffding_sequence(*given)

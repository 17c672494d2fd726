"""A change is found as rarely as its level says where there is none, on every kind of noise, and where there is one."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import maskedbandit as mb
from maskedbandit.channels.channel import Channel
from maskedbandit.law import NO_NOISE, Law, count_draws, count_steps
from maskedbandit.theory.chernoff import Sum, has_changed
from maskedbandit.theory.divergences import kl
from tests.for_each import for_each
from tests.statistics import at_most

CHANNELS = {
    "laplace": mb.channels.Central(epsilon=0.2),
    "gaussian": mb.channels.Central(epsilon=0.2, noise=mb.noises.DiscreteGaussian()),
    "skellam": mb.channels.Central(epsilon=1, noise=mb.noises.Skellam()),
    "distributed": mb.channels.Distributed(epsilon=0.5, honest=0.8),
    "shuffled": mb.channels.Shuffled(epsilon=1),
    "pure shuffled": mb.channels.PureShuffled(epsilon=0.9),
    "local": mb.channels.Local(epsilon=2),
    "response": mb.channels.Response(epsilon=1),
    "raw": mb.channels.Raw(),
}
LEVEL, TRIALS = 3.5, 600
MOST = 2 * (1 + LEVEL) * math.exp(-LEVEL)


def released(channel: Channel, mean: float, sizes: tuple[int, ...], rng: np.random.Generator) -> Sum:
    """The sum of releases of cohorts of these sizes."""
    law, numbers, total = channel.law(), (channel.parameters(), channel.memory(1)), 0.0
    for n in sizes:
        g = max(1, count_steps(law, n))
        noise = channel.draws(law.scale * g, count_draws(law, 1, n), rng)
        total += channel.perturb(*numbers, law, 0, g * float(rng.binomial(n, mean)), n, noise, rng)
    return Sum(total, len(sizes), sum(sizes))


def false_alarms(channel: Channel, law: Law, mean: float, trials: int = TRIALS) -> int:
    """How often a change is found of a mean that stays, by one large and three small cohorts."""
    rng, found = np.random.Generator(np.random.PCG64(5)), 0
    for _ in range(trials):
        one, other = (released(channel, mean, sizes, rng) for sizes in ((300,), (40, 50, 60)))
        found += has_changed(law, one, other, LEVEL)
    return found


@pytest.mark.slow
@for_each("mean", [0.03, 0.5])
@pytest.mark.parametrize("name", CHANNELS)
def test_what_stays_is_found_to_change_as_rarely_as_the_level_says(name, mean):
    channel = CHANNELS[name]
    at_most(false_alarms(channel, channel.law(), mean), TRIALS, MOST)


@pytest.mark.slow
@for_each("noise", [mb.noises.DiscreteLaplace(), mb.noises.DiscreteGaussian()])
def test_without_the_noise_in_it_the_level_is_lost(noise):
    found = false_alarms(mb.channels.Central(epsilon=0.03, noise=noise), Law(NO_NOISE), 0.5, trials=100)
    with pytest.raises(AssertionError, match="is more than"):
        at_most(found, 100, MOST)


@for_each(("x", "y"), [(80, 60), (80, 50), (20, 45), (0, 9), (100, 91)])
def test_without_noise_it_is_the_likelihood_ratio(x, y):
    n = 100
    ratio = minimize_scalar(
        lambda q: n * kl(x / n, q) + n * kl(y / n, q), bounds=(1e-9, 1 - 1e-9), method="bounded"
    ).fun
    for level, expected in ((0.99 * ratio, True), (1.01 * ratio, False)):
        assert has_changed(Law(NO_NOISE), Sum(float(x), 1, n), Sum(float(y), 1, n), level) == expected


@for_each(
    ("epsilon", "one", "other", "least"),
    [
        (1, Sum(-2.6636474264, 1, 80_956), Sum(7.634389001791, 12, 86), 2.475627738),
        (5, Sum(54_501.102484, 8, 54_501), Sum(0.5691358366, 1, 1), 1.337385),
    ],
)
def test_the_least_sum_is_found_where_one_set_is_by_far_the_larger_one(epsilon, one, other, least):
    """There the mean that explains both best is nearer to that of the larger set than a millionth."""
    law = mb.channels.Central(epsilon=epsilon).law()
    assert has_changed(law, one, other, 0.999 * least)
    assert not has_changed(law, one, other, 1.001 * least)


@for_each("name", CHANNELS)
def test_a_large_change_is_found_in_both_directions_and_orders(name):
    rng = np.random.Generator(np.random.PCG64(6))
    law = CHANNELS[name].law()
    low, high = (released(CHANNELS[name], mean, (1500,), rng) for mean in (0.2, 0.8))
    assert has_changed(law, low, high, 15.0)
    assert has_changed(law, high, low, 15.0)
    assert has_changed(law, low._replace(total=low.n - low.total), high._replace(total=high.n - high.total), 15.0)


@for_each("x", [-1e6, -50.0, 0.0, 100.0, 150.0, 1e6])
def test_whatever_was_released_it_is_yes_or_no(x):
    law = CHANNELS["laplace"].law()
    for y in (-1e6, 0.0, 50.0, 1e6):
        assert has_changed(law, Sum(x, 2, 100), Sum(y, 1, 100), 15.0) in (True, False)

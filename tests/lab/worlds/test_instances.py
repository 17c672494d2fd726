"""Instances pay what they say, one user at a time or many at once.

Every random assertion has a false-alarm probability of ALPHA = 1e-9.
"""

import numpy as np
import pytest
from scipy import integrate, stats

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.lab.worlds.named_means import named_means
from tests.statistics import mean_is, same_law

INSTANCES = [
    mb.Bernoulli([0.3, 1.0, 0.0]),
    mb.ClippedGaussian([0.3, 0.95, 0.0], sd=0.3),
    mb.Beta(alpha=[0.5, 2, 9], beta=[0.5, 5, 1]),
]


def stream(run: int = 0) -> Rewards:
    keys, generator, *_ = Streams(1, "instances").of(run)
    return Rewards(generator, keys)


@pytest.mark.parametrize("instance", INSTANCES, ids=lambda instance: type(instance).__name__)
@pytest.mark.parametrize("g", [0, 1, 5])
def test_rewards_have_their_mean_and_stay_in_range(instance, g) -> None:
    rewards, numbers = stream(), instance.numbers()
    with np.errstate(over="ignore"):
        for arm, mean in enumerate(instance.true_means()):
            ones = np.array([instance.one(numbers, arm, t, g, rewards) for t in range(4000)]) / max(g, 1)
            sums = np.array([instance.many(numbers, arm, 7, g, rewards) for _ in range(1000)]) / max(g, 1)
            assert ((ones >= 0) & (ones <= 1)).all()
            assert ((sums >= 0) & (sums <= 7)).all()
            if 0 < mean < 1:
                mean_is(ones, mean)
                mean_is(sums, 7 * mean)
            if g > 0:
                assert (sums * g == np.round(sums * g)).all()


@pytest.mark.parametrize("instance", INSTANCES[1:], ids=lambda instance: type(instance).__name__)
def test_many_rewards_at_once_have_the_law_of_rewards_rounded_one_by_one(instance) -> None:
    """With one step, the sum of n rounded rewards is binomial: the shortcut that the lab takes."""
    rewards, numbers, n = stream(1), instance.numbers(), 5
    with np.errstate(over="ignore"):
        slow = [sum(instance.one(numbers, 0, t, 1, rewards) for t in range(n)) for _ in range(4000)]
    fast = [instance.many(numbers, 0, n, 1, rewards) for _ in range(4000)]
    mean = instance.true_means()[0]
    for sample in (slow, fast):
        same_law(np.array(sample).astype(int), lambda z: stats.binom.pmf(z, n, mean))
    with pytest.raises(AssertionError):
        same_law(np.array(fast).astype(int), lambda z: stats.binom.pmf(z, n, mean + 0.1))


def test_the_mean_of_a_clipped_gaussian_is_that_after_clipping() -> None:
    for m, s in ((0.3, 0.3), (0.95, 0.3), (0.0, 0.1)):
        middle, _ = integrate.quad(lambda x, m=m, s=s: x * stats.norm.pdf(x, m, s), 0, 1)
        expected = middle + stats.norm.sf(1, m, s)
        assert mb.ClippedGaussian([m, 0.5], sd=s).true_means()[0] == pytest.approx(expected, abs=1e-9)


def test_studied_means_have_names() -> None:
    assert named_means("C1") == [0.75, 0.7, 0.7, 0.7, 0.7]
    assert named_means("C3")[1] == 0.53125
    assert named_means("hard", k=4, seed=2) == mb.uniform_means("hard", 4, 2)
    assert named_means("mu1") == [0.95, 0.9, 0.9, 0.9, 0.5]
    assert named_means("SS19b") == named_means("C2")
    with pytest.raises(InvalidValue, match=r"'easy', 'hard', 'C1', .*'C4', 'mu1', .*'linspace' or a list of numbers"):
        named_means("C5")


def test_generated_means_are_those_of_the_paper() -> None:
    easy, hard = mb.uniform_means("easy", 10, 3), mb.uniform_means("hard", 10, 3)
    assert all(0.25 <= mean <= 0.75 for mean in easy)
    assert all(0.45 <= mean <= 0.55 for mean in hard)
    legacy = np.random.RandomState(3).rand(10)
    assert easy == pytest.approx(0.5 * legacy + 0.25)
    assert mb.uniform_means("easy", 10, 3) == easy != mb.uniform_means("easy", 10, 4)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: mb.Bernoulli([0.5, 1.1]), r"means is \[0.5, 1.1\]: it must be numbers in \[0, 1\]"),
        (lambda: mb.Bernoulli([0.5, float("nan")]), "means"),
        (lambda: mb.Bernoulli([0.5]), "at least two arms"),
        (lambda: mb.Bernoulli("easy"), "means is 'easy'"),
        (lambda: mb.ClippedGaussian([0.5, 0.6], sd=0), "sd is 0"),
        (lambda: mb.Beta([1, 0], [1, 1]), "alpha"),
        (lambda: mb.Beta([1, 1], [1, 1, 1]), "beta"),
        (lambda: mb.uniform_means("eazy"), "'easy', 'hard'"),
        (lambda: mb.uniform_means("easy", k=1), "k is 1"),
    ],
)
def test_bad_values_are_named(make, said) -> None:
    with pytest.raises(InvalidValue, match=said):
        make()

"""What is special to single worlds: their means, means that have names, and parameters that are refused.

What all worlds promise is in tests/contracts/test_world.py.
"""

import numpy as np
import pytest
from scipy import integrate, stats

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.worlds.named_means import named_means
from tests.for_each import for_each


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


@for_each(
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

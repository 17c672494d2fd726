"""Pair flooding: a pure loss of what the server counts, over all outcomes, and the distribution of what is sent."""

import inspect
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import nbinom

from maskedbandit.errors import InvalidValue
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.shuffle import pair_flooding
from maskedbandit.shuffle.pair_flooding import PairFlooding
from maskedbandit.shuffle.sealed_messages import Analyzer, BundleShuffler, seal_bundle
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import at_most, same_distribution, seeded

FAR = 40  # counts below this are summed exactly; noise beyond is in none of them


def flood(flooding, start=None, growth=None):
    """p(0), ..., p(most)."""
    growth = float(flooding.growth) if growth is None else growth
    weights = [flooding.start if start is None else start, *np.exp(growth * np.arange(flooding.most))]
    return np.array(weights) / sum(weights)


def device(p, bit, lie):
    """P(+1, -1) of a device without its noise."""
    found = np.zeros((len(p) + 1, len(p)))
    for pairs, chance in enumerate(p):
        lies = lie if pairs == 0 else 0.0
        found[pairs + bit, pairs] += chance * (1 - bit * lies)
        found[pairs, pairs] += chance * bit * lies
    return found


def together(a, b):
    """The distribution of the sums of two pairs of counts, below FAR."""
    found = np.zeros((FAR, FAR))
    for i, j in zip(*np.nonzero(b), strict=True):
        part = a[: FAR - i, : FAR - j]
        found[i : i + part.shape[0], j : j + part.shape[1]] += b[i, j] * part
    return found


def largest_loss(flooding, others, *, lie=None, more_noise=0, **changes):
    """The largest log-ratio of the probabilities of the counts, with and without the bit of one more device."""
    p = flood(flooding, **changes)
    lie = math.exp(-flooding.epsilon) if lie is None else lie
    beta = math.exp(-flooding.noise_epsilon)
    noise = nbinom.pmf(np.arange(FAR), 1 + more_noise, 1 - beta)
    seen = np.outer(noise, noise)
    for bit in others:
        seen = together(seen, device(p, bit, lie))
    zero, one = (together(seen, device(p, bit, lie)) for bit in (0, 1))
    if np.any((zero == 0) != (one == 0)):
        return math.inf
    return float(np.abs(np.log(one[zero > 0] / zero[zero > 0])).max())


SETTINGS = [(1, "1/2", 8), (1, "9/10", 12), ("1/2", "1/4", 9), ("1/10", "1/20", 6), (3, 1, 4)]


@for_each(("epsilon", "noise", "most"), SETTINGS)
@for_each("others", [(), (0,), (1,), (0, 1), (1, 1)])
def test_counts_have_the_pure_loss(epsilon, noise, most, others) -> None:
    flooding = PairFlooding(epsilon, noise, most)
    assert largest_loss(flooding, others) <= float(flooding.epsilon) * (1 + 1e-9)
    assert largest_loss(flooding, others, more_noise=0.6) <= float(flooding.epsilon) * (1 + 1e-9)


def test_the_whole_loss_is_used() -> None:
    assert largest_loss(PairFlooding(1, "1/2", 8), (0, 1)) > 0.99


@for_each(("epsilon", "noise", "most"), SETTINGS)
def test_without_any_of_its_parts_the_loss_is_larger(epsilon, noise, most) -> None:
    """The broken twins: a device that never lies, a flood that begins or grows too steeply, and none at all."""
    flooding = PairFlooding(epsilon, noise, most)
    allowed = float(flooding.epsilon) * (1 + 1e-6)
    assert largest_loss(flooding, (0, 1), lie=0.0) == math.inf
    steep = math.exp(flooding.noise_epsilon) / math.expm1(flooding.epsilon)
    assert largest_loss(flooding, (0, 1), start=0.5 * steep) > allowed
    assert largest_loss(flooding, (0, 1), start=steep, growth=1.5 * float(flooding.growth)) > allowed
    assert largest_loss(flooding, (0, 1), start=steep, growth=float(flooding.growth)) <= allowed
    assert largest_loss(flooding, (0, 1), more_noise=-0.5) > allowed


def test_floods_are_drawn_as_they_are_described() -> None:
    flooding, bits = PairFlooding("1/2", "1/4", 12), seeded(1)
    sample = np.array([flooding.pairs(bits) for _ in range(4000)])
    law = flood(flooding)
    same_distribution(sample, lambda z: np.where((z >= 0) & (z < law.size), law[np.clip(z, 0, law.size - 1)], 0.0))


@pytest.mark.slow
def test_a_device_sends_its_bit_its_flood_and_its_noise() -> None:
    """The difference of the counts is the bit and the noise share, but for lies, which are as rare as is said."""
    flooding, bits, n = PairFlooding(1, "1/2", 2), seeded(2), 3
    sent = [flooding.randomize(1, n, bits) for _ in range(15_000)]
    difference = np.array([plus - minus for plus, minus in sent])
    honest = np.array([np.subtract(*flooding.randomize(0, n, bits)) for _ in range(15_000)])
    share = DiscreteLaplace(Fraction(2)).pmf
    same_distribution(honest, lambda z: share(z, 1 / n))
    lies = float(flood(flooding)[0]) * math.exp(-1)
    same_distribution(difference, lambda z: (1 - lies) * share(z - 1, 1 / n) + lies * share(z, 1 / n))
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(difference, lambda z: share(z - 1, 1 / n))
    assert lies <= flooding.missed() < 1.01 * lies


def test_a_cohort_through_a_real_shuffler() -> None:
    """Sealed messages of one number from every device, and a sum that is the true one and discrete Laplace noise."""
    n, bits = 20, seeded(3)
    flooding = PairFlooding.for_lies(4, 2, "1/1000")
    truth = [1] * 8 + [0] * 12
    analyzer = Analyzer(below=3, cohort=b"one")
    shuffler = BundleShuffler([flooding.size] * n, below=3, least=n, bits=bits)
    expected = 0
    for i, bit in enumerate(truth):
        plus, minus = flooding.randomize(bit, n, bits)
        expected += plus - minus
        shuffler.receive(i, seal_bundle(flooding.bundle(plus, minus), 3, analyzer.key, b"one"))
    mixed, _ = shuffler.release()
    assert flooding.total(analyzer.open(mixed, expected=n * flooding.size)) == expected
    assert abs(expected - 8) < 15  # fails with probability below 1e-12


@pytest.mark.slow
def test_sums_are_the_true_ones_with_discrete_laplace_noise() -> None:
    flooding, bits, n = PairFlooding.for_lies(2, "1/2", "1e-9"), seeded(4), 5
    counts = [[flooding.randomize(bit, n, bits) for bit in (1, 1, 0, 0, 0)] for _ in range(1500)]
    sums = np.array([sum(plus - minus for plus, minus in each) for each in counts])
    same_distribution(sums - 2, DiscreteLaplace(Fraction(2)).pmf)


@for_each(("epsilon", "messages"), [("1/10", 2261), ("1/2", 445), (1, 220), (2, 111), (4, 56)])
def test_messages_of_a_device_at_half_the_loss_for_noise(epsilon, messages) -> None:
    flooding = PairFlooding.for_lies(epsilon, Fraction(epsilon) / 2, "1e-9")
    assert flooding.size == messages
    assert (
        flooding.missed()
        <= Fraction(1, 10**9)
        < PairFlooding(epsilon, flooding.noise_epsilon, flooding.most - 1).missed()
    )
    chance = 2 * nbinom.sf(flooding.spare, 1e-6, -math.expm1(-flooding.noise_epsilon)) * 1e6
    assert chance <= 2 * float(flooding.overflow(2)) <= 2.0**-100


def test_noise_that_does_not_fit_is_rare() -> None:
    flooding, bits = PairFlooding(1, "1/2", 4, spare=6), seeded(5)
    sent = [flooding.randomize(0, 2, bits) for _ in range(2000)]
    assert all(plus + minus <= flooding.size for plus, minus in sent)
    both = nbinom.sf(6, 1, -math.expm1(-0.5))
    assert both <= float(flooding.overflow(2)) < 3 * both
    at_most(sum(plus + minus == flooding.size for plus, minus in sent), len(sent), 0.5)


@for_each("n", [1, 2, 3, 1000])
@for_each("spare", [0, 1, 6, 40, 192])
def test_overflow_is_at_least_the_tail_of_the_noise(n, spare) -> None:
    """Of one device too, whose two geometric draws have a longer tail than shares have."""
    for noise in (Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)):
        tail = nbinom.sf(spare, 2 / n, -math.expm1(-noise))
        assert tail * (1 - 1e-9) <= float(PairFlooding(1, noise, 4, spare).overflow(n))


@for_each(
    ("given", "name"),
    [
        ((0, "1/2", 4), "epsilon"),
        ((9, "1/2", 4), "epsilon"),
        ((1, 1, 4), "noise_epsilon"),
        ((1, "1/2", 0), "most"),
        ((1, "1/2", 4, -1), "spare"),
    ],
)
def test_what_is_wrong_is_named(given, name) -> None:
    with pytest.raises(InvalidValue, match=name):
        PairFlooding(*given)


def test_a_bit_is_never_shown() -> None:
    with pytest.raises(InvalidValue, match="bit is 'outside'"):
        PairFlooding(1, "1/2", 4).randomize(2, 3, seeded(1))


def test_it_is_float_free() -> None:
    assert offences(inspect.getsource(pair_flooding)) == []

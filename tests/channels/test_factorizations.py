"""Running sums from a factorization A = B C: its weights, what one user moves, and the noise of every sum.

Matrices are exact here. Where draws are compared, seeds are fixed; under a new seed a random assertion rejects a
correct channel with probability ALPHA = 1e-9.
"""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.tree import FACTORIZATIONS, Tree
from maskedbandit.errors import InvalidValue
from maskedbandit.law import nodes
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.skellam import Skellam
from maskedbandit.policies.regret.dp_thompson import worst_release
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.statistics import linear_sums
from maskedbandit.reports.audit.trees import tree_part
from maskedbandit.store.memory import read_memory, write_memory
from maskedbandit.toeplitz import (
    ENDLESS_SQUARE,
    LOG_LOG_POWER,
    LOG_POWER,
    MOST_RELEASES,
    WHOLE_WEIGHT,
    count_weights,
    endless_series,
    root_nodes,
    root_series,
)
from tests.channels.test_tree import check_streams, errors, stream
from tests.for_each import for_each
from tests.policies.mutants import mutant
from tests.statistics import mean_is, seeded

CASES = [("root", None), ("root", 3), ("endless", None)]
each_factorization = pytest.mark.parametrize(("counter", "bands"), CASES)


def factored(counter, bands=None, length=45, kind=Tree, **values):
    return kind(**{"epsilon": 1, "noise": DiscreteGaussian()} | values, counter=counter, length=length, bands=bands)


def unit_noises(channel, length):
    """B: the weight of every draw in every running sum, as the kernels have it, in units of reward."""
    one = np.eye(length, dtype=int) * WHOLE_WEIGHT
    return np.cumsum([stream(channel, [0] * length, unit) for unit in one], axis=1).T


def variances_of(channel):
    """Variances of all running sums, in squares of the scale: the weights of the first draw are those of all others."""
    first = np.eye(1, channel.length, dtype=int)[0] * WHOLE_WEIGHT
    return np.cumsum(np.cumsum(stream(channel, [0] * channel.length, first)) ** 2)


# of a thousand releases, as jax-privacy 2.0.0 has them: `sensitivity_squared` of C, and `per_query_error` of B after
# 1, 10, 100 and 1000 of them; of `optimal_max_error_strategy_coefs(1000)`, of the first 16 terms of
# `optimal_max_error_noising_coefs(1000)`, and of the terms of our endless C
JAX_PRIVACY = {
    ("root", None): (3.2650030806724337, (1.0, 1.7913439415860921, 2.531352112635569, 3.265003080672429)),
    ("root", 16): (2.1116814045977503, (1.0, 1.7913439415860921, 3.696956895266439, 22.479935982155745)),
    ("endless", None): (2.100980005010185, (1.0, 1.9771013436215379, 3.6689372738313164, 6.598776125866634)),
}


@pytest.mark.slow
@for_each(("counter", "bands"), list(JAX_PRIVACY))
def test_another_library_has_the_same_sensitivities_and_variances(counter, bands):
    channel, (square, known) = factored(counter, bands, length=1000), JAX_PRIVACY[counter, bands]
    weights = channel.weights / WHOLE_WEIGHT
    assert square * (1 - 1e-5) < weights @ weights <= square
    np.testing.assert_allclose(variances_of(channel)[[0, 9, 99, 999]], known, rtol=3e-4)


class TestWeights:
    def test_of_the_square_root(self):
        exact = [Fraction(math.comb(2 * k, k), 4**k) for k in range(50)]
        np.testing.assert_allclose(root_series(50), [float(each) for each in exact], rtol=1e-14)
        assert count_weights(50, 50).tolist() == [math.floor(each * WHOLE_WEIGHT) for each in exact]

    @for_each("bands", [2, 3, 16])
    def test_of_a_banded_inverse(self, bands):
        """C times the first terms of √(1 − s) is 1, for all later terms are left out."""
        inverse = [1.0, *-np.diff(-root_series(bands))]
        found = np.convolve(count_weights(60, bands) / WHOLE_WEIGHT, inverse)[:60]
        np.testing.assert_allclose(found, np.eye(60)[0], atol=2e-6)

    def test_of_endless_streams(self):
        """Against the definition, by another program and with many digits."""
        import mpmath

        def of(s):
            h = -mpmath.log1p(-s) / s
            return (1 - s) ** -0.5 * h**LOG_POWER * (2 * mpmath.log(h) / s) ** LOG_LOG_POWER

        with mpmath.workdps(60):  # on a circle within which it has no pole: Cauchy's integral as a sum
            points = [mpmath.mpf("0.5") * mpmath.expjpi(mpmath.mpf(2) * j / 128) for j in range(128)]
            values = [of(point) for point in points]
            known = [
                float(mpmath.re(mpmath.fsum(v * p**-k for v, p in zip(values, points, strict=True)) / 128))
                for k in range(10)
            ]
        np.testing.assert_allclose(endless_series(10, 1), known, rtol=1e-12)

    def test_of_endless_streams_are_square_summable(self):
        """By Parseval's theorem; the integral over u = e^{−x} has a tail that falls as x^{−4} ln^{24/5} x.

        So no stream, of whatever length, would need much more than the longest one that there is.
        """
        from scipy.integrate import quad

        def density(x):
            u = math.exp(-x)
            one = complex(2 * math.sin(u / 2) ** 2, -math.sin(u))  # 1 − s, s = e^{iu}
            h = -(complex(-x, -math.pi / 2) if x > 40 else np.log(one)) / (1 - one)
            ratio = 1.0 if x > 40 else u / abs(one)
            return ratio * abs(h) ** (2 * LOG_POWER) * abs(2 * np.log(h) / (1 - one)) ** (2 * LOG_LOG_POWER)

        near = quad(density, -math.log(math.pi), 40, limit=1000)[0]
        far = quad(lambda v: density(math.exp(v)) * math.exp(v), math.log(40), 30, limit=1000)[0]
        assert 2.508 < (near + far) / math.pi < 2.510
        weights = count_weights(2000, 0) / WHOLE_WEIGHT
        assert 2 < weights @ weights < (near + far) / math.pi

    @pytest.mark.slow
    def test_of_the_longest_endless_stream_are_hidden_exactly(self):
        """In whole numbers: no length has a longer column, as the weights of a shorter one are its first."""
        longest = count_weights(MOST_RELEASES, 0).tolist()
        square = sum(weight * weight for weight in longest)
        stated = factored("endless", None, length=MOST_RELEASES).levels
        assert stated == factored("endless", None, length=1).levels
        assert square <= stated < square * (1 + 1e-4)
        assert min(longest) >= 0
        assert count_weights(500, 0).tolist() == longest[:500]

    @pytest.mark.slow
    def test_of_endless_streams_cost_little_beside_the_root(self):
        """Variance of the last sum, over that of a root counter for so many releases: as the docstring says."""
        noise = ENDLESS_SQUARE * np.cumsum(endless_series(MOST_RELEASES, -1) ** 2)
        ratio = noise / np.cumsum(root_series(MOST_RELEASES) ** 2) ** 2
        assert 1.62 < ratio[3:].max() < 1.63

    def test_squares_of_the_root_add_up_to_a_landau_constant(self):
        exact = np.cumsum(root_series(10**4) ** 2)
        found = np.array([root_nodes(m) for m in range(1, 10**4 + 1)])
        assert np.all(found >= exact * (1 - 1e-12))  # which are rounded
        assert found[0] < 1.006
        assert np.all(found[1:] < exact[1:] * (1 + 3e-4))


@each_factorization
class TestSums:
    def test_law_knows_their_noise(self, counter, bands):
        """nodes(law, m) is at least the squares of the weights of B, and hardly more."""
        channel = factored(counter, bands, length=300)
        exact = variances_of(channel)
        found = np.array([nodes(channel.law(), m) for m in range(1, 301)])
        assert np.all(found >= exact)
        assert np.all(found <= exact * 1.008)

    def test_are_right_when_noise_is_silent(self, counter, bands):
        channel, totals = factored(counter, bands), np.random.default_rng(1).integers(0, 9, 45)
        np.testing.assert_allclose(stream(channel, totals, np.zeros(45, int)), totals, atol=1e-9)

    def test_have_most_noise_at_their_end(self, counter, bands):
        law = factored(counter, bands, length=300).law()
        assert worst_release(law, 300) == 300
        assert np.all(np.diff([nodes(law, m) for m in range(1, 301)]) > 0)

    @pytest.mark.sparing(1)
    def test_of_the_lab_are_those_of_the_server(self, counter, bands, monkeypatch):
        monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
        channel = factored(counter, bands, length=7, grid=2)
        exact, lab = errors(channel, 400, exact=True), errors(channel, 1000)
        check_streams(exact, lab[:400])
        for m in (1, 7):
            mean_is(lab[:, m - 1], 0)
        variance = channel.law().scale ** 2 * (unit_noises(channel, 7) ** 2).sum(axis=1)
        for m in (0, 3, 6):  # a square of Gaussian noise is below 40 variances with probability 1 - 3e-10
            mean_is(np.minimum(lab[:, m] ** 2 / variance[m], 40), 1)


def move_of_one_user(channel, leaf, length=45, seed=2):
    """By how much the draws of the other world differ if another user of this release gives the same releases."""
    rng = np.random.default_rng(seed)
    totals, noises = rng.integers(0, 1000, length), rng.integers(-(2**30), 2**30, length)
    other = totals.copy()
    other[leaf] += 1
    shifted = noises.copy()
    shifted[leaf:] -= channel.weights[: length - leaf]
    assert stream(channel, totals, noises) == stream(channel, other, shifted)  # to the last bit
    return shifted - noises


def check_loss(channel):
    """The draws that hide a user are moved by a vector that costs no more than is stated, at every order."""
    cost = Fraction(0)
    for leaf in range(channel.length):
        move = move_of_one_user(channel, leaf, channel.length).tolist()
        cost = max(cost, Fraction(sum(step * step for step in move)) / (2 * channel.node(channel.levels).scale ** 2))
    stated = channel.loss(1)
    assert all(cost * Fraction(order) <= each for order, each in zip(ORDERS, stated.curve, strict=True))
    return float(cost / (Fraction(channel.epsilon) ** 2 / 2))


class ForgetsLaterReleases(Tree):
    """A broken twin: noise as if a user moved the release of the own cohort alone."""

    def node(self, levels):
        return super().node(WHOLE_WEIGHT**2)

    loss_of_one = property(lambda self: Loss.zcdp(Fraction(self.epsilon) ** 2 / 2))


@each_factorization
class TestLoss:
    def test_is_that_of_one_draw(self, counter, bands):
        for epsilon in (Fraction(1, 3), Fraction(2)):
            channel = factored(counter, bands, epsilon=epsilon, length=12)
            assert 1 - 1e-5 < channel.loss(1).epsilon(1e-6) / Loss.gaussian(1 / epsilon**2).epsilon(1e-6) <= 1
            halved = factored(counter, bands, epsilon=epsilon, length=12, divide=2)
            assert halved.node(halved.levels).scale == 2 * channel.node(channel.levels).scale

    def test_covers_what_one_user_moves(self, counter, bands):
        """The first user of a root counter moves a whole column: nothing is given away."""
        found = check_loss(factored(counter, bands, length=12))
        assert (1 - 1e-5 if counter == "root" else 0.5) < found <= 1

    def test_of_too_little_noise_is_noticed(self, counter, bands):
        with pytest.raises(AssertionError):
            check_loss(factored(counter, bands, length=12, kind=ForgetsLaterReleases))

    def test_of_a_vector_is_that_of_its_norm(self, counter, bands):
        channel = factored(counter, bands, length=12).carrying(linear_sums(3))
        whole = channel.node(channel.levels).scale / channel.steps(1)
        assert channel.loss(1) == Loss.zcdp(channel.levels * channel.statistics.square / (2 * whole**2))
        assert channel.loss(1).epsilon(1e-6) <= Loss.gaussian(1).epsilon(1e-6)


@pytest.mark.slow
def test_a_server_that_draws_its_noise_again_is_rejected(monkeypatch):
    """The mutant forgets what it released, so that sums have the noise of single releases."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")

    class Forgetful(Tree):
        @property
        def perturb(self):
            forget = "memory.estimates[stream] = memory.sums[stream]; scale, g ="
            return mutant(super().perturb, "scale, g =", forget, draws=self.noise.draws)

    exact = errors(factored("root"), 1000, exact=True)
    with pytest.raises(AssertionError, match="two distributions"):
        check_streams(exact, errors(factored("root", kind=Forgetful), 1000))


def test_noise_of_an_endless_counter_does_not_depend_on_its_length():
    long, short = (factored("endless", length=length) for length in (400, 40))
    assert long.law() == short.law()
    assert long.loss(1) == short.loss(1)
    assert long.weights[:40].tolist() == short.weights.tolist()


class TestRefusals:
    @for_each(
        ("name", "values"),
        [
            ("noise", {"noise": Skellam()}),
            ("length", {"length": 2**15}),
            ("bands", {"bands": 1}),
            ("bands", {"bands": 46}),
            ("bands", {"counter": "endless", "bands": 4}),
            ("bands", {"counter": "kary", "bands": 4}),
            ("arity", {"arity": 3}),
        ],
    )
    def test_of_settings_that_mean_nothing(self, name, values):
        with pytest.raises(InvalidValue, match=name):
            Tree(**{"counter": "root", "length": 45, "noise": DiscreteGaussian()} | values)

    @for_each("counter", list(FACTORIZATIONS))
    def test_of_one_release_more(self, counter):
        channel, rng = factored(counter, length=2), np.random.default_rng(1)
        kept, parts = channel.memory(1), (channel.parameters(), channel.law())
        found = [channel.perturb(parts[0], kept, parts[1], 0, 1.0, 1, 0, rng) for _ in range(2)]
        assert np.all(np.isfinite(found))
        with pytest.raises(InvalidValue, match="length"):
            channel.check_size(1, kept, 0)

    @for_each("counter", list(FACTORIZATIONS))
    def test_of_cohorts_whose_weighted_sums_are_too_large(self, counter):
        """Such a sum went around 64 bits, and the release was anything: in a cohort of the largest size it is right."""
        channel = factored(counter, length=4, grid=10**6)
        most = (2**62 - 1) // (10**6 * int(channel.weights.sum()))
        channel.check_size(most)
        totals = np.full(4, most * 10**6)
        np.testing.assert_allclose(stream(channel, totals, np.zeros(4, int)), totals, rtol=1e-12)
        with pytest.raises(InvalidValue, match="smaller on this grid"):
            channel.check_size(most + 1)
        with pytest.raises(InvalidValue, match="smaller on this grid"):
            channel.analyze(0, channel.offer(2 * most), seeded(1), answers=2 * most)

    def test_of_an_audit_by_enumeration(self):
        part, why = tree_part(factored("root"))
        assert part is None
        assert "discrete Laplace" in why


class TestMemory:
    def test_is_kept_as_text(self):
        channel, bits = factored("root"), seeded(1)
        kept = channel.memory(2)
        for m in range(5):
            channel.analyze(m, channel.offer(9), bits, kept, m % 2, answers=9)
        found = read_memory(write_memory(kept), channel.memory(2))
        for ours, theirs in zip(found, kept, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_of_a_tree_from_before_there_were_weights_is_read(self):
        kept = Tree(length=4).memory(2)
        old = json.dumps([each.tolist() for each in kept[:-1]])
        assert write_memory(read_memory(old, kept)) == write_memory(kept)

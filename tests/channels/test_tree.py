"""Running sums on trees: their noise, node by node, and what is stated of it; tests/audit has what they cost.

Distributions and matrices are exact here. Where draws are compared, seeds are fixed; under a new seed a random
assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.central import Central
from maskedbandit.channels.counters import compute_change, count_new_nodes, leaf_of
from maskedbandit.channels.tree import COUNTERS, Tree
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import SKELLAM, hybrid_epoch, nodes, widest_scale
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.noise import Noise
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.statistics import SINGLE_REWARD
from maskedbandit.reports.audit.trees import node_of
from tests.for_each import for_each
from tests.policies.mutants import mutant
from tests.statistics import mean_is, same_distribution_of_two, seeded
from tests.thrift import thrifty

GAUSSIAN = DiscreteGaussian()


def tree(counter, length=45, **values):
    """A tree of which every level is used; k = 5 makes nodes of every kind."""
    return Tree(epsilon=1, counter=counter, length=length, **({"arity": 5} if counter == "kary" else {}), **values)


each_counter = pytest.mark.parametrize("counter", COUNTERS)


@pytest.fixture
def as_python(monkeypatch):
    """Short runs: that compiled code draws the same is looked at below, and in the contract of channels."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


class TestLevels:
    @for_each(
        ("length", "levels"),
        [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (8, 4), (1000, 10), (1024, 11), (10**5, 17), (10**6, 20)],
    )
    def test_of_binary_trees(self, length, levels):
        assert Tree(counter="binary", length=length).levels == Tree(counter="honaker", length=length).levels == levels

    @for_each(("arity", "length", "levels"), [(3, 4, 2), (3, 5, 3), (13, 10**4, 4), (19, 10**6, 5)])
    def test_of_k_ary_trees(self, arity, length, levels):
        assert Tree(arity=arity, length=length).levels == levels

    @for_each(
        ("length", "noise", "arity"),
        [(1, None, 3), (1000, None, 13), (10**4, None, 29), (10**6, None, 19), (10**6, GAUSSIAN, 7)],
    )
    def test_default_arity(self, length, noise, arity):
        channel = Tree(length=length, noise=noise or DiscreteLaplace())
        assert channel.fan == arity
        worst = [replace(channel, arity=k) for k in range(3, 60, 2)]
        power = 3 if noise is None else 2
        cost = [each.levels**power * (each.fan - 1) for each in worst]
        assert channel.levels**power * (channel.fan - 1) <= min(cost)


def variances(law, out):
    for m in range(1, out.size + 1):
        out[m - 1] = nodes(law, m)


@cache
def table(counter, length, noise, arity=None):
    """Variance of the running sum at the end, on average and at worst, in squares of a node's scale."""
    channel = Tree(epsilon=1, counter=counter, length=length, noise=noise, arity=arity)
    out = np.zeros(length)
    compile_loop(variances, nodes=nodes)(channel.law(), out)
    square = channel.law().scale ** 2
    return [square * value for value in (out[-1], out.mean(), out.max())]


class TestVariance:
    """Against a table that an independent program made."""

    @for_each(
        ("counter", "arity", "length", "known"),
        [
            ("binary", None, 10**4, (1960, 2533, 5096)),
            ("honaker", None, 10**4, (987, 1424, 2863)),
            ("kary", 13, 10**4, (512, 383, 736)),
            ("binary", None, 10**6, (5600, 7908, 15200)),
            ("honaker", None, 10**6, (2804, 4275, 8243)),
            ("kary", 19, 10**6, (1400, 1142, 2200)),
        ],
    )
    def test_of_pure_privacy(self, counter, arity, length, known):
        """Laplace noise has twice the square of its scale."""
        found = table(counter, length, DiscreteLaplace(), arity)
        assert [2 * value for value in found] == pytest.approx(known, rel=6e-4)

    @for_each(
        ("counter", "arity", "length", "known"),
        [
            ("binary", None, 10**4, (35, 45.2, 91)),
            ("honaker", None, 10**4, (17.6, 25.4, 51.1)),
            ("kary", 13, 10**4, (32, 23.9, 46)),
            ("binary", None, 10**6, (70, 98.9, 190)),
            ("honaker", None, 10**6, (35.0, 53.4, 103)),
            ("kary", 7, 10**6, (64, 49.6, 88)),
        ],
    )
    def test_of_concentrated_privacy(self, counter, arity, length, known):
        """Times rho = epsilon^2 / 2."""
        found = table(counter, length, GAUSSIAN, arity)
        for value, number in zip(found, known, strict=True):
            assert value / 2 == pytest.approx(number, abs=0.51 if number > 100 else 0.051)

    def test_the_default_arity_is_better_than_the_one_in_the_table(self):
        ours, theirs = (table("kary", 10**4, DiscreteLaplace(), arity) for arity in (None, 13))
        assert ours[1] < 0.97 * theirs[1]
        assert ours[2] < 0.98 * theirs[2]

    def test_another_number_of_levels_is_noticed(self):
        found = table("binary", 2**14, DiscreteLaplace())
        assert 2 * found[2] != pytest.approx(5096, abs=0.51)


def stream(channel, totals, noises, step=compute_change):
    """Releases in steps of a stream whose nodes have these noises, in the order in which they are needed."""
    law, s, used, out = channel.law(), channel.memory(1), 0, []
    for m, total in enumerate(totals, 1):
        n = count_new_nodes(law, m)
        s.fresh[:n] = noises[used : used + n]
        used += n
        out.append(step(s, law, 0, int(total)))
    return out


def signs(channel, length):
    """L: the weight of every node's noise in every running sum, as the kernels have it."""
    count = sum(count_new_nodes(channel.law(), m) for m in range(1, length + 1))
    return np.cumsum([stream(channel, [0] * length, unit) for unit in np.eye(count, dtype=int)], axis=1).T


def intervals(channel, length):
    """L and R written down from the definition: the weights of nodes, and the leaves below each."""
    below, column, k = [], {}, channel.fan or 2

    def node(first, last):
        if (first, last) not in column:
            column[first, last] = len(below)
            below.append(np.zeros(10 * length * k))
            below[-1][first:last] = 1
        return column[first, last]

    rows = []
    for m in range(1, length + 1):
        found, start, left, digits = {}, 0, m, []
        if channel.counter == "hybrid":
            powers = [0] + [2**i for i in range(hybrid_epoch(m) + 1)]
            found = {node(first, last): 1.0 for first, last in pairwise(powers)}
            start, left = powers[-1], m - powers[-1]
        while left > 0:
            digits.append((left + k // 2) % k - k // 2 if channel.counter == "kary" else left % 2)
            left = (left - digits[-1]) // k
        for level, digit in reversed(list(enumerate(digits))):
            size = k**level
            for i in range(min(digit, 0), max(digit, 0)):
                found[node(start + i * size, start + (i + 1) * size)] = math.copysign(1, digit)
            if channel.counter == "honaker" and digit:
                found.update(averaged(node, start, size))
            start += digit * size
        rows.append(found)
    weights = np.zeros((length, len(below)))
    for row, found in enumerate(rows):
        for j, weight in found.items():
            weights[row, j] = weight
    return weights, np.array(below)


def averaged(node, first, size):
    """Weights of the best unbiased estimate of a sum, from the noisy sums of all nodes below: least squares."""
    below, width_of = [], 1
    while width_of <= size:
        below += [(i, i + width_of) for i in range(0, size, width_of)]
        width_of *= 2
    design = np.array([[float(a <= leaf < b) for leaf in range(size)] for a, b in below])
    weights = np.ones(size) @ np.linalg.pinv(design)
    return {node(first + a, first + b): weight for (a, b), weight in zip(below, weights, strict=True)}


@each_counter
class TestNodes:
    def test_make_prefix_sums(self, counter):
        """A = L R, with at most h nodes over a leaf; the kernels' noise has the covariance L L'."""
        channel, length = tree(counter), 45
        weights, below = intervals(channel, length)
        sums = weights @ below
        np.testing.assert_allclose(sums[:, :length], np.tril(np.ones((length, length))), atol=1e-12)
        np.testing.assert_allclose(sums[:, length:], 0, atol=1e-12)  # of leaves that are not there yet
        ours = signs(channel, length)
        np.testing.assert_allclose(ours @ ours.T, weights @ weights.T, atol=1e-12)
        assert ours.shape == weights.shape  # every node is drawn once
        assert below.sum(axis=0).max() <= (1 + hybrid_epoch(length) if counter == "hybrid" else channel.levels)

    def test_law_counts_them(self, counter):
        """nodes(law, m) draws of width(law, m) have the variance of the running sum."""
        channel, law = tree(counter), tree(counter).law()
        squares, used, widths = signs(channel, 45) ** 2, 0, []
        for m in range(1, 46):
            wide = 2 * max(1, hybrid_epoch(m)) if counter == "hybrid" and leaf_of(law, m) else law.scale
            widths += [wide**2] * count_new_nodes(law, m)
            used = len(widths)
            found = squares[m - 1, :used] @ widths
            assert nodes(law, m) * widest_scale(law, m) ** 2 == pytest.approx(found)

    def test_each_is_drawn_once(self, counter):
        drawn = []

        @dataclass(frozen=True)
        class Counted(DiscreteLaplace):
            def stretch(self, factor):
                return Counted(self.scale * factor)

            def noise_share(self, n, bits):
                drawn.append((n, self.scale))
                return super().noise_share(n, bits)

        channel, bits = tree(counter, noise=Counted()), seeded(1)
        kept = channel.memory(2)
        for m in range(1, 46):
            for arm in (0, 1):
                channel.analyze(3, channel.offer(7), bits, kept, arm, answers=7)
            assert kept.released.tolist() == [m, m]
        wide = [node_of(channel, m).scale for m in range(1, 46) for _ in range(2 * count_new_nodes(channel.law(), m))]
        assert drawn == [(1, scale) for scale in wide]  # as wide as the enumerations of the audit have it
        assert len(drawn) == 2 * len(intervals(channel, 45)[0][0])

    def test_adding_up_gives_the_sum_when_noise_is_silent(self, counter):
        channel = tree(counter)
        totals = np.random.default_rng(1).integers(0, 9, 45)
        assert stream(channel, totals, np.zeros(500, int)) == totals.tolist()

    @pytest.mark.sparing(1)
    def test_floats_tell_nothing(self, counter):
        """Another value of one cohort and other noises of the nodes above it give the very same floats."""
        channel, length, rng = tree(counter), 45, np.random.default_rng(2)
        count = signs(channel, length).shape[1]
        order = np.zeros(count, int)  # of the kernels' nodes in the list of intervals
        weights, below = intervals(channel, length)
        for i, column in enumerate(signs(channel, length).T):
            match = [j for j in range(count) if np.allclose(weights[:, j], column)]
            order[i] = match[0] if len(match) == 1 else next(j for j in match if j not in order[:i])
        for _ in range(200):
            totals, noises, leaf = rng.integers(0, 1000, length), rng.integers(-500, 500, count), rng.integers(length)
            other = totals.copy()
            other[leaf] += 1
            shifted = noises - below[order][:, leaf].astype(int)
            assert stream(channel, totals, noises) == stream(channel, other, shifted)


def composed(loss):
    """A loss as the curve that adds up: one draw has its exact epsilon too, which many draws do not."""
    return replace(loss, single=frozenset()).epsilon(1e-6)


class TestLoss:
    @each_counter
    def test_is_pure_and_exactly_epsilon(self, counter):
        for epsilon in (Fraction(1, 3), Fraction(7, 10), 2):
            for grid in (1, 4):
                channel = Tree(epsilon=epsilon, counter=counter, length=1000, grid=grid)
                assert [channel.loss(n).pure_epsilon for n in (1, 50)] == [epsilon, epsilon]
                assert replace(channel, divide=5).loss(1).pure_epsilon == Fraction(epsilon) / 5
                for scale in (Fraction(1, 3), Fraction(3)):
                    other = replace(channel, noise=DiscreteLaplace(scale))
                    assert other.loss(1).pure_epsilon == epsilon / scale

    @each_counter
    def test_of_gaussian_noise_is_that_of_one_draw(self, counter):
        for scale in (Fraction(1, 3), Fraction(1), Fraction(3)):
            noise = DiscreteGaussian(scale)
            one = Loss.gaussian(scale**2).epsilon(1e-6)
            assert composed(Central(epsilon=1, noise=noise).loss(1)) == one
            found = Tree(epsilon=1, counter=counter, length=1000, noise=noise).loss(1)
            assert found.single == frozenset()
            assert one * (1 - 1e-5) < found.epsilon(1e-6) <= one * (1.02 if counter == "kary" else 1)

    @for_each("scale", [Fraction(1, 3), Fraction(1), Fraction(3)], ids=str)
    def test_of_gaussian_noise_in_a_hybrid_counter_is_exactly_that_of_one_draw(self, scale):
        channel = Tree(epsilon="1/2", counter="hybrid", noise=DiscreteGaussian(scale), divide=5)
        assert channel.loss(1) == Loss.gaussian((scale * 10) ** 2)
        halves = 2 * channel.node(2).loss(1)  # the square root is rounded up, so this is a little less
        assert float(halves.curve[0] / channel.loss(1).curve[0]) == pytest.approx(1, abs=1e-5)

    @for_each("counter", ["binary", "honaker"])
    def test_of_skellam_noise_is_at_most_that_of_a_gaussian_draw(self, counter):
        found = Tree(epsilon="0.2", counter=counter, length=1000, noise=Skellam()).loss(1)
        assert found.single == frozenset()
        one = composed(Central(epsilon="0.2", noise=Skellam()).loss(1))
        assert one < found.epsilon(1e-6) < Loss.gaussian(25).epsilon(1e-6)  # wide Skellam noise is nearly that

    def test_dividing_by_arms_stretches_the_noise(self):
        assert tree("binary", divide=5).law().scale == 5 * tree("binary").law().scale


@dataclass(frozen=True)
class Unproved(DiscreteLaplace):
    """A noise that is new to the tree: it has a loss of its own, and no joint loss."""

    kind = Noise.kind
    variance = 2.0
    tail = 1.0

    def stretch(self, factor):
        return Unproved(self.scale * factor)

    def loss(self, sensitivity, noise_shares=1, statistics=SINGLE_REWARD):
        return Loss.pure(3 * statistics.l1 * sensitivity / self.scale)

    def joint_loss(self, l1, square, early):
        return Noise.joint_loss(self, l1, square, early)


class TestOtherNoises:
    @for_each("counter", ["kary", "hybrid"])
    def test_are_refused_where_nothing_is_proved_of_them(self, counter):
        for noise in (Unproved(), Skellam()):
            name = type(noise).__name__
            with pytest.raises(InvalidValue, match=f"counter is '{counter}'.*'binary' or 'honaker' with {name}"):
                tree(counter, noise=noise)

    @pytest.mark.sparing(1)
    @pytest.mark.parametrize("counter", ["binary", "honaker"])
    def test_cost_what_they_say_of_each_node(self, counter, as_python):
        channel = tree(counter, noise=Unproved())
        assert channel.loss(1).pure_epsilon == channel.levels * 3 / channel.node(channel.levels).scale
        check_streams(errors(channel, 500, exact=True), errors(channel, 500))

    def test_joint_losses_are_those_of_the_noise(self):
        """A tree restates none: a noise that says three times as much costs three times as much."""

        class Dearer(DiscreteLaplace):
            def stretch(self, factor):
                return type(self)(self.scale * factor)

            def joint_loss(self, l1, square, early):
                return 3 * super().joint_loss(l1, square, early)

        for counter in ("kary", "hybrid"):
            assert tree(counter, noise=Dearer()).loss(1).pure_epsilon == 3 * tree(counter).loss(1).pure_epsilon


# --- the lab draws what the server would --------------------------------------------------------------------------

perturb = None


def fill(parameters, memory, law, totals, out, rng):
    for i in range(out.shape[0]):
        for m in range(totals.size):
            out[i, m] = perturb(parameters, memory, law, i, totals[m], 1, 0, rng)


TOTALS = np.array([2.0, 0, 5, 1, 0, 3, 2])


def errors(channel, runs, exact=False, seed=3):
    """Noise of the running sums, [runs, releases], of an arm for each run."""
    out, memory, offer = np.zeros((runs, TOTALS.size)), channel.memory(runs), channel.offer(1)
    if exact:
        bits = seeded(seed)
        for i, m in np.ndindex(out.shape):
            out[i, m] = channel.analyze(TOTALS[m], offer, bits, memory, i, answers=1)
    else:
        rng = np.random.Generator(np.random.PCG64(seed))
        compile_loop(fill, perturb=channel.perturb)(channel.parameters(), memory, channel.law(), TOTALS, out, rng)
    return np.cumsum(out - TOTALS / channel.steps(1), axis=1)


def agree(a, b):
    """Two samples have one distribution; in forty cells at most."""
    edges = np.unique(np.quantile(np.round(np.concatenate([a, b]), 9), np.arange(1, 40) / 40, method="lower"))
    same_distribution_of_two(*(np.searchsorted(edges, np.round(each, 9)) for each in (a, b)))


# weights of the running sums after 1, ..., 7 releases
JOINT = [
    (0, 0, 0, 0, 0, 0, 1),
    (0, -1, 1, 0, 0, 0, 0),
    (0, 0, 0, 1, -2, 1, 0),
    (1, 1, 1, 1, 1, 1, 1),
    (0, 0, 1, -1, 0, 0, 1),
]


def check_streams(a, b):
    """Running sums, and sums and differences of them, in which kept noise comes back."""
    for weights in JOINT:
        agree(a @ np.array(weights), b @ np.array(weights))


@pytest.mark.sparing(1)
@each_counter
@pytest.mark.parametrize(
    "noise",
    thrifty([DiscreteLaplace(), GAUSSIAN, Skellam()], lambda noise: noise != DiscreteLaplace()),
    ids=["laplace", "gaussian", "skellam"],
)
def test_the_lab_releases_what_the_server_does(counter, noise, as_python):
    if noise.kind == SKELLAM and counter in ("kary", "hybrid"):
        with pytest.raises(InvalidValue, match="counter"):
            tree(counter, noise=noise)
        return
    channel = tree(counter, length=7, noise=noise, grid=2)
    exact, lab = errors(channel, 400, exact=True), errors(channel, 1000)
    check_streams(exact, lab[:400])
    for m in (1, 7):
        mean_is(lab[:, m - 1], 0)


@pytest.mark.slow
def test_a_lab_that_forgets_what_it_drew_is_rejected(as_python):
    """The mutant leaves the noise of older nodes in the running sum for ever."""

    class Forgetful(Tree):
        @property
        def perturb(self):
            forget = "memory.estimates[stream] = memory.sums[stream]; scale, g ="
            return mutant(super().perturb, "scale, g =", forget, draws=self.noise.draws)

    exact = errors(tree("binary"), 1000, exact=True)
    with pytest.raises(AssertionError, match="two distributions"):
        check_streams(exact, errors(Forgetful(epsilon=1, counter="binary", length=45), 1000))


@each_counter
def test_plain_python_releases_the_same_numbers(counter):
    channel, rng = tree(counter), np.random.Generator(np.random.PCG64(3))
    out, law, memory = np.zeros((5, 7)), channel.law(), channel.memory(5)
    for i, m in np.ndindex(out.shape):
        out[i, m] = channel.perturb(channel.parameters(), memory, law, i, TOTALS[m], 1, 0, rng)
    np.testing.assert_array_equal(np.cumsum(out - TOTALS, axis=1), errors(channel, 5))


class TestEnds:
    @each_counter
    def test_a_full_stream_is_refused(self, counter, as_python):
        channel, rng = Tree(counter=counter, length=3), np.random.default_rng(1)
        kept, bits = channel.memory(2), seeded(1)
        for _ in range(3):
            channel.analyze(1, channel.offer(1), bits, kept, 0, answers=1)
        if counter == "hybrid":
            assert math.isfinite(channel.perturb(channel.parameters(), kept, channel.law(), 0, 1.0, 1, 0, rng))
            return
        assert math.isnan(channel.perturb(channel.parameters(), kept, channel.law(), 0, 1.0, 1, 0, rng))
        with pytest.raises(InvalidValue, match="length"):
            channel.analyze(1, channel.offer(1), bits, kept, 0, answers=1)
        with pytest.raises(InvalidValue, match="length"):
            channel.check_size(1, kept, 0)
        with pytest.raises(InvalidValue, match="length"):
            channel.check_size(1, kept)  # some stream is full
        channel.check_size(1, kept, 1)
        channel.check_size(1)
        channel.analyze(1, channel.offer(1), bits, kept, 1, answers=1)
        with pytest.raises(InvalidValue, match="length"):
            mb.simulate(mb.policies.DPUCB(), channel, mb.Bernoulli([0.9, 0.1]), 100)

    @for_each(
        ("name", "value"),
        [
            ("grid", "paper"),
            ("counter", "ternary"),
            ("length", 0),
            ("length", 2.5),
            ("arity", 4),
            ("arity", 1),
            ("divide", 0),
            ("divide", True),
        ],
    )
    def test_settings_that_mean_nothing_are_refused(self, name, value):
        with pytest.raises(InvalidValue, match=name):
            Tree(**{name: value})

    def test_only_a_k_ary_tree_has_an_arity(self):
        with pytest.raises(InvalidValue, match="arity"):
            Tree(counter="binary", arity=3)

    def test_policies_of_independent_releases_are_refused(self):
        with pytest.raises(InvalidValue, match="independent"):
            mb.simulate(mb.policies.SuccessiveElimination(), Tree(), mb.Bernoulli([0.9, 0.1]), 100)

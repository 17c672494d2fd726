"""Vectors of statistics through every channel: their distributions, and that the loss stated is that of the whole
vector.

Distributions are enumerated. Where draws are compared, seeds are fixed; under a new seed each random assertion rejects
a correct channel with probability ALPHA = 1e-9.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.channels import room
from maskedbandit.channels.central import Central
from maskedbandit.channels.central_sum import CentralSum
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.local_sum import LocalSum
from maskedbandit.channels.pure_shuffled import PureShuffled
from maskedbandit.channels.raw import Raw
from maskedbandit.channels.response import Response
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.tree import COUNTERS, Tree
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import Implausible, InvalidValue, ModulusTooSmall
from maskedbandit.law import count_steps
from maskedbandit.noise_bounds import radius
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics, clip_context, linear_sums, reward_sums
from maskedbandit.reports.audit.trees import WORST
from maskedbandit.theory.noise_pmf import log_pmf
from tests.audit.events import worst_ratio
from tests.audit.test_trees import CASES
from tests.contracts.channel_rules import agree, exactly, simulated
from tests.for_each import for_each
from tests.privacy.test_statistics import added
from tests.statistics import mean_is, seeded

# two bits; and what users who add (1, 0), (0, 1/2) or nothing can be apart, each with its worst pair
BITS = Statistics(size=2, l1=2, square=2, low=0, steps=1, moved=2), (1, 1), (0, 0)
HALVES = (
    Statistics(size=2, l1=Fraction(3, 2), square=Fraction(5, 4), low=-1, steps=2, moved=2),
    (1, 0),
    (0, Fraction(1, 2)),
)
FAR = 120
Z = np.arange(-FAR, FAR + 1)

each_vector = pytest.mark.parametrize(("statistics", "u", "v"), [BITS, HALVES], ids=["bits", "halves"])


def released(channel, vector, n=1):
    """ln of the distribution of a noisy vector, over all pairs of whole numbers of steps from -FAR to FAR."""
    one, other = (int(x * channel.steps(n)) for x in vector)
    pmf = channel.release_noise(n).pmf
    with np.errstate(divide="ignore"):
        return np.log(pmf(Z - one))[:, None] + np.log(pmf(Z - other))[None, :]


def renyi(log_p, log_q, order):
    seen = (log_p > -600) & (log_q > -600)
    return np.logaddexp.reduce(order * log_p[seen] + (1 - order) * log_q[seen]) / (order - 1)


def alone(statistics):
    """A mutant whose numbers are hidden as if each were alone."""
    return replace(statistics, l1=1, square=1)


@each_vector
@for_each("grid", [1, 3])
@for_each("channel", [Central, CentralSum, Local, LocalSum, Distributed, TwoServers])
class TestPure:
    def test_the_worst_pair_costs_epsilon(self, channel, grid, statistics, u, v):
        made = channel("0.5", grid=grid).carrying(statistics)
        found = np.abs(released(made, u) - released(made, v)).max()
        assert found == pytest.approx(0.5, rel=1e-9)
        assert [made.loss(n).pure_epsilon for n in (1, 5)] == [Fraction(1, 2)] * 2

    def test_noise_for_one_number_costs_more(self, channel, grid, statistics, u, v):
        """The control."""
        broken = channel("0.5", grid=grid).carrying(alone(statistics))
        assert np.abs(released(broken, u) - released(broken, v)).max() == pytest.approx(float(statistics.l1) / 2)


@each_vector
@for_each("noise", [DiscreteGaussian(), Skellam()], ids=["gaussian", "skellam"])
class TestConcentrated:
    def test_the_worst_pair_is_below_the_loss_and_near(self, noise, statistics, u, v):
        made = Central("0.5", noise, grid=2).carrying(statistics)
        p, q, loss = released(made, u), released(made, v), made.loss(1)
        for order, bound in zip(ORDERS, loss.curve, strict=True):
            if order <= 8:
                found = renyi(p, q, float(order))
                assert found <= float(bound) * (1 + 1e-9)
                if order in (3, 5):  # between whole orders the bound of Skellam noise is a chord
                    assert float(bound) < found * (1.001 if noise.kind == DiscreteGaussian.kind else 1.1)
        if noise.kind == DiscreteGaussian.kind:
            assert loss == Loss.zcdp(statistics.square * made.steps(1) ** 2 / (2 * made.release_noise(1).scale ** 2))
            assert Fraction(1, 8) * (1 - Fraction(1, 10**5)) < loss.curve[0] / ORDERS[0] <= Fraction(1, 8)

    def test_noise_for_one_number_is_above_it(self, noise, statistics, u, v):
        """The control."""
        broken, loss = (Central("0.5", noise, 2).carrying(each) for each in (alone(statistics), statistics))
        p, q = released(broken, u), released(broken, v)
        assert renyi(p, q, 3.0) > 1.05 * float(loss.loss(1).curve[ORDERS.index(3)])


class TestShares:
    """Of a discrete Gaussian: their sum is not quite a whole draw, which each number pays for."""

    def test_two_numbers_cost_twice_one(self):
        noise = DiscreteGaussian().stretch(Fraction(10))
        for noise_shares, g in product((2, 7, 49), (1, 3)):
            assert noise.loss(g, noise_shares, BITS[0]) == 2 * noise.loss(g, noise_shares)

    def test_a_number_that_stays_pays_too(self):
        noise = DiscreteGaussian().stretch(Fraction(10))
        one_moves = replace(BITS[0], l1=1, square=1)
        assert noise.loss(1, 50, one_moves).curve[0] > noise.loss(1, 50).curve[0] > noise.loss(1).curve[0]
        assert noise.loss(1, 1, BITS[0]) == Loss.zcdp(Fraction(1, 100))

    @for_each(("statistics", "moved"), [(linear_sums(2), 10), (reward_sums(3), 3)])
    def test_every_number_that_moves_brings_its_own_part_of_xi(self, statistics, moved):
        """Two noise shares as narrow as can be: with wider noise, or more, the other bound would be the least."""
        n, scale = 2, Fraction(2)
        xi = 10 * np.exp(-2 * np.pi**2)  # of a variance of 2 for each, k = 1
        square, l1 = float(statistics.square / scale**2), float(statistics.l1 / scale)
        found = float(DiscreteGaussian(scale).loss(1, n, statistics).curve[0] / ORDERS[0])
        right, wrong = (min(square + s * xi / 2, square + 2 * xi * l1 + s * xi * xi) / 2 for s in (moved, moved + 1))
        assert found == pytest.approx(right, rel=1e-10)
        assert found != pytest.approx(wrong, rel=1e-9)

    def test_the_sum_of_noise_shares_costs_no_more(self):
        made = Distributed("0.25", DiscreteGaussian()).carrying(BITS[0])
        n, z = 3, np.arange(-60, 61)
        one = DiscreteGaussian(made.release_noise(n).scale).pmf(z)  # the reference of a whole draw
        noise_share = np.exp(-(z**2.0) * n / (2 * float(made.release_noise(n).scale) ** 2))
        mass = np.convolve(np.convolve(noise_share, noise_share), noise_share)
        mass = np.log(mass / mass.sum())
        p, q = mass[1:, None] + mass[None, 1:], mass[:-1, None] + mass[None, :-1]
        assert one.sum() == pytest.approx(1)
        for order, bound in zip(ORDERS, made.loss(n).curve, strict=True):
            if order <= 4:
                assert renyi(p, q, float(order)) <= float(bound) * (1 + 1e-9) < 1.01 * renyi(p, q, float(order))


def hidden(channel, one, other, models=("a", "b")):
    """The pure loss of two users' contexts and rewards under discrete Laplace noise, in one model or in two."""
    (z, r), (y, s) = one, other
    u, v = (np.rint(added(*each) * channel.steps(10)).astype(int).tolist() for each in ((z, r), (y, s)))
    moved = [abs(a) + abs(b) for a, b in zip(u, v, strict=True)]
    if models[0] == models[1]:
        moved = [abs(a - b) for a, b in zip(u, v, strict=True)]
    return Fraction(sum(moved)) / channel.release_noise(10).scale


class TestLinear:
    """The statistics of linear models; in whole steps, hence exactly."""

    @for_each("d", [1, 2, 6])
    def test_no_two_users_cost_more_than_epsilon(self, d):
        channel, rng = Central("0.5").carrying(linear_sums(d)), np.random.default_rng(5)
        even = clip_context(np.full(d, d**-0.5)), 1
        assert Fraction(49, 100) < hidden(channel, even, even) <= Fraction(1, 2)
        for _ in range(300):
            pair = [(clip_context(rng.standard_normal(d) * 3), int(rng.integers(2))) for _ in range(2)]
            for models in ("aa", "ab"):
                assert hidden(channel, *pair, models) <= Fraction(1, 2)

    @for_each("d", [2, 6])
    def test_contexts_that_nobody_clipped_do(self, d):
        """The control: each of their numbers is in range, so no device refuses them."""
        channel, ones = Central("0.5").carrying(linear_sums(d)), (np.ones(d), 1)
        for x in added(*ones):
            channel.randomize(x, channel.offer(10), seeded(1))
        assert hidden(channel, ones, ones) > 1.3 * Fraction(1, 2)

    def test_noise_for_one_model_is_too_little_for_two(self):
        even = clip_context(np.full(6, 6**-0.5)), 1
        broken = Central("0.5").carrying(replace(linear_sums(6), l1=linear_sums(6).l1 / 2))
        assert hidden(broken, even, even) > Fraction(9, 10)
        assert hidden(Central("0.5").carrying(linear_sums(6)), even, even) <= Fraction(1, 2)


class TestTrees:
    @pytest.mark.sparing(1)
    @pytest.mark.parametrize("counter", [each for each in COUNTERS if each != "honaker"])
    def test_views_of_two_trees_cost_epsilon(self, counter):
        """Their noises are independent, so the log-ratios of the trees add up."""
        length, far, epsilon, core = CASES[counter]
        made = Tree(epsilon=2 * epsilon, counter=counter, length=length, arity=3 if counter == "kary" else None)
        made = made.carrying(BITS[0])
        assert made.loss(1).pure_epsilon == 2 * epsilon
        assert 2 * worst_ratio(made, WORST[counter], length, far, core) == pytest.approx(2 * epsilon, abs=4e-3)
        broken = made.carrying(alone(BITS[0]))
        assert 2 * worst_ratio(broken, WORST[counter], length, far, core) > 3.9 * epsilon  # the control

    @for_each("counter", COUNTERS)
    @for_each("noise", [DiscreteLaplace(), DiscreteGaussian(), Skellam()], ids=lambda z: type(z).__name__)
    def test_nodes_are_stretched_by_the_norm_and_the_loss_stays(self, counter, noise):
        if noise.kind == Skellam.kind and counter in ("kary", "hybrid"):
            return
        one, order = Tree("0.5", noise, counter=counter, length=100, grid=2), ORDERS.index(3)
        for statistics in (linear_sums(6), reward_sums(3), BITS[0]):
            made = one.carrying(statistics)
            norm = noise.norm(statistics)
            assert norm == (statistics.l1 if noise.kind == DiscreteLaplace.kind else noise.norm(statistics))
            assert norm**2 >= statistics.square
            assert made.node(7).scale == one.node(7).scale * norm * statistics.steps
            assert made.law().scale == pytest.approx(one.law().scale * float(norm))
            assert made.law().grid == made.steps(1) == 2 * statistics.steps
            if noise.kind == DiscreteLaplace.kind:
                assert made.loss(9).pure_epsilon == Fraction(1, 2)
            elif noise.kind == DiscreteGaussian.kind:
                for a, b in zip(made.loss(9).curve, one.loss(9).curve, strict=True):
                    assert b * (1 - Fraction(1, 10**5)) < a <= b * (1 + Fraction(1, 10**9))
            else:
                assert float(made.loss(9).curve[order]) == pytest.approx(float(one.loss(9).curve[order]), rel=0.1)


class TestOtherSums:
    def test_split_and_mix_pays_for_every_number_that_moves(self):
        for statistics, moved in (
            (linear_sums(2), 10),
            (linear_sums(3, False), 18),
            (reward_sums(3), 3),
        ):  # of two models, or of one
            assert SplitAndMix("0.5").carrying(statistics).delta() == moved * SplitAndMix("0.5").delta()
        made = SplitAndMix("0.5").carrying(linear_sums(2))
        assert made.loss(100) == Loss.approximate("0.5", made.delta())
        assert made.messages(100) >= SplitAndMix("0.5").messages(100)
        with pytest.raises(InvalidValue, match="epsilon"):
            SplitAndMix(1, eta="0.1").carrying(linear_sums(2))

    def test_pure_shuffled_spends_half_on_the_noise_of_the_whole_vector(self):
        made = PureShuffled("0.5").carrying(linear_sums(2))
        assert made.summed == Distributed("0.25").carrying(linear_sums(2))
        assert made.loss(100).pure_epsilon == Fraction(1, 2)

    def test_attempts_are_paid(self):
        backend = SecAgg(smallest=1)
        made = Distributed(1, backend=backend).carrying(linear_sums(2))
        assert made.loss(100) == Loss.pure(1) * backend.attempts


SIGNED = Statistics(size=3, l1=4, square=4, low=-1, steps=4, moved=3)
VALUES = [-1, 0.75, -0.25, -1, -0.5, -1]  # one number of six users
CHANNELS = [
    Raw(),
    Central("0.8"),
    Central("0.8", DiscreteGaussian(), grid=3),
    Local("0.8"),
    Local("0.8", Skellam()),
    CentralSum("0.8"),
    LocalSum("0.8"),
    LocalSum("0.8", DiscreteGaussian(), grid=3),
    Distributed("0.8"),
    Distributed("0.8", honest="0.5", modulus="tight"),
    Distributed("0.8", DiscreteGaussian(), modulus=100_003),
    TwoServers("0.8"),
    SplitAndMix("0.8"),
    PureShuffled("0.8"),
    *(Tree("0.8", counter=counter, length=16) for counter in COUNTERS),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: type(channel).__name__)
class TestLaw:
    @pytest.mark.sparing(1)
    def test_the_lab_draws_what_the_devices_release(self, channel):
        made = channel.carrying(SIGNED)
        exact, lab = exactly(made, VALUES, 200), simulated(made, VALUES, 200, plain=True)
        agree(exact, lab)
        mean_is(np.add(exact, np.linspace(-1e-9, 1e-9, 200)), sum(VALUES))
        if not isinstance(channel, Raw):
            assert len(set(exact)) > 20
            narrow = channel.carrying(replace(SIGNED, l1=1, square=Fraction(1, 4)))
            with pytest.raises(AssertionError, match="two distributions"):
                agree(exact, simulated(narrow, VALUES, 200, plain=True))

    def test_steps_and_scales_of_the_law_are_those_of_the_noise(self, channel):
        made = channel.carrying(linear_sums(6))
        law = made.law()
        if isinstance(channel, Raw):
            assert law == channel.law()
        else:
            inner = getattr(made, "summed", made)
            whole = inner.node(7) if isinstance(inner, Tree) else inner.release_noise(1000)
            assert count_steps(law, 1000) == inner.steps(1000) == channel.law().grid * 2**16
            if not isinstance(inner, Tree):
                assert law.scale * count_steps(law, 1000) == pytest.approx(float(whole.scale), rel=1e-12)

    @for_each("value", [0.3, 1.25, -1.25, float("nan"), float("inf"), "x", None, 2**-60])
    def test_numbers_are_whole_steps_in_range(self, channel, value):
        made = channel.carrying(SIGNED)
        with pytest.raises(InvalidValue, match="statistic"):
            made.randomize(value, made.offer(6).at(0), seeded(1))

    def test_carrying_is_for_good(self, channel):
        made = channel.carrying(SIGNED)
        assert made != channel
        assert made.carrying(SINGLE_REWARD) == channel == channel.carrying(SINGLE_REWARD)
        assert repr(made) == repr(channel)  # what it carries belongs to the policy
        with pytest.raises(InvalidValue, match="statistics"):
            replace(channel, statistics=6)


@for_each("channel", [Response(), Shuffled()])
def test_single_bits_carry_no_vectors(channel):
    assert channel.carrying(SINGLE_REWARD) is channel
    with pytest.raises(InvalidValue, match="single bits"):
        channel.carrying(linear_sums(2))


def test_every_channel_is_here():
    missing = {room[name] for name in room} - {type(channel) for channel in CHANNELS} - {Response, Shuffled}
    assert not missing, f"add them to CHANNELS: {missing}"


@for_each("channel", [Central, CentralSum, Local, LocalSum, Distributed, TwoServers])
def test_vectors_have_steps_of_their_own(channel):
    for grid in ("paper", Grid(fineness=Fraction(2))):
        with pytest.raises(InvalidValue, match="grid"):
            channel(grid=grid).carrying(SIGNED)


def test_rounding_would_take_vectors_further_apart():
    """Why numbers must be whole: each of 8 equal ones is rounded away from the other user's, with some probability."""
    d, g = 8, 4
    z = np.full(d, d**-0.5)
    rounded = np.ceil(z * g) / g
    assert np.abs(rounded).sum() > reward_sums(d).l1


class Unsigned(Distributed):
    """A mutant that leaves no residues for negative sums."""

    def parameters(self):
        return super().parameters()._replace(low=0)


def test_negative_sums_have_residues_of_their_own():
    n, made = 50, Distributed(10, modulus="tight").carrying(SIGNED)
    m, room_for_noise = made.residues(n)
    assert m == 2 * n * 4 + 2 * room_for_noise + 1
    for total in (-4 * n - room_for_noise, -1, 0, 4 * n + room_for_noise):
        assert made.analyze(total % m, made.offer(n), seeded(1), answers=n) == total / 4
        assert made.perturb(made.parameters(), made.memory(1), made.law(), 0, float(total), n, 0, None) == total / 4
    broken = Unsigned(10, modulus="tight").carrying(SIGNED)
    with pytest.raises(ModulusTooSmall, match="at least 401 for a cohort of 50 users"):
        broken.offer(n)  # whose devices count with sums of -200 to 200, and its server with none below 0


def test_sums_that_no_cohort_has_are_implausible():
    n, made = 50, Distributed(10).carrying(SIGNED)
    m, room_for_noise = made.residues(n)
    assert m > 2 * n * 4 + 2 * room_for_noise + 1
    with pytest.raises(Implausible):
        made.analyze((-4 * n - room_for_noise - 1) % m, made.offer(n), seeded(1), answers=n)


@pytest.mark.slow
@for_each(
    "channel",
    [Distributed(backend=SecAgg(smallest=1)), TwoServers(backend=SealedShares()), SplitAndMix(backend=Shuffler())],
    ids=lambda channel: type(channel).__name__,
)
def test_real_protocols_carry_negative_numbers(channel):
    made, bits, n, values = channel.carrying(SIGNED), seeded(1), 6, VALUES
    for cohort in range(5):
        sent = [made.randomize(value, made.offer(n).at(position), bits) for position, value in enumerate(values)]
        total = made.analyze(
            made.aggregate(sent, made.offer(n), bits, b"number %d" % cohort).total, made.offer(n), bits, answers=n
        )
        assert abs(total - sum(values)) < radius(made.law(), 1, n, 25.0)


def test_noise_of_wide_vectors_has_its_distribution_in_the_lab():
    """2^16 steps and the norm of 27 numbers: a scale of 10^5 steps or more; the variance is that of the `Law`."""
    for channel, variance in ((Central(1), 2.0), (Central(1, DiscreteGaussian()), 1.0)):
        made = channel.carrying(linear_sums(6))
        law, rng = made.law(), np.random.Generator(np.random.PCG64(3))
        scale = law.scale * count_steps(law, 100)
        square = [(made.draws(scale, 1.0, rng) / scale) ** 2 for _ in range(4000)]
        mean_is(square, variance)
        assert log_pmf(law, 100, 0.0) < math.log(10**-5)


def test_streams_are_models_times_numbers():
    made = Tree("0.5", length=8).carrying(SIGNED)
    kept, bits = made.memory(2 * SIGNED.size), seeded(4)
    for _ in range(3):
        for stream in range(2 * SIGNED.size):
            made.analyze(-4, made.offer(1), bits, kept, stream, answers=1)
    assert kept.released.tolist() == [3] * 6

"""Rewards as whole numbers and sums as residues: exact, unbiased, and the margin for the noise as promised.

Seeds are fixed; under a new seed each random assertion rejects a correct codec with probability ALPHA = 1e-9.
"""

import inspect
import math
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.channels.codec import (
    Grid,
    ModulusRule,
    check_contribution,
    choose_modulus,
    encode_reward,
    noise_margin,
    unwrap_residue,
)
from maskedbandit.channels.distributed import Distributed
from maskedbandit.errors import Implausible, InvalidValue, ModulusTooSmall, RewardOutOfRange
from maskedbandit.law import count_draws, count_steps
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.sampling import Bits
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, seeded


class TestGrid:
    def test_by_hand(self):
        assert [Grid(3).steps(Fraction(1, 2), n) for n in (1, 10**9)] == [3, 3]
        fine = Grid(fineness=Fraction(1))
        assert [fine.steps(Fraction(1, 2), n) for n in (1, 4, 5, 16, 17, 65536)] == [1, 1, 2, 2, 3, 128]

    def test_is_the_least_whole_number_at_or_above_the_root(self):
        for n in range(1, 3000):
            g = Grid(fineness=Fraction(7, 5)).steps(Fraction(3, 10), n)
            assert g**2 >= Fraction(21, 50) ** 2 * n > (g - 1) ** 2

    def test_of_the_paper(self):
        assert Distributed(epsilon=1, grid="paper").steps(65536) == 256
        assert Distributed(epsilon=1, grid="paper", noise=Skellam()).steps(65536) == 2560
        assert Distributed(epsilon=1, grid="paper", noise=DiscreteGaussian()).steps(100) == 100

    @for_each("wrong", [0, -1, 1.5, "coarse", None, True])
    def test_is_a_whole_number(self, wrong):
        with pytest.raises(InvalidValue, match="grid"):
            Grid(wrong)

    @for_each("wrong", [-1, float("nan"), "fine", None])
    def test_fineness_is_a_number(self, wrong):
        with pytest.raises(InvalidValue, match="fineness"):
            Grid(fineness=wrong)


class TestEncode:
    @pytest.mark.sparing(2)
    @pytest.mark.parametrize("g", [1, 3, 10])
    @pytest.mark.parametrize("reward", [0.3, Fraction(1, 3), 0.999, 1e-300])
    def test_distribution(self, reward, g):
        """One of the two integers around, so that the mean is kept."""
        bits, low = seeded(2), math.floor(Fraction(reward) * g)
        part = float(Fraction(reward) * g - low)
        sample = np.array([encode_reward(reward, g, bits) for _ in range(6000)])
        assert set(sample) <= {low, low + 1}
        if 1e-9 < part < 1 - 1e-9:
            same_distribution(sample, lambda z: np.where(z == low, 1 - part, np.where(z == low + 1, part, 0)))

    def test_rounding_to_the_nearest_is_rejected(self):
        with pytest.raises(AssertionError):
            same_distribution(
                np.array([round(0.3 * 3)] * 20_000), lambda z: np.where(z == 0, 0.1, np.where(z == 1, 0.9, 0))
            )

    def test_multiples_are_kept(self):
        bits = seeded(3)
        assert [encode_reward(Fraction(i, 7), 7, bits) for i in range(8)] == list(range(8))
        assert [encode_reward(x, 5, bits) for x in (0, 1, 0.0, 1.0)] == [0, 5, 0, 5]

    def test_a_float_is_what_it_is(self):
        """0.1 is a little more than one tenth, and exactly so much more often is it rounded up."""

        class Top:
            def below(self, n):
                self.n = n
                return 0

        encode_reward(0.1, 1, top := Top())
        assert top.n == Fraction(0.1).denominator != 10

    @for_each("reward", [-0.1, 1.1, math.nan, math.inf, "x", None, 1j, [], -1e-300])
    def test_out_of_range(self, reward):
        with pytest.raises(RewardOutOfRange):
            encode_reward(reward, 3, seeded(1))


class TestModulusRule:
    @for_each("n", [1, 5, 64])
    @for_each("margin", [0, 3, 40])
    def test_every_sum_in_the_window_is_unwrapped(self, n, margin):
        m = choose_modulus(ModulusRule(0.1, 0, 1, 0), Distributed().law(), n, margin)
        window = range(-margin, n + margin + 1)
        assert m == len(window)
        assert [unwrap_residue(total % m, m, n + margin) for total in window] == list(window)
        assert unwrap_residue((n + margin + 1) % m, m, n + margin) == -margin  # one more wraps around

    def test_a_power_of_two_has_room_to_spare(self):
        m = choose_modulus(ModulusRule(0.1, 0, 0, 0), Distributed().law(), 64, 40)
        assert m == 256
        assert [unwrap_residue(total % m, m, 104) for total in range(-40, 105)] == list(range(-40, 105))

    def test_paper(self):
        """The printed grid and tail for n = 65536, epsilon = 1, failure 1e-6: g = 256 and a modulus of 25 bits."""
        paper = Distributed(epsilon=1, grid="paper", tail="paper", modulus="tight", failure=1e-6)
        assert paper.residues(65536) == (16_784_647, 3715)

    @for_each("failure", [1e-6 / (2 * 10 * 16**2), 2e-6 / (2 * 10 * 16**2)])
    def test_one_step(self, failure):
        """The same with g = 1 and a union over arms and cohorts: 17 bits; a two-sided ln(2/p') adds at most one."""
        one = Distributed(epsilon=1, modulus="tight", failure=failure)
        m, tau = one.residues(65536)
        assert tau in (23, 24)
        assert m == 65536 + 2 * tau + 1
        assert Distributed(epsilon=1, modulus="tight", failure=1.5e-6 / 5120).residues(65536) == (65_583, 23)

    @for_each(("honest", "tau"), [("0.8", 506), ("0.64", 526), ("0.5", 552), ("1/3", 605)])
    def test_chernoff(self, honest, tau):
        """Margins for surplus noise shares, at scale 32 and failure 1e-5, computed apart from the package."""
        channel = Distributed(epsilon="1/32", honest=honest, failure=1e-5)
        assert channel.residues(75 if honest == "1/3" else 100)[1] == tau

    @for_each(
        ("honest", "n", "least"),
        [(1, 100, 368), ("0.8", 100, 387), ("0.64", 64, 408), ("0.5", 100, 434), ("1/3", 75, 486)],
    )
    def test_surplus_noise_shares_have_room(self, honest, n, least):
        """The least margin for the noise shares of all n users, at scale 32 and failure 1e-5: it is always there.

        [CZ23, Thm. 1] gives 391 whatever the surplus is, which is too little from about 1.3 draws on.
        """
        channel = Distributed(epsilon="1/32", honest=honest, failure=1e-5)
        mass = DiscreteLaplace(32).pmf(np.arange(5000), n / channel.counted_on(n))
        tails = 2 * np.cumsum(mass[::-1])[::-1]  # P(|Z| >= z)
        assert np.argmax(tails <= 1e-5) - 1 == least
        assert least <= channel.residues(n)[1]
        paper = Distributed(epsilon="1/32", honest=1, failure=1e-5, tail="paper").residues(n)[1]
        assert paper == 391
        assert (tails[paper + 1] > 1e-5) == (n / channel.counted_on(n) > 1.3)

    def test_one_draw_is_exact(self):
        """P(|Z| >= 369) is the first below 1e-5, so a margin of 368 is the least: the formula leaves one to spare."""
        assert Distributed(epsilon="1/32", failure=1e-5).residues(100)[1] - 1 == 368
        assert 2 * DiscreteLaplace(32).pmf(np.arange(369, 3000)).sum() <= 1e-5
        assert 2 * DiscreteLaplace(32).pmf(np.arange(368, 3000)).sum() > 1e-5

    @pytest.mark.slow
    @for_each("noise", [DiscreteLaplace(), Skellam(), DiscreteGaussian()])
    @for_each("honest", ["1", "0.8", "0.5", "0.2"])
    @for_each("choice", ["chernoff", "paper"])
    @for_each("failure", [0.9, 0.5, 1e-3, 1e-12])
    def test_room_is_exceeded_no_more_often_than_promised(self, noise, honest, choice, failure):
        n = 10
        channel = Distributed("0.1", noise, 1, honest, modulus="tight", tail=choice, failure=failure)
        tau = channel.residues(n)[1]
        tails = 2 * channel.release_noise(n).pmf(np.arange(tau + 1, tau + 6000), n / channel.counted_on(n)).sum()
        assert tails <= failure

    def test_room_for_one_draw_does_not_hold_two(self):
        """The control: noise shares of n users, of whom half would make one draw."""
        law = Distributed("0.1", Skellam(), honest=1).law()
        margin = noise_margin(ModulusRule(1e-9, 0, 1, 0), law, 10)
        assert 2 * Skellam(10).pmf(np.arange(margin + 1, margin + 3000), 2.0).sum() > 1e-9

    def test_a_modulus_that_is_too_small_is_refused(self):
        channel = Distributed(epsilon=1, modulus=100)
        assert channel.residues(10)[0] == 100
        for refused in (
            lambda: channel.offer(90),
            lambda: channel.check_size(90),
            lambda: channel.analyze(1, replace(channel.offer(10), n=90), seeded(1), answers=90),
        ):
            with pytest.raises(ModulusTooSmall, match="at least 149 for a cohort of 90 users"):
                refused()
        law = channel.law()
        total = Distributed.perturb(channel.parameters(), channel.memory(1), law, 0, 45.0, 90, 0, None)
        assert math.isnan(total)
        assert count_steps(law, 90) == count_draws(law, 1, 90) == 1


def test_rewards_are_encoded_without_floats():
    """`float` appears in the annotation of a reward alone: a reward is turned into a Fraction at once."""
    source = (inspect.getsource(encode_reward) + inspect.getsource(check_contribution)).replace(
        "reward: float", "reward"
    )
    assert offences(source) == offences(inspect.getsource(Grid.steps)) == []


def test_a_float_in_an_encoder_is_seen():
    def encode(reward, g, bits):
        return int(reward * g + bits.below(2**53) / 2.0**53)

    assert {what for _, what in offences(inspect.getsource(encode))} == {"/", "literal 2.0"}


@for_each("reward", [1, True, 1.0, np.float32(1), np.float64(1), np.int8(1), Fraction(1), Decimal(1)])
def test_every_kind_of_number_is_a_reward(reward) -> None:
    assert encode_reward(reward, 5, seeded(1)) == 5


@for_each("reward", ["1", "0.5", None, [1], 1j, np.float32("nan"), Decimal("inf"), np.nextafter(1, 2)])
def test_what_is_no_number_in_the_unit_interval_is_no_reward(reward) -> None:
    with pytest.raises(RewardOutOfRange):
        encode_reward(reward, 5, seeded(1))


class TestImplausibleSums:
    """Poison that shows, and poison that does not."""

    def test_a_sum_where_noise_does_not_lead_is_refused(self):
        channel = Distributed(epsilon=1)
        m, margin = channel.residues(100)
        assert channel.analyze(m - margin, channel.offer(100), Bits(), answers=100) == -margin
        assert channel.analyze(100 + margin, channel.offer(100), Bits(), answers=100) == 100 + margin
        for residue in (101 + margin, 160, m - margin - 1):
            with pytest.raises(Implausible, match="100 rewards"):
                channel.analyze(residue, channel.offer(100), Bits(), answers=100)

    def test_one_device_can_move_a_sum_by_half_the_modulus(self):
        """And is noticed; by as much as all rewards and the margin for noise take, it is not."""
        channel, bits = Distributed(epsilon=1), seeded(1)
        offer = channel.offer(100)
        sent = [channel.randomize(0, offer, bits) for _ in range(100)]
        m, honest = offer.modulus, channel.analyze(sum(sent), offer, bits, answers=100)
        assert m == 256
        with pytest.raises(Implausible):
            channel.analyze(sum(sent) + m // 2 + 40, offer, bits, answers=100)
        assert channel.analyze(sum(sent) + 90, offer, bits, answers=100) == honest + 90

    @for_each(("epsilon", "n", "times"), [(1, 1000, 1.1), (1, 64, 1.9), ("0.1", 64, 9.7), ("0.01", 64, 87.4)])
    def test_the_worst_shift_is_more_than_the_cohort(self, epsilon, n, times):
        """From a cohort in which everything is as low as it goes to one where everything is as high."""
        channel = Distributed(epsilon)
        _, margin = channel.residues(n)
        assert channel.analyze(-margin, channel.offer(n), Bits(), answers=n) == -margin
        assert channel.analyze(-margin + n + 2 * margin, channel.offer(n), Bits(), answers=n) == n + margin
        assert channel.poisoning(n) == n + 2 * margin == pytest.approx(times * n, abs=0.05 * n)

    @for_each("more", [{}, {"grid": 3}, {"honest": "0.7"}, {"modulus": "tight"}, {"failure": 0.01}, {"modulus": 1000}])
    def test_the_worst_shift_by_all_residues(self, more):
        channel, found = Distributed(1, **more), []
        for residue in range(channel.residues(20)[0]):
            with suppress(Implausible):
                found.append(channel.analyze(residue, channel.offer(20), Bits(), answers=20))
        assert channel.poisoning(20) == pytest.approx(max(found) - min(found))

    def test_honest_noise_that_wraps_often_is_not_refused(self):
        channel = Distributed(epsilon=1, failure=0.1)
        m, margin = channel.residues(100)
        assert channel.analyze(101 + margin, channel.offer(100), Bits(), answers=100) == 101 + margin - m

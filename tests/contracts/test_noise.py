"""What every noise promises, run over every noise that the room finds; and a mutant for every rule."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.core import kernel
from maskedbandit.law import LAPLACE, SKELLAM
from maskedbandit.noise_bounds import log_mgf
from maskedbandit.noises import room
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.noise import Noise
from maskedbandit.noises.skellam import Skellam
from maskedbandit.privacy.loss import Loss
from maskedbandit.theory.noise_pmf import log_pmf
from tests.contracts import noise_rules as rules
from tests.contracts.noise_rules import FEW, RULES, covers, law_of, noise_sums, renyi, shifted, splits
from tests.for_each import for_each
from tests.guides import example
from tests.statistics import same_distribution

NOISES = list(room)


def named(rule):
    return rule.__name__.removeprefix("check_")


@pytest.mark.parametrize("rule", RULES, ids=named)
@for_each("name", NOISES)
def test_keeps(name, rule):
    rule(room[name]())


@pytest.mark.slow
@for_each("rule", RULES, ids=named)
def test_the_noise_of_the_guide_keeps(rule, tmp_path):
    rule(example("add_a_noise.md", tmp_path).TruncatedLaplace())


# --- mutants, each with the rule that must reject it ---------------------------------------------------------------


class Mutant(DiscreteLaplace):
    """Discrete Laplace noise with one thing changed."""

    def stretch(self, factor):
        return type(self)(self.scale * factor)


class Lopsided(Mutant):
    def pmf(self, z, count=1.0):
        return super().pmf(z - 1, count)


class WiderInTheLab(Mutant):
    @staticmethod
    @kernel
    def draws(scale, count, rng):
        return wider_draws(scale * 1.03, count, rng)


wider_draws = DiscreteLaplace.draws


class NarrowDraw(Mutant):
    def noise_share(self, n, bits):
        return DiscreteLaplace(self.scale * Fraction(9, 10)).noise_share(n, bits)


class TooManyShares(Mutant):
    def noise_share(self, n, bits):
        return super().noise_share(n + 1 if n > 1 else 1, bits)


class FloatShare(Mutant):
    def noise_share(self, n, bits):
        return int(float(bits.below(9)) * 2.0)


class OneShareForAll(Mutant):
    """Two numbers of a vector have the same noise, which their difference does not have."""

    def noise_shares(self, size, n, bits):
        return super().noise_shares(1, n, bits) * size


class Narrowing(Mutant):
    def stretch(self, factor):
        return type(self)(self.scale / factor)


class Boasting(Mutant):
    """States the loss of a noise that is wider by a fiftieth."""

    def loss(self, sensitivity, noise_shares=1, statistics=None):
        return Loss.discrete_laplace(self.scale * Fraction(51, 50), sensitivity)


class JointlyBoasting(Mutant):
    def joint_loss(self, l1, square, early):
        return Loss.pure(l1 / self.scale / 2)


class JointlyOfFew(Mutant):
    """The joint loss of five draws is stated for any number of them."""

    def joint_loss(self, l1, square, early):
        return Loss.pure(min(l1, 5) / self.scale)


class OfOneNumber(Mutant):
    """States of a vector what one number costs."""

    def loss(self, sensitivity, noise_shares=1, statistics=None):
        return super().loss(sensitivity, noise_shares)


class TakenForGaussian(Mutant):
    """A noise of its own distribution that takes the kind of another."""

    kind = DiscreteGaussian.kind


class TakenForSkellam(Mutant):
    kind = SKELLAM


@dataclass(frozen=True)
class TooSmallABound(Mutant):
    kind = Noise.kind
    variance = 1.0
    tail = 0.5


MUTANTS = [
    (Lopsided, rules.check_pmf),
    (WiderInTheLab, rules.check_the_lab_draws_the_distribution),
    (NarrowDraw, rules.check_whole_draws_have_the_distribution),
    (TooManyShares, rules.check_noise_shares_add_up),
    (FloatShare, rules.check_noise_shares_use_no_float),
    (OneShareForAll, rules.check_noise_shares_of_a_vector),
    (Narrowing, rules.check_scale),
    (Boasting, rules.check_loss),
    (JointlyBoasting, rules.check_joint_loss),
    (JointlyOfFew, rules.check_joint_loss),
    (OfOneNumber, rules.check_vectors),
    (TakenForGaussian, rules.check_cumulant),
    (TakenForGaussian, rules.check_radius),
    (TakenForGaussian, rules.check_log_pmf),
    (TakenForSkellam, rules.check_log_pmf),
    (TooSmallABound, rules.check_cumulant),
    (TooSmallABound, rules.check_radius),
]


@for_each(("broken", "rule"), MUTANTS, ids=lambda each: each.__name__)
def test_a_mutant_that_breaks_it_is_rejected(broken, rule):
    with pytest.raises(AssertionError):
        rule(broken())


@for_each("name", list(room))
def test_a_loss_is_kept_as_text_without_losing_a_digit(name):
    coarse, fine = room[name](Fraction(1, 3)), room[name](Fraction(5))
    for loss in (coarse.loss(1), coarse.loss(7), 3 * fine.loss(2)):
        assert Loss.from_text(loss.to_text()) == loss


def test_every_rule_rejects_a_mutant():
    """But for the one below, whose mutant is a kernel that is compiled wrongly."""
    assert {rule for _, rule in MUTANTS} == set(RULES) - {rules.check_plain_python_draws_the_same}


def test_a_kernel_that_compiled_does_something_else_is_rejected(monkeypatch):
    wrong = rules.drawn(Skellam(3), 1.0, 300, seed=12)
    monkeypatch.setattr(rules, "drawn", lambda *args, **how: wrong)
    with pytest.raises(AssertionError):
        rules.check_plain_python_draws_the_same(Skellam())


@pytest.mark.sparing(1)
@pytest.mark.parametrize(("n", "kept"), [(2, 1), (10, 6)])
@pytest.mark.parametrize("name", [name for name in NOISES if splits(room[name]())])
def test_missing_noise_shares_are_noticed(name, n, kept):
    noise = room[name](Fraction(5))
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(noise_sums(noise, n, kept, 15_000 // n), noise.pmf)


# --- what is known of the three, and need not hold for others ------------------------------------------------------

OURS = [DiscreteLaplace, DiscreteGaussian, Skellam]


@for_each("kind", OURS)
class TestOurs:
    def test_loss_is_not_far_above_the_divergence(self, kind):
        noise = kind(Fraction(5))
        curve, _ = renyi(*shifted(noise, 1))
        np.testing.assert_allclose([float(noise.loss(1).curve[i]) for i in FEW], curve, rtol=0.001)

    def test_the_loss_of_a_wider_noise_is_too_small(self, kind):
        noise = kind(Fraction(5))
        with pytest.raises(AssertionError, match="order"):
            covers(noise.stretch(Fraction(51, 50)).loss(1), *shifted(noise, 1))

    def test_pure_epsilon_is_the_largest_log_ratio_of_the_support(self, kind):
        """Attained at once, or infinite because the log-ratio grows along the tail."""
        noise = kind(Fraction(5, 2))
        z = np.arange(-60, 61)
        ratio = np.log(noise.pmf(z)) - np.log(noise.pmf(z - 2))
        if noise.loss(2).pure_epsilon < np.inf:
            assert ratio.max() == pytest.approx(float(noise.loss(2).pure_epsilon), rel=1e-9)
        else:
            assert ratio[0] > ratio[20] + 0.5 > ratio[40] + 1

    def test_log_mgf_is_exact_but_for_the_gaussian(self, kind):
        noise, z = kind(Fraction(3)), np.arange(-100, 101)
        exact = np.logaddexp.reduce(np.log(noise.pmf(z)) + 0.1 * z)
        bound = log_mgf(law_of(noise, per_release=1.0), 9, 0.1)
        assert bound == pytest.approx(exact, rel=1e-3 if kind is DiscreteGaussian else 1e-7)

    def test_log_pmf_of_a_draw_per_pull(self, kind):
        noise, z = kind(Fraction(3)), np.arange(60)
        given = [log_pmf(law_of(noise, per_pull=1.0), 9, int(each)) for each in z]
        np.testing.assert_allclose(given, np.log(noise.pmf(z, 9.0)), rtol=1e-9)


def test_joint_losses_are_stated_where_they_are_proved():
    for noise in (DiscreteLaplace(5), DiscreteGaussian(5)):
        assert noise.joint_loss(Fraction(1), Fraction(1), early=False).epsilon(0.01) > 0
    assert math.isclose(float(DiscreteLaplace(5).joint_loss(Fraction(3), Fraction(3), True).pure_epsilon), 0.6)
    assert DiscreteLaplace.kind == LAPLACE

"""Rewards as whole numbers, and sums as residues: the fixed point that secure aggregation needs.

A reward x in [0, 1] becomes floor(x g) or the next integer, at random, so that its mean is kept [CZ23, Alg. 2]; a
rounded reward stays between 0 and g, so it costs no extra confidence radius. A sum modulo m is unwrapped as the one
number in [−τ, n g + τ] with that residue [CZ23, Alg. 3]; noise beyond τ wraps around, which harms the estimate and
never the privacy.

The numbers of a vector may be negative, down to -1; then sums are from -n g − τ to n g + τ. They are whole numbers of
steps already: rounding each of them at random could move two vectors further apart than the stated distance.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

from maskedbandit.core import kernel
from maskedbandit.errors import Implausible, InvalidValue, ModulusTooSmall, PersonalValue, RewardOutOfRange
from maskedbandit.law import Law, count_draws, count_steps, is_one_laplace_draw, is_skellam
from maskedbandit.noise_bounds import radius
from maskedbandit.privacy.exact import Number, to_fraction
from maskedbandit.privacy.sampling import Bits, bernoulli
from maskedbandit.privacy.statistics import SINGLE_REWARD, Statistics


@dataclass(frozen=True)
class Grid:
    """Steps in one unit of reward for a cohort of n: g = max(fixed, ceil(fineness * ε * √n)).

    One step suffices for pure differential privacy: the rounded reward is a bit of the same mean. The paper's choice is
    fineness 1 (discrete Laplace) or s ≥ 1 (Skellam, discrete Gaussian) [CZ23, Thm. 1, 2, 4].

    >>> Grid(1).steps(Fraction(1, 2), 1000), Grid(fineness=1).steps(Fraction(1, 2), 1000)
    (1, 16)
    """

    fixed: int = 1
    fineness: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if type(self.fixed) is not int or not 1 <= self.fixed <= 10**6:
            raise InvalidValue("grid", self.fixed, "a whole number from 1 to 1000000")
        object.__setattr__(self, "fineness", to_fraction("fineness", self.fineness, strict=False))
        if self.fineness > 10**6:
            raise InvalidValue("fineness", self.fineness, "at most 1000000")

    def steps(self, epsilon: Fraction, n: int) -> int:
        if self.fineness == 0:
            return self.fixed
        square = (self.fineness * epsilon) ** 2 * n
        root = math.isqrt(square.numerator // square.denominator)
        return max(self.fixed, root + (root * root < square))


def check_contribution(reward: float, kind: Statistics) -> Fraction:
    """Check a value that a user adds: a reward, or one number of a vector, which is in whole steps."""
    try:
        x = Fraction(int(reward)) if isinstance(reward, Integral) else Fraction(*reward.as_integer_ratio())
    except (AttributeError, ValueError, OverflowError):  # no number, nan, infinite
        x = None
    if kind.is_single:
        if x is None or not 0 <= x <= 1:
            raise RewardOutOfRange
    elif x is None or not kind.low <= x <= 1 or x * kind.steps % 1:
        allowed = f"a whole number of steps of 1/{kind.steps} from {kind.low} to 1"
        raise PersonalValue("statistic", allowed)
    return x


def encode_reward(reward: float, g: int, bits: Bits, kind: Statistics = SINGLE_REWARD) -> int:
    """floor(x g), or one more with probability x g - floor(x g): exact, whatever the float."""
    whole, part = divmod(check_contribution(reward, kind) * g, 1)
    return int(whole) + bernoulli(part, bits)


class ModulusRule(NamedTuple):
    """The size of the modulus for a cohort; the least is n (1 − low) g + 2 τ + 1."""

    failure: float  # the chance that the noise of a cohort exceeds tau
    fixed: int  # 0: from the size of the cohort
    tight: int  # 1: the least modulus, 0: the power of two above it
    paper: int  # 1: tau as in the paper
    low: int = 0  # the least that a user adds; the most is 1


def check_failure(failure: Number) -> float:
    """The chance that the sum of a cohort wraps around its modulus."""
    found = float(to_fraction("failure", failure))
    if not 1e-100 <= found < 1:
        raise InvalidValue("failure", failure, "a probability of at least 1e-100 and below 1")
    return found


@kernel
def noise_margin(rule: ModulusRule, law: Law, n: int) -> int:
    """tau, in steps: the noise of a cohort of n exceeds it with probability of at most `failure`."""
    g = count_steps(law, n)
    x = math.log(2 / rule.failure)
    if rule.paper == 1 and is_skellam(law):
        spread = law.scale * g * math.sqrt(count_draws(law, 1, n))
        return math.ceil(2 * spread * math.sqrt(x) + math.sqrt(2.0) * x)  # [CZ23, Thm. 2]
    if rule.paper == 0 and is_one_laplace_draw(law, n):
        x -= math.log1p(math.exp(-1 / (law.scale * g)))  # P(|Z| >= k) = 2 b^k / (1 + b)
    return math.ceil(g * radius(law, 1, n, x))


@kernel
def least_modulus(rule: ModulusRule, n: int, g: int, margin: int) -> int:
    """The least modulus in which all sums of n users have residues of their own."""
    return n * (1 - rule.low) * g + 2 * margin + 1


@kernel
def choose_modulus(rule: ModulusRule, law: Law, n: int, margin: int) -> int:
    """The modulus for a cohort of n with this margin for noise: fixed before the cohort starts, whoever drops out."""
    if rule.fixed > 0:
        return rule.fixed
    least = least_modulus(rule, n, count_steps(law, n), margin)
    if rule.tight == 1:
        return least
    power = 1
    while power < least:
        power *= 2
    return power


@lru_cache(maxsize=1024)
def fit_margin(rule: ModulusRule, law: Law, n: int, g: int, draws: float, announced: int = 0) -> tuple[int, int]:
    """The modulus for a cohort of n and its margin, from exact numbers of steps and draws, which a `Law` has as floats.

    A modulus that was announced is kept.
    """
    law = law._replace(grid=float(g), root=0.0, per_release=draws, honest=1.0)
    margin = noise_margin(rule, law, n)
    m, least = announced or choose_modulus(rule, law, n, margin), least_modulus(rule, n, g, margin)
    if m < least:
        raise ModulusTooSmall(m, n, least)
    return m, margin


def check_modulus(m: int, n: int, g: int, low: int) -> None:
    """Raise unless the sums of n numbers, each from `low` to 1 in steps of 1/g, have residues of their own."""
    if m < (least := n * (1 - low) * g + 1):
        raise ModulusTooSmall(m, n, least)


def decode_sum(total: int, m: int, rule: ModulusRule, law: Law, n: int, g: int, draws: float) -> float:
    """The sum of n rewards that a residue modulo m stands for.

    A sum outside of the margin for noise is refused, if honest noise exceeds the margin in at most one of 10^9 cohorts:
    then a device caused it. How far a device can move a sum without being refused is `worst_shift`.
    """
    m, margin = fit_margin(rule, law, n, g, draws, m)
    found = unwrap_residue(total % m, m, n * g + margin)
    if found < rule.low * n * g - margin and rule.failure <= 1e-9:
        raise Implausible(f"the sum of {n} rewards is {found / g:g}, where noise alone does not lead")
    return found / g


def worst_shift(rule: ModulusRule, law: Law, n: int, g: int, draws: float) -> float:
    """The largest change of the sum of n rewards that one dishonest device can cause without a refusal."""
    m, margin = fit_margin(rule, law, n, g, draws)
    accepted = least_modulus(rule, n, g, margin) if rule.failure <= 1e-9 else m
    return (accepted - 1) / g


@kernel
def unwrap_residue(residue: int, m: int, highest: int) -> int:
    """The number with this residue modulo m among highest - m + 1, ..., highest."""
    return residue - m if residue > highest else residue

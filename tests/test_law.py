"""The law kernels: what they say of the noise in a sum is true, exactly where they say so.

Nothing here is random: distributions are summed from the noises' pmf. Each bound stands next to a mutant that fails.
"""

import math
import sys
from fractions import Fraction
from itertools import product
from random import Random
from subprocess import run

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.channels.central import Central
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.tree import Tree
from maskedbandit.core import UNKNOWN, WAIT, Decision, Release, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import (
    COINS,
    GAUSSIAN,
    HYBRID,
    LAPLACE,
    NO_NOISE,
    NOISE_KINDS,
    RESPONSE,
    SKELLAM,
    SUB_GAMMA,
    Law,
    count_draws,
    count_steps,
    largest_tilt,
    least_honest,
    unit_variance,
    wider,
)
from maskedbandit.noise_bounds import cumulant, deviation, log_mgf, log_mgf_of_sum, radius
from maskedbandit.noises.discrete_gaussian import DiscreteGaussian
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.noises.noise import Noise
from maskedbandit.noises.skellam import Skellam
from maskedbandit.theory.noise_pmf import log_pmf
from tests.for_each import for_each

NOISES = {LAPLACE: DiscreteLaplace, SKELLAM: Skellam, GAUSSIAN: DiscreteGaussian}
X = [0.1, 0.7, 1.0, 3.0, 10.0, 20.0, 50.0]


def beyond(noise, count, g, bound):
    """P(|Z| > bound), Z the sum of `count` draws in steps of 1/g."""
    first = math.floor(bound * g) + 1
    return 2 * math.fsum(noise.pmf(np.arange(first, first + 3000), count))


def holds(noise, law, m, n, x, bound=None):
    """A bound, or else `radius`, is exceeded with probability at most 2 exp(-x)."""
    bound = radius(law, m, n, x) if bound is None else bound
    assert beyond(noise, count_draws(law, m, n), count_steps(law, 1), bound) <= 2 * math.exp(-x) * (1 + 1e-9)


class TestKernel:
    def test_runs_as_python_and_compiled(self):
        @kernel
        def twice(x):
            """Twice."""
            return 2 * x

        both = twice(21), compile_loop(twice.function)(21)
        assert (*both, twice.__doc__, twice.__name__) == (42, 42, "Twice.", "twice")

    def test_importing_core_costs_no_compiler(self):
        code = "import sys, maskedbandit.core; sys.exit('numba' in sys.modules or 'scipy' in sys.modules)"
        assert run([sys.executable, "-c", code], check=False).returncode == 0

    def test_the_terms_are_plain_tuples(self):
        assert tuple(Decision(1, 2, 1)) == (1, 2, 1)
        assert WAIT == (-1, 0, 0)
        assert Release(arm=0, n=5, total=1.5) == (0, 5, 1.5, UNKNOWN)


def laws():
    for kind, grid, scale in product(NOISES, (1.0, 3.0), (2.0, 10.0)):
        yield Law(kind, scale, grid, per_release=1.0)
        yield Law(kind, scale, grid, per_pull=1.0)
        yield Law(kind, scale, grid, per_release=1.0, honest=0.8)
        yield Law(kind, scale, grid, root=0.7, per_release=1.0, per_pull=0.1)
    yield Law(NO_NOISE)
    yield Law(RESPONSE, grid=1.0, flip=0.2)


def everything(law, m, n, x, lam, z, out):
    """All law kernels at once, to be compiled or not."""
    g = count_steps(law, n)
    out[0], out[1], out[2] = g, count_draws(law, m, n), least_honest(law.honest, n)
    out[3], out[4], out[5] = log_mgf(law, n, lam), radius(law, m, n, x), log_pmf(law, n, z)


@for_each("law", list(laws()), ids=lambda law: "-".join(f"{part:g}" for part in law))
def test_compiled_kernels_give_the_same_numbers(law):
    go = compile_loop(
        everything,
        steps=count_steps,
        draws=count_draws,
        calibration=least_honest,
        log_mgf=log_mgf,
        radius=radius,
        log_pmf=log_pmf,
    )
    for m, n, x, lam, z in [(1, 1, 0.5, 0.01, 0), (1, 100, 5.0, -0.05, 7), (3, 100, 20.0, 0.4, -300)]:
        plain, fast = np.zeros(6), np.zeros(6)
        everything(law, m, n, x, lam, z, plain)
        go(law, m, n, x, lam, z, fast)
        np.testing.assert_allclose(fast, plain, rtol=1e-9)


class TestSteps:
    def cases(self):
        random = Random(5)
        for _ in range(3000):
            fineness = Fraction(random.randint(1, 300), random.choice([1, 2, 3, 10]))
            epsilon = Fraction(random.randint(1, 500), random.choice([3, 7, 100]))
            n = random.choice([random.randint(1, 200), random.randint(1, 10**6), 4 ** random.randint(0, 15)])
            yield fineness, epsilon, n
        yield from ((Fraction(1), Fraction(hundredths, 100), 10**4) for hundredths in range(1, 200))
        for k in (*range(1, 200), 25_000, 100_000, 10**6):  # perfect squares and their neighbours
            for n in (k * k - 1, k * k, k * k + 1):
                yield from ((Fraction(1), epsilon, max(n, 1)) for epsilon in (Fraction(1), Fraction(1, 10)))
            yield from ((Fraction(7, 3), Fraction(3, 10), 100 * k * k + d) for d in (0, 1))

    def wrong(self, ceiling):
        return [
            (fineness, epsilon, n)
            for fineness, epsilon, n in self.cases()
            if ceiling(Law(LAPLACE, grid=2.0, root=float(fineness * epsilon)), n) != Grid(2, fineness).steps(epsilon, n)
        ]

    def test_are_those_of_the_grid(self):
        assert self.wrong(count_steps) == []

    @pytest.mark.parametrize("slack", [0.0, 1e-9], ids=["no slack", "too much"])
    def test_another_rounding_is_noticed(self, slack):
        def ceiling(law, n):
            fine = law.root * math.sqrt(n)
            return int(max(law.grid, math.ceil(fine - slack * fine)))

        assert self.wrong(ceiling) != []

    def test_a_fixed_grid_and_none(self):
        assert (count_steps(Law(LAPLACE, grid=7.0), 10**9), count_steps(Law(NO_NOISE), 10)) == (7, 0)


class TestDraws:
    @pytest.mark.parametrize("honest", [1, 0.9, 0.8, 0.7, 0.55, 0.1, "1/3", "2/3", "1/7", "0.123"])
    def test_calibration_is_what_is_counted_on(self, honest):
        channel = Distributed(honest=honest)
        sizes = [*range(1, 2000), *(10**k + d for k in range(4, 12) for d in (-1, 0, 1, 3, 9)), 3 * 7 * 10**9]
        law = channel.law()
        assert [n for n in sizes if least_honest(law.honest, n) != channel.counted_on(n)] == []

    def test_a_plain_ceiling_is_noticed(self):
        channel = Distributed(honest="0.55")
        assert any(math.ceil(channel.law().honest * n) != channel.counted_on(n) for n in range(1, 2000))

    def test_one_release(self):
        assert count_draws(Law(LAPLACE, per_release=1.0), 1, 1000) == 1
        assert count_draws(Law(LAPLACE, per_pull=1.0), 1, 1000) == 1000
        assert count_draws(Law(LAPLACE, per_release=1.0, honest=0.8), 1, 100) == 1.25
        assert count_draws(Law(LAPLACE, per_release=1.0, honest=0.8), 1, 1) == 1

    @pytest.mark.parametrize("honest", [0.9, 0.35, 1 / 3])
    def test_several_releases_are_never_undercounted(self, honest):
        random, law = Random(3), Law(LAPLACE, per_release=1.0, honest=honest)
        for _ in range(300):
            cohorts = [random.randint(1, 100) for _ in range(random.randint(2, 9))]
            assert count_draws(law, len(cohorts), sum(cohorts)) >= sum(count_draws(law, 1, n) for n in cohorts) - 1e-9


@pytest.mark.parametrize("kind", NOISES)
class TestRadius:
    @pytest.mark.slow
    @for_each("scale", [Fraction(1, 3), Fraction(2), Fraction(12)])
    @for_each("grid", [1, 4])
    @for_each(
        ("counts", "m", "n"),
        [
            ({"per_release": 1.0}, 1, 500),
            ({"per_release": 1.0}, 2, 500),
            ({"per_release": 1.0}, 30, 500),
            ({"per_release": 1.0, "honest": 0.8}, 1, 100),
            ({"per_release": 1.0, "honest": 0.3}, 3, 100),
            ({"per_pull": 1.0}, 1, 20),
            ({"per_release": 2.0, "per_pull": 0.5}, 1, 7),
        ],
    )
    def test_covers_the_noise(self, kind, scale, grid, counts, m, n):
        if kind == GAUSSIAN and (scale * grid) ** 2 < 2 and m != count_draws(Law(kind, **counts), m, n) != n:
            scale = Fraction(2)  # fractions of a draw need noise shares of a variance of at least 2
        law = Law(kind, scale=float(scale), grid=float(grid), **counts)
        for x in X:
            holds(NOISES[kind](scale * grid), law, m, n, x)

    @pytest.mark.parametrize("counts", [{"per_release": 1.0}, {"per_pull": 1.0}])
    def test_of_half_the_scale_fails(self, kind, counts):
        noise, law = NOISES[kind](Fraction(12)), Law(kind, scale=12.0, grid=1.0, **counts)
        with pytest.raises(AssertionError):
            holds(noise, law, 1, 20, 10.0, bound=radius(law._replace(scale=6.0), 1, 20, 10.0))

    @pytest.mark.slow
    @pytest.mark.parametrize(("epsilon", "size"), [(Fraction(5), 10_000), (Fraction(1, 2), 400)])
    def test_covers_cohorts_with_steps_of_their_own(self, kind, epsilon, size):
        """A cohort's steps depend on its size; m cohorts of one size, and of no more than their sum."""
        fineness = Fraction(1, 10) if epsilon == 5 else Fraction(1)
        law = Law(kind, scale=float(1 / epsilon), grid=1.0, root=float(fineness * epsilon), per_release=1.0)
        for m, n in ((40, size), (40, 1)):
            g = Grid(1, fineness).steps(epsilon, n)
            for x in X:
                bound = radius(law, m, m * n, x)
                assert beyond(NOISES[kind](g / epsilon), float(m), g, bound) <= 2 * math.exp(-x) * (1 + 1e-9)

    def test_falls_with_the_noise_and_grows_with_the_rest(self, kind):
        law = Law(kind, scale=3.0, grid=1.0, per_release=1.0)
        assert radius(law, 1, 10, 5.0) < radius(law, 1, 10, 6.0)
        assert radius(law, 1, 10, 5.0) < radius(law, 2, 10, 5.0)
        assert radius(law._replace(scale=2.0), 2, 10, 5.0) < radius(law, 2, 10, 5.0)

    @pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e6])
    def test_is_finite_at_extreme_scales(self, kind, scale):
        law = Law(kind, scale=scale, grid=1.0, per_release=1.0)
        for m in (1, 5, 10**6):
            assert 0 < radius(law, m, 10**6, 10.0) < math.inf
        assert math.isfinite(log_mgf(law, 10, min(0.5 / scale, 100.0)))
        if scale < 1:  # a sum of as many terms as the scale is wide
            assert not math.isnan(log_pmf(law._replace(per_release=1.25), 10, 3))


def test_coarse_steps_do_not_cover_fine_laplace_noise():
    """The control of `test_covers_cohorts_with_steps_of_their_own`: fine steps have the heavier tails."""
    law = Law(LAPLACE, scale=0.2, grid=1.0, root=0.5, per_release=1.0)
    bound = radius(law._replace(root=0.0), 40, 400_000, 10.0)
    assert beyond(DiscreteLaplace(Fraction(10)), 40.0, 50, bound) > 2 * math.exp(-10)


def test_laplace_cumulants_grow_and_skellam_cumulants_fall_with_the_steps():
    for kind, sign in ((LAPLACE, 1), (SKELLAM, -1)):
        for lam in (0.01, 0.3, 0.9):
            values = [sign * cumulant(Law(kind), 1.0, 1.0, g, lam) for g in (1, 2, 3, 10, 100, 10_000)]
            assert values == sorted(values)
    assert cumulant(Law(LAPLACE), 1.0, 1.0, 10**6, 0.9) == pytest.approx(-math.log(1 - 0.81), rel=1e-9)


class TestKinds:
    """A kind that is not known cannot be simulated as if it were another."""

    @pytest.mark.parametrize("kind", [-1, len(NOISE_KINDS), 99, 0.5, None, "LAPLACE"])
    def test_a_law_of_an_unknown_kind_cannot_be_made(self, kind):
        for make in (lambda: Law(kind, scale=1.0), lambda: Law(LAPLACE, scale=1.0)._replace(kind=kind)):
            with pytest.raises(InvalidValue, match=r"kind is .*SUB_GAMMA"):
                make()

    @for_each("name", ["scale", "grid", "root", "per_release", "per_pull", "spare", "honest", "flip"])
    @for_each("value", [math.nan, math.inf, -1.0])
    def test_a_law_with_numbers_that_no_noise_has_cannot_be_made(self, name, value):
        """They compile: releases would carry no noise, or none of this law, at the loss that the channel states."""
        with pytest.raises(InvalidValue, match=name):
            Law(LAPLACE, **{"scale": 1.0, name: value})

    def test_a_channel_that_does_not_say_how_many_draws_it_adds_cannot_be_simulated(self):
        class Vague(Central):
            def law(self):
                return self.noise_law()

        with pytest.raises(InvalidValue, match="per_release and per_pull"):
            mb.simulate(mb.policies.DPSE(), Vague(), mb.Bernoulli([0.9, 0.1]), 100)

    @pytest.mark.parametrize("kind", [99, math.nan])
    def test_numbers_that_were_not_checked_cannot_be_simulated(self, kind):
        class Handmade(Central):
            def law(self):
                return Law._make((kind, *super().law()[1:]))

        with pytest.raises(InvalidValue, match=f"kind is {kind}"):
            mb.simulate(mb.policies.DPSE(), Handmade(), mb.Bernoulli([0.9, 0.1]), 100)
        with pytest.raises(InvalidValue, match=f"kind is {kind}"):
            mb.simulate(mb.policies.AdaCGOPE(), Handmade(), mb.LinearContexts(d=2), 100)

    def test_a_channel_whose_noise_has_an_unknown_kind_cannot_be_simulated(self):
        class Odd(DiscreteLaplace):
            kind = 99

        for channel in (Central(noise=Odd()), Tree(noise=Odd())):
            with pytest.raises(InvalidValue, match="kind is 99"):
                mb.simulate(mb.policies.DPSE(), channel, mb.Bernoulli([0.9, 0.1]), 100)

    def test_a_noise_that_states_neither_kind_nor_bounds_cannot_be_simulated(self):
        class Bare(DiscreteLaplace):
            kind = Noise.kind

        with pytest.raises(InvalidValue, match="variance is 0"):
            mb.simulate(mb.policies.DPSE(), Central(noise=Bare()), mb.Bernoulli([0.9, 0.1]), 100)

    @pytest.mark.parametrize(
        ("values", "wrong"),
        [
            ({"kind": SUB_GAMMA, "variance": -1.0}, "variance"),
            ({"kind": SUB_GAMMA, "variance": math.nan}, "variance"),
            ({"kind": SUB_GAMMA, "variance": 1.0, "tail": -1.0}, "tail"),
            ({"kind": SUB_GAMMA, "variance": 1.0, "tail": math.inf}, "tail"),
            ({"kind": LAPLACE, "variance": 1.0}, "variance"),
            ({"kind": SUB_GAMMA, "variance": 1.0, "counter": HYBRID}, "counter"),
        ],
    )
    def test_numbers_of_a_sub_gamma_law_are_checked(self, values, wrong):
        with pytest.raises(InvalidValue, match=wrong):
            Law(**values)

    def said(self, law):
        """What each kernel that looks at the kind says of some draws of noise."""
        return {
            "unit_variance": unit_variance(law),
            "largest_tilt": largest_tilt(law),
            "wider": wider(law, 4),
            "deviation": deviation(law, 2, 50),
            "log_mgf": log_mgf(law, 50, 0.01),
            "log_mgf_of_sum": log_mgf_of_sum(law, 2, 50, 0.01),
            "radius": radius(law, 2, 50, 3.0),
            "log_pmf": log_pmf(law, 50, 1.0),
        }

    def test_every_kernel_says_nan_of_a_kind_that_it_does_not_know(self):
        law = tuple.__new__(Law, (99, *Law(LAPLACE, scale=2.0, grid=1.0, per_release=2.0)[1:]))
        assert [name for name, value in self.said(law).items() if not math.isnan(value)] == []

    @pytest.mark.parametrize("kind", range(len(NOISE_KINDS)))
    def test_every_kernel_knows_every_kind(self, kind):
        """But for what is not known of sub-gamma noise. A kind that is added fails here until all know it."""
        bound = {"variance": 2.0, "tail": 1.0} if kind == SUB_GAMMA else {}
        count = 0.0 if kind in (NO_NOISE, RESPONSE) else 2.0
        law = Law(kind, scale=2.0, grid=1.0, per_release=count, flip=0.2 * (kind == RESPONSE), **bound)
        unknown = {"wider", "log_pmf"} if kind == SUB_GAMMA else set()
        assert {name for name, value in self.said(law).items() if math.isnan(value)} == unknown

    def test_a_noise_is_one_of_sub_gamma_too(self):
        """Discrete Laplace noise is sub-gamma with variance 2 and tail 1, which its own bounds are within."""
        for m, n in ((1, 1), (7, 100)):
            own = Law(LAPLACE, scale=3.0, grid=1.0, per_release=1.0)
            bound = Law(SUB_GAMMA, scale=3.0, grid=1.0, per_release=1.0, variance=2.0, tail=1.0)
            narrow = bound._replace(variance=0.3, tail=0.2)
            for x in X:
                assert radius(own, m, n, x) <= radius(bound, m, n, x) * (1 + 1e-9)
                holds(DiscreteLaplace(Fraction(3)), bound, m, n, x)
            with pytest.raises(AssertionError):
                holds(DiscreteLaplace(Fraction(3)), narrow, m, n, 20.0)
            for lam in (0.01, 0.1, 0.3):
                assert log_mgf_of_sum(own, m, n, lam) <= log_mgf_of_sum(bound, m, n, lam)
            assert log_mgf_of_sum(bound, m, n, 1 / 3) == math.inf


class TestEnds:
    def test_laplace_has_no_mgf_beyond_its_rate(self):
        law = Law(LAPLACE, scale=2.0, grid=1.0, per_release=1.0)
        assert log_mgf(law, 1, 0.5) == log_mgf(law, 1, -0.6) == math.inf
        assert log_mgf(law, 1, math.nextafter(0.5, 0)) > 20
        assert log_mgf(law, 1, 0.0) == 0

    def test_no_noise(self):
        assert radius(Law(NO_NOISE), 3, 100, 5.0) == log_mgf(Law(NO_NOISE), 100, 1.0) == 0
        assert [log_pmf(Law(NO_NOISE), 100, z) for z in (0, 1)] == [0, -math.inf]

    @pytest.mark.parametrize("flip", [0.1, 0.4])
    @pytest.mark.parametrize("ones", [0, 7, 20])
    def test_randomized_response(self, flip, ones):
        """Radius and moments cover the error of the released total, whatever the bits are."""
        law, n = Law(RESPONSE, grid=1.0, flip=flip), 20
        p = np.array([1.0])
        for i in range(n):
            one = 1 - flip if i < ones else flip
            p = np.convolve(p, [1 - one, one])
        error = (np.arange(n + 1) - n * flip) / (1 - 2 * flip) - ones
        for x in X:
            assert p[abs(error) > radius(law, 1, n, x)].sum() <= 2 * math.exp(-x)
        for lam in (-1.0, 0.1, 0.5):
            assert log_mgf(law, n, lam) >= math.log(p @ np.exp(lam * error))
        if flip == 0.4:  # the control: a radius that forgets that the total is stretched
            assert p[abs(error) > radius(law._replace(flip=0.0), 1, n, 3.0)].sum() > 2 * math.exp(-3.0)


class TestMomentsOfManyReleases:
    """log_mgf of each release is exact, and releases are independent: their sum is what a bound must reach."""

    LAWS = (
        Law(LAPLACE, scale=2.0, grid=1, root=0.5, per_release=1),
        Law(LAPLACE, scale=2.0, grid=3, per_release=1, honest=0.7),
        Law(SKELLAM, scale=2.0, grid=1, root=0.5, per_release=1),
        Law(SKELLAM, scale=2.0, grid=1, root=0.3, per_release=1, honest=1 / 3),
        Law(GAUSSIAN, scale=3.0, grid=1, root=0.5, per_release=1, honest=0.9),
        Law(LAPLACE, scale=4.0, grid=2, per_pull=1),
        Law(COINS, scale=0.5, grid=1, per_release=80),
        Law(RESPONSE, grid=1, flip=0.3),
    )
    COHORTS = (64, 17, 300, 5)

    def reached(self, of_sum):
        """For each law, whether the bound is at least the sum at every tilt."""
        n, m = sum(self.COHORTS), len(self.COHORTS)
        return [
            all(
                of_sum(law, m, n, lam) >= sum(log_mgf(law, each, lam) for each in self.COHORTS) * (1 - 1e-12)
                for lam in (0.01, 0.1, 0.24, 0.4, 1.5)
                if log_mgf(law, 300, lam) < math.inf
            )
            for law in self.LAWS
        ]

    def test_are_bounded_whatever_the_sizes_of_cohorts(self):
        assert all(self.reached(log_mgf_of_sum))

    def test_of_one_release_are_those_of_the_release(self):
        for law in self.LAWS:
            assert log_mgf_of_sum(law, 1, 64, 0.2) == log_mgf(law, 64, 0.2)

    def test_the_wrong_steps_are_caught(self):
        def coarse(law, m, n, lam):
            return cumulant(law, law.scale, count_draws(law, m, n), count_steps(law, 1), lam)

        def swapped(law, m, n, lam):
            return cumulant(
                law, law.scale, count_draws(law, m, n), count_steps(law, 1 if law.kind == LAPLACE else n), lam
            )

        assert not all(self.reached(coarse)[:5])
        assert not all(self.reached(swapped)[:5])

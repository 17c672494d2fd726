"""What every noise promises, run over every noise that the room finds.

Laws are compared with `pmf` by chi-square. Seeds are fixed; under a new seed each random assertion rejects a correct
noise with probability ALPHA = 1e-9. Each check stands next to a broken twin that it must reject.
"""

from dataclasses import fields
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.compiler import compiled
from maskedbandit.law import Law, cumulant, log_mgf
from maskedbandit.noises import room
from maskedbandit.privacy.loss import ORDERS, Loss
from maskedbandit.theory.noise_pmf import log_pmf
from tests.floatfree import offences
from tests.statistics import same_law, seeded

NOISES = list(room)
SCALES = [Fraction(1, 2), Fraction(3), Fraction(10)]
COUNTS = [1.0, 1.25, 50.0]
N = 100_000
FEW = [i for i, order in enumerate(ORDERS) if order <= 33]  # from there on a float cannot hold the tails that count

draw = None  # stands for the noise's own kernel, see `drawn`


def fill(scale, count, out, rng):
    for i in range(out.size):
        out[i] = draw(scale, count, rng)


def drawn(noise, count, n=N, seed=7):
    """Draws of the compiled kernel, compiled as the engine compiles it."""
    out = np.zeros(n, np.int64)
    compiled(fill, draw=type(noise).draws)(float(noise.scale), count, out, np.random.Generator(np.random.PCG64(seed)))
    return out


def shares(noise, n, kept, size, seed=7):
    """Sums of `kept` of n exact shares."""
    bits = seeded(seed)
    return np.array([sum(noise.share(n, bits) for _ in range(kept)) for _ in range(size)])


def renyi(p, q):
    """The Rényi curve at the orders FEW, and the largest log-ratio, of two laws with the same support."""
    log_p, log_q = np.log(p), np.log(q)
    orders = [float(ORDERS[i]) for i in FEW]
    return [np.logaddexp.reduce(a * log_p + (1 - a) * log_q) / (a - 1) for a in orders], float(np.max(log_p - log_q))


def shifted(noise, sensitivity, count=1.0):
    """The laws of z and of z + sensitivity, wherever neither underflows."""
    z = np.arange(-1000, 1001)
    p, q = noise.pmf(z, count), noise.pmf(z - sensitivity, count)
    seen = (p > 1e-290) & (q > 1e-290)
    return p[seen], q[seen]


def covers(loss, p, q):
    """The loss bounds the divergence of the two laws, at every order of FEW and at order infinity."""
    curve, worst = renyi(p, q)
    for i, exact in zip(FEW, curve, strict=True):
        assert float(loss.curve[i]) >= exact * (1 - 1e-9), f"order {float(ORDERS[i])}"
    assert float(loss.pure_epsilon) >= worst * (1 - 1e-9)


def law(noise, grid=1, **counts):
    """The law of the noise in reward units on a grid of so many steps."""
    return Law(noise.kind, scale=float(noise.scale) / grid, grid=float(grid), **counts)


@pytest.mark.parametrize("name", NOISES)
class TestLaw:
    @pytest.mark.parametrize(("scale", "count"), list(product(SCALES, COUNTS)))
    def test_pmf_is_a_symmetric_law(self, name, scale, count):
        z = np.arange(-4000, 4001)
        p = room[name](scale).pmf(z, count)
        assert p.min() >= 0
        assert p.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_array_equal(p, p[::-1])

    def test_pmf_of_many_draws_is_the_convolution(self, name):
        z, noise = np.arange(-400, 401), room[name](Fraction(5, 2))
        twice = np.convolve(noise.pmf(z), noise.pmf(z), mode="same")
        np.testing.assert_allclose(noise.pmf(z, 2.0)[200:600], twice[200:600], rtol=1e-6, atol=1e-12)

    @pytest.mark.parametrize(("scale", "count"), list(product(SCALES, COUNTS)))
    def test_compiled_draws_have_the_law(self, name, scale, count):
        noise = room[name](scale)
        same_law(drawn(noise, count), lambda z: noise.pmf(z, count))

    def test_a_scale_three_percent_off_is_rejected(self, name):
        noise = room[name](Fraction(3))
        with pytest.raises(AssertionError, match="another law"):
            same_law(drawn(noise.stretch(Fraction(103, 100)), 1.0, 4 * N), noise.pmf)

    @pytest.mark.parametrize(("scale", "count"), list(product(SCALES, [1.0, 1.25, 7.0])))
    def test_plain_python_draws_the_same_numbers(self, name, scale, count):
        noise, rng = room[name](scale), np.random.Generator(np.random.PCG64(11))
        plain = [type(noise).draws(float(scale), count, rng) for _ in range(500)]
        assert plain == drawn(noise, count, 500, seed=11).tolist()

    @pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5, 2)])
    def test_a_whole_exact_share_has_the_law(self, name, scale):
        noise = room[name](scale)
        same_law(shares(noise, 1, 1, 20_000), noise.pmf)

    @pytest.mark.parametrize("n", [2, 10])
    def test_exact_shares_add_up_to_one_draw(self, name, n):
        noise = room[name](Fraction(5))
        same_law(shares(noise, n, n, 30_000 // n), noise.pmf)

    @pytest.mark.parametrize(("n", "kept"), [(2, 1), (10, 6)])
    def test_missing_shares_are_noticed(self, name, n, kept):
        noise = room[name](Fraction(5))
        with pytest.raises(AssertionError, match="another law"):
            same_law(shares(noise, n, kept, 30_000 // n), noise.pmf)

    def test_stretching_multiplies_the_scale(self, name):
        assert room[name](Fraction(3)).stretch(Fraction(2, 3)) == room[name](2)

    @pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf"), "wide", True])
    def test_a_scale_is_a_number_above_zero(self, name, scale):
        with pytest.raises(InvalidValue, match="scale"):
            room[name](scale)

    def test_is_a_frozen_record_of_its_scale(self, name):
        noise = room[name](Fraction(1, 3))
        assert [field.name for field in fields(noise)][:1] == ["scale"]
        assert room[name](**{field.name: getattr(noise, field.name) for field in fields(noise)}) == noise


@pytest.mark.parametrize("name", NOISES)
class TestLoss:
    @pytest.mark.parametrize("scale", [Fraction(3, 2), Fraction(5)])
    @pytest.mark.parametrize("sensitivity", [1, 3])
    def test_loss_bounds_the_divergence_of_neighbours(self, name, scale, sensitivity):
        noise = room[name](scale)
        covers(noise.loss(sensitivity), *shifted(noise, sensitivity))

    def test_the_loss_of_a_wider_noise_is_too_small(self, name):
        noise = room[name](Fraction(5))
        with pytest.raises(AssertionError, match="order"):
            covers(noise.stretch(Fraction(51, 50)).loss(1), *shifted(noise, 1))

    def test_loss_is_not_far_above_the_divergence(self, name):
        noise = room[name](Fraction(5))
        curve, _ = renyi(*shifted(noise, 1))
        np.testing.assert_allclose([float(noise.loss(1).curve[i]) for i in FEW], curve, rtol=0.001)

    def test_pure_epsilon_is_the_largest_log_ratio_of_the_support(self, name):
        """Attained at once, or infinite because the log-ratio grows along the tail."""
        noise = room[name](Fraction(5, 2))
        z = np.arange(-60, 61)
        ratio = np.log(noise.pmf(z)) - np.log(noise.pmf(z - 2))
        if noise.loss(2).pure_epsilon < np.inf:
            assert ratio.max() == pytest.approx(float(noise.loss(2).pure_epsilon), rel=1e-9)
        else:
            assert ratio[0] > ratio[20] + 0.5 > ratio[40] + 1

    def test_a_loss_is_kept_as_text_without_losing_a_digit(self, name):
        coarse, fine = room[name](Fraction(1, 3)), room[name](Fraction(5))
        for loss in (coarse.loss(1), coarse.loss(7), fine.loss(1, shares=10), 3 * fine.loss(2)):
            assert Loss.from_text(loss.to_text()) == loss

    def test_a_loss_with_shares_is_at_least_the_loss_of_one_draw(self, name):
        noise = room[name](Fraction(5))
        whole, split = noise.loss(1), noise.loss(1, shares=10)
        assert all(a <= b for a, b in zip(whole.curve, split.curve, strict=True))
        assert whole.pure_epsilon <= split.pure_epsilon


@pytest.mark.parametrize("name", NOISES)
class TestKernels:
    """The kernels of `core` speak of the same law as the noise."""

    @pytest.mark.parametrize(("scale", "count"), list(product([Fraction(3), Fraction(10)], [*COUNTS, 0.25])))
    @pytest.mark.parametrize("grid", [1, 4])
    def test_log_pmf(self, name, scale, count, grid):
        noise, z = room[name](scale), np.arange(-150, 151)
        kernel = [log_pmf(law(noise, grid, per_release=count), 9, int(each)) for each in z]
        p = noise.pmf(z, count)
        seen = p > 1e-290
        np.testing.assert_allclose(np.array(kernel)[seen], np.log(p[seen]), rtol=1e-9, atol=1e-9)

    def test_log_pmf_of_a_draw_per_pull(self, name):
        noise, z = room[name](Fraction(3)), np.arange(60)
        kernel = [log_pmf(law(noise, per_pull=1.0), 9, int(each)) for each in z]
        np.testing.assert_allclose(kernel, np.log(noise.pmf(z, 9.0)), rtol=1e-9)

    @pytest.mark.parametrize(("scale", "count"), list(product(SCALES, COUNTS)))
    @pytest.mark.parametrize("grid", [1, 4])
    def test_log_mgf_is_at_least_that_of_the_law(self, name, scale, count, grid):
        """Equal for all but the Gaussian."""
        noise, z = room[name](scale), np.arange(-6000, 6001)
        p = noise.pmf(z, count)
        z, log_p = z[p > 0], np.log(p[p > 0])
        for part in (0.01, 0.3, 0.8):
            lam = part * grid / float(scale)
            exact = np.logaddexp.reduce(log_p + lam * z / grid)
            for sign in (1, -1):
                bound = log_mgf(law(noise, grid, per_release=count), 9, sign * lam)
                assert bound >= exact * (1 - 1e-9) - 1e-12
                if name != "discrete_gaussian":
                    assert bound == pytest.approx(exact, rel=1e-7, abs=1e-12)

    def test_a_cumulant_of_a_narrower_noise_is_too_small(self, name):
        noise, z = room[name](Fraction(3)), np.arange(-100, 101)
        exact = np.logaddexp.reduce(np.log(noise.pmf(z)) + 0.1 * z)
        assert cumulant(noise.kind, 0.98 * float(noise.scale), 1.0, 1, 0.1) < exact


@pytest.mark.parametrize("name", NOISES)
def test_shares_use_no_float(name):
    assert [what for _, what in offences_of(room[name].share)] == []


def test_a_float_in_a_share_is_seen():
    def share(self, n, bits):
        return bits.below(int(float(self.scale) / n * 2.0))

    assert {what for _, what in offences_of(share)} == {"float", "/", "literal 2.0"}


def offences_of(function):
    """Offences in the source of a function, but for a division `Fraction / int`: `self.scale**2 / n` is exact, as
    `self.scale` is a Fraction (see `test_the_scale_is_a_fraction`), and so is `1 / self.scale`."""
    import inspect

    source = inspect.getsource(function)
    for exact in ("self.scale**2 / n", "1 / self.scale"):
        source = source.replace(exact, "exact")
    return offences(source)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("scale", [2, 0.1, "1/3", Fraction(7, 2)])
def test_the_scale_is_a_fraction(name, scale):
    noise = room[name](scale)
    assert type(noise.scale) is Fraction
    assert type(noise.stretch(Fraction(1, 3)).scale) is Fraction

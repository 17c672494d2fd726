"""What every noise promises: rules that ask through the interface alone, so that they hold for noises yet to come.

A rule takes a noise and raises an AssertionError where it breaks its promise. Distributions are compared with `pmf` by
chi-square. Seeds are fixed; under a new seed each random assertion rejects a correct noise with probability
ALPHA = 1e-9.
"""

import inspect
from dataclasses import fields
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import Law, is_sub_gamma
from maskedbandit.noise_bounds import log_mgf, radius
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.statistics import Statistics
from maskedbandit.theory.noise_pmf import log_pmf
from tests.floatfree import offences
from tests.statistics import same_distribution, same_distribution_of_two, seeded

SCALES = (Fraction(1, 2), Fraction(3), Fraction(10))
N = 100_000
FEW = [i for i, order in enumerate(ORDERS) if order <= 33]  # from there on a float cannot hold the tails that count

draw = None  # stands for the noise's own kernel, see `drawn`


def of_scale(noise, scale):
    """The noise, with this scale."""
    return noise.stretch(Fraction(scale) / noise.scale)


def splits(noise):
    """Whether many users can draw it together; a noise that cannot be split refuses to."""
    try:
        of_scale(noise, 100).noise_share(2, seeded(1))
    except InvalidValue:
        return False
    return True


def counts(noise):
    """Numbers of draws to look at; of a noise that can be split also parts of a draw."""
    return (1.0, 1.25, 50.0) if splits(noise) else (1.0, 7.0)


def law_of(noise, grid=1, **counts):
    """The distribution of the noise in units of reward, on a grid of so many steps."""
    bound = {"variance": noise.variance, "tail": noise.tail}
    return Law(noise.kind, scale=float(noise.scale) / grid, grid=float(grid), **counts, **bound)


def fill(scale, count, out, rng):
    for i in range(out.size):
        out[i] = draw(scale, count, rng)


def drawn(noise, count, n=N, seed=7):
    """Draws of the kernel, compiled as the engine compiles it."""
    out = np.zeros(n, np.int64)
    compile_loop(fill, draw=noise.draws)(float(noise.scale), count, out, np.random.Generator(np.random.PCG64(seed)))
    return out


def noise_sums(noise, n, kept, size, seed=7):
    """Sums of `kept` of n exact noise shares."""
    bits = seeded(seed)
    return np.array([sum(noise.noise_share(n, bits) for _ in range(kept)) for _ in range(size)])


def renyi(p, q):
    """The Rényi curve at the orders FEW, and the largest log-ratio, of two distributions with the same support."""
    log_p, log_q = np.log(p), np.log(q)
    orders = [float(ORDERS[i]) for i in FEW]
    return [np.logaddexp.reduce(a * log_p + (1 - a) * log_q) / (a - 1) for a in orders], float(np.max(log_p - log_q))


def shifted(noise, sensitivity, count=1.0):
    """The distributions of z and of z + sensitivity, wherever neither underflows."""
    z = np.arange(-1000, 1001)
    p, q = noise.pmf(z, count), noise.pmf(z - sensitivity, count)
    seen = (p > 1e-290) & (q > 1e-290)
    return p[seen], q[seen]


def covers(loss, p, q, numbers=1):
    """The loss bounds the divergence of the two distributions, at every order of FEW and at order infinity; for some
    `numbers` of these distributions, all independent, together."""
    curve, worst = renyi(p, q)
    for i, exact in zip(FEW, curve, strict=True):
        assert float(loss.curve[i]) >= numbers * exact * (1 - 1e-9), f"order {float(ORDERS[i])}"
    assert float(loss.pure_epsilon) >= numbers * worst * (1 - 1e-9), "the largest log-ratio"


def hides(loss, noise, sensitivity):
    """(ε, δ) for every ε that the loss gives: sum_z max(0, P(z) - e^ε P(z - sensitivity)) <= δ."""
    z = np.arange(-2000, 2001)
    hidden(loss, noise.pmf(z), noise.pmf(z - sensitivity))


def hidden(loss, p, q):
    """As above, of the probabilities of both."""
    for delta in (0.1, 0.01, 1e-4, 1e-6, 1e-9):
        epsilon = loss.epsilon(delta)
        if epsilon < np.inf:
            lost = np.maximum(0, p - np.exp(epsilon) * q).sum()
            assert lost <= delta * (1 + 1e-9) + 1e-14, f"{lost} is more than δ = {delta} at ε = {epsilon}"


def check_pmf(noise):
    for scale, count in product(SCALES, counts(noise)):
        p = of_scale(noise, scale).pmf(np.arange(-4000, 4001), count)
        assert p.min() >= 0
        assert p.sum() == pytest.approx(1, abs=1e-12)
        np.testing.assert_allclose(p, p[::-1], rtol=1e-9, atol=1e-300, err_msg="not symmetric")
    z, one = np.arange(-400, 401), of_scale(noise, Fraction(5, 2))
    twice = np.convolve(one.pmf(z), one.pmf(z), mode="same")
    np.testing.assert_allclose(one.pmf(z, 2.0)[200:600], twice[200:600], rtol=1e-6, atol=1e-12)


def check_the_lab_draws_the_distribution(noise):
    for scale, count in product(SCALES, counts(noise)):
        wide = of_scale(noise, scale)
        same_distribution(drawn(wide, count), lambda z, wide=wide, count=count: wide.pmf(z, count))


def check_plain_python_draws_the_same(noise):
    for scale, count in product(SCALES, counts(noise)):
        wide, rng = of_scale(noise, scale), np.random.Generator(np.random.PCG64(11))
        plain = [wide.draws(float(scale), count, rng) for _ in range(300)]
        assert plain == drawn(wide, count, 300, seed=11).tolist()


def check_whole_draws_have_the_distribution(noise):
    for scale in (Fraction(1, 3), Fraction(5, 2)):
        wide = of_scale(noise, scale)
        same_distribution(noise_sums(wide, 1, 1, 9000), wide.pmf)


def check_noise_shares_add_up(noise):
    """To one draw; or the noise refuses to be split, and to say what noise shares would cost."""
    wide = of_scale(noise, 5)
    if splits(noise):
        for n in (2, 10):
            same_distribution(noise_sums(wide, n, n, 6000 // n), wide.pmf)
        whole, split = wide.loss(1), wide.loss(1, noise_shares=10)
        assert all(a <= b for a, b in zip(whole.curve, split.curve, strict=True))
        assert whole.pure_epsilon <= split.pure_epsilon
    else:
        with pytest.raises(InvalidValue):
            wide.loss(1, noise_shares=2)


def check_noise_shares_use_no_float(noise):
    """But for a division of the scale, which is a Fraction."""
    source = "".join(inspect.getsource(draw) for draw in (type(noise).noise_share, type(noise).noise_shares))
    for exact in ("self.scale**2 / n", "1 / self.scale"):
        source = source.replace(exact, "exact")
    assert [what for _, what in offences(source)] == []


def check_noise_shares_of_a_vector(noise):
    """Those of two numbers, drawn at once, are as two that are drawn one after the other."""
    wide, bits, n = of_scale(noise, 5), seeded(7), 2 if splits(noise) else 1
    at_once = [wide.noise_shares(2, n, bits) for _ in range(3000)]
    one_by_one = [(wide.noise_share(n, bits), wide.noise_share(n, bits)) for _ in range(3000)]
    same_distribution_of_two(*(np.array([a + 1000 * b for a, b in pairs]) for pairs in (at_once, one_by_one)))
    assert wide.noise_shares(0, n, bits) == []


def check_scale(noise):
    """A Fraction, the first field of a frozen record; `stretch` multiplies it."""
    for scale in (2, 0.1, "1/3", Fraction(7, 2)):
        made = type(noise)(scale)
        assert type(made.scale) is Fraction
        assert type(made.stretch(Fraction(1, 3)).scale) is Fraction
    assert type(noise)(Fraction(3)).stretch(Fraction(2, 3)) == type(noise)(2)
    for scale in (0, -1, float("nan"), float("inf"), "wide", True):
        with pytest.raises(InvalidValue, match="scale"):
            type(noise)(scale)
    names = [field.name for field in fields(noise)]
    assert names[0] == "scale"
    assert type(noise)(**{name: getattr(noise, name) for name in names}) == noise


def check_loss(noise):
    """It bounds the divergence of neighbours, and is less for a wider noise."""
    for scale, sensitivity in product((Fraction(3, 2), Fraction(5), Fraction(40)), (1, 3)):
        wide = of_scale(noise, scale)
        loss = wide.loss(sensitivity)
        assert isinstance(loss, Loss)
        hides(loss, wide, sensitivity)
        if loss.delta == 0:
            covers(loss, *shifted(wide, sensitivity))
    assert of_scale(noise, 5).loss(1).epsilon(0.001) > of_scale(noise, 10).loss(1).epsilon(0.001)
    assert of_scale(noise, Fraction(1, 3)).loss(100).epsilon(0.001) > 2  # noise that hides nothing has a loss too


def check_vectors(noise):
    """What a vector costs bounds the divergence of two of its numbers that move together, or one that moves by two."""
    wide, z = of_scale(noise, 5), np.arange(-400, 401)
    for far, moved in ((1, 2), (2, 1)):
        statistics = Statistics(size=2, l1=2, square=2 * far, low=-1, steps=1, moved=moved)
        loss = wide.loss(1, statistics=statistics)
        if loss.delta == 0:
            covers(loss, *shifted(wide, far), numbers=moved)
        else:
            p, q = wide.pmf(z), wide.pmf(z - far)
            hidden(loss, *((np.outer(p, p), np.outer(q, q)) if moved == 2 else (p, q)))


def check_joint_loss(noise):
    """If it is stated, it bounds what some draws cost that move together, and one that moves by two; early or not."""
    wide = of_scale(noise, 5)
    for early in (False, True):
        try:
            wide.joint_loss(Fraction(1), Fraction(1), early)
        except InvalidValue:
            continue
        for far, draws in ((1, 1), (1, 2), (1, 20), (2, 1)):
            loss = wide.joint_loss(Fraction(far * draws), Fraction(far**2 * draws), early)
            covers(loss, *shifted(wide, far), numbers=draws)


def check_cumulant(noise):
    """What policies are told of the noise is true of it: moments, and equal where the kind of the `Law` is its own."""
    for scale, count, grid in product(SCALES, counts(noise), (1, 4)):
        wide, z = of_scale(noise, scale), np.arange(-6000, 6001)
        law = law_of(wide, grid, per_release=count)
        p = wide.pmf(z, count)
        z, log_p = z[p > 0], np.log(p[p > 0])
        for part in (0.01, 0.3, 0.8):
            lam = part * grid / float(scale)
            exact = np.logaddexp.reduce(log_p + lam * z / grid)
            for sign in (1, -1):
                assert log_mgf(law, 9, sign * lam) >= exact * (1 - 1e-9) - 1e-12, "moments are larger than stated"


def check_radius(noise):
    for scale, count, grid in product(SCALES, counts(noise), (1, 4)):
        wide, z = of_scale(noise, scale), np.arange(-6000, 6001)
        p, law = wide.pmf(z, count), law_of(wide, grid, per_release=count)
        for x in (0.7, 3.0, 10.0, 20.0):
            outside = p[np.abs(z) > radius(law, 1, 9, x) * grid].sum()
            assert outside <= 2 * np.exp(-x) * (1 + 1e-9) + 1e-12, f"the noise leaves its radius with {outside}"


def check_log_pmf(noise):
    """Policies that are told the probabilities are told the right ones."""
    if is_sub_gamma(law_of(noise)):
        return
    for scale, grid in product((Fraction(3), Fraction(10)), (1, 4)):
        for count in (*counts(noise), *((0.25,) if splits(noise) else ())):
            wide, z = of_scale(noise, scale), np.arange(-150, 151)
            kernel = [log_pmf(law_of(wide, grid, per_release=count), 9, int(each)) for each in z]
            p = wide.pmf(z, count)
            seen = p > 1e-290
            np.testing.assert_allclose(np.array(kernel)[seen], np.log(p[seen]), rtol=1e-9, atol=1e-9)


RULES = (
    check_pmf,
    check_the_lab_draws_the_distribution,
    check_plain_python_draws_the_same,
    check_whole_draws_have_the_distribution,
    check_noise_shares_add_up,
    check_noise_shares_use_no_float,
    check_noise_shares_of_a_vector,
    check_scale,
    check_loss,
    check_vectors,
    check_joint_loss,
    check_cumulant,
    check_radius,
    check_log_pmf,
)

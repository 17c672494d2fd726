"""DP-TT. Tests are exact except the one that counts deviations: a correct threshold fails it with probability 1e-9."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import Kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import LAPLACE, Law
from maskedbandit.noise_bounds import log_mgf_of_sum
from maskedbandit.policies.identify.dp_tt import (
    LARGEST_EPSILON,
    arm_threshold,
    closed_threshold,
    proved_threshold,
    tilt,
    update,
)
from maskedbandit.policies.parts.phases import NEWS, TESTS
from maskedbandit.theory.divergences import private_divergence
from maskedbandit.theory.thresholds import ZETA_2
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.identify import published
from tests.policies.mutants import mutant
from tests.statistics import at_most
from tests.thrift import thrifty

DPTT = mb.policies.DPTT
GAUSSIAN = mb.noises.DiscreteGaussian()
CHANNELS = (
    mb.channels.Central(epsilon=0.1),
    mb.channels.Central(epsilon=3),
    mb.channels.Central(epsilon=0.1, noise=GAUSSIAN),
    mb.channels.Distributed(epsilon=0.5, honest=0.5),
    mb.channels.Shuffled(epsilon=0.5, delta=1e-6),
)


def laplace(epsilon: float) -> Law:
    return Law(LAPLACE, scale=1 / epsilon, grid=1, per_release=1)


def part(k: int, arms: int = 5, delta: float = 0.01) -> float:
    """l."""
    return math.log(arms * ZETA_2 * k * k / delta)


def test_closed_threshold():
    """For n = 2^(k-1): the first expression without a bound on d by epsilon, then whichever is less."""
    ks = (1, 5, 9, 13, 17, 21)
    first = [closed_threshold(laplace(1e300), k, 2 ** (k - 1), part(k)) for k in ks]
    assert first == pytest.approx([10.017, 22.438, 31.334, 39.186, 46.476, 53.401], abs=6e-4)
    second = {
        0.01: [7.722, 15.089, 22.360, 43.345, 91.898, 164.32],
        0.1: [7.808, 16.319, 32.226, 70.101, 130.65, 212.64],
    }
    for epsilon, values in second.items():
        found = [closed_threshold(laplace(epsilon), k, 2 ** (k - 1), part(k)) for k in ks]
        assert found == pytest.approx(np.minimum(first, values), abs=2e-3)


@for_each("epsilon", [0.01, 0.1, 1])
def test_closed_threshold_is_that_of_the_plain_program(epsilon):
    paper = published.DPTT(5, epsilon, 0.01, 0.0)
    for k in range(1, 25):
        paper.k[0], paper.size[0] = k, 2 ** (k - 1)
        assert closed_threshold(laplace(epsilon), k, 2 ** (k - 1), part(k)) == pytest.approx(paper.c(0), rel=1e-9)


@for_each("channel", thrifty(CHANNELS, lambda channel: channel is CHANNELS[-1]), ids=repr)
def test_proved_threshold_is_the_least_that_markov_gives(channel):
    law = channel.law()
    for k in (1, 4, 9, 17):
        n, x = 2 ** (k - 1), part(k)
        t = np.linspace(1e-3, 1, 4000)
        least = min((x + log_mgf_of_sum(law, k, n, each * tilt(law))) / each for each in t.tolist())
        assert x <= proved_threshold(law, k, n, x) <= least * (1 + 1e-7)
        assert proved_threshold(law, k, n, x) >= least * (1 - 1e-5)


@for_each("epsilon", [1e-3, 0.1, 1, 10])
def test_proved_threshold_is_below_the_closed_form(epsilon):
    """The closed form also knows that d <= epsilon: it is lower only where that lets nothing pass."""
    for k in range(1, 30):
        n, x = 2 ** (k - 1), part(k)
        closed = closed_threshold(laplace(epsilon), k, n, x)
        assert proved_threshold(laplace(epsilon), k, n, x) <= closed or closed > epsilon * n


def test_tilt_is_epsilon_and_like_it():
    assert tilt(laplace(0.3)) == 0.3
    assert tilt(mb.channels.Central(epsilon=0.3, noise=GAUSSIAN).law()) == pytest.approx(0.3)
    assert tilt(mb.channels.Raw().law()) == tilt(laplace(1000)) == LARGEST_EPSILON
    assert tilt(mb.channels.Shuffled(epsilon=0.5, delta=1e-6).law()) < 0.5


def deviations(channel: mb.channels.Central, k: int, x: float, cut: float = 1.0, runs: int = 100_000) -> int:
    """Samples of the last of k doubling phases whose mean of 0.6 is too large, and too small, at `cut` thresholds."""
    law, n, mu, rng = channel.law(), 2 ** (k - 1), 0.6, np.random.Generator(np.random.PCG64(1))
    scale, c, e = law.scale, cut * proved_threshold(law, k, n, x), tilt(law)
    if law.kind == LAPLACE:
        noise = (rng.geometric(-math.expm1(-1 / scale), (2, runs, k)) * [[[1]], [[-1]]]).sum(axis=(0, 2))
    else:
        noise = np.round(rng.normal(0, scale, (runs, k))).sum(axis=1)  # wide enough to be near the discrete one
    means = np.clip((rng.binomial(n, mu, runs) + noise) / n, 0, 1)
    values, counts = np.unique(means, return_counts=True)
    far = [n * private_divergence(float(m), mu, e) >= c for m in values]
    return max(int(counts[far & (values > mu)].sum()), int(counts[far & (values < mu)].sum()))


def deviant(of: Kernel) -> int:
    """For how many numbers of releases a threshold is not that of their joint noise."""
    law, s, wrong = laplace(0.1), DPTT().init(5, 0.01), 0
    for k in (1, 2, 5, 9):
        s.phases.number[0], s.users[0] = k, 2 ** (k - 1)
        t = np.linspace(0.05, 1, 20_000)[:-1]
        # k draws of noise with E exp(lam Z) = (1 - p)^2 / ((1 - p e^lam) (1 - p e^-lam)), p = e^-epsilon
        p, up, down = math.exp(-0.1), np.exp(0.1 * (t - 1)), np.exp(-0.1 * (t + 1))
        log_mgf = k * (2 * math.log(1 - p) - np.log1p(-up) - np.log1p(-down))
        wrong += abs(of(s, law, 0) / float(((part(k) + log_mgf) / t).min()) - 1) > 1e-5
    return wrong


def test_the_threshold_is_for_the_noise_of_all_releases():
    assert deviant(arm_threshold) == 0
    assert deviant(mutant(arm_threshold, "proved_threshold(law, k, n, x)", "proved_threshold(law, 1, n, x)")) == 3
    assert deviant(mutant(arm_threshold, "k * k / s.delta", "k / s.delta")) == 3


@for_each("channel", CHANNELS[:3], ids=repr)
def test_means_pass_the_threshold_as_seldom_as_proved(channel):
    for k in (1, 5, 9):
        at_most(deviations(channel, k, math.log(100)), 100_000, 0.01)


def test_a_threshold_that_is_too_low_is_rejected():
    """Negative control: half of the threshold."""
    with pytest.raises(AssertionError, match="more than"):
        at_most(deviations(CHANNELS[0], 9, math.log(100), 0.5), 100_000, 0.01)


@pytest.mark.sparing(1)
@pytest.mark.parametrize("fraction", thrifty([0.0, 0.5], lambda fraction: fraction == 0))
@pytest.mark.parametrize(("means", "epsilon"), [((0.9, 0.1), 2.0), ((0.1, 0.5, 1.0, 0.1), 1.0), ((0.9, 0.1, 0.2), 0.5)])
def test_pulls_are_those_of_the_paper(means, epsilon, fraction):
    paper = published.DPTT(len(means), epsilon, 0.1, fraction)
    pulls = published.play(DPTT(forced=fraction, threshold="closed"), paper, laplace(epsilon), means, seed=1)
    assert min(pulls) > 10
    assert sum(pulls) < published.MOST


@for_each(
    ("old", "new"),
    [
        ("cost + math.log(pulls[answer])", "cost"),
        ("n, pulls[answer], e)", "s.users[leader], s.users[answer], e)"),
        ("known = starving or s.as_of[a] == n + pulls[a]", "known = s.as_of[a] > 0"),
    ],
)
def test_other_pulls_are_rejected(old, new):
    """Negative controls: no penalty, released users where all pulls count, costs that are out of date."""
    import maskedbandit.policies.identify.dp_tt as home

    class Broken(DPTT):
        ask = mutant(DPTT.ask, challenger=mutant(home.challenger, old, new))

    with pytest.raises(AssertionError):
        several(Broken(threshold="closed"))


def several(policy: DPTT) -> None:
    for seed in range(3):
        published.play(policy, published.DPTT(4, 0.5, 0.1, 0.5), laplace(0.5), (0.9, 0.5, 0.1, 0.1), seed, most=250)


@pytest.mark.slow
def test_the_play_of_the_controls_is_accepted():
    several(DPTT(threshold="closed"))


def test_phases_end_at_powers():
    """With a growth of 1.3: 1, then the first counts of at least 1.3^k, none of them twice."""
    found = interpreted(DPTT(eta=0.3), mb.channels.Central(epsilon=1), mb.Bernoulli([0.55, 0.45]), 3000)
    ends = sorted({max(1, math.ceil(1.3**k)) for k in range(30)})
    for arm in range(2):
        sizes = [n for a, n, _ in found.released if a == arm]
        assert len(sizes) > 15
        assert np.cumsum(sizes).tolist() == ends[: len(sizes)]


def test_noise_that_grows_is_refused():
    for channel in (mb.channels.Local(epsilon=1), mb.channels.Response(epsilon=1)):
        with pytest.raises(InvalidValue, match="does not grow with the number of users"):
            mb.identify(DPTT(), channel, mb.Bernoulli([0.9, 0.1]))


def test_the_closed_form_is_for_laplace_noise():
    with pytest.raises(InvalidValue, match="one draw of Laplace noise"):
        mb.identify(DPTT(threshold="closed"), CHANNELS[2], mb.Bernoulli([0.9, 0.1]))


@for_each("eta", [0, -1, 1e-17, 1e-9, 0.0099, 101, math.nan])
def test_growth_out_of_range_is_refused(eta):
    with pytest.raises(InvalidValue, match=r"^eta is "):
        DPTT(eta=eta)


def failed(users: list[int], **names: Kernel) -> int:
    """Tests that fail though they need no evidence, of two arms with three released phases: the first have 1, 1, 2."""
    s = DPTT().init(2, 0.1)
    s.phases.number[:], s.users[:], s.total[0], s.phases.clock[NEWS] = 3, users, 4, 1
    mutant(update, arm_threshold=Kernel(lambda *_: 0.0), **names)(s, laplace(1.0), np.random.default_rng(1))
    return int(s.phases.clock[TESTS])


def test_an_arm_whose_phases_overtook_one_another_passes_no_test():
    """Its users are not those for which the threshold is proved; where some were lost, there are fewer."""
    assert [failed(users) for users in ([4, 4], [3, 4], [6, 4], [4, 6])] == [0, 0, 1, 1]
    assert failed([4, 6], in_order=Kernel(lambda *_: True)) == 0

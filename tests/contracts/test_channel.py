"""What every channel promises, run over every channel that the room finds.

Exact cohorts are drawn through `randomize`, `aggregate` and `analyze`, simulated ones through `perturb`, compiled as
the engine compiles it. Channels that a protocol can carry run on it too, for fewer cohorts. Seeds are fixed; under a
new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9. Each check stands next to a
broken twin that it must reject.
"""

from dataclasses import MISSING, dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.backends import room as backends
from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.channels import room
from maskedbandit.channels.central import Central
from maskedbandit.channels.channel import Channel
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.raw import Raw
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import InvalidValue, RewardOutOfRange
from maskedbandit.lab.engine.compiler import compiled
from maskedbandit.law import COINS, draws, radius, steps
from maskedbandit.noises import room as noises
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.theory.noise_pmf import log_pmf
from tests.statistics import at_most, mean_is, same_law, same_law_of_two, seeded

EPSILON = Fraction(1, 5)
FINE = Grid(fineness=Fraction(5))  # 3 steps for 6 users
REWARDS = [0, 1, 0.5, 0.3, 1.0, 0.75]
N = 1500

perturb = noise = None  # stand for the channel's own kernels, see `simulated`


def settings(name):
    """Some settings of a channel: each noise, coarse and fine steps, and every choice that it alone has."""
    channel = room[name]
    known = {field.name for field in fields(channel)}
    if "counter" in known:  # releases build on one another, so the steps cannot depend on the size of a cohort
        yield from (channel(epsilon=EPSILON, counter=each) for each in ("binary", "honaker", "kary", "hybrid"))
        yield from (
            channel(epsilon=EPSILON, counter="honaker", length=16, noise=noises[each](), grid=3) for each in noises
        )
    elif "noise" in known:
        for each in noises:
            yield channel(epsilon=EPSILON, noise=noises[each]())
        yield channel(epsilon=EPSILON, grid=FINE)
    elif "epsilon" in known:
        yield from (channel(epsilon="0.9"), channel(epsilon="0.3"))
    else:
        yield channel()
    if "honest" in known:
        yield channel(epsilon=EPSILON, honest="0.8")
    if {"honest", "noise"} <= known:
        yield channel(epsilon=EPSILON, honest="0.5", noise=noises["skellam"](), grid=FINE)
    if "modulus" in known:
        yield channel(epsilon=EPSILON, modulus="tight")
        yield channel(epsilon=EPSILON, modulus=1009, grid=FINE)


CHANNELS = [each for name in room for each in settings(name)]
REAL = (  # every channel that a protocol can carry, with every protocol that can, none of whose devices are lost
    Distributed(backend=SecAgg(smallest=1)),
    Shuffled(backend=Shuffler()),
    SplitAndMix(eta="0.01", backend=Shuffler()),
    TwoServers(backend=SealedShares()),
)
ROUNDS = 300  # of a protocol


def title(channel):
    parts = [type(channel).__name__]
    for field in fields(channel):
        value = getattr(channel, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if field.name == "grid":
            parts += ["fine"] if value.fineness else []
        elif value != default and field.name != "epsilon":
            parts.append(type(value).__name__ if field.name == "noise" else f"{field.name} {value}")
    return " ".join(parts)


each_channel = pytest.mark.parametrize("channel", CHANNELS, ids=title)


def exactly(channel, rewards=REWARDS, size=N, seed=3):
    """Released totals by way of the devices."""
    bits, n, totals = seeded(seed), len(rewards), []
    for _ in range(size):
        sent = [channel.randomize(reward, n, bits, i) for i, reward in enumerate(rewards)]
        total, survivors, _ = channel.aggregate(sent, bits)
        assert list(survivors) == list(range(n))
        totals.append(channel.analyze(total, n, bits))
    return totals


def fill(channel, law, totals, n, out, rng):
    for i in range(out.size):
        z = noise(law.scale * steps(law, n), draws(law, 1, n), rng)
        out[i] = perturb(channel, law, i, totals[i], n, z, rng)  # the first release of an arm of its own


def simulated(channel, rewards=REWARDS, size=N, seed=4, plain=False):
    """Released totals by way of the lab; rewards are rounded as the lab rounds them."""
    rng, law, n = np.random.Generator(np.random.PCG64(seed)), channel.law(), len(rewards)
    g, out = steps(law, n), np.zeros(size)
    on_grid = np.array(rewards, float) * max(g, 1)
    totals = np.full(size, on_grid.sum())
    if g > 0:
        totals = np.floor(on_grid + rng.random((size, n)) * (on_grid % 1 > 0)).sum(axis=1)
    kernels, numbers = {"noise": channel.draws, "perturb": channel.perturb}, channel.numbers(size)
    if plain:
        for i in range(size):
            z = kernels["noise"](law.scale * g, draws(law, 1, n), rng)
            out[i] = kernels["perturb"](numbers, law, i, totals[i], n, z, rng)
    else:
        compiled(fill, **kernels, draws=draws, steps=steps)(numbers, law, totals, n, out, rng)
    return out


def agree(a, b):
    """Two samples of released totals have one law."""
    values, codes = np.unique(np.round(np.concatenate([a, b]), 9), return_inverse=True)
    if values.size > 1:
        same_law_of_two(codes[: len(a)], codes[len(a) :])


@each_channel
class TestLaw:
    def test_the_lab_draws_what_the_devices_release(self, channel):
        exact = exactly(channel)
        agree(exact, simulated(channel))
        if len(set(exact)) > 1:
            mean_is(exact, sum(REWARDS))
        else:
            assert exact[0] == pytest.approx(sum(REWARDS))

    def test_simulated_totals_are_unbiased(self, channel):
        totals = simulated(channel, size=100_000)
        if np.ptp(totals) > 0:
            mean_is(totals, sum(REWARDS))
        assert not np.isnan(totals).any()

    def test_plain_python_releases_the_same_numbers(self, channel):
        np.testing.assert_array_equal(simulated(channel, size=200, plain=True), simulated(channel, size=200))

    def test_noise_stays_within_the_radius_of_the_law(self, channel):
        """Of whole rewards, which no rounding disturbs."""
        rewards = [0, 1, 1, 0, 1, 1, 1, 0]
        error = np.abs(simulated(channel, rewards, size=100_000) - sum(rewards))
        for x in (1.0, 3.0, 6.0):
            at_most(np.count_nonzero(error > radius(channel.law(), 1, 8, x) + 1e-9), error.size, 2 * np.exp(-x))


@each_channel
class TestPromises:
    @pytest.mark.parametrize("reward", [-0.1, 1.1, float("nan"), float("inf"), -float("inf"), "x", None, 1e-9 + 1])
    def test_a_reward_is_a_number_between_0_and_1(self, channel, reward):
        with pytest.raises(RewardOutOfRange, match=r"reward must be a number in \[0, 1\]") as caught:
            channel.randomize(reward, 6, seeded(1), 0)
        assert str(caught.value) == str(RewardOutOfRange())  # errors end in logs: they do not show the reward

    def test_its_loss_is_kept_as_text_without_losing_a_digit(self, channel):
        for loss in (channel.loss(1), 7 * channel.loss(5), channel.loss(5) | channel.loss(6)):
            assert Loss.from_text(loss.to_text()) == loss

    @pytest.mark.parametrize("reward", [0, 1, 0.0, 1.0, True, Fraction(1, 3), np.float64(0.25), np.int64(1)])
    def test_numbers_of_every_kind_are_rewards(self, channel, reward):
        channel.randomize(reward, 6, seeded(1), 5)

    @pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "lots", None, True])
    def test_epsilon_is_a_number_above_zero(self, channel, epsilon):
        if hasattr(channel, "epsilon"):
            with pytest.raises(InvalidValue, match="epsilon"):
                replace(channel, epsilon=epsilon)

    def test_says_who_sees_what(self, channel):
        assert channel.trust in ("none", "central", "distributed", "shuffled", "local", "tree")
        assert channel.sees

    def test_is_a_record_that_can_be_rebuilt(self, channel):
        values = {field.name: getattr(channel, field.name) for field in fields(channel)}
        assert type(channel)(**values) == channel
        assert hash(channel) == hash(type(channel)(**values))

    def test_loss_is_a_loss_for_every_cohort(self, channel):
        losses = [channel.loss(n) for n in (1, 2, 6)]
        assert all(isinstance(loss, Loss) and loss != ZERO for loss in losses)

    def test_pure_losses_are_epsilon(self, channel):
        if channel.loss(6).pure_epsilon < float("inf"):
            assert [channel.loss(n).pure_epsilon for n in (1, 6, 1000)] == [channel.epsilon] * 3


def released_noise(channel, size=ROUNDS):
    """Noise of whole cohorts, in steps, and its law: rewards are whole, so no rounding disturbs."""
    law, n, rewards = channel.law(), 6, [0, 1, 1, 0, 1, 1]
    half = draws(law, 1, n) % 2 / 2 if law.kind == COINS else 0.0
    found = (np.array(exactly(channel, rewards, size)) - sum(rewards)) * steps(law, n) - half
    np.testing.assert_allclose(found, np.rint(found), atol=1e-9)
    return np.rint(found).astype(int), lambda z: np.exp([log_pmf(law, n, each + half) for each in z.tolist()])


@pytest.mark.parametrize("channel", REAL, ids=lambda channel: type(channel).__name__)
def test_a_real_protocol_releases_the_law_of_the_lab(channel):
    same_law(*released_noise(channel))


def test_every_protocol_carries_every_channel_that_it_can():
    """Nothing is left out of REAL."""
    assert {type(channel) for channel in REAL} == {
        room[name] for name in room if "backend" in {field.name for field in fields(room[name])}
    }
    assert {type(channel.backend) for channel in REAL} == {backends[name] for name in backends} - {Ideal}


class OneDraw(SealedShares):
    """Two servers of whom one forgets its noise."""

    def noisy_sum(self, values, modulus, noise, cohort, bits):
        given = iter([noise(), 0])
        return super().noisy_sum(values, modulus, lambda: next(given), cohort, bits)


def test_a_protocol_that_releases_another_law_is_rejected():
    with pytest.raises(AssertionError, match="another law"):
        same_law(*released_noise(TwoServers(backend=OneDraw()), size=400))


@dataclass(frozen=True)
class Deaf(Raw):
    """A channel whose analyzer forgets the noise that its law and its kernel have."""

    def law(self):
        return Central(epsilon=EPSILON).law()

    draws = Central(epsilon=EPSILON).draws
    perturb = Central.perturb


@dataclass(frozen=True)
class Narrow(Local):
    """A channel whose devices forget half of their noise."""

    def randomize(self, reward, n, bits, place=None):
        return Central.randomize(self, reward, n, bits) + self.whole(n).stretch(Fraction(1, 2)).share(1, bits)


@pytest.mark.parametrize("broken", [Deaf(), Narrow(epsilon=EPSILON)], ids=["deaf", "narrow"])
def test_a_lab_that_draws_another_law_is_rejected(broken):
    with pytest.raises(AssertionError, match="two laws"):
        agree(exactly(broken), simulated(broken))


def test_a_biased_channel_is_rejected():
    class Biased(Local):
        def analyze(self, total, n, bits):
            return super().analyze(total, n, bits) + 6

    with pytest.raises(AssertionError, match="mean"):
        mean_is(exactly(Biased(epsilon=EPSILON)), sum(REWARDS))


def test_a_law_of_half_the_noise_is_rejected():
    channel = Central(epsilon=EPSILON)
    error = np.abs(simulated(channel, size=100_000, rewards=[1] * 6) - 6)
    half = replace(channel, epsilon=2 * EPSILON).law()
    with pytest.raises(AssertionError, match="more than"):
        at_most(np.count_nonzero(error > radius(half, 1, 6, 3.0)), error.size, 2 * np.exp(-3.0))


def test_every_trust_model_is_covered():
    assert {type(channel) for channel in CHANNELS} == {room[name] for name in room}
    assert all(issubclass(room[name], Channel) for name in room)

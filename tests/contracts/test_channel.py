"""What every channel promises, run over every channel that the room finds; and a mutant for every rule.

Channels that a protocol can carry run on it too, for fewer cohorts. Seeds are fixed; under a new seed each random
assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import math
from dataclasses import MISSING, dataclass, fields
from fractions import Fraction

import numpy as np
import pytest

from maskedbandit.backends import room as backends
from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.prio3 import Prio3
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.secagg import SecAgg
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.backends.sites import Sites
from maskedbandit.channels import room
from maskedbandit.channels.central import Central
from maskedbandit.channels.central_sum import CentralSum
from maskedbandit.channels.channel import Channel, check_answers, no_draw
from maskedbandit.channels.codec import Grid
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.local import Local
from maskedbandit.channels.local_sum import LocalSum
from maskedbandit.channels.raw import Raw
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.core import kernel
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.law import count_draws, count_steps, is_coins
from maskedbandit.noise_bounds import radius
from maskedbandit.noises import room as noises
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.loss import ZERO, Loss
from maskedbandit.theory.noise_pmf import log_pmf
from tests.contracts import channel_rules as rules
from tests.contracts.channel_rules import RULES, exactly
from tests.for_each import for_each
from tests.guides import example
from tests.policies.mutants import mutant
from tests.statistics import same_distribution, seeded
from tests.thrift import thrifty

EPSILON = Fraction(1, 5)
FINE = Grid(fineness=Fraction(5))  # 3 steps for 6 users
REWARDS = [0, 1, 0.5, 0.3, 1.0, 0.75]


def carries(channel):
    """Whether its noise is one that such a channel can add."""
    try:
        channel.loss(6)
    except InvalidValue:
        return False
    return True


def settings(name):
    """Some settings of a channel: each noise, coarse and fine steps, and every choice that it alone has."""
    return filter(carries, tried(name))


def tried(name):
    channel = room[name]
    known = {field.name for field in fields(channel)}
    if "counter" in known:  # releases build on one another, so the steps cannot depend on the size of a cohort
        yield from (channel(epsilon=EPSILON, counter=each) for each in ("binary", "honaker", "kary", "hybrid"))
        yield from (channel(epsilon=1, counter="honaker", length=16, noise=noises[each](), grid=3) for each in noises)
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
        yield channel(epsilon=1, honest="0.5", noise=noises["skellam"](), grid=2)
    if "modulus" in known:
        yield channel(epsilon=EPSILON, modulus="tight")
        yield channel(epsilon=EPSILON, modulus=1009, grid=FINE)


CHANNELS = [each for name in room for each in settings(name)]
REAL = (  # every channel that a protocol can carry, with every protocol that can, none of whose devices are lost
    Distributed(backend=SecAgg(smallest=1)),
    Distributed(backend=Sites()),
    CentralSum(backend=SecAgg(smallest=1)),
    LocalSum(backend=SecAgg(smallest=1)),
    Shuffled(backend=Shuffler()),
    SplitAndMix(eta="0.01", backend=Shuffler()),
    TwoServers(backend=SealedShares()),
    TwoServers(backend=Prio3()),
)
ROUNDS = 120  # of a protocol
DEAR = {  # rules that are left to `make slow`; all but the first compile loops for every channel
    "the_lab_draws_what_the_devices_release",
    "radius",
    "vectors",
    "simulated_totals_are_unbiased",
    "plain_python_releases_the_same",
}


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


each_channel = for_each("channel", CHANNELS, ids=title)


def named(rule):
    return rule.__name__.removeprefix("check_")


@pytest.mark.parametrize("rule", thrifty(RULES, lambda rule: named(rule) in DEAR), ids=named)
@each_channel
def test_keeps(channel, rule):
    rule(channel)


@each_channel
def test_a_loss_is_kept_as_text_without_losing_a_digit(channel):
    for loss in (channel.loss(1), 7 * channel.loss(5), channel.loss(5) | channel.loss(6)):
        assert Loss.from_text(loss.to_text()) == loss


@for_each("rule", RULES, ids=named)
def test_the_channel_of_the_guide_keeps(rule, tmp_path):
    rule(example("add_a_channel.md", tmp_path).Clinics(epsilon=EPSILON, clinic=2))


def released_noise(channel, size=ROUNDS):
    """Noise of whole cohorts, in steps, and its law: rewards are whole, so no rounding disturbs."""
    law, n, rewards = channel.law(), 6, [0, 1, 1, 0, 1, 1]
    half = count_draws(law, 1, n) % 2 / 2 if is_coins(law) else 0.0
    found = (np.array(exactly(channel, rewards, size)) - sum(rewards)) * count_steps(law, n) - half
    np.testing.assert_allclose(found, np.rint(found), atol=1e-9)

    def pmf(z):
        far, where = np.unique(np.abs(z + half), return_inverse=True)  # the law is symmetric
        return np.exp([log_pmf(law, n, each) for each in far.tolist()])[where]

    return np.rint(found).astype(int), pmf


@pytest.mark.slow
@pytest.mark.parametrize("channel", REAL, ids=[type(each).__name__ for each in REAL])
def test_a_real_protocol_releases_the_distribution_of_the_lab(channel):
    same_distribution(*released_noise(channel))


def test_every_protocol_carries_every_channel_that_it_can():
    """Nothing is left out of REAL."""
    assert {type(channel) for channel in REAL} == {
        room[name] for name in room if "backend" in {field.name for field in fields(room[name])}
    }
    assert {type(channel.backend) for channel in REAL} == {backends[name] for name in backends} - {Ideal}


class OneDraw(SealedShares):
    """Two servers of whom one forgets its noise."""

    def noisy_sum(self, values, modulus, largest, noise, cohort, bits):
        given = iter([noise(), 0])
        return super().noisy_sum(values, modulus, largest, lambda: next(given), cohort, bits)


@pytest.mark.slow
def test_a_protocol_that_releases_another_distribution_is_rejected():
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(*released_noise(TwoServers(backend=OneDraw()), size=400))


# --- mutants, each with the rule that must reject it ---------------------------------------------------------------


class Deaf(Raw):
    """Its analyzer forgets the noise that its distribution and its kernels have."""

    def law(self):
        return Central(epsilon=EPSILON).law()

    draws = Central(epsilon=EPSILON).draws
    perturb = Central.perturb


class Narrow(Local):
    """Its devices forget half of their noise."""

    def randomize(self, reward, offer, bits):
        half = self.release_noise(offer.n).stretch(Fraction(1, 2))
        return Central.randomize(self, reward, offer, bits) + half.noise_share(1, bits)


class Silent(Central):
    """It says what it costs, and adds no noise anywhere: the lab and the server agree."""

    draws = no_draw

    def analyze(self, total, offer, bits, memory=None, stream=0, *, answers):
        check_answers(answers, offer.n)
        return total / self.steps(offer.n)


class Biased(Central):
    @staticmethod
    @kernel
    def perturb(parameters, memory, law, stream, total, n, noise, rng):
        return (total + noise + 1) / count_steps(law, n)


class Loud(Central):
    """The noise of the lab is twice as wide as the distribution says."""

    draws = mutant(DiscreteLaplace.draws, "1.0 / scale", "0.5 / scale")


class OfOneNumber(Central):
    """Its noise is that of a vector, and it says what this noise costs a reward."""

    def loss(self, n):
        return self.release_noise(n).loss(self.steps(n))


class NoiseOfOneNumber(Central):
    """Each number of a vector has the noise that hides a reward."""

    def release_noise(self, n):
        return self.noise.stretch(self.steps(n) / self.epsilon)

    def law(self):
        return Central(self.epsilon, self.noise, self.grid).law()

    def loss(self, n):
        return Central(self.epsilon, self.noise, self.grid).loss(n)


class Lenient(Central):
    def randomize(self, reward, offer, bits):
        return super().randomize(reward if type(reward) is int else 1, offer, bits)


class OfNumPy(Central):
    def analyze(self, total, offer, bits, memory=None, stream=0, *, answers):
        return np.float64(super().analyze(total, offer, bits, answers=answers))


class NeverCounts(Distributed):
    def analyze(self, total, offer, bits, memory=None, stream=0, *, answers=None):
        return super().analyze(total, offer, bits, answers=offer.n)


class Gullible(Local):
    def check_offer(self, offer):
        pass


class TakesAnySize(Distributed):
    def check_size(self, n, memory=None, stream=None):
        pass


@dataclass(frozen=True)
class TakesAnyEpsilon(Raw):
    epsilon: object = 1


class Everybody(Raw):
    trust = "everybody"


class ForNothing(Central):
    def loss(self, n):
        return ZERO


class CheaperForMany(Central):
    def loss(self, n):
        return Loss.pure(Fraction(self.epsilon) / n)


MUTANTS = [
    (Deaf(), rules.check_the_lab_draws_what_the_devices_release),
    (Narrow(epsilon=EPSILON), rules.check_the_lab_draws_what_the_devices_release),
    (Biased(epsilon=EPSILON), rules.check_simulated_totals_are_unbiased),
    (Loud(epsilon=EPSILON), rules.check_radius),
    (Silent(epsilon=EPSILON), rules.check_hides),
    (OfOneNumber(epsilon=EPSILON), rules.check_vectors),
    (NoiseOfOneNumber(epsilon=EPSILON), rules.check_vectors),
    (Lenient(), rules.check_rewards),
    (OfNumPy(), rules.check_plain_numbers),
    (NeverCounts(), rules.check_answers),
    (Gullible(epsilon=EPSILON), rules.check_offers),
    (TakesAnySize(modulus=16), rules.check_size),
    (TakesAnyEpsilon(), rules.check_epsilon),
    (Everybody(), rules.check_is_a_record),
    (ForNothing(), rules.check_loss),
    (CheaperForMany(epsilon=EPSILON), rules.check_loss),
]


@for_each(("broken", "rule"), MUTANTS, ids=lambda each: getattr(each, "__name__", type(each).__name__))
def test_a_mutant_that_breaks_it_is_rejected(broken, rule):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        rule(broken)


def test_every_rule_rejects_a_mutant():
    """But for the one below, whose mutant is a compiler that does something else."""
    assert {rule for _, rule in MUTANTS} == set(RULES) - {rules.check_plain_python_releases_the_same}


def test_a_compiler_that_does_something_else_is_rejected(monkeypatch):
    monkeypatch.setattr(rules, "compile_loop", lambda *kernels, **bound: lambda *numbers: None)
    with pytest.raises(AssertionError):
        rules.check_plain_python_releases_the_same(Central(epsilon=EPSILON))


def test_a_channel_without_noise_of_its_own_cannot_be_made():
    """The file that a guide without a word of `draws` led to: it was simulated without any noise."""

    @dataclass(frozen=True)
    class Forgetful(Channel):
        trust, sees, epsilon = "central", "server: every reward", 0.5
        law, loss, randomize = Central.law, Central.loss, Central.randomize
        analyze, perturb = Central.analyze, Central.perturb

    with pytest.raises(TypeError, match="draws"):
        Forgetful()


class TestAnswers:
    """A total of too few answers has too little noise: whoever analyzes it says how many they are."""

    def total(self, channel, n, answers):
        bits = seeded(1)
        offer = channel.offer(n)
        return sum(channel.randomize(1, offer.at(i), bits) for i in range(answers)), bits

    @for_each(
        ("channel", "fewest"),
        [
            (Distributed(epsilon=EPSILON), 100),
            (Distributed(epsilon=EPSILON, honest="0.8"), 80),
            (LocalSum(epsilon=EPSILON, honest="0.3"), 30),
            (SplitAndMix(epsilon=EPSILON, honest="0.7"), 70),
            (room["pure_shuffled"](epsilon=EPSILON), 100),
            (Shuffled(honest="0.5"), 40),  # 160 coins, of which 80 are needed, at most 2 of each user
        ],
        ids=lambda each: type(each).__name__,
    )
    def test_too_few_are_refused(self, channel, fewest):
        total, bits = self.total(channel, 100, fewest)
        assert math.isfinite(channel.analyze(total, channel.offer(100), bits, answers=fewest))
        for answers in (0, fewest // 2, fewest - 1):
            with pytest.raises(TooFew, match=f"{answers} of 100 answers"):
                channel.analyze(total, channel.offer(100), bits, answers=answers)

    @for_each(
        "channel",
        [Central(), CentralSum(), Local(), Raw(), room["response"](), TwoServers(), room["tree"]()],
        ids=title,
    )
    def test_one_is_enough_where_others_bring_the_noise(self, channel):
        total, bits = self.total(channel, 100, 1)
        assert math.isfinite(channel.analyze(total, channel.offer(100), bits, answers=1))

    def test_flipped_bits_are_corrected_for_those_who_answered(self):
        channel, n = room["response"](epsilon=1), 4000
        total, bits = self.total(channel, 2 * n, n)
        limit = radius(channel.law(), 1, n, 25.0)
        assert abs(channel.analyze(total, channel.offer(2 * n), bits, answers=n) - n) < limit
        assert abs(channel.analyze(total, channel.offer(2 * n), bits, answers=2 * n) - n) > limit  # the control


def test_every_trust_model_is_covered():
    assert {type(channel) for channel in CHANNELS} == {room[name] for name in room}
    assert all(issubclass(room[name], Channel) for name in room)

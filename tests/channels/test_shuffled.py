"""Shuffled trust: a cohort's coins hide a reward exactly as well as is said, by exact enumeration of what devices send.

Probabilities are Fractions, e^epsilon is enclosed between two of them. Seeds are fixed; under a new seed each random
assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
import math
from collections import defaultdict
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import binom

from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.channels.shuffled import Shuffled, coins_needed, hide, tosses
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import COINS, Law, count_draws, count_steps
from maskedbandit.noise_bounds import cumulant, log_mgf, radius
from maskedbandit.privacy.powers import FIXED_ONE, power_below
from maskedbandit.theory.noise_pmf import log_pmf
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import mean_is, same_distribution, seeded

TABLE = {"1": (62, 80, 117), "0.5": (203, 268, 401), "0.1": (3787, 5279, 8451)}
DIGITS = (5, 6, 8)


def power(epsilon):
    """e^epsilon, from below and from above."""
    with localcontext() as context:
        context.prec = 120
        near = Fraction((Decimal(epsilon.numerator) / epsilon.denominator).exp())
    return near * (1 - Fraction(1, 10**110)), near * (1 + Fraction(1, 10**110))


def hockey_stick(p, q, power):
    """Probability that p has in excess of `power` times q."""
    return sum(max(Fraction(0), p[z] - power * q.get(z, 0)) for z in p)


def coins_pmf(coins, shift=0):
    return {z + shift: Fraction(math.comb(coins, z), 2**coins) for z in range(coins + 1)}


def delta_of(coins, power):
    """Exact, of one bit among so many coins; the worse direction, though both are the same."""
    p, q = coins_pmf(coins), coins_pmf(coins, 1)
    return max(hockey_stick(p, q, power), hockey_stick(q, p, power))


def check_least(coins, epsilon, delta):
    """These coins are enough, and one fewer is not."""
    low, high = power(epsilon)
    assert delta_of(coins, low) <= delta, "too few coins"
    assert coins == 1 or delta_of(coins - 1, high) > delta, "too many coins"


class TestNumberOfCoins:
    @for_each("epsilon", TABLE)
    def test_known_numbers(self, epsilon):
        assert tuple(Shuffled(epsilon, Fraction(1, 10**each)).coins() for each in DIGITS) == TABLE[epsilon]

    @for_each("epsilon", ["1", "0.5"])
    @for_each("digits", DIGITS)
    def test_known_numbers_are_the_least(self, epsilon, digits):
        check_least(TABLE[epsilon][DIGITS.index(digits)], Fraction(epsilon), Fraction(1, 10**digits))

    @for_each("epsilon", ["0.2", "0.3", "0.75", "2", "5", "11", "100", "10000"])
    @for_each("delta", ["0.9", "0.4", "0.1", "0.01", "1e-4"])
    def test_the_number_is_the_least(self, epsilon, delta):
        exponent = min(Fraction(epsilon), Fraction(200))  # above, the enclosure of e^epsilon would need more digits
        check_least(Shuffled(epsilon, delta).coins(), exponent, Fraction(delta))

    def test_one_coin_fewer_and_one_more_are_noticed(self):
        for wrong, what in ((79, "few"), (81, "many")):
            with pytest.raises(AssertionError, match=f"too {what} coins"):
                check_least(wrong, Fraction(1), Fraction(1, 10**6))

    @pytest.mark.slow
    @for_each("epsilon", ["0.01", "0.1", "1", "7"])
    def test_the_bound_is_the_exact_one(self, epsilon):
        """For every small number of coins, also where all of them are too few, to thirty digits."""
        low = power_below(Fraction(epsilon))
        for coins in range(1, 80):
            delta, little = delta_of(coins, Fraction(low, FIXED_ONE)), Fraction(1, 10**30)
            assert hide(coins, low, delta * (1 + little))
            assert not hide(coins, low, delta * (1 - little))

    @for_each("epsilon", ["0.001", "0.1", "1/3", "1", "17.5", "60"])
    def test_the_power_is_from_below(self, epsilon):
        below, (low, high) = Fraction(power_below(Fraction(epsilon)), FIXED_ONE), power(Fraction(epsilon))
        assert low * (1 - Fraction(1, 10**50)) < below <= high

    @pytest.mark.slow
    def test_one_more_coin_never_harms(self):
        for epsilon in ("0.05", "0.5", "2"):
            e = power(Fraction(epsilon))[0]
            deltas = [delta_of(coins, e) for coins in range(1, 120)]
            assert all(a >= b for a, b in pairwise(deltas))

    @pytest.mark.slow
    @for_each("epsilon", ["0.1", "0.01", "0.001"])
    def test_large_numbers_by_the_binomial_of_another_library(self, epsilon):
        coins, e = coins_needed(Fraction(epsilon), Fraction(1, 10**6)), math.exp(Fraction(epsilon))

        def delta(coins):
            k = math.ceil((coins + 1) / (1 + e)) - 1
            return binom.cdf(k, coins, 0.5) - e * binom.cdf(k - 1, coins, 0.5)

        assert delta(coins) == pytest.approx(1e-6, rel=max(1e-9, 30 / coins))
        assert delta(coins - 1 - coins // 10**6) > 1e-6

    def test_no_floats(self):
        functions = (power_below, hide, coins_needed, Shuffled.randomize, Shuffled.needed, Shuffled.coins)
        for exact in (*functions, Shuffled.counted_on, Shuffled.aggregate, Shuffled.tossed):
            source = inspect.getsource(getattr(exact, "__wrapped__", exact)).replace("@lru_cache(maxsize=256)", "")
            assert offences(source.replace("reward: float", "reward")) == []


class Branches:
    """Bits that take every course in turn: `pmf` runs a function once for each, and adds up their probabilities."""

    def below(self, n):
        if self.depth == len(self.course):
            self.course.append([0, n])
        self.depth += 1
        self.chance /= n
        return self.course[self.depth - 1][0]

    def pmf(self, function):
        found, self.course = defaultdict(Fraction), []
        while True:
            self.depth, self.chance = 0, Fraction(1)
            found[function(self)] += self.chance
            while self.course and self.course[-1][0] + 1 == self.course[-1][1]:
                self.course.pop()
            if not self.course:
                return dict(found)
            self.course[-1][0] += 1


def sum_pmf(masses):
    total = {0: Fraction(1)}
    for mass in masses:
        joint = defaultdict(Fraction)
        for (a, p), (b, q) in product(total.items(), mass.items()):
            joint[a + b] += p * q
        total = dict(joint)
    return total


def released(channel, rewards, absent=()):
    """The distribution of the ones that a cohort sends, without the coins of those absent (who send their bit)."""
    n, masses = len(rewards), []
    for i, reward in enumerate(rewards):
        silent = Silent(channel.epsilon) if i in absent else channel
        sends = partial(silent.randomize, reward, silent.offer(n).at(i))
        masses.append(Branches().pmf(sends))
    return sum_pmf(masses)


class Silent(Shuffled):
    """Users who toss no coins."""

    def coins(self):
        return 0


def audit(channel, rewards=(0, 1, 0.5), absent=()):
    """The largest delta of two cohorts that differ in one reward."""
    low, worst = power(channel.epsilon)[0], Fraction(0)
    for position in range(len(rewards)):
        if position not in absent:
            masses = [
                released(channel, [*rewards[:position], x, *rewards[position + 1 :]], absent)
                for x in (0, Fraction(1, 4), 1)
            ]
            worst = max(worst, *(hockey_stick(p, q, low) for p in masses for q in masses))
    return worst


class OneFewer(Shuffled):
    def coins(self):
        return super().coins() - 1


class Shared(Shuffled):
    """Every device tosses the same number of coins, rounded down: the rest are tossed by nobody."""

    def randomize(self, reward, offer, bits):
        each = Shuffled.coins(self) // offer.n
        return Silent(self.epsilon).randomize(reward, offer, bits) + bits.below(1 << each).bit_count()


class SumsOfFloats(Shuffled):
    """A device that sends its reward as it is."""

    def randomize(self, reward, offer, bits):
        return reward * 2 + super().randomize(0, offer, bits)


LOOSE = Shuffled(epsilon=1, delta="0.02")  # few enough coins to enumerate


class TestAudit:
    def test_a_release_costs_no_more_than_is_said(self):
        assert LOOSE.coins() % 3 > 0
        assert audit(LOOSE) == delta_of(LOOSE.coins(), power(LOOSE.epsilon)[0]) <= LOOSE.delta

    @for_each("broken", [OneFewer, Shared, SumsOfFloats])
    def test_mutants_are_caught(self, broken):
        assert audit(broken(epsilon=1, delta="0.02")) > LOOSE.delta

    def test_absent_coins_are_allowed_for(self):
        """Two of four users toss nothing, which `honest` allows for, and nothing else does."""
        rewards, absent = (0, 1, 0, 1), (0, 3)
        channel = Shuffled(epsilon=1, delta="0.1", honest="0.4")
        assert channel.counted_on(4) == 2
        assert audit(channel, rewards, absent) <= channel.delta
        assert audit(Shuffled(epsilon=1, delta="0.1"), rewards, absent) > channel.delta

    @for_each("position", range(3))
    def test_devices_send_a_bit_of_the_mean_and_their_coins(self, position):
        channel, offer = LOOSE, LOOSE.offer(3).at(position)
        mass = Branches().pmf(lambda bits: channel.randomize(Fraction(1, 3), offer, bits))
        tossed = max(mass) - 1
        bit = {0: Fraction(2, 3), 1: Fraction(1, 3)}
        assert mass == sum_pmf([bit, coins_pmf(tossed)])
        assert tossed in (channel.coins() // 3, channel.coins() // 3 + 1)

    @pytest.mark.slow
    @for_each("n", [1, 2, 7, 79, 80, 81, 1000])
    @for_each("honest", [1, "0.8", "0.35"])
    def test_coins_of_all_places_add_up(self, n, honest):
        channel = Shuffled(1, honest=honest)
        tossed = sorted(most_ones(channel, n, position) for position in range(n))
        assert sum(tossed) == channel.coins() >= channel.needed() / Fraction(honest)
        assert tossed[-1] - tossed[0] <= 1
        assert sum(tossed[: channel.counted_on(n)]) >= channel.needed()  # whoever they are
        missing = math.floor((1 - Fraction(honest)) * channel.coins())
        assert channel.coins() - missing >= channel.needed()
        if n * tossed[0] == channel.coins():  # users are alike, so it is known exactly
            assert sum(tossed[: channel.counted_on(n) - 1]) < channel.needed()

    def test_many_coins_of_one_user(self):
        channel, bits = Shuffled("0.5"), seeded(3)
        offer = channel.offer(1).at(0)
        sample = [channel.randomize(0, offer, bits) for _ in range(8000)]
        same_distribution(np.array(sample), lambda z: binom.pmf(z, 268, 0.5))


def most_ones(channel, n, position):
    """The number of coins of a user: the most ones that a device with reward 0 can send."""

    class High:
        def below(self, n):
            return n - 1

    return channel.randomize(0, channel.offer(n).at(position), High())


class TestLaw:
    """What the law says of coins, against exact sums over heads."""

    counts = (1, 2, 3, 20, 80, 401)

    def law(self, count, grid=1.0):
        return Law(COINS, 0.5, grid, per_release=float(count))

    def heads(self, count):
        z = np.arange(count + 1)
        return z - count / 2, np.array([float(Fraction(math.comb(count, i), 2**count)) for i in z])

    @for_each("grid", [1, 4])
    @for_each("count", counts)
    def test_cumulant_is_exact(self, count, grid):
        z, p = self.heads(count)
        for lam in (-3.0, -0.2, 0.01, 0.3, 0.999, 1.0, 1.7, 4.5, 30.0):
            exact = np.logaddexp.reduce(np.log(p) + lam / grid * z)
            assert log_mgf(self.law(count, grid), 10, lam) == pytest.approx(exact, rel=1e-9, abs=1e-14)

    def test_cumulant_keeps_its_digits_when_small(self):
        for lam in (1e-3, 1e-6, 1e-9):
            exact = lam * lam / 8 - lam**4 / 192  # ln cosh(lam / 2)
            assert cumulant(Law(COINS), 0.5, 5e7, 1, lam) == pytest.approx(5e7 * exact, rel=1e-12)
        assert cumulant(Law(COINS), 0.5, 2.0, 1, 1e6) == pytest.approx(1e6 - 2 * math.log(2))
        near_one = [cumulant(Law(COINS), 0.5, 1.0, 1, lam) for lam in (1 - 1e-12, 1.0)]  # where the formula changes
        assert near_one[0] == pytest.approx(near_one[1], rel=1e-11)

    @for_each("grid", [1, 4])
    @for_each("m", [1, 3])
    @for_each("count", counts)
    def test_radius_covers(self, count, m, grid):
        z, p = self.heads(m * count)
        for x in (0.1, 0.7, 1.0, 3.0, 10.0, 20.0, 50.0, 300.0):
            bound = radius(self.law(count, grid), m, 10 * m, x)
            assert math.fsum(p[np.abs(z) / grid > bound * (1 + 1e-12)]) <= 2 * math.exp(-x)
            assert bound <= m * count / (2 * grid) + 1e-9

    def test_radius_of_a_quarter_of_the_coins_does_not(self):
        z, p = self.heads(80)
        assert math.fsum(p[np.abs(z) > radius(self.law(20), 1, 10, 3.0)]) > 2 * math.exp(-3.0)

    @for_each("count", [1, 7, 80])
    def test_radius_is_all_coins_alike_in_the_end(self, count):
        edge = count * math.log(2)
        for x in (edge, edge * (1 + 1e-9), edge * (1 - 1e-15), 2 * edge):
            assert radius(self.law(count), 1, 10, x) == count / 2
        near = [radius(self.law(count), 1, 10, edge * (1 - part)) for part in (1e-11, 1e-9, 1e-6)]
        assert near == pytest.approx([count / 2] * 3, rel=1e-4)

    def test_radius_is_near_that_of_a_gaussian_of_the_same_variance(self):
        assert radius(self.law(5279), 1, 10, 5.0) == pytest.approx(math.sqrt(2 * 5.0 * 5279 / 4), rel=1e-3)

    @for_each("count", [*counts, 8451])
    def test_log_pmf(self, count):
        for i in {0, 1, count // 3, count // 2, count}:
            exact = math.log(math.comb(count, i)) - count * math.log(2)
            assert log_pmf(self.law(count), 10, i - count / 2) == pytest.approx(exact, rel=1e-11, abs=1e-9)
        assert log_pmf(self.law(count), 10, count / 2 + 1) == -math.inf

    def test_compiled_kernels_give_the_same_numbers(self):
        def everything(law, m, n, x, lam, z, out):
            out[0], out[1] = log_mgf(law, n, lam), radius(law, m, n, x)
            out[2], out[3] = log_pmf(law, n, z), count_draws(law, m, n)

        go = compile_loop(everything, log_mgf=log_mgf, radius=radius, log_pmf=log_pmf, draws=count_draws)
        for m, n, x, lam, z in [(1, 1, 0.5, 0.01, 0.0), (3, 100, 5.0, -1.5, 7.0), (1, 9, 80.0, 40.0, -40.0)]:
            plain, fast = np.zeros(4), np.zeros(4)
            everything(self.law(80), m, n, x, lam, z, plain)
            go(self.law(80), m, n, x, lam, z, fast)
            np.testing.assert_allclose(fast, plain, rtol=1e-12)

    @for_each("honest", [1, "0.7"])
    def test_the_lab_tosses_the_coins_of_the_channel(self, honest):
        """Odd and even numbers of coins, which end on halves and on whole numbers."""
        channel, rng = Shuffled(1, honest=honest), np.random.Generator(np.random.PCG64(4))
        law = channel.law()
        assert (count_steps(law, 10), count_draws(law, 1, 10)) == (1, channel.coins())
        sample = np.array([tosses(law.scale, count_draws(law, 1, 10), rng) for _ in range(20_000)])
        same_distribution((sample + channel.coins() / 2).astype(int), lambda z: binom.pmf(z, channel.coins(), 0.5))
        mean_is(sample, 0.0, math.sqrt(channel.coins()) / 2)
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(
                (sample + channel.coins() / 2).astype(int), lambda z: binom.pmf(z, channel.coins() - 8, 0.5)
            )


class Losing(Ideal):
    """A shuffler that some devices never reach."""

    def __init__(self, *lost):
        object.__setattr__(self, "lost", lost)

    def mix(self, bundles, below, least, cohort, bits, weights=None):
        here = [device for device in range(len(bundles)) if device not in self.lost]
        if sum(weights[device] for device in here) < least:
            raise TooFew
        mixed, found = super().mix([bundles[device] for device in here], below, least, cohort, bits)
        return mixed, found._replace(survivors=here)


def cohorts(channel, rewards, size, seed=7):
    """Released totals by way of the backend."""
    bits, offer, found = seeded(seed), channel.offer(len(rewards)), []
    for _ in range(size):
        sent = [channel.randomize(reward, offer.at(i), bits) for i, reward in enumerate(rewards)]
        mixed = channel.aggregate(sent, offer, bits, b"cohort")
        found.append(channel.analyze(mixed.total, offer, bits, answers=len(mixed.survivors)))
    return np.array(found)


class TestAggregate:
    @pytest.mark.slow
    def test_the_real_shuffler_releases_the_coins_and_the_bits(self):
        channel = Shuffled("2", "0.01", backend=Shuffler())
        coins = channel.coins()
        sample = np.rint(cohorts(channel, [1, 0, 1], 400) + coins / 2 - 2).astype(int)
        same_distribution(sample, lambda z: binom.pmf(z, coins, 0.5))
        with pytest.raises(
            AssertionError, match=r"another distribution|probability 0"
        ):  # as if one more coin were missing
            same_distribution(sample, lambda z: binom.pmf(z - 1, coins, 0.5))

    @pytest.mark.slow
    @pytest.mark.parametrize("lost", [(), (1,), (0, 4), (2, 3)])
    def test_survivors_are_estimated_without_bias(self, lost):
        """With the coins of the lost their mean is lost, which the number of messages tells."""
        channel, rewards = Shuffled(1, "1e-3", "0.5", Losing(*lost)), [1, 0, 1, 1, 0]
        there = sum(reward for position, reward in enumerate(rewards) if position not in lost)
        coins = sum(channel.tossed(position, 5) for position in range(5) if position not in lost)
        sample = cohorts(channel, rewards, 1500)
        mean_is(sample, there, math.sqrt(coins) / 2)
        same_distribution(np.rint(sample - there + coins / 2).astype(int), lambda z: binom.pmf(z, coins, 0.5))
        if lost:
            missing = channel.coins() - coins
            with pytest.raises(AssertionError, match="the mean is"):  # as if nothing were missing
                mean_is(sample - missing / 2, there, math.sqrt(coins) / 2)

    def test_coins_that_are_needed_must_be_there(self):
        bits, n = seeded(3), 5
        channel = Shuffled(1, "1e-3", "0.6")
        for lost, enough in (((0,), True), ((0, 1), True), ((0, 1, 2), False)):
            losing = Shuffled(1, "1e-3", "0.6", Losing(*lost))
            sent = [channel.randomize(1, channel.offer(n).at(position), bits) for position in range(n)]
            coins = sum(channel.tossed(position, n) for position in range(n) if position not in lost)
            assert (coins >= channel.needed()) == enough
            if enough:
                losing.aggregate(sent, channel.offer(n), bits)
            else:
                with pytest.raises(TooFew):
                    losing.aggregate(sent, channel.offer(n), bits)

    def test_users_without_coins_are_not_missed(self):
        """Of a cohort larger than its number of coins many may be lost."""
        n = 400
        channel = Shuffled(1, "1e-3")
        lost = [position for position in range(n) if not channel.tossed(position, n)]
        assert len(lost) > 300
        losing = Shuffled(1, "1e-3", backend=Losing(*lost))
        found = losing.aggregate([0] * n, losing.offer(n), seeded(1))
        assert (found.total, len(found.survivors)) == (0, n - len(lost))

    @for_each("dropout", ["0.1", "0.5"])
    def test_a_rehearsal_with_losses_ends_in_a_sum_or_in_a_named_error(self, dropout):
        channel, bits, n = Shuffled(1, "1e-3", "0.7", Shuffler(dropout=dropout)), seeded(4), 60
        for _ in range(5):
            sent = [channel.randomize(1, channel.offer(n).at(position), bits) for position in range(n)]
            try:
                found = channel.aggregate(sent, channel.offer(n), bits)
            except TooFew:
                continue
            here = found.survivors
            missing = sum(channel.tossed(position, n) for position in range(n) if position not in here)
            assert found.total == sum(sent[position] for position in here) + Fraction(missing, 2)

    def test_devices_send_as_many_messages_whatever_they_hold(self):
        class Spy(Ideal):
            def mix(self, bundles, *args):
                seen.append([len(bundle) for bundle in bundles])
                return super().mix(bundles, *args)

        seen, channel = [], Shuffled(1, "1e-3", backend=Spy())
        for rewards in ([0] * 7, [1] * 7):
            cohorts(channel, rewards, 3)
        assert all(sizes == [1 + channel.tossed(position, 7) for position in range(7)] for sizes in seen)


class TestValues:
    @for_each("backend", [None, "shuffler", SealedShares()])
    def test_backend(self, backend):
        with pytest.raises(InvalidValue, match="backend"):
            Shuffled(backend=backend)

    @for_each("position", [None, -1, 6, 1.5, "first"])
    def test_the_position_is_needed(self, position):
        channel = Shuffled()
        with pytest.raises(InvalidValue, match="position"):
            channel.randomize(0, channel.offer(6).at(position), seeded(1))

    @for_each("epsilon", ["0.000999", 1e-6])
    def test_epsilon(self, epsilon):
        with pytest.raises(InvalidValue, match=r"at least 0\.001"):
            Shuffled(epsilon)

    @for_each("delta", [0, 1, -0.1, 1e-101, None, float("nan")])
    def test_delta(self, delta):
        with pytest.raises(InvalidValue, match="delta"):
            Shuffled(delta=delta)

    @for_each("honest", [0, 0.001, 1.01, "most", None])
    def test_honest(self, honest):
        with pytest.raises(InvalidValue, match="honest"):
            Shuffled(honest=honest)

    def test_loss(self):
        loss = Shuffled("0.3", "1e-5", "0.5").loss(7)
        assert (loss.epsilon("1e-5"), loss.delta) == (pytest.approx(0.3), Fraction(1, 10**5))
        assert loss.epsilon("0.99e-5") == math.inf

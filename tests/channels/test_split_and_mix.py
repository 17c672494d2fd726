"""Split-and-mix as a channel: the noise of distributed trust, and a view that is within eta of the noisy sum.

Seeds are fixed; under a new seed each random assertion rejects a correct channel with probability ALPHA = 1e-9.
"""

import inspect
import math
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from maskedbandit.backends.ideal import Ideal
from maskedbandit.backends.sealed_shares import SealedShares
from maskedbandit.backends.shuffler import Shuffler
from maskedbandit.channels.distributed import Distributed
from maskedbandit.channels.shuffled import Shuffled
from maskedbandit.channels.split_and_mix import SplitAndMix
from maskedbandit.channels.two_servers import TwoServers
from maskedbandit.errors import InvalidValue, TooFew
from maskedbandit.noises.discrete_laplace import DiscreteLaplace
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.powers import FIXED_ONE, power_above
from maskedbandit.shuffle.splitting import messages_needed, split_value
from tests.floatfree import offences
from tests.for_each import for_each
from tests.statistics import same_distribution, same_distribution_of_two, seeded


class Quick(Distributed):
    """The noisy sum, but it computes the numbers of a cohort once."""

    __hash__ = object.__hash__
    steps, release_noise = cache(Distributed.steps), cache(Distributed.release_noise)
    residues, counted_on = cache(Distributed.residues), cache(Distributed.counted_on)


def channel(*args, **kwargs):
    found = SplitAndMix(*args, **kwargs)
    quick = {name: getattr(found.summed, name) for name in ("epsilon", "grid", "honest", "failure")}
    found.__dict__["summed"] = Quick(**quick)
    return found


def released(channel, size, n=5, devices=None, seed=3):
    """Noise in what whole cohorts release, all rewards 1, by way of the backend."""
    bits, offer, found = seeded(seed), channel.offer(n), []
    for _ in range(size):
        sent = [channel.randomize(1, offer, bits) for _ in range(n)]
        if devices is not None:
            sent[devices:] = [0] * (n - devices)  # these lie, and add no noise
        total = channel.aggregate(sent, offer, bits, b"cohort").total
        found.append(round(channel.analyze(total, offer, bits, answers=n)) - (n if devices is None else devices))
    return np.array(found)


class TestRelease:
    @pytest.mark.slow
    def test_the_ideal_and_the_real_shuffler_release_one_distribution(self):
        ideal, real = channel("0.5"), channel("0.5", eta="0.01", backend=Shuffler())
        a, b = released(ideal, 400), released(real, 120, seed=5)
        same_distribution(a, DiscreteLaplace(2).pmf)
        same_distribution(b, DiscreteLaplace(2).pmf)
        same_distribution_of_two(a[:120], b)

    @pytest.mark.slow
    def test_a_lost_noise_share_is_caught(self):
        sample = released(channel(1, eta="0.01"), 5000, n=4, devices=2)
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution(sample, DiscreteLaplace(1).pmf)

    @pytest.mark.slow
    def test_exactly_the_devices_that_are_counted_on_make_one_draw(self):
        counting = channel(1, honest="0.5", eta="0.01")
        assert counting.counted_on(4) == 2
        same_distribution(released(counting, 2500, n=4, devices=2), DiscreteLaplace(1).pmf)

    @for_each("seed", range(12))
    def test_the_sum_of_the_survivors_whoever_is_lost(self, seed):
        bits, n = seeded(seed), 12
        losing = SplitAndMix(1, honest="0.5", eta="0.01", backend=Shuffler(dropout="0.3"))
        sent = [losing.randomize(1, losing.offer(n), bits) for _ in range(n)]
        try:
            found = losing.aggregate(sent, losing.offer(n), bits)
        except TooFew:
            return
        assert len(found.survivors) >= losing.counted_on(n)
        assert found.total == sum(sent[device] for device in found.survivors) % losing.summed.residues(n)[0]

    def test_fewer_than_are_counted_on_are_thrown_away(self):
        bits, n = seeded(1), 40
        losing = SplitAndMix(1, eta="0.01", backend=Shuffler(dropout="0.5"))
        offer = losing.offer(n)
        with pytest.raises(TooFew):
            losing.aggregate([losing.randomize(1, offer, bits) for _ in range(n)], offer, bits)

    def test_the_backend_sees_messages_alone(self):
        class Spy(Ideal):
            def mix(self, bundles, below, least, cohort, bits, weights=None):
                seen.append((bundles, below, least, cohort))
                return super().mix(bundles, below, least, cohort, bits)

        seen, bits, n = [], seeded(1), 6
        spied = SplitAndMix(1, honest="0.5", backend=Spy())
        sent = [spied.randomize(1, spied.offer(n), bits) for _ in range(n)]
        spied.aggregate(sent, spied.offer(n), bits, b"arm 1")
        ((bundles, below, least, cohort),) = seen
        assert (below, least) == (spied.summed.residues(n)[0], 3)
        assert [sum(bundle) % below for bundle in bundles] == sent
        assert {len(bundle) for bundle in bundles} == {spied.messages(n)}
        assert cohort.endswith(b"arm 1")

    @for_each(
        ("part", "one", "other"),
        [
            ("messages", {"eta": "0.01"}, {"eta": "0.0001"}),
            ("epsilon", {"epsilon": 1}, {"epsilon": "1.01"}),
            ("counted_on", {"honest": "0.92"}, {"honest": "0.91"}),
        ],
    )
    def test_terms_are_bound_to_the_name_of_the_cohort(self, part, one, other):
        """So devices that were told other numbers cannot be in one cohort, though all else is the same."""

        class Spy(Ideal):
            def mix(self, bundles, below, least, cohort, bits, weights=None):
                names.append(cohort)
                return super().mix(bundles, below, least, cohort, bits)

        names, n, made = [], 100, [SplitAndMix(**how, backend=Spy()) for how in (one, one, other)]
        for each in made:
            each.aggregate([0] * n, each.offer(n), seeded(1), b"arm 1")
        assert names[0] == names[1] != names[2]
        numbers = [
            {"messages": each.messages(n), "epsilon": each.epsilon, "counted_on": each.counted_on(n)} for each in made
        ]
        assert [name for name in numbers[0] if numbers[0][name] != numbers[2][name]] == [part]


class TestLoss:
    def test_delta_is_from_above_and_near(self):
        for epsilon in ("0.000001", "0.1", "1/3", "1", "5", "20"):
            made = SplitAndMix(epsilon)
            with localcontext() as context:
                context.prec = 100
                near = (1 + Fraction((Decimal(made.epsilon.numerator) / made.epsilon.denominator).exp())) / 2**40
            assert near * (1 - Fraction(1, 10**90)) < made.delta() < near * (1 + Fraction(1, 10**40))
            assert made.loss(100) == Loss.approximate(epsilon, made.delta())
            assert made.loss(100).epsilon(made.delta()) == pytest.approx(float(Fraction(epsilon)))
            assert made.loss(100).epsilon(made.delta() * Fraction(999, 1000)) == math.inf

    @for_each("epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(7), Fraction(200)])
    def test_the_power_is_from_above(self, epsilon):
        with localcontext() as context:
            context.prec = 200
            near = Fraction((Decimal(epsilon.numerator) / epsilon.denominator).exp())
        assert (
            near * (1 - Fraction(1, 10**150))
            < Fraction(power_above(epsilon), FIXED_ONE)
            < near * (1 + Fraction(1, 10**40))
        )

    def test_what_is_seen_of_neighbours(self):
        """By enumeration of a tiny cohort: noise of its own distribution modulo q, two devices, seven messages each."""
        from tests.shuffle.test_splitting import seen

        q, k, epsilon, n = 3, 7, Fraction(1), 2
        z = np.arange(-200, 201)
        noise_share = np.bincount(z % q, weights=DiscreteLaplace(1 / epsilon).pmf(z, 1 / n), minlength=q)
        eta = Fraction(1, 2)
        while messages_needed(n, q, eta * Fraction(9, 10)) <= k:
            eta *= Fraction(9, 10)  # nearly the least that seven messages are worth
        delta = float((1 + Fraction(power_above(epsilon), FIXED_ONE)) * eta)

        def view(rewards, k):
            mass = {}
            for a in range(q):
                for b in range(q):
                    for multiset, ways in seen(((rewards[0] + a) % q, (rewards[1] + b) % q), k, q).items():
                        mass[multiset] = mass.get(multiset, 0.0) + noise_share[a] * noise_share[b] * ways / q ** (
                            n * k - n
                        )
            return mass

        def excess(k):
            pairs = [(view(x, k), view(y, k)) for x, y in (((0, 0), (1, 0)), ((1, 1), (0, 1)))]
            pairs += [(q_, p_) for p_, q_ in pairs]
            return max(sum(max(0.0, p[e] - math.e * r.get(e, 0.0)) for e in p) for p, r in pairs)

        assert excess(k) <= delta
        assert excess(1) > excess(2) > excess(3) > excess(7)
        assert excess(1) > delta  # the control: residues that are not split

    @for_each("kind", [SplitAndMix, Shuffled])
    def test_attempts_are_paid(self, kind):
        class Stubborn(Shuffler):
            attempts = 3

        assert kind(1, backend=Stubborn()).loss(10) == 3 * kind(1).loss(10) != kind(1).loss(10)

    @for_each("kind", [SplitAndMix, Shuffled, Distributed, TwoServers])
    @for_each("n", [0, -3, 2.5, "10", None])
    def test_a_cohort_that_cannot_be_has_no_loss(self, kind, n):
        with pytest.raises(InvalidValue, match="the size of a cohort"):
            kind(1).loss(n)
        kind(1).loss(np.int64(10))


class TestNumbers:
    @for_each(("n", "honest", "eta"), [(10, 1, "1/1000"), (1000, "0.7", Fraction(1, 2**40))])
    def test_messages_follow_from_honest_devices_and_modulus(self, n, honest, eta):
        made = SplitAndMix(1, eta=eta, honest=honest)
        assert made.messages(n) == messages_needed(made.counted_on(n), made.summed.residues(n)[0], Fraction(eta))
        assert made.counted_on(n) == math.ceil(Fraction(honest) * n)

    def test_distribution_is_that_of_distributed_trust(self):
        made, other = SplitAndMix("0.5", honest="0.8", failure=1e-6), Distributed("0.5", honest="0.8", failure=1e-6)
        assert made.law() == other.law()
        assert made.parameters() == other.parameters()

    @for_each(("n", "honest"), [(1, 1), (2, "0.5"), (10, "0.1")])
    def test_cohorts_of_one_honest_device_are_refused(self, n, honest):
        made = SplitAndMix(1, honest=honest)
        for refused in (lambda: made.check_size(n), lambda: made.offer(n), lambda: made.messages(n)):
            with pytest.raises(InvalidValue, match="at least 2"):
                refused()
        assert math.isnan(made.perturb(made.parameters(), made.memory(1), made.law(), 0, 1.0, n, 0, None))
        made.check_size(n + 10)
        assert made.perturb(made.parameters(), made.memory(1), made.law(), 0, 1.0, n + 10, 2, None) == 3.0


class TestValues:
    @for_each("eta", [0, 1, -1, Fraction(1, 2**257), "x", None, float("nan")])
    def test_eta(self, eta):
        with pytest.raises(InvalidValue, match="eta"):
            SplitAndMix(eta=eta)

    @for_each("epsilon", [28, 1000, 10**9])
    def test_epsilon_so_large_that_delta_is_one(self, epsilon):
        with pytest.raises(InvalidValue, match="epsilon"):
            SplitAndMix(epsilon)
        assert SplitAndMix(27).delta() < 1

    @for_each("backend", [None, "shuffler", SealedShares()])
    def test_backend(self, backend):
        with pytest.raises(InvalidValue, match="backend"):
            SplitAndMix(backend=backend)

    def test_honest_and_failure_are_those_of_the_sum(self):
        for wrong in ({"honest": 1.5}, {"failure": 0}, {"grid": 0}):
            with pytest.raises(InvalidValue, match=next(iter(wrong))):
                SplitAndMix(**wrong)
        assert replace(SplitAndMix(), honest="0.5").honest == Fraction(1, 2)


def test_no_floats_on_the_exact_path():
    for exact in (power_above, SplitAndMix.delta, SplitAndMix.aggregate, SplitAndMix.messages, split_value):
        assert offences(inspect.getsource(exact)) == []


def test_channels_need_no_cryptography():
    """Only a real protocol does."""
    made = "mb.channels.Shuffled(); mb.channels.SplitAndMix()"
    code = f"import sys, maskedbandit as mb; {made}; print('cryptography' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"

"""DP-TS: its pilot, what the first users are for, and Thompson sampling after it. Seeds are fixed."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT
from maskedbandit.errors import InvalidValue
from maskedbandit.law import NO_NOISE, Law, nodes
from maskedbandit.noise_bounds import radius
from maskedbandit.policies.policy import Policy
from maskedbandit.policies.regret.dp_thompson import (
    AWAITED,
    FIRST,
    PILOT,
    STEP,
    THEN,
    DPThompson,
    enough_users,
    worst_release,
)
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant
from tests.statistics import at_most

Tree, Thompson = mb.channels.Tree, mb.policies.ThompsonSampling
FIVE = mb.Bernoulli([0.4, 0.4, 0.4, 0.4, 0.9])
RAW = Law(NO_NOISE)


def steps(policy: Policy, law: Law, means: list[float], horizon: int) -> tuple[list[int], object]:
    """Users of each arm in the cohorts before Thompson sampling, if all totals are as expected; and the last state."""
    s, rng, sizes = policy.init(len(means), horizon), np.random.Generator(np.random.PCG64(1)), []
    while True:
        asked = [policy.ask(s, law, rng) for _ in means]
        if s.clock[STEP] == THEN:
            return sizes, s
        assert policy.ask(s, law, rng) == WAIT
        assert sorted(decision.arm for decision in asked) == list(range(len(means)))
        sizes.append(asked[0].n)
        for arm, n, _ in reversed(asked):
            policy.tell(s, arm, n, means[arm] * n)


class TestPilot:
    def test_grows_until_the_gap_is_seen(self):
        """Users in all after epoch e: 128 ln(4 k e (e+1) T) 4^(e-1)."""
        horizon, k = 10**7, 3
        sizes, s = steps(DPThompson(), RAW, [0.5, 0.3, 0.1], horizon)
        total = [math.ceil(128 * math.log(4 * k * e * (e + 1) * horizon) * 4 ** (e - 1)) for e in (1, 2, 3)]
        assert np.cumsum(sizes).tolist() == total
        assert s.gap[0] == 0.125  # 0.2 is above D / 2 for D = 1/4

    def test_allows_for_the_noise(self):
        """Every mean is right to D / 8 by the two bounds: chance and noise have half of it each."""
        law, horizon = Tree(epsilon=0.02, length=10**8).law(), 10**8
        sizes, s = steps(DPThompson(), law, [0.9, 0.4], horizon)
        gap, used = s.gap[0], 0
        for e, n in enumerate(sizes[:-1], 1):
            used += n
            d, y = 2.0 ** (1 - e), math.log(4 * 2 * e * (e + 1) * horizon)
            assert radius(law, e, used, y) / used <= d / 16
            assert math.sqrt(y / (2 * used)) <= d / 16
        later = max(radius(law, m, m, math.log(4 * horizon**2)) for m in (*range(1, 5000), worst_release(law, horizon)))
        assert later / sum(sizes) <= gap / 8  # what the first users are for
        assert later / (0.9 * sum(sizes)) > gap / 8

    @pytest.mark.slow
    @for_each("counter", ["kary", "binary", "honaker", "hybrid"])
    def test_worst_counts_are_the_noisiest(self, counter):
        law = Tree(counter=counter, length=2000).law()
        for horizon in (1, 2, 3, 10, 100, 2000):
            most = max(radius(law, m, m, 5.0) for m in range(1, horizon + 1))
            assert radius(law, worst_release(law, horizon), horizon, 5.0) >= most
        assert max(nodes(law, m) for m in range(1, 2000)) <= nodes(law, worst_release(law, 2000))

    @for_each("channel", [mb.channels.Central(epsilon=0.3), mb.channels.Response(epsilon=1)])
    def test_users_are_enough_where_noise_grows(self, channel):
        law = channel.law()
        n = enough_users(law, 0, 1.0, 20.0, 0.05)
        assert radius(law, int(n), int(n), 20.0) <= 0.05 * n
        assert radius(law, int(0.9 * n), int(0.9 * n), 20.0) > 0.05 * 0.9 * n

    @pytest.mark.slow
    def test_is_left_out_if_it_cannot_be_finished(self):
        assert steps(DPThompson(), RAW, [0.9, 0.1], 2000)[0] == [] != steps(DPThompson(), RAW, [0.9, 0.1], 20_000)[0]
        run = mb.simulate(DPThompson(), Tree(epsilon=0.01, length=10**6), FIVE, 10**6, seed=1)
        assert run.pulls.min() > 0

    def test_the_estimated_gap_is_near_the_gap(self):
        """In [gap / 3, 2 gap], but with probability 1 / T."""
        check_gap(DPThompson.tell)

    def test_means_that_are_wrong_are_noticed(self):
        """Negative control: means of five times the size."""
        with pytest.raises(AssertionError, match="more than"):
            check_gap(mutant(DPThompson.tell, "s.success[arm] / s.n[arm]", "5 * s.success[arm] / s.n[arm]"))


def check_gap(tell) -> None:
    wrong, runs, horizon = 0, 60, 10**6
    for run in range(runs):
        channel, rng = Tree(epsilon=1, length=horizon), np.random.Generator(np.random.PCG64(run))
        gap = rng.uniform(0.1, 0.8)
        law, kept, means = channel.law(), (channel.parameters(), channel.memory(2)), (0.9, 0.9 - gap)
        s = DPThompson().init(2, horizon)
        while s.clock[STEP] == PILOT:
            arm, n, _ = DPThompson.ask(s, law, rng)
            if s.clock[STEP] == PILOT:
                total = float(rng.binomial(n, means[arm]))
                tell(s, arm, n, channel.perturb(*kept, law, arm, total, n, 0, rng))
        wrong += not gap / 3 <= s.gap[0] <= 2 * gap
    at_most(wrong, runs, 1 / horizon)


class TestPaper:
    def test_sizes_are_as_printed(self):
        """192 k ln T / (epsilon D^2) and 192 ln^3 T / (epsilon G^2), epsilon0 = epsilon / 2k."""
        horizon, k, epsilon, log = 10**9, 3, 2, math.log(10**9)
        law = Tree(epsilon=epsilon, counter="binary", length=horizon, divide=2 * k).law()
        sizes, s = steps(DPThompson(pilot="paper"), law, [0.9, 0.5, 0.1], horizon)
        pilot = [192 * k * log / (epsilon * d**2) for d in (1, 0.5)]
        assert sizes == pytest.approx([*pilot, 192 * log**3 / (epsilon * 0.25**2)], abs=1)
        assert s.gap[0] == 0.25

    def test_the_pilot_is_in_the_counts_alone(self):
        horizon = 10**9
        law = Tree(epsilon=1, counter="binary", length=horizon, divide=4).law()
        sizes, s = steps(DPThompson(pilot="paper"), law, [0.9, 0.1], horizon)
        assert s.n.tolist() == [sum(sizes)] * 2
        assert s.success == pytest.approx([0.9 * sizes[-1], 0.1 * sizes[-1]])
        sizes, s = steps(DPThompson(), law, [0.9, 0.1], horizon)
        assert s.success == pytest.approx([0.9 * sum(sizes), 0.1 * sum(sizes)])

    @pytest.mark.slow
    def test_it_never_comes_to_thompson_sampling(self):
        """Its first users alone are more than a million."""
        channel = Tree(epsilon=1, counter="binary", length=10**6, divide=10)
        run = mb.simulate(DPThompson(pilot="paper"), channel, FIVE, 10**6, runs=3, seed=1)
        assert run.regret[:, -1].min() > 0.3 * 10**6
        assert run.releases.max() <= 5 * 3

    def test_it_is_for_binary_laplace_trees(self):
        for channel in (Tree(), mb.channels.Central()):
            assert "binary" in DPThompson(pilot="paper").needs(channel.law())
            assert DPThompson().needs(channel.law()) == DPThompson(pilot=7).needs(channel.law()) == ""


class TestThompson:
    def test_a_number_is_the_number_of_first_users(self):
        assert steps(DPThompson(pilot=70), RAW, [0.9, 0.1], 5000)[0] == [70]
        assert steps(DPThompson(pilot=0), RAW, [0.9, 0.1], 5000)[0] == []

    def test_without_first_users_and_noise_it_is_thompson_sampling(self):
        raw = mb.channels.Raw()
        ours, plain = (interpreted(policy, raw, FIVE, 2000).decisions for policy in (DPThompson(pilot=0), Thompson()))
        assert ours == plain

    def test_sums_outside_the_possible_are_clipped(self):
        s, rng = DPThompson(pilot=0).init(3, 100), np.random.Generator(np.random.PCG64(1))
        assert DPThompson.ask(s, RAW, rng).n == 1
        for arm, total in enumerate((-70.5, 3.25, 500.75)):
            DPThompson.tell(s, arm, 10, total)
        assert s.success.tolist() == [-70.5, 3.25, 500.75]  # running sums come back
        assert {DPThompson.ask(s, RAW, rng).arm for _ in range(300)} == {2}

    def test_fractions_stay_what_they_are(self):
        """Tossing them to whole numbers would add noise at each of many releases."""
        s = DPThompson(pilot=0).init(2, 100)
        for _ in range(3):
            DPThompson.tell(s, 1, 1, 1 / 3)
        assert s.success[1] == pytest.approx(1)

    def test_late_and_unordered_tells(self):
        s, rng = DPThompson(pilot=5).init(3, 100), np.random.Generator(np.random.PCG64(1))
        asked = [DPThompson.ask(s, RAW, rng) for _ in range(3)]
        assert DPThompson.ask(s, RAW, rng) == DPThompson.ask(s, RAW, rng) == WAIT
        assert (s.clock[STEP], s.clock[AWAITED]) == (FIRST, 3)
        for arm, n, _ in asked[::-1]:
            DPThompson.tell(s, arm, n, 2.0)
        assert DPThompson.ask(s, RAW, rng).n == 1

    @pytest.mark.slow
    def test_hand_tuned_it_beats_the_corrected_pilot_and_neither_is_linear(self):
        horizon = 200_000
        channel = Tree(epsilon=1, length=horizon)
        tuned, corrected = (
            mb.simulate(policy, channel, FIVE, horizon, runs=5, seed=1).regret[:, -1]
            for policy in (DPThompson(pilot=500), DPThompson())
        )
        assert tuned.max() < 1500
        assert tuned.max() < corrected.min() < 0.2 * horizon

    @for_each("pilot", ["none", -1, 2.5, True])
    def test_settings_that_mean_nothing_are_refused(self, pilot):
        with pytest.raises(InvalidValue, match="pilot"):
            DPThompson(pilot=pilot)

"""The policy of released likelihood: right as often as it says on every channel, and mutants that are not.

Counts of errors are exact tests: a correct policy fails one with probability at most ALPHA = 1e-9.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import maskedbandit as mb
from maskedbandit.core import kernel, large_kernel
from maskedbandit.law import Law, LawParameters
from maskedbandit.policies.identify import released_likelihood as subject
from maskedbandit.policies.identify.released_likelihood import ReleasedLikelihood
from maskedbandit.policies.parts import known_releases, shares
from maskedbandit.theory.evidence import Bets, evidence_at, find_weak_mean
from maskedbandit.theory.likelihood import ArmReleases
from tests.for_each import for_each
from tests.policies.lossy import LossyDistributed, LossyShuffled
from tests.policies.mutants import mutant
from tests.statistics import at_most

RAW = mb.channels.Raw()
MU1, MU2, SS19B = [0.95, 0.9, 0.9, 0.9, 0.5], [0.75, 0.7, 0.7, 0.7, 0.7], [0.75, 0.625, 0.5, 0.375, 0.25]
CHANNELS = {
    "raw": RAW,
    "response": mb.channels.Response(epsilon=2),
    "central": mb.channels.Central(epsilon=0.5),
    "gaussian": mb.channels.Central(epsilon=0.5, noise=mb.noises.DiscreteGaussian()),
    "distributed": mb.channels.Distributed(epsilon=0.5),
    "shuffled": mb.channels.Shuffled(epsilon=1, delta=1e-6),
    "pure shuffled": mb.channels.PureShuffled(epsilon=0.5),
    "some may drop out, and nobody does": mb.channels.Distributed(epsilon=0.5, honest="0.8"),
    "noise shares are lost": LossyDistributed(epsilon=0.5, honest="0.8"),
    "coins are lost": LossyShuffled(epsilon=1, honest="0.8"),
}


def errors(
    policy: ReleasedLikelihood,
    channel: mb.channels.Channel,
    means: list[float],
    delta: float,
    runs: int,
    most: int = 10**6,
) -> int:
    """Wrong answers; a run that takes more users than `most` counts as right."""
    found = mb.identify(policy, channel, mb.Bernoulli(means), delta=delta, runs=runs, seed=2, max_pulls=most)
    return int((found.stopped & ~found.correct).sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", CHANNELS)
def test_it_is_right_as_often_as_it_says(name):
    """So many runs would show a probability of errors above 0.2 with two arms, and above 0.3 with four.

    But for one time in a thousand. With two arms errors are seen to 10,000 users; in runs to the end none came later.
    """
    at_most(errors(ReleasedLikelihood(), CHANNELS[name], [0.5, 0.48], 0.1, 1000, most=10**4), 1000, 0.1)
    at_most(errors(ReleasedLikelihood(), CHANNELS[name], [0.6, 0.55, 0.55, 0.5], 0.1, 300), 300, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["raw", "central", "noise shares are lost"])
def test_it_is_right_with_many_arms(name):
    """Rivals that are tied, at a delta at which errors would be seen."""
    at_most(errors(ReleasedLikelihood(), CHANNELS[name], [0.8, *[0.6] * 7], 0.3, 200), 200, 0.3)


@pytest.mark.slow
def test_rewards_that_are_not_bits():
    """Rounded to bits by a private channel, and as they are without privacy."""
    for channel in (RAW, mb.channels.Central(epsilon=1)):
        instance = mb.Beta([2.0, 2.0], [2.0, 2.2])
        found = mb.identify(ReleasedLikelihood(), channel, instance, delta=0.1, runs=500, seed=1, max_pulls=10**6)
        at_most(int((found.stopped & ~found.correct).sum()), 500, 0.1)


class HalfTheLevel(ReleasedLikelihood):
    """A mutant: it stops at ln(1 / delta) / 2."""

    def init(self, k, delta):
        s = super().init(k, delta)
        return s._replace(threshold=s.threshold / 2)


@kernel
def silent(law: Law) -> LawParameters:
    return LawParameters(0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0, 0, 0.0, 0.0, 0.0)


def with_bet(bet, **certain):
    """The policy's `ask`, with another `bet`, and other kernels in `certain`."""
    think = mutant(subject.think, compare_rival=mutant(subject.compare_rival, bet=bet))
    return staticmethod(mutant(ReleasedLikelihood.ask, certain=mutant(subject.certain, **certain), think=think))


@large_kernel
def deaf_everywhere(
    law: Law, a: ArmReleases, b: ArmReleases, bets: Bets, mean_a: float, mean_b: float, threshold: float
) -> float:
    return find_weak_mean(silent(law), a, b, bets, mean_a, mean_b, threshold)


class Deaf(ReleasedLikelihood):
    """A mutant: its likelihood takes what was released for the rewards themselves."""

    bet = mutant(subject.bet, "evidence_at(law,", "evidence_at(silent(law),", silent=silent)
    ask = with_bet(bet, find_weak_mean=deaf_everywhere)


@large_kernel
def coarse(
    law: Law, a: ArmReleases, b: ArmReleases, bets: Bets, mean_a: float, mean_b: float, threshold: float
) -> float:
    for z in (0.25, 0.5, 0.75):
        if evidence_at(law, a, b, bets, mean_a - mean_b, z)[0] < threshold:
            return z
    return 2.0


class Coarse(ReleasedLikelihood):
    """A mutant: it looks at the evidence at three values of z alone."""

    bet = mutant(subject.bet, "s.mean[b] + at * gap", "round(4 * (s.mean[b] + at * gap)) / 4 + 0.0")
    ask = with_bet(bet, find_weak_mean=coarse)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("broken", "channel", "means", "delta", "runs"),
    [
        (HalfTheLevel(), RAW, [0.5, 0.49999], 0.001, 10_000),
        (Deaf(), mb.channels.Central(epsilon=0.05), [0.5, 0.49], 0.1, 3000),
        (Coarse(), RAW, [0.61, 0.6], 0.1, 400),
    ],
    ids=["half the threshold", "deaf", "coarse"],
)
def test_mutants_are_wrong_more_often(broken, channel, means, delta, runs):
    """They err within 20,000 users in 0.0075, 0.165 and 0.38 of runs: so many miss it with a chance of at most 2e-5."""
    wrong = errors(broken, channel, means, delta, runs, most=20_000)
    with pytest.raises(AssertionError):
        at_most(wrong, runs, delta)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("means", "epsilon", "most"),
    [
        (MU1, 0.464, 1.2e4),
        (MU1, 0.1, 3.6e4),
        (MU1, 0.0215, 1.6e5),
        (MU2, 0.464, 3.5e4),
        (MU2, 0.1, 6.2e4),
        ([0.9, *[0.1] * 99], 1, 3.7e3),  # first cohorts are most of it: of 49 deviations it takes 7,000
        (SS19B, 1, 2.4e3),
        (SS19B, 0.1, 7.6e3),
        ([0.75, *[0.6] * 29], 1, 9.3e3),  # it takes 8,200; with one share for all arms 10,100
        ([0.75, *[0.6] * 99], 0.1, 1.1e5),  # 91,000; with one share for all arms 125,000
    ],
)
def test_users_it_takes(means, epsilon, most):
    """Means of 50 runs, all of which stop; they lie at 0.4 to 0.7 of these numbers, 20 standard errors below.

    With many arms at .83 to .94, at least 16 standard errors below, and with 30 of them, where 100 runs are made, 5: a
    correct policy fails with probability 1e-6.
    """
    channel, instance = mb.channels.Central(epsilon=epsilon), mb.Bernoulli(means)
    runs = 100 if len(means) == 30 else 50
    found = mb.identify(ReleasedLikelihood(), channel, instance, delta=0.01, runs=runs, seed=4)
    assert found.stopped.all()
    assert found.samples.mean() < most


class AllAtOnce(ReleasedLikelihood):
    """A mutant: a cohort aims at all the evidence that is missing."""

    next_cohort = mutant(subject.rival_size, next_size=mutant(known_releases.next_size, AIMED=1.0))
    ask = staticmethod(mutant(ReleasedLikelihood.ask, rival_size=next_cohort))


@pytest.mark.slow
def test_cohorts_that_aim_at_a_part_stop_sooner():
    """Means of 1500 runs: 1,105 and 1,329, each nine standard errors from 1,210: false alarms are below 1e-12."""
    users = [
        mb.identify(policy, RAW, mb.Bernoulli([0.75, *[0.6] * 4]), delta=0.1, runs=1500, seed=4).samples.mean()
        for policy in (ReleasedLikelihood(), AllAtOnce())
    ]
    assert users[0] < 1210 < users[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["some may drop out, and nobody does", "noise shares are lost", "coins are lost"])
def test_it_is_right_where_users_drop_out(name):
    """Two means, and tied rivals, at a delta at which errors would be seen.

    So many runs would show a probability of errors above 0.53, but for one time in a thousand.
    """
    at_most(errors(ReleasedLikelihood(), CHANNELS[name], [0.5, 0.46], 0.3, 400), 400, 0.3)
    at_most(errors(ReleasedLikelihood(), CHANNELS[name], [0.6, *[0.5] * 4], 0.3, 400), 400, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("of", [mb.channels.Distributed, mb.channels.SplitAndMix, mb.channels.Shuffled])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "2"])
def test_dropouts_cost_at_most_half_as_many_users_again(of, epsilon):
    """Means of 200 runs, with a standard error of 4 % of one of them; they lie at 1.01 to 1.25."""
    whole, some = (
        mb.identify(ReleasedLikelihood(), of(epsilon, honest=honest), mb.Bernoulli(SS19B), 0.01, runs=200, seed=4)
        for honest in ("1", "0.8")
    )
    assert some.stopped.all()
    assert some.samples.mean() < 1.5 * whole.samples.mean()


@pytest.mark.slow
def test_no_run_starves_and_without_the_cure_some_do():
    """Tied rivals, loud noise: a best arm that begins badly must come back; forced exploration is a parameter.

    Without it one run in eleven starves, so that 300 show it but for a chance of 1e-12. With it, 600 would show a rate
    of 1.2 % but for one of 1e-3.
    """
    channel, instance, most = mb.channels.Central(epsilon=0.464), mb.Bernoulli(MU1), 2 * 10**5
    cured = mb.identify(ReleasedLikelihood(), channel, instance, delta=0.01, runs=600, seed=5, max_pulls=most)
    assert cured.stopped.all()
    ill = mb.identify(ReleasedLikelihood(forced=0), channel, instance, delta=0.01, runs=300, seed=5, max_pulls=most)
    assert not ill.stopped.all()


class OnOldNews(ReleasedLikelihood):
    """A mutant: what is in flight does not count when a rival is chosen, and counts when a cohort's size is."""

    challenger = mutant(subject.challenger, "expect_evidence(s.found[b], foresee_rival(s, b))", "s.found[b]")
    next_size = mutant(known_releases.next_size, "s.growth * s.n[arm]", "s.growth * n")
    next_cohort = mutant(subject.rival_size, next_size=next_size)
    ask = staticmethod(mutant(ReleasedLikelihood.ask, challenger=challenger, rival_size=next_cohort))


@pytest.mark.slow
def test_arms_of_which_more_is_in_flight_do_not_get_everybody():
    """Means of 300 runs: 7,910 ± 86 and 10,405 ± 131, eleven errors from 8,900: false alarms are below 1e-12."""
    channel, instance = mb.channels.Central(epsilon=0.3), mb.Bernoulli([0.75, *[0.6] * 9])
    users = [
        mb.identify(policy, channel, instance, runs=300, seed=4, delay=mb.delays.Constant(1000)).samples.mean()
        for policy in (ReleasedLikelihood(), OnOldNews())
    ]
    assert users[0] < 8900 < users[1]


def test_a_state_keeps_room_for_more_releases():
    """From the 192nd release on an arm's count doubles, so that 256 entries are never used up."""
    s = ReleasedLikelihood().init(2, 0.1)
    s.leader[0], s.n[:], s.asked[:], s.m[:] = 0, 1000, 1000, known_releases.MANY_RELEASES
    s.gains[0, 1], s.found[1], s.mean[0] = 100.0, 2.0, 0.9
    assert subject.rival_size(s, RAW.law(), 0, 1) >= 1000
    s.m[:] = known_releases.MANY_RELEASES - 1
    assert subject.rival_size(s, RAW.law(), 0, 1) < 200


@for_each(("mean", "epsilon", "part"), [(0.5, 100, 0.3), (0.5, 0.1, 0.731), (0.05, 0.1, 0.926)])
def test_a_cohort_aims_at_more_of_what_is_missing_where_more_of_it_is_noise(mean, epsilon, part):
    """1000 users are missing. Bits have a variance of 250 or 47.5, and noise has 200, which counts twice.

    So it is .3 + .7 400 / 650, or .3 + .7 400 / 447.5.
    """
    s = ReleasedLikelihood().init(2, 0.1)
    s.asked[:], s.n[:], s.mean[:] = 1000, 1000, mean
    half = (s.threshold + known_releases.AIM_MARGIN + 2) / 2
    law = mb.channels.Central(epsilon=epsilon).law()
    users = known_releases.next_size(s, law, 0, half, half, 1.0)
    assert users == pytest.approx(1000 * part, rel=0.01)


def test_the_least_and_the_most_users_of_a_cohort():
    """A first cohort has 241 users. Little is missing, or more than can be known from what was released."""
    law, s = mb.channels.Central(epsilon=0.1).law(), ReleasedLikelihood().init(2, 0.1)
    s.n[:], s.asked[:], s.mean[:] = 400, 400, 0.5

    def users(gain: float) -> int:
        return known_releases.next_size(s, law, 0, gain - 2, gain, 1.0)

    assert known_releases.first_users(law) == 241
    assert users(s.threshold + 2.4) == 37, "of 241 .15 parts, which are more than a twentieth of 400"
    assert users(0.5) == 800, "twice as many as were released"
    s.asked[0] = 2000
    assert users(0.5) == 800
    s.flight[0] = 1
    s.n[0] = 50
    assert users(s.threshold + 2.4) == 100, "a twentieth of those who were asked"
    s.asked[0] = 800
    assert users(s.threshold + 2.4) == 100, "twice as many as were released, and not half of 241"
    s.n[0] = 100
    assert users(s.threshold + 2.4) == 121


def test_what_is_in_flight_is_expected_to_add_evidence():
    """Where nothing is in flight the evidence is what was found; else what bets gain grows, also of a bad start."""
    for found in (-20.0, -1.0, 0.0, 5.0):
        assert known_releases.expect_evidence(found, 1.0) == found
        assert known_releases.expect_evidence(found, 3.0) >= found + 2
    assert known_releases.expect_evidence(2.0, 3.0) == 14.0, "six nats are 18, less four"


@pytest.mark.slow
def test_nobody_left_to_beat_is_never_the_leader_itself():
    """The rivals are beaten, but the leader has no share yet: it gets a cohort, whatever is drawn."""
    for seed in range(300):
        law, s = RAW.law(), released(*[1.0] * 40, 99.0)
        decision = ReleasedLikelihood.ask(s, law, np.random.default_rng(seed))
        assert (decision.arm, s.rank[40]) == (40, 1)


@pytest.mark.slow
def test_a_leader_that_is_its_own_rival_is_found(monkeypatch):
    challenger = mutant(subject.challenger, "doubt[b], need[b] = -1e300,", "need[b] =")
    monkeypatch.setattr(ReleasedLikelihood, "ask", staticmethod(mutant(ReleasedLikelihood.ask, challenger=challenger)))
    with pytest.raises(AssertionError):
        test_nobody_left_to_beat_is_never_the_leader_itself()


def released(*totals: float, n: int = 100, delta: float = 0.1) -> subject.State:
    """A state in which each arm had one release of n users."""
    s = ReleasedLikelihood().init(len(totals), delta)
    for arm, total in enumerate(totals):
        ReleasedLikelihood.tell(s, arm, n, total)
    return s


def test_the_level_counts_the_ways_to_err():
    """Those of few arms are in the threshold; of many, the shares are in the evidence."""
    assert ReleasedLikelihood().init(5, 0.01).threshold == pytest.approx(np.log(400), rel=1e-15)
    assert ReleasedLikelihood().init(2, 0.01).threshold == pytest.approx(np.log(100), rel=1e-15)
    assert ReleasedLikelihood().init(6, 0.01).threshold == pytest.approx(np.log(100), rel=1e-15)


def check_shares(k: int, of_share=shares.of_share) -> None:
    """Shares in the bets against an arm add up to at most one, and whoever has none yet would be the next."""
    for order in (range(k), [*range(k // 2, k), *range(k // 2)]):
        s = ReleasedLikelihood().init(k, 0.1)
        s.rank[:] = 0
        for rank, arm in enumerate(order):
            expected = [of_share(s, arm, b) for b in range(k) if b != arm]
            s.rank[arm] = rank + 1
            assert [of_share(s, arm, b) for b in range(k) if b != arm] == expected
        for b in range(k):
            assert 0.9 < sum(1 / of_share(s, a, b) for a in range(k) if a != b) <= 1 + 1e-12


@for_each("k", [2, 5, 6, 9])
def test_shares_in_the_bets_against_an_arm_add_up_to_at_most_one(k):
    check_shares(k)


def test_shares_that_fall_too_slowly_are_rejected():
    with pytest.raises(AssertionError):
        check_shares(9, mutant(shares.of_share, "rank * (rank - 1.0)", "2.0 * (rank - 1.0)"))


def mean_gain(in_favour, give_share, k: int = 6, n: int = 1, z: float = 0.5, up: float = 0.3) -> float:
    """What bets that one of the others has mean z + up gain on average against the last arm, where all means are z.

    Every arm has a release of n bits; then the leader gets a share, and has a second release; then the one that leads
    now gets one, and has a release too. The sum is over all totals that there can be.
    """
    totals = np.arange(n + 1)
    chance, gain = binom.pmf(totals, n, z), binom.pmf(totals, n, z + up) / binom.pmf(totals, n, z)
    mean = 0.0
    for sums in product(totals, repeat=k + 2):
        s = ReleasedLikelihood().init(k, 0.1)
        for step, total in enumerate(sums):
            if step >= k:
                s.leader[0] = np.argmax(s.total.sum(axis=1) / s.n)
                give_share(s, s.leader[0], False)
            ReleasedLikelihood.tell(s, step if step < k else s.leader[0], n, float(total))
        wealth = 1.0
        for a in np.flatnonzero(s.rank[:-1]):
            known = in_favour(s, a)
            product_of_gains = np.prod(gain[known.total[: known.m].astype(int)])
            wealth += (product_of_gains - 1) / shares.of_share(s, a, k - 1)
        mean += wealth * np.prod(chance[list(sums)])
    return mean


def test_bets_begin_when_the_share_is_fixed():
    assert mean_gain(shares.in_favour, shares.give_share) == pytest.approx(1.0, abs=1e-9)


def test_bets_that_count_what_made_an_arm_the_leader_are_rejected():
    """A mutant: all releases of an arm count in its favour."""
    hindsight = mutant(shares.in_favour, "s.before[a]", "0")
    assert mean_gain(hindsight, shares.give_share) > 1.1


def last_of_seven(rank: int, before: int, low: float, of_rivals: int = 0, seen: bool = False) -> bool:
    """Whether the last of seven arms is the answer, if it got its share at this rank, and so many of its two releases
    came before; `seen` says that the evidence sufficed where it was computed."""
    s, law = released(*[low] * 6, 80.0), RAW.law()
    ReleasedLikelihood.tell(s, 6, 100, 80.0)
    s.rank[: rank - 1] = np.arange(1, rank)
    s.rank[6], s.before[6], s.before[:6] = rank, before, of_rivals
    subject.think(s, law, np.random.default_rng(1))
    if seen:
        s.found[:6] = s.threshold
    return subject.certain(s, law)


def test_releases_before_the_share_are_no_evidence_for_the_answer():
    """Neither where the evidence is computed first nor where all z are looked at."""
    assert last_of_seven(1, before=1, low=20.0)
    assert not last_of_seven(1, before=2, low=20.0)
    assert not last_of_seven(1, before=2, low=20.0, seen=True)


def test_a_small_share_needs_more_evidence():
    assert last_of_seven(1, before=1, low=54.0, seen=True)
    assert not last_of_seven(7, before=1, low=54.0, seen=True)


def test_all_releases_of_rivals_count_against_them():
    assert last_of_seven(1, before=1, low=20.0, of_rivals=1)


@pytest.mark.parametrize(
    ("old", "new"), [("s.threshold + nats_of_share(s, a, b)", "s.threshold"), ("in_favour(s, a)", "arm_releases(s, a)")]
)
def test_answers_that_forget_the_share_or_when_it_came_are_rejected(monkeypatch, old, new):
    monkeypatch.setattr(subject, "certain", mutant(subject.certain, old, new))
    given = last_of_seven(7, before=1, low=54.0, seen=True), last_of_seven(1, before=2, low=20.0, seen=True)
    assert any(given)


def test_an_arm_gets_a_share_once_and_not_before_it_has_grown():
    s = released(*[50.0] * 99, 90.0)
    shares.give_share(s, 99, False)
    assert s.rank[99] == 0, "it needs twice the users of others, with 99 of them"
    ReleasedLikelihood.tell(s, 99, 101, 90.0)
    shares.give_share(s, 99, False)
    assert (s.rank[99], s.before[99], s.rank.sum()) == (1, 2, 1)
    ReleasedLikelihood.tell(s, 99, 101, 90.0)
    shares.give_share(s, 99, False)
    assert (s.rank[99], s.before[99]) == (1, 2)
    shares.give_share(s, 98, True)
    assert (s.rank[98], s.before[98]) == (2, 1), "at once, if nobody is left to beat"


def test_few_arms_have_their_shares_from_the_beginning():
    s = released(50.0, 50.0, 50.0, 50.0, 90.0)
    shares.give_share(s, 4, True)
    assert shares.in_favour(s, 4).m == 1
    assert all(shares.has_share(s, a) for a in range(5))


def test_nobody_is_the_answer_without_a_share():
    """The evidence may seem to suffice before it; then the leader gets it, and a cohort."""
    law, rng, s = RAW.law(), np.random.default_rng(1), released(*[1.0] * 40, 99.0)
    decision = ReleasedLikelihood.ask(s, law, rng)
    assert (s.found[:40] >= s.threshold).all()
    assert decision.arm == 40
    assert decision.n > 0
    assert (s.rank[40], s.before[40]) == (1, 1)
    ReleasedLikelihood.tell(s, 40, decision.n, 0.99 * decision.n)
    assert ReleasedLikelihood.ask(s, law, rng) == (40, 0, 0)


def test_it_stops_only_if_the_evidence_is_there_for_all_z():
    """The evidence at one z may suffice where that at another does not."""
    law, rng, s = RAW.law(), np.random.default_rng(1), released(90.0, 10.0)
    assert ReleasedLikelihood.ask(s, law, rng) == (0, 0, 0)
    assert ReleasedLikelihood.ask(s, law, rng) == (0, 0, 0), "asked again, it says the same"
    s = released(60.0, 55.0)
    subject.think(s, law, rng)
    s.found[1] = s.threshold + 1  # as if it had been seen at one z
    assert not subject.certain(s, law)
    assert s.found[1] < s.threshold, "and it has learned where it is short"
    assert 0 <= s.weak[1] <= 1


def test_what_was_sure_is_not_so_after_a_release():
    law, rng, s = RAW.law(), np.random.default_rng(1), released(90.0, 10.0)
    assert ReleasedLikelihood.ask(s, law, rng).n == 0
    assert s.sure[1] == 1
    ReleasedLikelihood.tell(s, 1, 1000, 880.0)
    assert ReleasedLikelihood.ask(s, law, rng).n > 0
    assert s.sure[1] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "channel", [RAW, CHANNELS["central"], CHANNELS["response"]], ids=["raw", "central", "response"]
)
@pytest.mark.parametrize("means", [[1.0, 0.999, 0.999], [0.001, 0.0], [1.0, 0.0], [0.5, 0.0, 0.0, 1.0]], ids=str)
def test_means_at_the_ends(means, channel):
    """Where a likelihood is zero nothing is divided by it, and no state runs out of entries."""
    found = mb.identify(ReleasedLikelihood(), channel, mb.Bernoulli(means), delta=0.1, runs=50, seed=1, max_pulls=10**6)
    assert found.releases.max() < known_releases.MOST_RELEASES
    at_most(int((found.stopped & ~found.correct).sum()), 50, 0.1)


def test_one_that_was_beaten_by_bad_luck_comes_back():
    """Tied rivals have little evidence for ever; the beaten one is asked again when it has few of their users."""
    s, rng = released(60.0, 59.0, 58.0, 0.0), np.random.default_rng(1)
    subject.think(s, RAW.law(), rng)
    assert s.found[3] > s.threshold
    s.asked[3], s.asked[1], s.asked[2] = 100, 6500, 6600
    assert subject.challenger(s, rng)[0] != 3
    s.asked[1] = 6800
    assert subject.challenger(s, rng) == (3, True)


def test_hardly_any_noise_runs_as_python_too():
    policy, law, rng = ReleasedLikelihood(), mb.channels.Central(epsilon=1000).law(), np.random.default_rng(1)
    s = released(80.0, 20.0)
    assert policy.ask(s, law, rng) == (0, 0, 0)


def test_channels_whose_law_is_not_known_are_refused():
    policy = ReleasedLikelihood()
    for channel in (
        mb.channels.Central(epsilon=1, grid=10),
        mb.channels.Local(epsilon=1),
        mb.channels.Tree(epsilon=1),
        mb.channels.Central(epsilon=1, grid="paper"),
    ):
        assert policy.needs(channel.law())
    for channel in CHANNELS.values():
        assert policy.needs(channel.law()) == ""


@for_each("bad", [{"growth": 0.0}, {"forced": 0.5}, {"forced": -0.1}, {"least": 0}, {"growth": np.nan}])
def test_parameters_are_checked(bad):
    with pytest.raises(mb.errors.InvalidValue):
        ReleasedLikelihood(**bad)

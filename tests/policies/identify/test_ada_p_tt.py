"""AdaP-TT and AdaP-TT*. All tests are exact; what they say of many runs is in test_private_search.py."""

import math

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import InvalidValue
from maskedbandit.law import LAPLACE, Law
from maskedbandit.policies.identify.ada_p_tt import gap_threshold, heuristic_threshold
from maskedbandit.policies.identify.ada_p_tt_star import far_threshold, linear_from, near_threshold, spread
from tests.for_each import for_each
from tests.golden import Trail, interpreted
from tests.policies.identify import published
from tests.policies.mutants import mutant
from tests.thrift import thrifty

AdaPTT, AdaPTTStar = mb.policies.AdaPTT, mb.policies.AdaPTTStar
CENTRAL = mb.channels.Central(epsilon=1)
WIDE = mb.Bernoulli([0.9, 0.1, 0.2])


def laplace(epsilon: float) -> Law:
    return Law(LAPLACE, scale=1 / epsilon, grid=1, per_release=1)


@for_each(
    ("w_a", "w_b", "epsilon", "squared", "near", "far"),
    [
        (1024, 1024, 1, 63.2267, 42.0880, 1356.9999),
        (1024, 64, 0.1, 954.8404, 740.3477, 228.0364),
        (65536, 16384, 0.1, 72.2478, 57.0397, 909.5961),
        (65536, 16384, 0.01, 582.6873, 511.4313, 237.7496),
    ],
)
def test_thresholds(w_a, w_b, epsilon, squared, near, far):
    law = laplace(epsilon)
    assert gap_threshold(law, 5, w_a, w_b, 0.01) == pytest.approx(squared, abs=6e-5)
    assert near_threshold(law, 5, w_a, w_b, 0.01) == pytest.approx(near, abs=6e-5)
    assert far_threshold(law, 5, w_a, w_b, 0.01) == pytest.approx(far, abs=6e-5)
    for each in (gap_threshold, near_threshold, far_threshold):
        assert each(law, 5, w_a, w_b, 0.01) == pytest.approx(each(law, 5, w_b, w_a, 0.01))


@for_each(("w", "h"), [(1024, 19.6496), (64, 18.2157), (65536, 21.1420), (16384, 20.7032)])
def test_spread_of_rewards(w, h):
    assert spread(5, w, 0.01) == pytest.approx(h, abs=6e-5)


def test_thresholds_allow_for_what_hoeffding_does():
    """Phases have fixed sizes, so this is all that the proof asks of the rewards' parts of the thresholds."""
    raw = mb.channels.Raw().law()
    for k in (2, 5, 1000):
        for i in range(1, 40, 6):
            for j in range(1, 40, 6):
                pair = math.log((k - 1) * (math.pi**2 / 6) ** 2 * (i * j) ** 2)
                w_a, w_b = 2 ** max(i - 2, 0), 2 ** max(j - 2, 0)
                assert gap_threshold(raw, k, w_a, w_b, 0.01) >= 2 * (pair + math.log(2 / 0.01))
                assert near_threshold(raw, k, w_a, w_b, 0.01) >= pair + math.log(3 / 0.01)
            assert spread(k, w_a, 0.01) >= math.log(3 * k * (math.pi**2 / 6) * i**2 / 0.01)


def test_heuristic_threshold():
    """In the published program gaps are divided by unit variances: its costs are a quarter of those here."""
    rewards = math.log(100) + math.log(1 + math.log(64)) + math.log(1 + math.log(512))
    noise = (1 / 64 + 1 / 512) * math.log(100) ** 2 / 0.1**2
    assert heuristic_threshold(laplace(0.1), 64, 512, 0.01) == pytest.approx(4 * (rewards + noise))


def test_linear_costs_begin_at_three_epsilon():
    assert linear_from(laplace(0.2)) == pytest.approx(0.6)
    assert linear_from(mb.channels.Raw().law()) == math.inf
    gaussian = mb.channels.Central(epsilon=0.2, noise=mb.noises.DiscreteGaussian()).law()
    assert linear_from(gaussian) == pytest.approx(0.6 / math.sqrt(2))


@pytest.mark.sparing(1)
@pytest.mark.parametrize("fraction", thrifty([0.0, 0.5], lambda fraction: fraction == 0))
@pytest.mark.parametrize("kind", ["AdaPTT", "AdaPTTStar"])
@pytest.mark.parametrize(
    ("means", "epsilon"), [((0.9, 0.1), 2.0), ((0.1, 0.5, 1.0, 0.1), 1.0), ((0.9, 0.1, 0.2), 0.25)]
)
def test_pulls_are_those_of_the_paper(kind, means, epsilon, fraction):
    policy = mb.policies.room[{"AdaPTT": "ada_p_tt", "AdaPTTStar": "ada_p_tt_star"}[kind]](forced=fraction)
    for seed in range(2):
        paper = getattr(published, kind)(len(means), epsilon, 0.1, fraction)
        pulls = published.play(policy, paper, laplace(epsilon), means, seed)
        assert min(pulls) > 50
        assert sum(pulls) < published.MOST


def broken(old: str, new: str, kernel: str = "challenger") -> type:
    """AdaP-TT with one change."""
    import maskedbandit.policies.identify.ada_p_tt as home

    class Broken(AdaPTT):
        if kernel == "rank":
            ask = mutant(AdaPTT.ask, weigh=mutant(home.weigh, rank_all=mutant(home.rank_all, old, new)))
        else:
            ask = mutant(AdaPTT.ask, next_pull=mutant(home.next_pull, challenger=mutant(home.challenger, old, new)))

    return Broken


@for_each(
    ("kernel", "old", "new"),
    [
        ("challenger", "s.cost[a] * pulls[a] / (pulls[a] + n)", "s.cost[a] * s.size[a] / (s.size[a] + n)"),
        ("challenger", "1.0 / pulls[a] if is_starved(s.phases, a) else ", ""),
        ("rank", "w = s.phases.number[a], s.size[a]", "w = s.phases.number[a], s.phases.pulls[a]"),
        ("rank", "max(0.0, s.mean[leader] - s.mean[a])", "abs(s.mean[leader] - s.mean[a])"),
    ],
)
def test_other_pulls_are_rejected(kernel, old, new):
    """Negative controls: sizes of phases where all pulls count, or the reverse; nothing forced; no positive part."""
    with pytest.raises(AssertionError):
        several(broken(old, new, kernel)())


def several(policy: AdaPTT) -> None:
    for seed in range(4):
        published.play(policy, published.AdaPTT(4, 0.5, 0.1, 0.5), laplace(0.5), (0.9, 0.5, 0.1, 0.1), seed, most=1500)


@pytest.mark.slow
def test_the_play_of_the_controls_is_accepted():
    several(AdaPTT())


def check_phases(found: Trail) -> None:
    """Users come one by one; phases have 1, 1, 2, 4, ... of them; every reward is in one released phase at most."""
    filled = [0] * len(found.pulls)
    sizes: list[list[int]] = [[] for _ in found.pulls]
    released = iter(found.released)
    for arm, n, close in found.decisions:
        if n == 0:
            break
        assert n == 1
        filled[arm] += 1
        if close:
            where, users, _ = next(released)
            assert (where, users) == (arm, filled[arm])
            sizes[arm].append(filled[arm])
            filled[arm] = 0
    assert next(released, None) is None
    for arm, each in enumerate(sizes):
        assert each == [1, *(2**i for i in range(len(each) - 1))]
        assert sum(each) + filled[arm] == found.pulls[arm]


@for_each("name", ["ada_p_tt", "ada_p_tt_star", "dp_tt"])
def test_every_reward_is_in_one_phase(name):
    found = interpreted(mb.policies.room[name](), CENTRAL, WIDE, 3000, seed=1)
    check_phases(found)
    assert max(found.pulls) > 100


def test_a_reward_in_two_phases_is_rejected():
    """Negative control: a policy that closes a phase one user late."""
    import maskedbandit.policies.identify.ada_p_tt as home

    late = mutant(home.pull_arm, "p.pulls[arm] < p.edge[arm]", "p.pulls[arm] < p.edge[arm] + (p.pulls[arm] > 1)")

    class Late(AdaPTT):
        ask = mutant(AdaPTT.ask, next_pull=mutant(home.next_pull, pull_arm=late))

    with pytest.raises(AssertionError):
        check_phases(interpreted(Late(), CENTRAL, WIDE, 3000, seed=1))


@for_each("name", ["ada_p_tt", "ada_p_tt_star", "dp_tt"])
def test_does_not_wait_for_the_end_of_a_phase(name):
    """Before every arm has a release the one with the fewest pulls is next, then the leader or the challenger."""
    policy, law, rng = mb.policies.room[name](), CENTRAL.law(), np.random.Generator(np.random.PCG64(1))
    s = policy.init(3, 0.1)
    for close in (1, 1, 0, 1):
        turn = [policy.ask(s, law, rng) for _ in range(3)]
        assert sorted(turn) == [(arm, 1, close) for arm in range(3)]
    policy.tell(s, 2, 1, 1.0)
    turn = [policy.ask(s, law, rng) for _ in range(2)]
    policy.tell(s, 0, 1, 0.0)
    turn.append(policy.ask(s, law, rng))
    assert sorted(turn) == [(arm, 1, 0) for arm in range(3)]
    policy.tell(s, 1, 1, 0.0)
    assert all(policy.ask(s, law, rng).n == 1 for _ in range(100))
    assert s.phases.pulls.sum() == 115


@for_each("name", ["ada_p_tt", "ada_p_tt_star", "dp_tt"])
def test_channels_without_a_fixed_grid_are_refused(name):
    policy = mb.policies.room[name]()
    with pytest.raises(InvalidValue, match="cohorts of every size"):
        mb.identify(policy, mb.channels.Central(epsilon=1, grid="paper"), WIDE)
    assert policy.needs(mb.channels.Tree(epsilon=1).law())
    for channel in (CENTRAL, mb.channels.Distributed(epsilon=0.5), mb.channels.PureShuffled(epsilon=0.5)):
        assert not policy.needs(channel.law())


@for_each("wrong", [{"beta": 0}, {"beta": 1}, {"forced": -0.1}, {"forced": 1}, {"threshold": ""}], ids=str)
def test_parameters_out_of_range_are_refused(wrong):
    (name,) = wrong
    for policy in (AdaPTT, AdaPTTStar, mb.policies.DPTT):
        if not (policy is AdaPTTStar and name == "threshold"):
            with pytest.raises(InvalidValue, match=f"^{name} is "):
                policy(**wrong)

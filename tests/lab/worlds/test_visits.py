"""People who come several times: what is told of them, what regret counts, and that policies run on it."""

import numpy as np
import pytest
from scipy import stats

import maskedbandit as mb
from maskedbandit import theory
from maskedbandit.channels.channel import Channel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.policies.policy import Policy
from maskedbandit.reports.estimate.source import source_of
from tests.for_each import for_each
from tests.statistics import mean_is

KINDS = mb.Visits([[0.6, 0.5], [0.4, 0.9]], visits=[1, 20], shares=[0.75, 0.25], cap=2)


def people(world: mb.Visits, arm: int, n: int) -> np.ndarray:
    """The sums of n people, visit by visit."""
    rng = np.random.default_rng(7)
    kinds = rng.choice(len(world.shares), n, p=world.shares)
    visits = 1 + rng.poisson(np.array(world.visits)[kinds] - 1)
    found: np.ndarray = rng.binomial(visits, np.array(world.means)[kinds, arm])
    return found


@for_each(
    "world",
    [KINDS, mb.Visits([0.3, 0.8], 4, cap=3), mb.Visits([0.0, 1.0], 2.5, cap=1), mb.Visits([0.1, 0.2], 40, cap=7)],
)
def test_what_is_told_is_the_capped_sum_of_visits(world: mb.Visits) -> None:
    for arm in (0, 1):
        sums = people(world, arm, 100_000)
        mean_of(sums, world.true_means()[arm])
        capped = np.minimum(sums, world.cap)
        mean_of(capped / world.cap, world.told_means()[arm])
        for x, chance in enumerate(world.parameters().chances[arm]):
            mean_of((capped == x).astype(float), chance)


def mean_of(values: np.ndarray, mean: float) -> None:
    if np.ptp(values) > 0:
        mean_is(values, mean)
    else:
        assert values[0] == pytest.approx(mean)


def test_people_who_come_once_are_those_of_bernoulli() -> None:
    world = mb.Visits([0.3, 0.8], visits=1, cap=1)
    np.testing.assert_allclose(world.told_means(), [0.3, 0.8])
    np.testing.assert_allclose(world.true_means(), [0.3, 0.8])
    assert world.statistics == mb.Bernoulli([0.3, 0.8]).statistics


def test_large_caps_tell_everything() -> None:
    world = mb.Visits([0.3, 0.8], visits=4, cap=100)
    np.testing.assert_allclose(world.told_means() * 100, world.true_means())
    often = mb.Visits([0.5, 1.0], visits=10**6, cap=3)  # no chance is below the smallest number
    np.testing.assert_allclose(often.told_means(), 1)


@pytest.mark.slow
@for_each(("visits", "cap"), [(741, 1000), (1001, 10_000), (5001, 10_000), (10**6, 10_000)])
def test_people_who_come_very_often_have_the_chances_of_poisson(visits: int, cap: int) -> None:
    """e^-rate is below the smallest number from a rate of 745 on, and inexact from 708 on."""
    world = mb.Visits([1.0, 0.5], visits, cap)
    many, tails = stats.poisson(visits - 1), stats.poisson((visits - 1) / 2)
    sums = np.arange(cap)
    chances = [many.pmf(sums - 1), (tails.pmf(sums) + tails.pmf(sums - 1)) / 2]
    np.testing.assert_allclose(world.parameters().chances[:, :-1], chances, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(world.parameters().chances.sum(axis=1), 1, rtol=1e-10)
    if cap > 1.3 * visits:
        np.testing.assert_allclose(world.told_means() * cap, world.true_means(), rtol=1e-9)


@pytest.mark.slow
def test_a_cap_can_change_which_arm_looks_best() -> None:
    """Those who come often like the other arm, and the cap hides how often they come."""
    assert KINDS.true_means().argmax() == 1
    assert KINDS.told_means().argmax() == 0
    run = mb.simulate(mb.policies.NoiseAwareKLUCB(), mb.channels.Raw(), KINDS, 20_000, seed=7)
    assert run.pulls[0].argmax() == 0
    lost = KINDS.true_means().max() - KINDS.true_means()
    assert run.regret[0, -1] == pytest.approx(lost @ run.pulls[0])
    found = mb.identify(mb.policies.UniformGLR(), mb.channels.Raw(), KINDS, delta=0.1, runs=3, seed=1, max_pulls=10**5)
    assert found.stopped.all()
    assert not found.correct.any()


POLICIES = [mb.policies.NoiseAwareKLUCB(), mb.policies.ContemporaneousKLUCB(), mb.policies.SuccessiveElimination()]
SEARCHES = [
    mb.policies.ReleasedLikelihood(),
    mb.policies.ContemporaneousElimination(),
    mb.policies.BestArmElimination(),
]
TRUSTS = [
    mb.channels.Raw(),
    mb.channels.Central(epsilon=1),
    mb.channels.Distributed(epsilon=1),
    mb.channels.TwoServers(epsilon=1),
    mb.channels.Shuffled(epsilon=1),
    mb.channels.SplitAndMix(epsilon=1),
    mb.channels.Response(epsilon=1),
    mb.channels.Local(epsilon=1),
]
EASY = mb.Visits([0.6, 0.1], visits=4, cap=3)


PAIRS = [
    pytest.param(
        policy,
        channel,
        id=f"{type(policy).__name__} {type(channel).__name__}",
        marks=[pytest.mark.slow] * isinstance(channel, mb.channels.TwoServers),  # whose loss is summed for a second
    )
    for policy in (*POLICIES, *SEARCHES)
    for channel in TRUSTS
    if not policy.needs(channel.law())  # whatever is added up
]


def test_capped_sums_suit_every_policy_that_rewards_suit() -> None:
    assert len(PAIRS) > 40
    for policy in (*POLICIES, *SEARCHES):
        for channel in TRUSTS:
            assert policy.needs(channel.carrying(EASY.statistics).law()) == policy.needs(channel.law())


@pytest.fixture
def as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


@pytest.mark.sparing(5)
@pytest.mark.parametrize(("policy", "channel"), PAIRS)
def test_default_policies_find_the_best_arm_under_every_trust_model(
    policy: Policy, channel: Channel, as_python: None
) -> None:
    """Each pair would need a compiled loop of its own, for the few decisions of such short runs."""
    if policy.goal == "regret":
        run = mb.simulate(policy, channel, EASY, 20_000, runs=3, seed=2)
        assert (run.pulls.argmax(axis=1) == 0).all()
        assert run.loss == channel.loss(100)
    else:
        found = mb.identify(policy, channel, EASY, delta=0.05, runs=3, seed=2, max_pulls=10**6)
        assert found.correct.all()


@for_each("policy", POLICIES, ids=lambda each: type(each).__name__)
def test_the_result_says_what_was_capped(policy: Policy, as_python: None) -> None:
    run = mb.simulate(policy, mb.channels.Central(epsilon=1), EASY, 2000, seed=3, keep_releases=True)
    assert dict(run.channel.offer(100).terms)["cap"] == 3
    assert np.isnan(run.realised_regret).all()  # what people had beyond the cap is not known to the engine
    assert run.loss.epsilon() == 1
    of_run = source_of(run, None, None)
    assert run.recorded is not None
    of_list = source_of(
        [mb.Release(int(arm), int(n), total) for arm, n, total, _ in run.recorded[0]], run.channel, None
    )
    assert of_run.most == of_list.most == 3
    assert of_run.what == f"{type(policy).__name__} over Central, sums of a person's rewards cut at 3"
    assert of_list.what == "Central, sums of a person's rewards cut at 3"


def test_a_cap_of_one_hides_rewards_too(as_python: None) -> None:
    world = mb.Visits([0.6, 0.1], visits=4, cap=1)
    assert not world.tells_all
    run = mb.simulate(mb.policies.UCB1(), mb.channels.Raw(), world, 50, seed=3, keep_releases=True)
    assert source_of(run, None, None).what == "UCB1 over Raw, sums of a person's rewards cut at 1"
    assert np.isnan(run.realised_regret).all()
    assert mb.Bernoulli([0.6, 0.1]).tells_all
    found = mb.answer(mb.policies.EqualSplit(), mb.channels.Central(epsilon=1), world, 100, seed=3)
    assert found.blocks()[0]["bound"] is None


def test_a_real_protocol_carries_capped_sums(as_python: None) -> None:
    channel = mb.channels.TwoServers(epsilon=1, backend=mb.backends.SealedShares())
    run = mb.simulate(mb.policies.SuccessiveElimination(), channel, EASY, 140, seed=3)
    assert run.releases[0] > 0
    assert np.isnan(run.realised_regret).all()
    assert run.regret[0, -1] == pytest.approx(2 * run.pulls[0, 1])


@for_each(
    ("given", "said"),
    [
        ({"means": [0.5]}, "means is"),
        ({"means": 0.5}, r"means is \(0.5,\): it must be a list with one number for each"),
        ({"means": None}, "means is None"),
        ({"visits": None}, "visits is None: it must be a number or a list"),
        ({"shares": True}, "shares is True"),
        ({"means": [0.5, 1.5]}, "means is"),
        ({"means": [[0.5, 0.4], [0.5, 0.4]]}, "for each kind of people a list"),
        ({"means": [[0.5, 0.4], [0.5]], "visits": [1, 2], "shares": [0.5, 0.5]}, "means is"),
        ({"visits": 0.5}, "visits is 0.5: it must be numbers from 1"),
        ({"visits": [1, 2]}, r"visits is \[1, 2\]"),
        ({"visits": float("nan")}, "visits is nan"),
        ({"shares": [0.5, 0.6]}, "shares is .* add up to 1"),
        ({"shares": [1.5, -0.5]}, "shares is"),
        ({"cap": 0}, "cap is 0: it must be a whole number of at least 1"),
    ],
)
def test_what_is_wrong_is_named(given: dict, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        mb.Visits(**{"means": [0.5, 0.4], "visits": 4, "cap": 3, **given})


def test_curves_of_theory_are_of_single_rewards() -> None:
    file = {
        "horizon": 100,
        "instance": {"name": "visits", "means": [0.5, 0.4], "visits": 4, "cap": 3},
        "curves": [{"theory": next(iter(theory.CURVES)), "channel": {"name": "central", "epsilon": 1}}],
    }
    with pytest.raises(InvalidValue, match="for theory"):
        expand_settings("x", "", file)

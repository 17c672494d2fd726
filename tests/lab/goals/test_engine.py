"""The engine: one loop for every policy, the same numbers however it is run, and nothing released that must not be."""

from fractions import Fraction
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.core import WAIT, Decision, kernel
from maskedbandit.errors import IllegalDecision, InvalidValue, ModulusTooSmall
from maskedbandit.lab.engine.checkpoints import list_checkpoints
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.policies.policy import Policy
from maskedbandit.privacy.loss import ZERO, Loss
from tests.for_each import for_each
from tests.statistics import mean_is

INSTANCE = mb.Bernoulli([0.2, 0.5, 0.8])
UCB = mb.policies.UCB1()
SE = mb.policies.SuccessiveElimination()


@pytest.fixture(autouse=True)
def as_python(monkeypatch):
    """Runs are short here, and loops of policies of their own would cost more to compile."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


class Asked(NamedTuple):
    """What a scripted policy asks for, the same for ever."""

    arm: int
    n: int
    close: int
    released: np.ndarray  # [2] releases, users in them


class Scripted(Policy):
    """Asks for the same again and again."""

    goal: ClassVar = "regret"

    def __init__(self, arm: int, n: int, close: int) -> None:
        self.asks = arm, n, close
        self.state = Asked(arm, n, close, np.zeros(2, np.int64))

    def init(self, k, horizon):
        return self.state

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(s.arm, s.n, s.close)

    @staticmethod
    @kernel
    def tell(s, arm, n, total):
        s.released[0] += 1
        s.released[1] += n


class Waiting(Scripted):
    """Waits for a release that nobody owes."""

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return WAIT


class Sizes(Scripted):
    """Every cohort is larger by one than the one before."""

    def init(self, k, horizon):
        return Asked(*self.asks, np.zeros(2, np.int64))

    @staticmethod
    @kernel
    def ask(s, law, rng):
        return Decision(0, s.released[0] + 1, 1)


def same(a, b) -> bool:
    return (
        (a.regret == b.regret).all() and (a.pulls == b.pulls).all() and (a.realised_regret == b.realised_regret).all()
    )


@pytest.mark.slow
def test_numbers_do_not_depend_on_threads_or_on_how_many_runs_there_are() -> None:
    one = mb.simulate(UCB, mb.channels.Raw(), INSTANCE, 500, runs=30, seed=3, executor=partial(Threads, 1))
    four = mb.simulate(UCB, mb.channels.Raw(), INSTANCE, 500, runs=30, seed=3, executor=partial(Threads, 4))
    few = mb.simulate(UCB, mb.channels.Raw(), INSTANCE, 500, runs=11, seed=3, executor=partial(Threads, 3))
    assert same(one, four)
    assert (few.regret == one.regret[:11]).all()


@pytest.mark.slow
def test_seeds_studies_and_runs_have_streams_of_their_own() -> None:
    how = {"horizon": 2000, "runs": 2}
    first = mb.simulate(UCB, mb.channels.Raw(), INSTANCE, seed=3, **how)
    assert not (first.regret[0] == first.regret[1]).all()
    assert not same(first, mb.simulate(UCB, mb.channels.Raw(), INSTANCE, seed=4, **how))
    assert not same(first, mb.simulate(UCB, mb.channels.Raw(), INSTANCE, seed=3, study="b", **how))


@pytest.mark.slow
def test_a_longer_run_begins_like_the_shorter_one() -> None:
    """A policy that does not know the horizon does the same until it comes."""
    for channel in (mb.channels.Raw(), mb.channels.Central(epsilon=2)):
        short = mb.simulate(UCB, channel, INSTANCE, 500, runs=3, seed=1)
        long = mb.simulate(UCB, channel, INSTANCE, 1000, runs=3, seed=1)
        shared = np.isin(long.t, short.t[:-1])
        assert (long.regret[:, shared] == short.regret[:, :-1]).all()
        assert (long.realised_regret[:, shared] == short.realised_regret[:, :-1]).all()


@pytest.mark.slow
def test_pseudo_regret_counts_gaps_and_realised_regret_has_the_same_mean() -> None:
    run = mb.simulate(SE, mb.channels.Central(epsilon=1), INSTANCE, 10_000, runs=400, seed=5)
    assert run.regret[:, -1] == pytest.approx(run.pulls @ np.array([0.6, 0.3, 0.0]))
    assert run.pulls.sum(axis=1).tolist() == [10_000] * 400
    mean_is(run.realised_regret[:, -1] - run.regret[:, -1], 0)
    assert run.realised_regret[:, -1].std() > run.regret[:, -1].std()
    with pytest.raises(AssertionError):  # the control: a bias of a single reward in a hundred is seen
        mean_is(run.realised_regret[:, -1] - run.regret[:, -1] + 100, 0)


def test_realised_regret_is_not_made_up_where_rewards_are_not_drawn() -> None:
    instance = mb.ClippedGaussian([0.2, 0.8], sd=0.1)
    rounded = mb.simulate(SE, mb.channels.Central(epsilon=1), instance, 2000, seed=5)
    exact = mb.simulate(UCB, mb.channels.Raw(), instance, 2000, seed=5)
    assert np.isnan(rounded.realised_regret).all()
    assert np.isfinite(exact.realised_regret).all()


def test_a_cohort_that_the_horizon_cuts_off_is_never_released() -> None:
    policy = Scripted(1, 300, 1)
    run = mb.simulate(policy, mb.channels.Central(epsilon=1), INSTANCE, 1000, seed=1)
    assert policy.state.released.tolist() == [3, 900]
    assert (run.releases[0], run.pulls[0].tolist()) == (3, [0, 1000, 0])
    whole = Scripted(1, 250, 1)
    mb.simulate(whole, mb.channels.Central(epsilon=1), INSTANCE, 1000, seed=1)
    assert whole.state.released.tolist() == [4, 1000]  # a cohort that ends with the horizon is whole


def test_rewards_that_were_collected_are_paid_for_even_if_nothing_is_released() -> None:
    """A server without privacy has seen them; only users who are just served cost nothing."""
    collected = mb.simulate(Scripted(0, 10, 0), mb.channels.Raw(), INSTANCE, 100)
    assert (collected.releases[0], collected.loss.epsilon()) == (0, np.inf)
    cut = mb.simulate(Scripted(0, 300, 1), mb.channels.Local(epsilon=1), INSTANCE, 100)
    assert (cut.releases[0], cut.loss.epsilon()) == (0, 1.0)
    served = mb.simulate(Scripted(0, 0, 0), mb.channels.Raw(), INSTANCE, 100)
    assert (served.releases[0], served.loss) == (0, ZERO)


def test_the_loss_is_that_of_the_worst_cohort() -> None:
    channel = mb.channels.Distributed(epsilon=1, noise=mb.noises.Skellam(), grid=mb.channels.codec.Grid(fineness=1))
    run = mb.simulate(Sizes(0, 1, 1), channel, INSTANCE, 5000)
    worst = ZERO
    for n in range(1, 99):
        worst |= channel.loss(n)
    assert run.releases[0] == 99  # more different sizes than the engine first holds
    assert run.loss == worst | channel.loss(99)
    assert run.loss != channel.loss(99)


def test_a_stop_serves_the_arm_and_releases_nothing_more() -> None:
    run = mb.simulate(Scripted(2, 0, 0), mb.channels.Raw(), INSTANCE, 1000)
    assert (run.pulls[0].tolist(), run.releases[0], run.regret[0, -1]) == ([0, 0, 1000], 0, 0)


@for_each(
    ("policy", "said"),
    [
        (Scripted(3, 1, 1), "asked for arm 3, which does not exist"),
        (Scripted(-2, 1, 1), "asked for arm -2"),
        (Scripted(0, -5, 1), "asked for -5 users"),
        (Scripted(0, 5, 3), "answered with close = 3"),
        (Scripted(0, 5, -1), "answered with close = -1"),
        (Waiting(0, 1, 1), "waits, but it already has every release"),
    ],
)
def test_what_a_policy_must_not_ask_for(policy, said) -> None:
    with pytest.raises(IllegalDecision, match=said):
        mb.simulate(policy, mb.channels.Raw(), INSTANCE, 100)


def test_a_cohort_of_unknown_size_cannot_have_a_grid_that_depends_on_it() -> None:
    with pytest.raises(IllegalDecision, match="unknown size"):
        mb.simulate(Scripted(0, 1, 0), mb.channels.Central(epsilon=1, grid="paper"), INSTANCE, 100)


def test_a_modulus_that_is_too_small_is_refused() -> None:
    with pytest.raises(ModulusTooSmall, match=r"modulus is 128: it must be at least \d+ for a cohort of 64 users"):
        mb.simulate(SE, mb.channels.Distributed(epsilon=0.5, modulus=128), INSTANCE, 10_000)


@for_each(
    ("wrong", "said"),
    [
        ({"horizon": 0}, "horizon is 0: it must be a whole number of at least 1"),
        ({"horizon": 1.5}, "horizon is 1.5"),
        ({"horizon": float("nan")}, "horizon is nan"),
        ({"runs": 0}, "runs is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"executor": partial(Threads, -1)}, "jobs is -1"),
        ({"policy": "ucb1"}, "policy is 'ucb1'"),
        ({"channel": None}, "channel is None"),
        ({"instance": [0.1, 0.2]}, r"instance is \[0.1, 0.2\]"),
    ],
)
def test_bad_values_are_named(wrong, said) -> None:
    good = {"policy": UCB, "channel": mb.channels.Raw(), "instance": INSTANCE, "horizon": 100}
    with pytest.raises(InvalidValue, match=said):
        mb.simulate(**{**good, **wrong})


def test_every_run_is_reported() -> None:
    ended: list[int] = []
    mb.simulate(
        UCB, mb.channels.Raw(), INSTANCE, 100, runs=25, executor=partial(Threads, 2), advance=lambda: ended.append(1)
    )
    assert len(ended) == 25


def test_checkpoints_of_a_shorter_horizon_are_among_those_of_a_longer_one() -> None:
    assert set(list_checkpoints(1000)) <= set(list_checkpoints(10**6))
    assert list_checkpoints(1).tolist() == [1]
    assert list_checkpoints(12345)[-1] == 12345
    assert (np.diff(list_checkpoints(10**9)) > 0).all()


def test_a_policy_that_is_private_by_itself_adds_its_own_loss() -> None:
    class Costly(Scripted):
        def loss(self, released: Loss, horizon: int) -> Loss:
            return released + Loss.pure(2)

    run = mb.simulate(Costly(0, 10, 1), mb.channels.Central(epsilon=1), INSTANCE, 100)
    assert run.loss.epsilon() == 3.0


def test_noise_that_does_not_fit_64_bits_is_refused_instead_of_drawn_wrongly() -> None:
    wide = mb.channels.Central(epsilon=1, noise=mb.noises.DiscreteLaplace("1e30"))
    with pytest.raises(InvalidValue, match="a cohort of Central is 64: it must be smaller"):
        mb.simulate(SE, wide, INSTANCE, 10_000)
    with pytest.raises(InvalidValue, match="horizon is 1000000000000000000: it must be at most"):
        mb.simulate(SE, mb.channels.Raw(), INSTANCE, 10**18)


@pytest.mark.slow
@for_each("noise", [mb.noises.Skellam(), mb.noises.DiscreteLaplace(), mb.noises.DiscreteGaussian()])
@for_each(("scale", "count"), [(0.7, 10**9), (3e6, 1000.0), (1e5, 10**6)])
def test_the_lab_s_noise_has_its_variance_however_wide(noise, scale, count) -> None:
    """Also where the generator's own Poisson method, for means above 10^14, would lose it."""
    rng = np.random.default_rng(1)
    sample = np.array([float(noise.draws(scale, float(count), rng)) for _ in range(4000)])
    one = noise.stretch(Fraction(scale))
    z = np.arange(-40, 41)
    variance = scale**2 if scale > 10 else float((one.pmf(z) * z**2).sum())
    if scale > 10 and isinstance(noise, mb.noises.DiscreteLaplace):
        variance *= 2
    mean_is(sample**2 / (variance * count), 1)
    with pytest.raises(AssertionError):
        mean_is(sample**2 / (variance * count) * 1.3, 1)


def test_an_interrupt_stops_before_the_next_run() -> None:
    ended: list[int] = []

    def advance() -> None:
        ended.append(1)
        if len(ended) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mb.simulate(UCB, mb.channels.Raw(), INSTANCE, 100, runs=1000, executor=partial(Threads, 1), advance=advance)
    assert len(ended) == 5  # one thread stops at once, whenever the one that waits for it wakes up

"""Rewards that never come: what is told of a cohort, when, and what a study makes of it.

Random assertions have a false-alarm probability of ALPHA = 1e-9 each; all others are exact.
"""

import numpy as np
import pytest
from scipy.stats import binom

import maskedbandit as mb
from maskedbandit.core import Decision
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.constant import Constant
from maskedbandit.lab.delays.geometric import Geometric
from maskedbandit.lab.delays.lost import Lost
from maskedbandit.lab.delays.recorded import Recorded
from maskedbandit.lab.engine import earnings
from maskedbandit.lab.engine.compiler import bind_hooks
from maskedbandit.lab.engine.earnings import Earned
from maskedbandit.lab.experiments.experiment import expand_settings
from maskedbandit.lab.goals import drive
from maskedbandit.lab.streams import Rewards, Streams
from maskedbandit.reports.audit.runs import break_nothing
from tests.for_each import for_each
from tests.golden import interpreted
from tests.lab.delays.test_delays import FILE, Scripted, check_times, hear
from tests.statistics import mean_is, same_distribution, same_distribution_of_two

N = 3000
BITS = mb.Bernoulli([0.5, 0.7])
BETA = mb.Beta([2, 1], [2, 3])


def told(world, delay, users, g=1, single=False, twin=break_nothing):
    """What cohorts of arm 1 are told, and what their users earned; `single`: users are dealt one by one."""
    earn = earnings.make_earn_kernel(world.one, world.many, delay.parameters().lost > 0).function
    earn = bind_hooks(earn, twin(earn.__globals__))
    keys, generator, _, _, of_delays = Streams(1, "lost").of(0)
    parts, d, stream = world.parameters(), delay.parameters(), Rewards(generator, keys)
    found = np.zeros((N, 2))
    with np.errstate(over="ignore"):
        for i in range(N):
            for t in range(i * users, (i + 1) * users) if single else [i * users]:
                found[i] += earn(parts, d, 1, t, 1 if single else users, g, stream, of_delays)[::-1]
    return found.T


def check_bits(default: float, single: bool, twin=break_nothing) -> None:
    """Of bits of mean .7, of which half are lost, each is told as a bit of mean .35 + default / 2; all are earned."""
    of_cohort, earned = told(BITS, Lost(Constant(0), 0.5, 5, default), 7, 1, single, twin)
    same_distribution(of_cohort.astype(int), binom(7, 0.35 + default / 2).pmf)
    same_distribution(earned.astype(int), binom(7, 0.7).pmf)


@pytest.mark.sparing(3)
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("default", [0, 0.4, 1])
def test_a_lost_reward_is_told_as_the_default(default, single) -> None:
    check_bits(default, single)


def tell_the_lost(calls):
    """What is lost is told all the same, with the default."""
    everybody = []

    def binomial(n, p, rng):
        everybody.append(n)
        return calls["draw_binomial"](n, p, rng)

    def many(i, arm, n, *rest):
        return calls["many"](i, arm, everybody.pop() if everybody else n, *rest)

    return {"draw_binomial": binomial, "many": many}


def tell_no_default(calls):
    """Nothing stands for what is lost."""
    return {"default_sum": lambda d, n, g, rng: 0.0}


def tell_two_defaults(calls):
    """The default stands for it twice."""
    return {"default_sum": lambda *args: 2 * calls["default_sum"](*args)}


def lose_as_many(calls):
    """As many are lost in every cohort."""
    return {"draw_binomial": lambda n, p, rng: round(n * p)}


def earn_what_is_told(calls):
    """Nobody has earned what is lost."""
    return {"Earned": lambda earned, told: Earned(told, told)}


def lose_nothing(calls):
    """A reward is told though it is lost."""
    return {"Earned": lambda earned, told: Earned(earned, earned)}


TWINS = [
    *((twin, False) for twin in (tell_the_lost, tell_no_default, lose_as_many, earn_what_is_told)),
    (lose_nothing, True),
]


@pytest.mark.slow
@for_each(("twin", "single"), TWINS)
def test_other_sums_are_rejected(twin, single) -> None:
    with pytest.raises(AssertionError, match=r"another distribution|probability 0"):
        check_bits(1, single, twin)


@pytest.mark.slow
@for_each("g", [0, 5])
def test_many_rewards_are_lost_as_single_ones_are(g) -> None:
    delay = Lost(Constant(0), 0.2, 5, default=0.37)
    many, single = (told(BETA, delay, 6, g, single)[0] for single in (False, True))
    edges = np.unique(np.quantile(many, np.arange(1, 16) / 16))
    same_distribution_of_two(np.searchsorted(edges, many), np.searchsorted(edges, single))
    mean_is(many, 6 * max(g, 1) * (0.8 * 0.25 + 0.2 * 0.37))
    wrong = told(BETA, delay, 6, g, twin=tell_two_defaults)[0]
    with pytest.raises(AssertionError, match="two distributions"):
        same_distribution_of_two(np.searchsorted(edges, wrong), np.searchsorted(edges, single))


def test_what_is_later_than_the_deadline_is_lost() -> None:
    assert Lost(Geometric(mean=1), share=0, deadline=2).parameters().lost == pytest.approx(1 / 8)  # P(D > 2)
    assert Lost(Geometric(mean=1), share=0.2, deadline=2).parameters().lost == pytest.approx(0.2 + 0.8 / 8)
    assert Lost(Constant(5), share=0.2, deadline=5).parameters().lost == 0.2


@for_each("share", [0, 0.2, 1])
def test_a_cohort_closes_at_its_deadline_whatever_came(share) -> None:
    policy = Scripted((Decision(1, 5, 1), Decision(0, 3, 1)))
    found = hear(policy, Lost(Geometric(mean=30), share, deadline=40), 1000)
    check_times(found, 1000)
    assert {wait for _, _, wait in found.waits} == {40}
    hurried = hear(policy, Geometric(mean=30), 1000)  # the control: without a deadline, cohorts wait for what comes
    assert len({wait for _, _, wait in hurried.waits}) > 10


NEVER = Recorded([0] * 97 + [10**9] * 3)  # how 3 % of lost rewards had to be described without deadlines
HORIZON = 30_000


def learned(policy, delay):
    """Of how many users a policy was told."""
    channel, world = mb.channels.Central(epsilon=1), mb.Bernoulli([0.5, 0.4])
    found = interpreted(policy, channel, world, HORIZON, seed=5, delay=delay)
    return sum(n for _, n, _ in found.released), found


@for_each("policy", [mb.policies.NoiseAwareKLUCB(), mb.policies.SuccessiveElimination()], ids=repr)
def test_a_study_learns_though_rewards_are_lost(policy) -> None:
    """Nearly as much as where all come; without a deadline it learns next to nothing, which is the control."""
    whole, _ = learned(policy, Constant(100))
    users, found = learned(policy, Lost(Constant(50), share=0.03, deadline=100))
    stuck, control = learned(policy, NEVER)
    assert users > 0.8 * whole > HORIZON / 3
    assert found.regret[-1] < 1000
    assert stuck < 300
    assert control.releases <= 10


def test_no_reward_that_comes_means_no_reward(monkeypatch) -> None:
    """If all are lost, an arm of mean 1 is told as its users times the default."""
    policy = Scripted((Decision(1, 8, 1),))
    delay = Lost(Constant(0), share=1, deadline=3, default=0.25)
    found = interpreted(policy, mb.channels.Raw(), mb.Bernoulli([0.5, 1.0]), 100, delay=delay)
    assert {total for _, _, total in found.released} == {2.0}
    assert found.realised[-1] == 0  # the rewards were there
    monkeypatch.setattr(drive, "make_earn_kernel", lambda one, many, loses: earnings.make_earn_kernel(one, many, False))
    control = interpreted(policy, mb.channels.Raw(), mb.Bernoulli([0.5, 1.0]), 100, delay=delay)
    assert {total for _, _, total in control.released} == {8.0}


@pytest.mark.slow
def test_compiled_is_python_with_losses() -> None:
    policy, channel = mb.policies.NoiseAwareKLUCB(), mb.channels.Central(epsilon=1)
    for delay in (Lost(Geometric(mean=30), 0.1, 50, 0.3), Lost(Constant(0), 0.1, 0)):
        run = mb.simulate(policy, channel, BITS, 5000, seed=5, delay=delay)
        python = interpreted(policy, channel, BITS, 5000, seed=5, delay=delay)
        assert (run.pulls[0].tolist(), run.releases[0], run.regret[0].tolist()) == (
            python.pulls,
            python.releases,
            python.regret,
        )


@pytest.mark.slow
def test_contextual_studies_lose_rewards_too(monkeypatch) -> None:
    """What is released is the default times the contexts: nobody can tell arms apart, and regret is as by chance."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    world, policy, regret = mb.LinearContexts(d=3, k=4, seed=1), mb.policies.LinUCB(), []
    for share in (0, 1):
        delay = Lost(Constant(0), share, deadline=0)
        run = mb.simulate(policy, mb.channels.Raw(), world, 600, runs=4, seed=1, delay=delay)
        regret.append(run.regret[:, -1].mean())
    assert regret[1] > 2 * regret[0]


@for_each(
    ("make", "said"),
    [
        (lambda: Lost(Constant(1), 0.1), "deadline is None: it must be given: a reward that never comes would keep"),
        (lambda: Lost(Constant(1), 0.1, deadline=-1), "deadline is -1"),
        (lambda: Lost(Constant(1), 1.1, deadline=3), "share is 1.1: it must be a number from 0 to 1"),
        (lambda: Lost(Constant(1), 0.1, deadline=3, default=-1), "default is -1"),
        (lambda: Lost(Constant(1), True, deadline=3), "share is True"),
        (lambda: Lost(5, 0.1, deadline=3), "delay is 5: it must be a delay of rewards that all come"),
        (lambda: Lost(Lost(Constant(1), 0.1, 3), 0.1, deadline=3), "that all come"),
    ],
)
def test_what_is_no_loss_is_refused(make, said) -> None:
    with pytest.raises(InvalidValue, match=said):
        make()


def test_files_ask_for_losses() -> None:
    given = {"name": "lost", "delay": {"name": "geometric", "mean": 10}, "share": 0.03, "deadline": 50}
    settings = expand_settings(
        "x", "", {**FILE, "curves": [{}], "vary": {"delay": [given, {**given, "delay": 7}]}}
    ).settings
    assert [each.delay for each in settings] == [Lost(Geometric(10), 0.03, 50), Lost(Constant(7), 0.03, 50)]
    assert str(settings[1].delay) == "7, 0.03 lost, deadline 50"
    del given["deadline"]
    with pytest.raises(InvalidValue, match="deadline is None"):
        expand_settings("x", "", {**FILE, "delay": given, "curves": [{}]})

"""The loss that contextual studies state: the worst over all cohorts and runs, also of cohorts that never closed."""

from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.errors import IllegalDecision, InvalidValue
from maskedbandit.lab.delays.constant import AT_ONCE
from maskedbandit.lab.engine import context_play as contextual
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.replay import replay as replays
from maskedbandit.privacy.loss import Loss
from maskedbandit.privacy.renyi_divergences import ORDERS
from maskedbandit.privacy.statistics import linear_sums
from tests.for_each import for_each
from tests.lab.corner import Corner

CONTEXTS, RAW, FIRST = mb.LinearContexts(d=2, k=3), mb.channels.Raw(), mb.policies.LinUCB(first=1)


def play(released: list[int], open_: list[int]) -> contextual.ContextPlay:
    """A run after cohorts of these sizes, over a channel that loses as much as a cohort has users."""
    made = contextual.ContextPlay(FIRST, RAW, CONTEXTS, 100, np.array([100]), AT_ONCE)
    made.channel = SimpleNamespace(loss=Loss.pure)
    made.progress.sizes[: len(released)] = released
    made.progress.open[:] = open_
    return made


@for_each(
    ("released", "open_", "worst"),
    [
        ([2, 9, 4], [0, 0, 0], 9),
        ([9, 2, 4], [3, 5, 1], 9),
        ([2, 4], [0, 7, 0], 7),  # nothing of them is released, yet they sent it
        ([2, 4], [0, 0, 8], 8),
        ([], [6, 0, 0], 6),
    ],
)
def test_the_worst_cohort_counts_open_or_released(released, open_, worst) -> None:
    assert play(released, open_).loss == Loss.pure(worst)


def test_who_sent_nothing_loses_nothing() -> None:
    assert play([], [0, 0, 0]).loss.epsilon() == 0


def test_what_users_have_sent_is_counted_where_a_cohort_never_closes(monkeypatch) -> None:
    """With a first cohort that the run does not fill."""
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    policy = mb.policies.LinUCB(first=10**6)
    run = mb.simulate(policy, mb.channels.Central(epsilon="0.7"), CONTEXTS, 50)
    assert run.releases[0] == 0
    assert run.loss == Loss.pure("0.7")


@pytest.mark.parametrize("losses", [(1, 3, 2), (3, 2, 1), (1, 2, 3)])
@pytest.mark.parametrize("study", ["simulate", "replay"])
def test_a_study_loses_what_its_worst_run_loses(monkeypatch, study: str, losses) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    each = iter(losses)
    monkeypatch.setattr(contextual.ContextPlay, "loss", property(lambda play: Loss.pure(next(each))))
    go = {
        "simulate": lambda: mb.simulate(FIRST, RAW, CONTEXTS, 20, runs=3, executor=partial(Threads, 1)),
        "replay": lambda: replays.replay(FIRST, RAW, Corner(20), runs=3, executor=partial(Threads, 1)),
    }
    assert go[study]().loss == Loss.pure(3)


# --- noise shares of vectors
# --------------------------------------------------------------------------------------------


@for_each(
    ("n", "honest", "least"), [(100, 1, 100), (100, "1/2", 50), (99, "1/2", 50), (7, "0.3", 3), (8000, "0.7", 5600)]
)
def test_noise_shares_of_vectors_are_of_those_counted_on(n: int, honest, least: int) -> None:
    """With noise shares nearly as narrow as is allowed: those of all n users would be narrower."""
    statistics, epsilon = linear_sums(2, False), 10**4
    unit = mb.channels.Distributed(epsilon, mb.noises.DiscreteGaussian(1)).carrying(statistics).release_noise(n).scale
    noise = mb.noises.DiscreteGaussian(Fraction(np.sqrt(2.02 * least) / float(unit)).limit_denominator(10**6))
    channel = mb.channels.Distributed(epsilon, noise, honest=honest).carrying(statistics)
    assert channel.counted_on(n) == least
    scale, g, k = float(channel.release_noise(n).scale), channel.steps(n), np.arange(1, least)
    assert 2.01 < scale * scale / least < 2.03
    xi = 10 * np.exp(-2 * np.pi**2 * scale * scale / least * k / (k + 1)).sum()
    square, l1, s = float(statistics.square) * (g / scale) ** 2, float(statistics.l1) * g / scale, statistics.moved
    rho = min(square + s * xi / 2, square + 2 * xi * l1 + s * xi**2) / 2
    assert float(channel.loss(n).curve[0] / ORDERS[0]) == pytest.approx(rho, rel=1e-9)


# --- what the loop refuses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", ["simulate", "replay"])
def test_noise_with_too_many_steps_is_refused(monkeypatch, study: str) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    wide, narrow = mb.channels.Central(epsilon="0.0001"), mb.channels.Central(epsilon="0.001")
    said = "a cohort of Central is 1: it must be smaller: its sum or its noise has too many steps for 64-bit numbers"
    go = {
        "simulate": lambda channel: mb.simulate(FIRST, channel, CONTEXTS, 3),
        "replay": lambda channel: replays.replay(FIRST, channel, Corner(60), horizon=3),
    }[study]
    assert go(narrow).loss == Loss.pure("0.001")
    with pytest.raises(InvalidValue, match=said):
        go(wide)


def test_cohorts_of_more_sizes_than_fit_are_refused(monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")
    growing = mb.policies.LinUCB(first=1, growth=1, model="disjoint")
    sizes = {int(n) for n in contextual.ContextPlay(growing, RAW, CONTEXTS, 9, np.array([9]), AT_ONCE).progress.sizes}
    assert sizes == {0}
    channel = mb.channels.Central(epsilon=100)
    mb.simulate(growing, channel, CONTEXTS, 15)  # cohorts of 1, 1, 2, 4 and so on
    monkeypatch.setattr(contextual, "SIZES", 2)
    with pytest.raises(IllegalDecision, match="LinUCB closes cohorts of more than 2 different sizes: they should grow"):
        mb.simulate(growing, channel, CONTEXTS, 15)

"""What replay computes from a log, against the same numbers by hand; and which visits and streams a run has.

Random tests have fixed seeds; under a new one each assertion fails for a correct replay with probability 1e-9.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

import maskedbandit as mb
from maskedbandit.lab.engine import context_play as contextual
from maskedbandit.lab.engine.context_loop import run_contexts
from maskedbandit.lab.engine.threads import Threads
from maskedbandit.lab.goals.replay.log_contexts import LogContexts
from maskedbandit.lab.goals.replay.replay import replay
from maskedbandit.lab.goals.replay.replayed import ReplayedContexts
from maskedbandit.lab.logs.log import Chunk
from tests.for_each import for_each
from tests.lab.corner import POOLS, Corner
from tests.lab.goals.replay.test_replay import WEIGHTS, WORTH
from tests.policies.mutants import mutant
from tests.statistics import mean_is
from tests.thrift import thrifty

RAW, ANY = mb.channels.Raw(), mb.policies.RandomChoice()


@pytest.fixture(autouse=True)
def as_python(monkeypatch) -> None:
    monkeypatch.setenv("MASKEDBANDIT_KERNELS", "python")


def shown_by_weights(chunk: Chunk) -> np.ndarray:
    """What `WEIGHTS` would show: article 1 to group 0; to group 1 article 2, or 0 where it is not in the pool."""
    return np.where(chunk.user[:, 1] == 0, 1, np.where(chunk.pool == 0, 0, 2))


@for_each("biased", [False, True], ids=["uniform", "biased"])
def test_estimates_and_errors_are_their_formulas(biased: bool) -> None:
    log = Corner(700, biased)
    found = replay(WEIGHTS, RAW, log)
    (chunk,) = log.chunks(0)
    w, r = np.where(shown_by_weights(chunk) == chunk.arm, 1 / chunk.propensity, 0), chunk.click
    v, normalised = (w * r).mean(), (w * r).sum() / w.sum()
    assert found.matched[0] == (w > 0).sum()
    assert found.weighted[0] == pytest.approx(v)
    assert found.weighted_error[0] == pytest.approx(np.std(w * r) / np.sqrt(700))
    assert found.normalised[0] == pytest.approx(normalised)
    assert found.normalised_error[0] == pytest.approx(np.sqrt((w * w * (r - normalised) ** 2).sum()) / w.sum())
    sizes = np.diff(POOLS[0])[chunk.pool]
    assert set(sizes) == {2, 3}
    assert found.random[0] == pytest.approx((chunk.click / chunk.propensity / sizes).mean())


# --- visits and streams -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked(Corner):
    """Writes down for which seeds its visits were asked."""

    seeds: list[int] = field(default_factory=list)

    def chunks(self, seed=0):
        self.seeds.append(seed)
        return super().chunks(seed)


def test_every_run_of_every_seed_has_visits_of_its_own() -> None:
    log = Asked(30)
    for seed in range(3):
        replay(ANY, RAW, log, runs=4, seed=seed, executor=partial(Threads, 1))
    assert len(set(log.seeds)) == len(log.seeds) == 12
    again = Asked(30)
    replay(ANY, RAW, again, runs=2, seed=1, executor=partial(Threads, 1))
    assert again.seeds == log.seeds[4:6]


@dataclass(frozen=True)
class Same(Corner):
    """A recorded log: the same visits in every run."""

    recorded = True

    def chunks(self, seed=0):
        return super().chunks(5)


def test_every_run_and_study_has_streams_of_its_own() -> None:
    """On the same visits of a policy that chooses at random."""
    log = Same(200)
    kept = [(seed, study) for seed in (7, 8) for study in ("", "a")]
    clicks = np.array(
        [
            replay(ANY, RAW, log, runs=3, seed=seed, study=study, executor=partial(Threads, 1)).reward
            for seed, study in kept
        ]
    )
    rows = clicks.reshape(12, -1)
    assert len({row.tobytes() for row in rows}) == 12
    again = replay(ANY, RAW, log, runs=3, seed=8, study="a", executor=partial(Threads, 1))
    np.testing.assert_array_equal(again.reward, clicks[3])


def test_runs_on_a_recorded_log_have_the_rate_of_random_choice_of_the_log() -> None:
    found = replay(ANY, RAW, Same(200), runs=3, executor=partial(Threads, 1))
    assert np.unique(found.random).size == 1


# --- contexts -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wide(Corner):
    """Users are at most 2 long and articles 5; articles have more numbers than users."""

    radius = 2.0
    article_radius = 5.0

    def articles(self):
        return np.arange(3), np.arange(9.0).reshape(3, 3) / 4

    def chunks(self, seed=0):
        for chunk in super().chunks(seed):
            yield chunk._replace(user=chunk.user + 0.25)


@for_each(("context", "scale"), [("user", 1 / 2), ("product", 1 / 10)])
def test_contexts_are_scaled_into_the_ball(context, scale: float) -> None:
    log = Wide(20)
    contexts, (chunk,) = LogContexts(log, context), log.chunks(0)
    page = contexts.page(chunk)
    assert page.scale == scale
    assert (contexts.rows, contexts.d) == ((1, 2) if context == "user" else (3, 6))
    for i, (user, pool) in enumerate(zip(chunk.user, chunk.pool, strict=True)):
        x = np.full((contexts.rows, contexts.d), -7.0)
        assert contexts.present(page, i, 0, x, None) == pool
        if context == "user":
            np.testing.assert_array_equal(x[0], np.trunc(user * scale * 256) / 256)
            continue
        there = POOLS[1][POOLS[0][pool] : POOLS[0][pool + 1]]
        for arm in there:
            wanted = np.outer(user, log.articles()[1][arm]).ravel() * scale
            np.testing.assert_allclose(x[arm], np.trunc(wanted * 256 + 1e-9) / 256, atol=1e-12)
        assert np.all(x[np.setdiff1d(np.arange(3), there)] == -7)  # who is not in the pool is not looked at


# --- the visit that ends a run ------------------------------------------------------------------------------------

RUNS = 1200


class Looped:
    """The loop, as `mutant` takes it."""

    function, options = run_contexts, {}


def short(biased: bool) -> ReplayedContexts:
    """Many runs that end with the second visit that is taken."""
    found = replay(WEIGHTS, RAW, Corner(120, biased), horizon=2, runs=RUNS, seed=9, executor=partial(Threads, 1))
    assert np.all(found.users == 2)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("biased", thrifty([False, True], lambda biased: not biased), ids=["uniform", "biased"])
def test_the_visit_that_ends_a_run_is_in_no_estimate(biased: bool, monkeypatch) -> None:
    mean_is(short(biased).weighted, WORTH)
    with monkeypatch.context() as patch:
        counts_it = mutant(Looped, "if not taken or t + 1 < horizon:", "if True:").function
        patch.setattr(contextual, "run_contexts", counts_it)
        with pytest.raises(AssertionError, match="the mean is"):
            mean_is(short(biased).weighted, WORTH)


def test_a_run_that_does_not_end_at_its_horizon_counts_all() -> None:
    log = Corner(300)
    whole = replay(WEIGHTS, RAW, log)
    (chunk,) = log.chunks(0)
    assert whole.weighted[0] == pytest.approx(
        np.where(shown_by_weights(chunk) == chunk.arm, chunk.click / chunk.propensity, 0).mean()
    )
    cut = replay(WEIGHTS, RAW, log, horizon=int(whole.users[0]) + 1)
    assert cut.weighted == whole.weighted

"""Lazy-DP-TS: decisions have the distribution of the argmax of Beta draws, and the regret is that of tables.

Seeds are fixed; a correct sampler fails under a new seed with probability 1e-9 per assertion.
"""

import math
from functools import cache

import numba
import numpy as np
import pytest
from scipy.special import betaln, xlog1py, xlogy

import maskedbandit as mb
from maskedbandit.core import OPTIONS, Kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.law import Law
from maskedbandit.policies.parts.batches import USERS
from maskedbandit.policies.regret.lazy_dp_thompson import (
    END,
    LEAD,
    LazyDPThompson,
    open_window,
    optimistic_total,
    rivals,
)
from maskedbandit.policies.regret.thompson_sampling import stretch_of
from tests.for_each import for_each
from tests.golden import interpreted
from tests.policies.mutants import mutant
from tests.policies.replays import C2, C4, check_number, check_overlaps, check_prefix, regrets
from tests.statistics import same_distribution_of_two

Central = mb.channels.Central
# released totals, sizes of cohorts, epsilon, t
STATES = {
    "first cohorts": ([1, 0, 1], [1, 1, 1], 1, 4),
    "full of optimism": ([1, 0, 3, 5], [2, 2, 4, 8], 0.1, 20),
    "apart": ([90, 78, 10], [128, 128, 64], 1, 1000),
    "a close second": ([500, 480, 0], [1024, 1024, 64], 2, 50_000),
    "nobody leads": ([30, 31, 30, 29], [64, 64, 64, 64], 5, 500),
    "noise beyond the range": ([-70, 300, 12], [128, 256, 16], 0.5, 2000),
    "a leader that is little known": ([3, 300, 280], [4, 512, 512], 3, 1200),
    "no noise": ([40, 38, 2], [64, 64, 8], math.inf, 300),
}


def law(epsilon: float) -> Law:
    return mb.channels.Raw().law() if math.isinf(epsilon) else Central(epsilon=epsilon).law()


def state(totals: list[float], n: list[int], t: int):
    """A state that was told these totals, before round t."""
    s = LazyDPThompson().init(len(n), 10**6)
    for arm, (total, users) in enumerate(zip(totals, n, strict=True)):
        LazyDPThompson.tell(s, arm, users, float(total))
    s.clock[USERS] = t - 1
    return s


def window(s, epsilon: float, opening: Kernel = open_window) -> int:
    """Open a window at the state's time; its last round."""
    opening(s, law(epsilon), s.clock[USERS] + 1)
    return int(s.window[END])


def optimistic(totals: list[float], n: list[int], epsilon: float, t: int) -> np.ndarray:
    """G of each arm, by the paper's formula."""
    return np.clip(np.array(totals) + 3 * math.log(t) / epsilon, 0, n)


def posterior_draws(totals: list[float], n: list[int], epsilon: float, t: int, runs: int) -> np.ndarray:
    """Decisions as on paper: a theta for every arm."""
    good, rng = optimistic(totals, n, epsilon, t), np.random.Generator(np.random.PCG64(2))
    return rng.beta(1 + good, 1 + np.array(n) - good, (runs, len(n))).argmax(axis=1)


def repeat(ask, s, law, t, end, rng, arms):
    """Ask again and again in one round."""
    for i in range(arms.size):
        s.clock[0] = t - 1
        s.window[1] = end
        s.filled[:] = 0
        arms[i] = ask(s, law, rng).arm


@cache
def compiled():
    mb.simulate(LazyDPThompson(), Central(), mb.Bernoulli(C2), 1)  # now the compiler knows the kernels inside
    return numba.njit(**OPTIONS)(repeat), numba.njit(**OPTIONS)(LazyDPThompson.ask.function)


def check_decisions(name: str, late: bool, runs: int, loop=repeat, ask=LazyDPThompson.ask) -> None:
    """The policy's decisions in one round, at the end of its window if late."""
    totals, n, epsilon, t = STATES[name]
    s, arms, rng = state(totals, n, t), np.empty(runs, np.int64), np.random.Generator(np.random.PCG64(1))
    end = window(s, epsilon)
    t = end if late else t
    loop(ask, s, law(epsilon), t, end, rng, arms)
    same_distribution_of_two(arms, posterior_draws(totals, n, epsilon, t, runs))


@pytest.mark.slow
@pytest.mark.parametrize("name", STATES)
def test_decisions_have_the_distribution_of_the_argmax(name):
    check_decisions(name, False, 4000)


@pytest.mark.slow
@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("late", [False, True])
def test_many_decisions_have_the_distribution_of_the_argmax(name, late):
    check_decisions(name, late, 200_000, *compiled())


def test_another_level_is_rejected():
    with pytest.raises(AssertionError, match="two distributions"):
        check_decisions(
            "a close second",
            False,
            4000,
            ask=mutant(LazyDPThompson.ask, optimistic_total=mutant(optimistic_total, "s.beta", "2.0")),
        )


class Witness:
    """A generator that writes down whose theta it draws."""

    def __init__(self) -> None:
        self.rng, self.drawn = np.random.Generator(np.random.PCG64(1)), []

    def beta(self, a: float, b: float) -> float:
        self.drawn.append((a, b))
        return self.rng.beta(a, b)

    def random(self) -> float:
        return self.rng.random()

    def standard_exponential(self) -> float:
        return self.rng.standard_exponential()


def check_posteriors(ask: Kernel = LazyDPThompson.ask) -> None:
    """Every theta that is drawn has the posterior of an arm in its own round, to the last release."""
    s, rng, epsilon = LazyDPThompson().init(3, 5000), Witness(), 0.5
    totals, n, filled = [0.0] * 3, [0] * 3, [0] * 3
    for t in range(1, 3000):
        rng.drawn.clear()
        arm, _, closes = ask(s, law(epsilon), rng)
        if t > 3:
            good = optimistic(totals, n, epsilon, t)
            assert rng.drawn
            for a, b in rng.drawn:
                assert np.any(np.isclose(a, 1 + good, rtol=1e-12) & np.isclose(b, 1 + np.array(n) - good, rtol=1e-9))
        filled[arm] += 1
        if closes:
            totals[arm], n[arm] = (0.2 + 0.3 * arm) * filled[arm], filled[arm]
            LazyDPThompson.tell(s, arm, filled[arm], totals[arm])
            filled[arm] = 0


@pytest.mark.slow
def test_posteriors_are_those_of_the_round():
    check_posteriors()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [("optimistic_total(s, law, arm, t)", "s.top[arm] * s.n[arm]"), ("look(s, law, a, t)", "look(s, law, a, t // 2)")],
)
def test_posteriors_of_another_round_are_rejected(old, new):
    with pytest.raises(AssertionError):
        check_posteriors(mutant(LazyDPThompson.ask, old, new))


def check_bounds(opening: Kernel = open_window, cheap: Kernel = rivals) -> None:
    """What `rivals` allows a single rival is at least its stretch, at every time of the window."""
    checked = 0
    for n in (1, 4, 64, 1024, 65536):
        for fraction in (0.02, 0.3, 0.5, 0.7):
            for epsilon, t in ((0.2, 200), (1, 40), (1, 100_000), (20, 5000)):
                good = fraction * n - 3 * math.log(t) / epsilon  # so that optimism begins at that fraction
                s = state([0.0, good], [1, n], t)
                end = window(s, epsilon, opening)
                s.window[LEAD] = 0
                for at in (t, (t + end) // 2, end):
                    top = optimistic([0.0, good], [1, n], epsilon, at)[1]
                    for far in (0.01, 0.1, 0.3, 1, 2, 4):
                        x = top / n + far / math.sqrt(4 * n)
                        if not s.top[1] < x < 1 - 1e-9:
                            continue
                        mode = top / n
                        log_h = xlogy(top, mode) + xlog1py(n - top, -mode) - betaln(1 + top, 1 + n - top)
                        assert cheap(s, x) >= stretch_of(math.exp(log_h) / (4 * n), n, x - mode) * (1 - 1e-9), (
                            n,
                            fraction,
                            epsilon,
                            at,
                            x,
                        )
                        checked += 1
    assert checked > 500


def test_the_bound_that_skips_arms_is_above_the_chance_that_they_win():
    check_bounds()


@for_each(
    ("old", "new"),
    [("for moment in (t, end)", "for moment in (t, t)"), ("peak_density(s, a))", "0.9 * peak_density(s, a))")],
)
def test_a_window_that_is_too_low_is_rejected(old, new):
    with pytest.raises(AssertionError):
        check_bounds(mutant(open_window, old, new))


def test_a_bound_that_falls_too_fast_is_rejected():
    with pytest.raises(AssertionError):
        check_bounds(cheap=mutant(rivals, stretch_of=mutant(stretch_of, "z = 2 *", "z = 4 *")))


@pytest.mark.slow
def test_cohorts_double_and_fill_at_once():
    found = interpreted(LazyDPThompson(), Central(epsilon=1), mb.Bernoulli(C2), 3000)
    assert all(n == 1 for _, n, _ in found.decisions)
    for arm in range(5):
        sizes = [n for a, n, _ in found.released if a == arm]
        assert sizes == [2**i for i in range(len(sizes))]
    assert sum(n for _, n, _ in found.released) < 3000


def test_it_counts_what_is_in_flight():
    check_overlaps(LazyDPThompson(), Central(epsilon=1).law())


@pytest.mark.slow
def test_the_horizon_only_cuts():
    check_prefix(LazyDPThompson(), Central(epsilon=1), 1000)


def test_a_grid_that_needs_the_size_of_cohorts_is_refused():
    with pytest.raises(InvalidValue, match="a grid that does not depend on the size"):
        mb.simulate(LazyDPThompson(), Central(grid="paper"), mb.Bernoulli(C2), 100)


TABLE = {3: (102, 572, 990, 1908, 3899), 3 / math.log(2): (105, 833, 1324, 2324, 5423)}


@pytest.mark.slow
@pytest.mark.parametrize("beta", TABLE)
def test_regret_is_that_of_the_whole_table(beta):
    for epsilon, number in zip((500, 1, 0.5, 0.25, 0.1), TABLE[beta], strict=True):
        runs = 120 if epsilon == 500 else 40  # about one run in a thousand loses ten times that mean
        check_number(regrets(LazyDPThompson(beta), Central(epsilon=epsilon), C2, 1e5, runs), number)


MILLION = {C2: (4803, 1245, 760), C4: (4725, 1346, 867)}


@pytest.mark.slow
@pytest.mark.parametrize("means", MILLION, ids=str)
def test_regret_at_a_million_is_that_of_the_table(means):
    for epsilon, number in zip((0.1, 0.5, 1), MILLION[means], strict=True):
        check_number(regrets(LazyDPThompson(), Central(epsilon=epsilon), means, 1e6, 10), number)


@pytest.mark.slow
def test_a_number_of_another_base_is_rejected():
    with pytest.raises(AssertionError, match="not 833"):
        check_number(regrets(LazyDPThompson(), Central(epsilon=1), C2, 1e5, 40), 833)


def test_the_level_is_positive():
    with pytest.raises(InvalidValue, match="beta"):
        LazyDPThompson(beta=-3)

"""The bound by bets: how often it fails is counted exactly, and it misses no mean that is not refuted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import numpy as np
import pytest

from maskedbandit.core import Kernel
from maskedbandit.lab.engine.compiler import compile_loop
from maskedbandit.law import COINS, GAUSSIAN, KARY, LAPLACE, NO_NOISE, RESPONSE, SKELLAM, SUB_GAMMA, Law
from maskedbandit.theory.bet import TOLERANCE, bet_bound, bet_evidence, bet_shift
from maskedbandit.theory.chernoff import chernoff_bound
from maskedbandit.theory.likelihood import ArmReleases, is_known, log_allowance
from tests.for_each import for_each
from tests.theory.test_evidence import chances

LAWS = {
    "laplace": Law(LAPLACE, scale=1.0, grid=1, per_release=1),
    "gaussian": Law(GAUSSIAN, scale=1.5, grid=1, per_release=1),
    "skellam": Law(SKELLAM, scale=1.0, grid=1, per_release=1),
    "coins": Law(COINS, scale=0.5, grid=1, per_release=6),
}
Bound = Callable[[Law, ArmReleases, int, float, float], float]
bound: Any = None  # stands for a kernel, see `bounds_of`


def bounds(law: Law, totals: np.ndarray, n: np.ndarray, level: float, found: np.ndarray) -> None:
    for i in range(totals.shape[0]):
        found[i] = bound(law, ArmReleases(totals[i], n, n.size), n.sum(), level, 1.0)


@cache
def program(by: Bound) -> Any:
    return compile_loop(bounds, bound=cast("Kernel[Any, Any]", by))


def bounds_of(by: Bound, law: Law, totals: np.ndarray, n: list[int], level: float) -> np.ndarray:
    """The bound for each row of totals."""
    found = np.empty(len(totals))
    program(by)(law, np.ascontiguousarray(totals, dtype=float), np.array(n), level, found)
    return found


def check_coverage(law: Law, n: list[int], level: float, by: Bound = bet_bound, assumed: Law | None = None) -> float:
    """The bound is below the mean with probability <= e^-level, over all that can be released; how near it comes."""
    near = 0.0
    for mean in (0.02, 0.2, 0.5, 0.8, 0.98):
        one = [[(r, p) for r, p in chances(law, size, mean).items() if p > 1e-9] for size in n]
        rows = list(itertools.product(*one))
        totals, p = (
            np.array([[r for r, _ in row] for row in rows]),
            np.array([math.prod(p for _, p in row) for row in rows]),
        )
        failed = float(p[bounds_of(by, assumed or law, totals, n, level) < mean].sum())
        assert failed <= math.exp(-level), f"below {mean} with probability {failed}, not {math.exp(-level)}"
        near = max(near, failed * math.exp(level))
    return near


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_the_mean_is_covered(name: str) -> None:
    near = max(check_coverage(LAWS[name], n, level) for n in ([9], [6, 4]) for level in (0.7, 2.0, 4.0))
    assert near > 0.1  # the bound is not far too high either


@pytest.mark.slow
def test_forgetting_half_of_the_noise_is_rejected() -> None:
    with pytest.raises(AssertionError, match="with probability"):
        check_coverage(LAWS["laplace"], [6, 4], 4.0, assumed=LAWS["laplace"]._replace(scale=0.5))


def refutes(law: Law, known: ArmReleases, n: int, level: float, q: float) -> bool:
    """Whether q is refuted by its bet."""
    level += log_allowance(law, known)
    return gain(law, known, q, bet_shift(law, known.m, n, level, q)) > level


def gain(law: Law, known: ArmReleases, q: float, w: float) -> float:
    """Lambda(q), of the bet on q - w."""
    return float(bet_evidence(law, known, q, w)[0])


def check_fair(law: Law, n: list[int], by: Callable[[Law, ArmReleases, float, float], float] = gain) -> None:
    """Where q is the mean, the bet on z(q) gains at most 1 on average."""
    for q in (0.1, 0.5, 0.9, 1.0):
        w, total = bet_shift(law, len(n), sum(n), 3.0, q), 0.0
        for each in itertools.product(*(chances(law, size, q).items() for size in n)):
            p = math.prod(p for _, p in each)
            if p > 1e-9:
                total += p * math.exp(by(law, ArmReleases(np.array([r for r, _ in each]), np.array(n), len(n)), q, w))
        assert total <= 1 + 1e-9, f"the bet against {q} gains {total}"


@pytest.mark.slow
@for_each("name", LAWS)
def test_bets_are_fair(name: str) -> None:
    check_fair(LAWS[name], [9])
    check_fair(LAWS["coins"], [3, 2])


def gained(assumed: Law, draws: float, paid: Callable[[Law, ArmReleases], float]) -> float:
    """The largest mean gain of the bet against the true mean, if the noise of a release of ten has so many draws."""
    law, gains = assumed._replace(per_release=draws, honest=1.0), []
    for q in (0.1, 0.5, 0.9):
        w, mean = bet_shift(assumed, 1, 10, 3.0, q), 0.0
        for r, p in chances(law, 10, q).items():
            known = ArmReleases(np.array([r]), np.array([10]), 1)
            mean += p * math.exp(gain(assumed, known, q, w) - paid(assumed, known)) if p > 1e-9 else 0.0
        gains.append(mean)
    return max(gains)


@pytest.mark.slow
@for_each("name", ["laplace", "gaussian", "skellam"])
def test_bets_are_fair_whatever_noise_is_lost(name: str) -> None:
    """Between 1 and 1.25 draws are there, and which they are is not known."""
    assumed = LAWS[name]._replace(honest=0.8)
    for draws in (1.0, 1.1, 1.25):
        assert gained(assumed, draws, log_allowance) <= 1 + 1e-9
    assert gained(LAWS[name], 1.25, log_allowance) > 1  # a mutant: it is taken that the fewest draws are there


def test_a_bet_that_is_chosen_after_the_releases_is_rejected() -> None:
    """A mutant: the better one of two bets."""

    def better(law: Law, known: ArmReleases, q: float, w: float) -> float:
        return max(gain(law, known, q, w), gain(law, known, q, w / 2))

    with pytest.raises(AssertionError, match="gains"):
        check_fair(LAWS["laplace"], [9], by=better)


class TestSearch:
    """Where Lambda falls again, all that is not refuted has to be found."""

    NOT_MONOTONE = (
        (0.2, [6, 79, 91], [2.0, 85.0, 95.0]),
        (0.2, [32, 179, 6], [36.0, 183.0, 2.0]),
        (0.5, [65, 181], [60.0, 183.0]),
    )
    LEVEL = 0.3
    MEANS = np.linspace(0.5, 1, 251)

    def check(self, law: Law, known: ArmReleases, level: float, by: Bound = bet_bound) -> None:
        """The bound is at least every mean that is not refuted."""
        n = int(known.n.sum())
        open_to_doubt = [q for q in self.MEANS if not refutes(law, known, n, level, float(q))]
        found = by(law, known, n, level, 1.0)
        assert found >= max(open_to_doubt, default=0.0), f"{open_to_doubt[-1]} is not refuted, and the bound is {found}"

    @pytest.mark.slow
    @for_each(("scale", "n", "r"), NOT_MONOTONE)
    def test_it_misses_nothing(self, scale: float, n: list[int], r: list[float]) -> None:
        law, known = Law(LAPLACE, scale=scale, grid=1, per_release=1), ArmReleases(np.array(r), np.array(n), len(n))
        refuted = [refutes(law, known, sum(n), self.LEVEL, float(q)) for q in self.MEANS]
        assert True in refuted  # and 1 is not: Lambda is not monotone here
        assert not refuted[-1]
        self.check(law, known, self.LEVEL)

    def test_bisection_as_if_evidence_grew_is_rejected(self) -> None:
        def bisected(law: Law, known: ArmReleases, n: int, level: float, most: float) -> float:
            low, high = 0.5, most
            while high - low > 1e-4:
                q = (low + high) / 2
                low, high = (low, q) if refutes(law, known, n, level, q) else (q, high)
            return high

        scale, n, r = self.NOT_MONOTONE[0]
        law, known = Law(LAPLACE, scale=scale, grid=1, per_release=1), ArmReleases(np.array(r), np.array(n), len(n))
        with pytest.raises(AssertionError, match="is not refuted"):
            self.check(law, known, self.LEVEL, by=bisected)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["laplace", "gaussian", "coins"])
    def test_it_misses_nothing_whatever_was_released(self, name: str) -> None:
        rng = np.random.Generator(np.random.PCG64(3))
        for _ in range(12):
            n = rng.integers(1, 60, rng.integers(1, 4))
            r = np.rint(n * rng.random() + 3 * rng.standard_normal(n.size))
            self.check(LAWS[name], ArmReleases(r, n, n.size), float(rng.choice([0.3, 1.0, 4.0])))

    @pytest.mark.slow
    @for_each("name", ["laplace", "gaussian"])
    def test_it_is_sought_up_to_a_value_alone(self, name: str) -> None:
        rng, law = np.random.Generator(np.random.PCG64(4)), LAWS[name]
        for _ in range(40):
            n = rng.integers(1, 60, rng.integers(1, 4))
            known = ArmReleases(np.rint(n * rng.random() + 3 * rng.standard_normal(n.size)), n, n.size)
            most, size = float(rng.uniform(0.05, 0.95)), int(n.sum())
            found, whole = bet_bound(law, known, size, 2.0, most), bet_bound(law, known, size, 2.0, 1.0)
            assert found == most if not refutes(law, known, size, 2.0, most) else found < most
            near = 0.02 * bet_shift(law, n.size, size, 2.0, found)
            assert found == pytest.approx(min(whole, most), abs=near)

    @for_each(("n", "share"), [([200], 0.4), ([100, 50, 75], 0.1), ([500, 250], 0.9), ([40, 20], 0.7)])
    def test_it_is_not_far_too_high(self, n: list[int], share: float) -> None:
        law = Law(LAPLACE, scale=4.0, grid=1, per_release=1)
        known = ArmReleases(np.rint(np.array(n) * share), np.array(n), len(n))
        found, level = bet_bound(law, known, sum(n), 3.0, 1.0), 3.0
        below = found - 0.01 * bet_shift(law, len(n), sum(n), level, found)
        assert not refutes(law, known, sum(n), level * (1 + TOLERANCE), below)

    def test_a_mean_of_one_is_the_bound_where_it_is_not_refuted(self) -> None:
        assert bet_bound(LAWS["laplace"], ArmReleases(np.array([12.0]), np.array([10]), 1), 10, 3.0, 1.0) == 1.0

    @for_each("x", [-1e6, -50.0, 0.0, 150.0, 1e6])
    def test_it_is_finite_whatever_was_released(self, x: float) -> None:
        known = ArmReleases(np.array([x, 3.0]), np.array([100, 10]), 2)
        for law in LAWS.values():
            assert 0.0 <= bet_bound(law, known, 110, 5.0, 1.0) <= 1.0


class TestAlternative:
    """z(q) is fixed by sizes and noise; what the search needs of it."""

    @pytest.mark.slow
    @for_each("law", [*LAWS.values(), Law(COINS, scale=0.5, grid=1, per_release=10)])
    @for_each(("n", "level"), [(20, 0.1), (300, 0.5), (300, 8.0), (10**6, 1.0)])
    def test_it_rises_with_the_mean_and_its_distance_is_concave(self, law: Law, n: int, level: float) -> None:
        q = np.linspace(0, 1, 201)
        w = np.array([bet_shift(law, 3, n, level, float(each)) for each in q])
        assert np.all(w >= 0)
        assert np.all(np.diff(q - w) >= -1e-12)
        assert np.all(np.diff(w, 2) <= 1e-12)

    def test_it_is_where_the_chernoff_bound_begins_to_refute(self) -> None:
        law, level = Law(LAPLACE, scale=10.0, grid=1, per_release=1), 6.0
        for q in (0.2, 0.5, 0.9):
            z = q - bet_shift(law, 4, 1000, level, q)
            assert chernoff_bound(law, 1000 * z, 4, 1000, level**2 / (level + 2)) == pytest.approx(q, abs=1e-3)


@for_each(
    ("law", "known"),
    [
        (LAWS["laplace"], True),
        (LAWS["coins"], True),
        (LAWS["laplace"]._replace(honest=0.9), True),
        (LAWS["laplace"]._replace(grid=10), False),
        (LAWS["laplace"]._replace(root=0.1), False),
        (LAWS["laplace"]._replace(per_release=0, per_pull=1), False),
        (LAWS["laplace"]._replace(counter=KARY, arity=3), False),
        (Law(SUB_GAMMA, scale=1.0, grid=1, per_release=1, variance=1.0), False),
        (Law(NO_NOISE), False),
        (Law(RESPONSE, grid=1, flip=0.2), False),
    ],
)
def test_where_the_likelihood_is_known(law: Law, known: bool) -> None:
    assert is_known(law) is known

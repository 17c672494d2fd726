"""Random streams: uniform, apart from each other, and the same for the same names.

Every random assertion has a false-alarm probability of ALPHA = 1e-9.
"""

import sys

import numba
import numpy as np
import pytest

from maskedbandit.lab.streams import Rewards, Streams, draw_uniform
from tests.statistics import mean_is, same_distribution

N = 60_000


def numbers(run: int, t: range = range(N), seed: int = 0) -> np.ndarray:
    keys, generator, *_ = Streams(seed, "test").of(run)
    stream = Rewards(generator, keys)
    with np.errstate(over="ignore"):
        return np.array([draw_uniform(stream, each) for each in t])


@pytest.fixture(scope="module")
def first() -> np.ndarray:
    return numbers(0)


def flat(cells: int):
    return lambda z: np.where((z >= 0) & (z < cells), 1 / cells, 0.0)


@pytest.mark.slow
def test_single_rewards_are_uniform(first) -> None:
    same_distribution(np.floor(first * 256).astype(int), flat(256))
    same_distribution(np.floor(first * 2**30).astype(int) % 256, flat(256))  # low bits too
    with pytest.raises(AssertionError):  # the control: numbers a little too small
        same_distribution(np.floor(first**1.1 * 256).astype(int), flat(256))


@pytest.mark.slow
def test_neighbouring_users_are_independent(first) -> None:
    for lag in (1, 2, 64):
        pairs = np.floor(first[:-lag] * 16) * 16 + np.floor(first[lag:] * 16)
        same_distribution(pairs[:: lag + 1].astype(int), flat(256))


@pytest.mark.slow
def test_runs_seeds_and_studies_are_independent(first) -> None:
    for other in (numbers(1), numbers(0, seed=1)):
        mean_is((first - 0.5) * (other - 0.5), 0)
        same_distribution((np.floor(first * 16) * 16 + np.floor(other * 16)).astype(int), flat(256))


def test_a_run_has_the_same_streams_whatever_was_drawn_before() -> None:
    fresh, used = Streams(5, "a"), Streams(5, "a")
    for generator in used.of(0)[1:]:
        generator.random(7)
        generator.integers(0, 9, dtype=np.uint32)
    for mine, theirs in zip(fresh.of(3)[1:], used.of(3)[1:], strict=True):
        assert (mine.random(5) == theirs.random(5)).all()


def test_the_streams_of_a_run_differ_from_each_other() -> None:
    drawn = [generator.random() for run in range(3) for generator in Streams(5, "a").of(run)[1:]]
    assert len(set(drawn)) == 12


@pytest.mark.slow
def test_compiled_code_draws_what_python_draws_and_keeps_no_generator() -> None:
    def both(rng: np.random.Generator) -> tuple[float, float, int]:
        return rng.random(), rng.standard_normal(), rng.integers(0, 1000)

    compiled = numba.njit(both)
    mine, theirs = Streams(5, "a").of(3)[1], Streams(5, "a").of(3)[1]
    assert compiled(mine) == both(theirs)
    before = sys.getrefcount(mine), sys.getrefcount(mine.addresses_at)
    for _ in range(1000):
        assert compiled(mine) == both(theirs)
    assert (sys.getrefcount(mine), sys.getrefcount(mine.addresses_at)) == before
    assert [str(kind) for (kind,) in compiled.signatures] == ["generator of the lab"]  # not NumPy's, which is slow

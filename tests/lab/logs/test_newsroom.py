"""The generated log: its chances are what it says, and its size of things is that of a front page."""

import tracemalloc

import numpy as np
import pytest

from maskedbandit.errors import InvalidValue, ResultsExist
from maskedbandit.lab.logs.log import CHUNK, Chunk
from maskedbandit.lab.logs.newsroom import VISITS_A_DAY, Newsroom, draw_memberships, write_log
from tests.for_each import for_each
from tests.lab.logs.test_front_page import whole_log
from tests.statistics import ALPHA, mean_is, same_distribution

BUSY = Newsroom(events=5 * CHUNK + 1000, seed=2, lifetime=200_000)


@pytest.fixture(scope="module")
def busy() -> Chunk:
    return whole_log(BUSY, seed=1)


def rates(log: Newsroom, chunk: Chunk) -> np.ndarray:
    return log.click_rate(chunk.user, chunk.arm, np.arange(chunk.arm.size))


def slots(log: Newsroom, chunk: Chunk) -> np.ndarray:
    """The position of the arm in its pool."""
    starts, arms = log.pools()
    return np.argmax(arms[starts[chunk.pool][:, None] + np.arange(log.size)] == chunk.arm[:, None], axis=1)


def over_pools(log: Newsroom, user: np.ndarray, at: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """The chance of a click on every candidate [n, size]."""
    starts, arms = log.pools()
    return np.stack([log.click_rate(user, arms[starts[pool] + j], at) for j in range(log.size)], axis=1)


# --- what it is -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_seeds_give_the_same_again_or_something_else(busy) -> None:
    for mine, again in zip(busy, whole_log(Newsroom(BUSY.events, 2, lifetime=200_000), seed=1), strict=True):
        np.testing.assert_array_equal(mine, again)
    other = whole_log(BUSY, seed=2)
    np.testing.assert_array_equal(busy.pool, other.pool)
    assert not np.array_equal(busy.user, other.user)
    assert not np.array_equal(busy.arm, other.arm)
    assert not np.array_equal(Newsroom(1000, 1).articles()[1], Newsroom(1000, 2).articles()[1])


@pytest.mark.slow
def test_two_readers_do_not_disturb_each_other(busy) -> None:
    for chunk, (a, b) in enumerate(zip(BUSY.chunks(1), BUSY.chunks(1), strict=True)):
        np.testing.assert_array_equal(a.user, b.user)
        np.testing.assert_array_equal(a.click, busy.click[chunk * CHUNK :][: a.click.size])


@pytest.mark.slow
def test_chunks_have_one_size_and_all_articles_are_candidates(busy) -> None:
    assert [chunk.time.size for chunk in BUSY.chunks()] == 5 * [CHUNK] + [1000]
    starts, arms = BUSY.pools()
    assert np.unique(busy.pool).tolist() == list(range(starts.size - 1))
    first = np.unique(arms, return_index=True)
    assert first[0].tolist() == list(range(BUSY.k))
    assert np.all(np.diff(first[1]) > 0)  # arms are numbered as they come
    assert all(np.unique(pool).size == BUSY.size for pool in np.split(arms, starts[1:-1]))
    assert np.all(busy.arm == arms[starts[busy.pool] + slots(BUSY, busy)])
    assert np.all(np.diff(busy.time) >= 0)


def test_users_are_in_groups(busy) -> None:
    assert np.all(busy.user[:, 0] == 1)
    assert np.all(busy.user >= 0)
    assert np.max(np.abs(busy.user[:, 1:].sum(axis=1) - 1)) < 3e-6
    assert np.max(np.linalg.norm(busy.user, axis=1)) <= BUSY.radius + 1e-6
    assert np.array_equal(busy.user, busy.user.astype(np.float32))
    assert 0.3 < np.mean(busy.user[:, 1:].max(axis=1) > 0.95) < 0.9  # most are nearly in one, some in between
    for j in range(5):
        mean_is(busy.user[:, 1 + j], 0.2)


def test_memory_does_not_grow_with_the_log() -> None:
    peaks = []
    for chunks in (2, 10):
        tracemalloc.start()
        for _ in Newsroom(chunks * CHUNK).chunks():
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0]


@for_each(
    ("name", "value"),
    [("events", 0), ("events", 1.5), ("seed", -1), ("size", 0), ("lifetime", 19), ("bias", 1), ("bias", -0.1)],
)
def test_what_cannot_be_is_refused(name, value) -> None:
    with pytest.raises(InvalidValue, match=f"{name} is {value}"):
        Newsroom(**({"events": 10} | {name: value}))


def test_text_has_no_place_for_propensities(tmp_path) -> None:
    with pytest.raises(InvalidValue, match="the same probability"):
        write_log(Newsroom(events=100, bias=0.5), tmp_path / "biased.txt")
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["a.gz", "a.txt"])
def test_a_file_is_whole_or_not_there_and_is_never_replaced(name, tmp_path) -> None:
    def stop(events: int) -> None:
        assert not (tmp_path / name).exists()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_log(Newsroom(events=100), tmp_path / name, advance=stop)
    assert not any(tmp_path.iterdir())
    write_log(Newsroom(events=100), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    before = (tmp_path / name).read_bytes()
    with pytest.raises(ResultsExist, match="exists already"):
        write_log(Newsroom(events=200), tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


# --- its chances; each assertion fails with a chance of ALPHA -------------------------------------------------


def test_clicks_have_the_chance_that_is_said(busy) -> None:
    assert ALPHA == 1e-9
    rate = rates(BUSY, busy)
    assert 0 < rate.min() < rate.max() < 0.25
    sd = float(np.sqrt(np.mean(rate * (1 - rate))))
    mean_is(busy.click - rate, 0, sd)
    for weight in (rate, np.arange(rate.size) / rate.size, *busy.user[:, 1:].T):
        mean_is((busy.click - rate) * (weight - weight.mean()), 0)
    # mutants: the chances of other users, of other articles, of another time, are found
    for wrong in (
        BUSY.click_rate(np.roll(busy.user, 1, axis=0), busy.arm, np.arange(rate.size)),
        BUSY.click_rate(busy.user, np.roll(busy.arm, 1), np.arange(rate.size)),
        BUSY.click_rate(busy.user, busy.arm, np.arange(rate.size)[::-1]),
    ):
        with pytest.raises(AssertionError):
            mean_is((busy.click - wrong) * (wrong - wrong.mean()), 0)


@pytest.mark.slow
def test_all_candidates_are_shown_alike(busy) -> None:
    same_distribution(slots(BUSY, busy), lambda z: np.where((z >= 0) & (z < BUSY.size), 1 / BUSY.size, 0))
    assert np.all(busy.propensity == 1 / BUSY.size)


@pytest.mark.slow
def test_a_biased_logger_says_its_chances() -> None:
    log = Newsroom(events=3 * CHUNK, seed=2, bias=0.9)
    chunk, at = whole_log(log, seed=4), np.arange(3 * CHUNK)
    every = over_pools(log, chunk.user, at, chunk.pool)
    assert log.least == pytest.approx(0.1 / 20)
    assert np.all(chunk.propensity >= log.least)
    assert np.all(chunk.propensity < 1)
    uniform = every.mean(axis=1)
    mean_is(1 / chunk.propensity, log.size)
    mean_is(chunk.click / chunk.propensity / log.size - uniform, 0)
    cube = every**3
    chance = 0.9 * cube / cube.sum(axis=1, keepdims=True) + 0.1 / 20
    np.testing.assert_allclose(chunk.propensity, chance[at, slots(log, chunk)])
    with pytest.raises(AssertionError):  # who forgets the chances takes the logger's choice for a random one
        mean_is(chunk.click - uniform, 0)


# --- its size of things ---------------------------------------------------------------------------------------


def test_articles_live_as_long_as_is_said() -> None:
    gaps = np.diff(Newsroom(events=200_000_000, seed=1)._world.changes)
    mean_is(gaps, 3_400_000 / 20, sd=3_400_000 / 20)
    assert 150 < Newsroom(events=45_811_883).k < 450


@for_each("seed", range(3))
def test_choosing_pays_as_much_as_on_a_front_page(seed) -> None:
    log, rng = Newsroom(events=10_000_000, seed=seed), np.random.default_rng(seed)
    at = np.sort(rng.integers(log.events, size=4000))
    pool = np.searchsorted(log._world.changes, at, side="right") - 1
    user = draw_memberships(rng, at.size)
    everybody = np.broadcast_to(user.mean(axis=0), user.shape)
    of_each = over_pools(log, user, at, pool)
    of_all = over_pools(log, everybody, at, pool)
    random = of_each.mean()
    assert 0.035 < random < 0.047
    assert 1.4 < of_all.max(axis=1).mean() / random < 1.8  # the best article of the moment, for everybody
    assert of_each.max(axis=1).mean() > 1.05 * of_all.max(axis=1).mean()  # and for each


def test_the_day_begins_at_the_mean_of_its_wave_and_rises() -> None:
    log = Newsroom(events=2, lifetime=10**12)  # nothing fades within a day
    user, arm = np.array([[1, 0.2, 0.2, 0.2, 0.2, 0.2]]), np.array([0])
    rate = np.array([log.click_rate(user, arm, np.array([j * VISITS_A_DAY // 4]))[0] for j in range(6)])
    np.testing.assert_allclose(rate / rate[0], [1, 1.2, 1, 0.8, 1, 1.2], rtol=1e-6)


def test_chances_follow_the_day_and_fade_with_age() -> None:
    log = Newsroom(events=2 * VISITS_A_DAY, seed=1)
    user = np.array([[1, 0.2, 0.2, 0.2, 0.2, 0.2]])
    newest = np.array([log.k - 1])
    born = int(log._world.birth[-1])
    at = np.array([born + j * VISITS_A_DAY // 4 for j in range(1, 60)])
    rate = np.array([log.click_rate(user, newest, at[j : j + 1])[0] for j in range(at.size)])
    assert np.all(rate[4:] < rate[:-4])  # the same hour, a day later
    assert rate[-4:].max() / rate[-4:].min() > 1.1

"""Generated logs that resemble those of a front page, with known click probabilities.

A user is u = (1, m), with memberships m_j >= 0 in five groups, which add up to 1. Event t clicks on article a with
probability

    wave(t) fade(t - birth_a) popularity_a (1 + taste_a . m),

a day's wave times a decay since the article's birth times an inner product with u: a linear model that drifts.
Popularity is lognormal. Articles come and go: a random one of the pool is replaced after a geometric time, so an
article lives `lifetime` events on average; the first articles are older than the log.

The parameters follow what is known of the logs of [LCLW11]: 20 candidates, one click in 25 visits, a day of 4.6 million
visits, about 270 articles in 46 million visits. The article that is best for everybody at the moment has about 1.6
times the clicks of a random one.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from gzip import GzipFile
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

import numpy as np

from maskedbandit.core import Floats, Integers
from maskedbandit.errors import InvalidValue, ResultsExist
from maskedbandit.lab.files import whole_file
from maskedbandit.lab.logs.log import CHUNK, Chunk, Log
from maskedbandit.lab.logs.recorded_log import RADIUS
from maskedbandit.lab.streams import Streams

FIRST_SECOND = 1_241_160_900  # the first second
TICK, VISITS = 300, 15_900  # times are given in ticks: the seconds and the visits of a tick
VISITS_A_DAY = 86_400 // TICK * VISITS  # in events
RATE = 0.04  # probability of a click, on average
SPREAD = 0.1  # standard deviation of log popularity
TASTE = 0.8  # the largest taste
FIRST_ARTICLE = 109_000  # the first id
FEATURE_STEPS = 1_000_000  # six decimals


class World(NamedTuple):
    """Articles, and the pools they are in."""

    theta: Floats  # [k, 6]
    features: Floats  # [k, 6]
    birth: Floats  # in events; negative for those older than the log
    changes: Integers  # the event at which each pool begins
    arms: Integers  # [pools, articles]


@dataclass(frozen=True)
class Newsroom(Log):
    """A generated log. The seed here makes articles and pools; that of `chunks` makes visits.

    Parameters
    ----------
    events : number of visits
    seed : the same seed gives the same articles, pools and probabilities
    size : candidates at a time
    lifetime : events that an article lives, on average
    bias : this fraction of the visits is shown an article in proportion to the cube of its click probability; the
        others are shown a uniformly random candidate

    >>> log = Newsroom(events=1000)
    >>> (chunk,) = log.chunks(seed=1)
    >>> chunk.user.shape, log.k, bool(np.all(log.click_rate(chunk.user, chunk.arm, np.arange(1000)) > 0))
    ((1000, 6), 20, True)
    """

    recorded = False
    radius = article_radius = RADIUS

    events: int
    seed: int = 0
    size: int = 20
    lifetime: int = 3_400_000
    bias: float = 0.0
    d: int = field(default=6, init=False)
    k: int = field(init=False)
    least: float = field(init=False)

    def __post_init__(self) -> None:
        for name, least in {"events": 1, "seed": 0, "size": 1, "lifetime": self.size}.items():
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise InvalidValue(name, value, f"a whole number of at least {least}")
        if not (isinstance(self.bias, int | float) and 0 <= self.bias < 1):
            raise InvalidValue("bias", self.bias, "a number of at least 0 and less than 1")
        object.__setattr__(self, "least", (1 - self.bias) / self.size)
        object.__setattr__(self, "k", len(self._world.birth))

    @cached_property
    def _world(self) -> World:
        streams: Any = Streams(self.seed, "newsroom").of(0)
        _, changing, making, *_ = streams
        changes, pool = [0], np.arange(self.size)
        pools = [pool]
        while (then := changes[-1] + int(changing.geometric(self.size / self.lifetime))) < self.events:
            pool = pool.copy()
            pool[changing.integers(self.size)] = self.size + len(changes) - 1
            changes.append(then)
            pools.append(pool)
        k = self.size + len(changes) - 1
        birth = np.concatenate([-self.lifetime * changing.standard_exponential(self.size), changes[1:]])
        popularity = RATE * np.exp(SPREAD * making.standard_normal(k) - SPREAD * SPREAD / 2)
        taste = making.uniform(-TASTE, TASTE, (k, 5))
        theta = popularity[:, None] * np.concatenate([np.ones((k, 1)), taste], axis=1)
        features = round_memberships(making.dirichlet(np.ones(5), k))
        return World(theta, features, birth, np.array(changes), np.array(pools))

    def pools(self) -> tuple[Integers, Integers]:
        arms = self._world.arms
        return np.arange(len(arms) + 1) * self.size, arms.ravel()

    def articles(self) -> tuple[Integers, Floats]:
        return FIRST_ARTICLE + np.arange(self.k), self._world.features

    def click_rate(self, user: Floats, arm: Integers, at: Integers) -> Floats:
        """The probability that user [n, 6] clicks on the article at event `at`."""
        return np.clip(np.einsum("nd,nd->n", self._world.theta[arm], user) * self._drift(arm, at), 0, 1)

    def _drift(self, arm: Integers, at: Integers) -> Any:
        wave = 1 + 0.2 * np.sin(2 * np.pi / VISITS_A_DAY * at)
        return wave * (0.8 + 0.4 * np.exp((self._world.birth[arm] - at) / self.lifetime))  # 1 on average over a life

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        streams = Streams(seed, f"visits/{self.seed}")
        for number, start in enumerate(range(0, self.events, CHUNK)):
            at = np.arange(start, min(start + CHUNK, self.events))
            fresh: Any = streams.of(number)
            _, users, showing, clicking, *_ = fresh
            user = draw_memberships(users, at.size)
            pool = np.searchsorted(self._world.changes, at, side="right") - 1
            slot, propensity = self._shown(showing, user, pool, at)
            arm = self._world.arms[pool, slot]
            click = (clicking.random(at.size) < self.click_rate(user, arm, at)).astype(np.float64)
            yield Chunk(FIRST_SECOND + TICK * (at // VISITS), user, arm, click, pool, propensity)

    def _shown(self, rng: np.random.Generator, user: Floats, pool: Integers, at: Integers) -> tuple[Integers, Floats]:
        """The candidate that is shown, and its probability."""
        if self.bias == 0:
            return rng.integers(self.size, size=at.size), np.full(at.size, 1 / self.size)
        arms = self._world.arms[pool]
        rate = np.einsum("nad,nd->na", self._world.theta[arms], user) * self._drift(arms, at[:, None])
        weight = rate * rate * rate
        chance = self.bias * weight / weight.sum(axis=1, keepdims=True) + self.least
        passed = rng.random((at.size, 1)) > np.cumsum(chance, axis=1)
        slot = np.minimum(np.count_nonzero(passed, axis=1), self.size - 1)
        return slot, chance[np.arange(at.size), slot]


def draw_memberships(rng: np.random.Generator, n: int) -> Floats:
    """Users: most belong almost entirely to one group, some to several."""
    weight = rng.standard_exponential((n, 5), dtype=np.float32)
    weight *= weight * weight
    group = rng.integers(5, size=n)
    weight[np.arange(n), group] *= 300
    return round_memberships(weight / weight.sum(axis=1, keepdims=True))


def round_memberships(memberships: Any) -> Floats:
    """A constant 1 and memberships of six decimals, as in the text and in a folder."""
    out = np.ones((len(memberships), 6))
    out[:, 1:] = (np.rint(np.asarray(memberships, np.float64) * FEATURE_STEPS) / FEATURE_STEPS).astype(np.float32)
    return out


def write_log(log: Log, path: str | Path, seed: int = 0, advance: Any = lambda n: None) -> None:
    """Write a log as text, compressed if the name ends with .gz; `advance` is called with numbers of events written.

    The text has no field for propensities, so they must be those that its readers assume: equal for all candidates. The
    file has its name once it is whole, and one that exists is left alone.
    """
    path = Path(path)
    if path.exists():
        raise ResultsExist(f"{path} exists already: choose another file with --out, or remove this one")
    with whole_file(path) as disk, open_log_text(disk, path.suffix == ".gz") as file:
        file.writelines(write_log_lines(log, seed, advance))


def write_log_lines(log: Log, seed: int, advance: Any) -> Iterator[str]:
    """The text of a log."""
    starts, arms = log.pools()
    sizes = np.diff(starts)
    ids, features = log.articles()
    said = [f"|{each} {format_features(row)}" for each, row in zip(ids.tolist(), features.tolist(), strict=True)]
    tails: dict[int, str] = {}
    for chunk in log.chunks(seed):
        if np.any(chunk.propensity * sizes[chunk.pool] != 1):
            raise InvalidValue("log", type(log).__name__, "one that shows all candidates with the same probability")
        new = [pool for pool in np.unique(chunk.pool).tolist() if pool not in tails]
        tails |= {pool: " ".join(said[arm] for arm in arms[starts[pool] : starts[pool + 1]]) for pool in new}
        columns = chunk.time.tolist(), ids[chunk.arm].tolist(), chunk.click.tolist(), chunk.pool.tolist()
        for time, shown, click, pool, user in zip(*columns, chunk.user.tolist(), strict=True):
            yield f"{time} {shown} {click:.0f} |user {format_features(user)} {tails[pool]}\n"
        advance(chunk.time.size)


@contextmanager
def open_log_text(disk: BinaryIO, packed: bool) -> Iterator[TextIO]:
    """Text to write to a file, which is compressed if `packed`: the same text gives the same bytes."""
    with GzipFile("", "wb", 1, disk, mtime=0) if packed else nullcontext(disk) as file:
        words = TextIOWrapper(file, encoding="ascii", write_through=False)
        yield words
        words.flush()
        words.detach()


def format_features(row: list[float]) -> str:
    """Features as text, the constant last."""
    a, b, c, d, e, f = row
    return f"2:{b:.6f} 3:{c:.6f} 4:{d:.6f} 5:{e:.6f} 6:{f:.6f} 1:{a:.6f}"

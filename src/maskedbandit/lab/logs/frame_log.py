"""A log from a data frame: one row for each visit, in the order of the visits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskedbandit.core import Floats, Integers
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.logs.log import CHUNK, Chunk, Log


@dataclass(frozen=True)
class FrameLog(Log):
    """Visits to which any arm could be shown; the same for every seed.

    Parameters
    ----------
    frame : of pandas or polars, or a table of arrays by their names
    arm : the column with the name of the arm that was shown
    reward : the column with what came of it, 0 or 1
    propensity : the column with the probability with which this arm was shown
    contexts : the columns with what was known of the user, numbers in [0, 1]; without any, all users look alike

    >>> log = FrameLog({"arm": ["b", "a", "b"], "reward": [1, 0, 0], "propensity": [0.5, 0.5, 0.5]})
    >>> log.names, log.events, log.least
    (('a', 'b'), 3, 0.5)
    """

    recorded = True
    article_radius = 1.0

    frame: Any = field(repr=False, compare=False)
    arm: str = "arm"
    reward: str = "reward"
    propensity: str = "propensity"
    contexts: Sequence[str] = ()
    names: tuple[str, ...] = field(init=False)  # of the arms, in the order of their numbers
    events: int = field(init=False)
    k: int = field(init=False)
    d: int = field(init=False)
    least: float = field(init=False)
    radius: float = field(init=False)
    visits: Chunk = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        labels = self._column(self.arm)
        names, arms = np.unique(labels.astype(str), return_inverse=True)
        reward, propensity = (self._column(name).astype(np.float64) for name in (self.reward, self.propensity))
        known = [self._column(name).astype(np.float64) for name in self.contexts]
        for name, values, least in (
            (self.propensity, propensity, 1e-12),
            *zip(self.contexts, known, [0.0] * len(known), strict=True),
        ):
            outside = values[~((values >= least) & (values <= 1))]
            if outside.size:
                allowed = "a probability above 0" if name == self.propensity else "a number in [0, 1]"
                raise InvalidValue(f"column {name!r}", float(outside[0]), allowed)
        if not np.isin(reward, (0, 1)).all():
            wrong = reward[~np.isin(reward, (0, 1))]
            raise InvalidValue(f"column {self.reward!r}", float(wrong[0]), "0 or 1")
        users = np.stack(known or [np.ones(labels.size)], axis=1)
        time, pool = np.arange(labels.size), np.zeros(labels.size, np.int64)
        found = {
            "contexts": tuple(self.contexts),
            "names": tuple(names.tolist()),
            "events": labels.size,
            "k": names.size,
            "d": users.shape[1],
            "least": float(propensity.min()),
            "radius": float(np.sqrt(users.shape[1])),
            "visits": Chunk(time, np.ascontiguousarray(users), arms.astype(np.int64), reward, pool, propensity),
            "frame": None,  # what is needed of it is in the visits, which other processes receive
        }
        for name, value in found.items():
            object.__setattr__(self, name, value)

    def _column(self, name: str) -> Any:
        """A column as an array; raise if there is none, or if it is empty."""
        try:
            found = np.asarray(self.frame[name])
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            found = None
        except Exception as wrong:  # polars has an error of its own, and need not be installed
            if type(wrong).__name__ != "ColumnNotFoundError":
                raise
            found = None
        if found is None or found.ndim != 1:
            raise InvalidValue("log", type(self.frame).__name__, f"a data frame with a column {name!r}")
        if not found.size:
            raise InvalidValue(f"column {name!r}", "empty", "at least one visit")
        return found

    def pools(self) -> tuple[Integers, Integers]:
        return np.array([0, self.k]), np.arange(self.k)

    def articles(self) -> tuple[Integers, Floats]:
        return np.arange(self.k), np.zeros((self.k, self.d))

    def chunks(self, seed: int = 0) -> Iterator[Chunk]:
        time, user, arm, click, pool, propensity = self.visits
        for start in range(0, self.events, CHUNK):
            rows = slice(start, start + CHUNK)
            yield Chunk(time[rows], user[rows], arm[rows], click[rows], pool[rows], propensity[rows])

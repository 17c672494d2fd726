"""A log from a data frame: one row for each visit, in the order of the visits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maskedbandit.core import Floats, Integers
from maskedbandit.errors import InvalidValue, PersonalValue
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
        reward, propensity = (self._read_numbers(name) for name in (self.reward, self.propensity))
        known = [self._read_numbers(name) for name in self.contexts]
        outside = propensity[~((propensity >= 1e-12) & (propensity <= 1))]
        if outside.size:
            raise InvalidValue(f"column {self.propensity!r}", float(outside[0]), "a probability above 0")
        for name, values in zip(self.contexts, known, strict=True):
            refuse_rows(name, (values >= 0) & (values <= 1), "a number in [0, 1]")
        refuse_rows(self.reward, np.isin(reward, (0, 1)), "0 or 1")
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

    def _read_numbers(self, name: str) -> Floats:
        """A column of numbers; raise if it has anything else."""
        column = self._column(name)
        try:
            found: Floats = column.astype(np.float64)
        except (TypeError, ValueError):
            raise PersonalValue(f"column {name!r}", "numbers alone") from None
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


def refuse_rows(name: str, right: Any, allowed: str) -> None:
    """Raise unless all rows of a column are right: what is in one is of a person, so the row is named alone."""
    if not right.all():
        raise PersonalValue(f"column {name!r} in row {int(np.argmin(right))}", allowed)

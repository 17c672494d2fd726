"""Means that drift, by the same amount for all arms.

    mean of an arm for user t = mean of the arm + amplitude * shape(t / period),        |shape| ≤ 1

So every user has the same best arm, and what is lost with another is the same for all of them: only the level moves,
as between mornings and nights. Means stay in [0, 1] by themselves, as clipping would make arms drift differently.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from maskedbandit.core import Floats, kernel
from maskedbandit.errors import InvalidValue
from maskedbandit.lab.streams import Rewards, draw_uniform
from maskedbandit.lab.worlds.instance import Expected, Instance, no_sum
from maskedbandit.privacy.exact import to_whole

LONGEST_DRIFT = 10**7  # period: its shifts are in memory
ROUNDED = 1e-12  # what a mean may be outside [0, 1] because floats are rounded
SHAPES = ("sine", "step", "linear")


class DriftingParameters(NamedTuple):
    """Means without drift, and the shifts of the users of a period."""

    means: Floats
    best: float
    shifts: Floats
    again: bool  # every period is like the first; else the last shift stays


@dataclass(frozen=True)
class Drifting(Instance):
    """The instance, whose rewards are bits, with means that all move by the same amount.

    `shape` is a "sine"; a "step", up in the first half of each period and down in the second; or a "linear" trend from
    -1 to 1 over one period, which then stays. Or it is a list of numbers from -1 to 1 that were recorded, each for an
    equal part of the period; with `amplitude=1` they are the shifts themselves.

    >>> from maskedbandit.lab.worlds.bernoulli import Bernoulli
    >>> world = Drifting(Bernoulli([0.6, 0.5]), amplitude=0.1, period=4)
    >>> [round(float(Drifting.expected(world.parameters(), 0, t).mean), 9) for t in range(6)]
    [0.6, 0.7, 0.6, 0.5, 0.6, 0.7]
    """

    instance: Instance
    amplitude: float = 0.2
    period: int = 20_000
    shape: str | Sequence[float] = "sine"
    bits = True
    moves = True
    example: ClassVar = {
        "instance": {"name": "bernoulli", "means": [0.3, 0.8, 0.25]},
        "amplitude": 0.2,
        "period": 40,
        "shape": [0.0, 0.5, 1.0, -1.0],
    }

    def __post_init__(self) -> None:
        if not isinstance(self.instance, Instance) or not self.instance.bits or self.instance.moves:
            allowed = "an instance whose rewards are bits and whose means stay, such as Bernoulli([0.6, 0.5])"
            raise InvalidValue("instance", self.instance, allowed)
        object.__setattr__(self, "amplitude", check_mean_number("amplitude", self.amplitude, 0))
        object.__setattr__(self, "period", to_whole("period", self.period, 1, LONGEST_DRIFT))
        if self.shape not in SHAPES:
            if isinstance(self.shape, str) or not hasattr(self.shape, "__len__") or len(self.shape) == 0:
                allowed = f"{', '.join(map(repr, SHAPES))} or a list of numbers from -1 to 1"
                raise InvalidValue("shape", self.shape, allowed)
            object.__setattr__(self, "shape", tuple(check_mean_number("shape", each, -1) for each in self.shape))
        shifts = self.parameters().shifts
        for arm, mean in enumerate(self.true_means().tolist()):
            for far in (mean + shifts.min(), mean + shifts.max()):
                if not -ROUNDED <= far <= 1 + ROUNDED:
                    allowed = f"less: the mean of arm {arm} would move from {mean:g} to {far:g}, outside [0, 1]"
                    raise InvalidValue("amplitude", self.amplitude, allowed)

    @classmethod
    def from_table(
        cls, instance: Any, amplitude: Any = 0.2, period: Any = 20_000, shape: Any = "sine", file: Any = None
    ) -> Self:
        return cls(instance, amplitude, period, shape if file is None else read_shape(file))

    def true_means(self) -> Floats:
        return self.instance.true_means()

    def parameters(self) -> DriftingParameters:
        t = np.arange(self.period)
        if self.shape == "sine":
            form = np.sin(2 * np.pi * t / self.period)
        elif self.shape == "step":
            form = np.where(2 * t < self.period, 1.0, -1.0)
        elif self.shape == "linear":
            form = np.linspace(-1, 1, self.period)
        else:
            form = np.array(self.shape)[t * len(self.shape) // self.period]
        means = self.true_means()
        return DriftingParameters(means, float(means.max()), self.amplitude * form, self.shape != "linear")

    @staticmethod
    @kernel
    def expected(i: DriftingParameters, arm: int, t: int) -> Expected:
        shift = i.shifts[t % i.shifts.size if i.again else min(t, i.shifts.size - 1)]
        return Expected(i.means[arm] + shift, i.best + shift)

    @staticmethod
    @kernel
    def one(i: DriftingParameters, arm: int, t: int, g: int, stream: Rewards) -> float:
        shift = i.shifts[t % i.shifts.size if i.again else min(t, i.shifts.size - 1)]
        return max(g, 1.0) * (draw_uniform(stream, t) < i.means[arm] + shift)

    many = no_sum


def check_mean_number(name: str, value: Any, least: float) -> float:
    """A number from `least` to 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= 1:
        raise InvalidValue(name, value, f"a number from {least} to 1")
    return float(value)


def read_shape(file: Any) -> list[float]:
    """The numbers of a file, one in each line."""
    try:
        return [float(line) for line in Path(file).read_text(encoding="utf-8").split()]
    except (OSError, TypeError, ValueError) as wrong:
        reason = getattr(wrong, "strerror", None) or "each line is a number"
        raise InvalidValue("file", str(file), f"a text file of numbers that can be read ({reason})") from None

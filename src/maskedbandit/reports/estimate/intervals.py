"""The result of `estimate`: each arm's mean, and the difference of each arm from one of them."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.extras import import_extra
from maskedbandit.lab.goals.cells import Cells, format_table
from maskedbandit.lab.goals.tidy import Block, Tidy
from maskedbandit.theory.sequences import Interval

WHOSE_DIFFERENCE, OWN = "the same people", "each arm's own people"


class Mean(NamedTuple):
    """The estimate of the mean of an arm."""

    arm: str
    n: int  # people in its releases
    releases: int
    estimate: float  # total / n; nan before the first release
    corrected: float  # the same without the bias of adaptive assignment, if that was simulated; else nan
    interval: Interval
    without_noise: Interval  # what it would be if the total had no noise


class DifferenceOfArms(NamedTuple):
    """The estimate of the mean of an arm minus that of another."""

    arm: str
    minus: str
    n: int  # people behind it, of both arms
    estimate: float
    corrected: float
    interval: Interval
    of: str  # whose difference it is: SAME or OWN


@dataclass(frozen=True, repr=False)
class Estimates(Tidy):
    """The result of `estimate`, in units of the reward.

    **Guarantee**: each interval holds its mean, or difference, with probability at least 1 - alpha at all times
    together, whatever rule chose cohorts and stopped; if they are `simultaneous`, all of them hold theirs with that
    probability. If means move in time it is the average of the means of the
    people in the releases; and where a difference is of the same people, drift that is common to both arms cancels.
    """

    what: str
    alpha: float
    simultaneous: bool
    arms: tuple[Mean, ...]
    differences: tuple[DifferenceOfArms, ...]
    correction: str  # how `corrected` was found, or why it is nan

    @property
    def goal(self) -> str:
        """The goal, as in other results."""
        return "estimate"

    def arm(self, name: str) -> Mean:
        """The estimate of the arm of this name."""
        for each in self.arms:
            if each.arm == name:
                return each
        raise InvalidValue("arm", name, f"one of {', '.join(each.arm for each in self.arms)}")

    def title(self) -> str:
        """The title: what is estimated, and from how much."""
        when = "at any time, all intervals together" if self.simultaneous else "at any time"
        people, releases = (sum(each) for each in zip(*((arm.n, arm.releases) for arm in self.arms), strict=True))
        return f"{self.what}: {people:,} people in {releases:,} releases, {100 * (1 - self.alpha):g} % {when}"

    def __repr__(self) -> str:
        return f"{self.title()}\n{format_table(self.lines(), 1)}\n{self.correction}"

    def rows(self) -> list[tuple[str, Mean | DifferenceOfArms]]:
        """Each arm, then each difference, by its name."""
        differences = [(f"{each.arm} − {each.minus}", each) for each in self.differences]
        return [*((each.arm, each) for each in self.arms), *differences]

    def lines(self) -> list[Cells]:
        """A line for each arm, and for each difference."""
        return [format_estimate_row(*row) for row in self.rows()]

    def blocks(self) -> list[Block]:
        """One row for each arm, and for each difference."""
        found: list[Block] = [
            {
                "what": "mean",
                "arm": np.array([each.arm for each in self.arms]),
                **format_shared_columns(self.arms),
                "releases": np.array([each.releases for each in self.arms]),
                "low_without_noise": np.array([each.without_noise.low for each in self.arms]),
                "high_without_noise": np.array([each.without_noise.high for each in self.arms]),
            }
        ]
        if self.differences:
            pairs = {
                "arm": np.array([each.arm for each in self.differences]),
                "minus": np.array([each.minus for each in self.differences]),
                "of": np.array([each.of for each in self.differences]),
            }
            found.append({"what": "difference", **pairs, **format_shared_columns(self.differences)})
        return found

    def plot(self, columns: Literal[1, 2] = 2, axes: Any = None, file: str | Path | None = None) -> Any:
        """Draw means, or into two `axes` means and differences; returns the axes. This needs the extra `lab`."""
        import_extra("matplotlib")
        from maskedbandit.reports.estimate.figure import draw_estimate

        rows, k = self.rows(), len(self.arms)
        return draw_estimate(rows[:k], rows[k:], columns, axes, file)


def format_shared_columns(rows: tuple[Mean, ...] | tuple[DifferenceOfArms, ...]) -> Block:
    """The columns that means and differences share."""
    return {
        "people": np.array([each.n for each in rows]),
        "estimate": np.array([each.estimate for each in rows]),
        "corrected": np.array([each.corrected for each in rows]),
        "low": np.array([each.interval.low for each in rows]),
        "high": np.array([each.interval.high for each in rows]),
    }


def format_estimate_row(name: str, row: Mean | DifferenceOfArms) -> Cells:
    """A line of the short table, with as many digits as the interval allows."""
    digits = min(max(2 - math.floor(math.log10(max(row.interval.width, 1e-12))), 1), 9)

    def number(value: float) -> str:
        return "" if math.isnan(value) else f"{value:.{digits}f}"

    return {
        "arm": name,
        "people": f"{row.n:,}",
        "mean": number(row.estimate),
        "corrected": number(row.corrected),
        "from": number(row.interval.low),
        "to": number(row.interval.high),
        "of": "" if isinstance(row, Mean) else row.of,
    }

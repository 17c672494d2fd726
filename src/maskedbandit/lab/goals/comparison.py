"""The result of `compare`: those of all pairs of a policy and a channel."""

from dataclasses import dataclass

import numpy as np

from maskedbandit.lab.goals.cells import Cells, table
from maskedbandit.lab.goals.result import Result
from maskedbandit.lab.goals.tidy import Block, Tidy


@dataclass(frozen=True, repr=False)
class Comparison(Tidy):
    """The result of `compare`, in the order of policies and channels."""

    results: dict[str, Result]  # by the labels of the pairs

    @property
    def goal(self) -> str:
        """That of all policies."""
        return next(iter(self.results.values())).goal

    def title(self) -> str:
        """What is compared."""
        runs = next(iter(self.results.values())).outcome().values.size
        return f"Comparison of {len(self.results)}, {runs:,} run{'s' * (runs != 1)} each"

    def __repr__(self) -> str:
        return f"{self.title()}\n{table(self.lines(), 1)}"

    def blocks(self) -> list[Block]:
        """The rows of all pairs, with a label of each."""
        return [{"label": label, **block} for label, result in self.results.items() for block in result.blocks()]

    def lines(self) -> list[Cells]:
        """A line for each pair; differences are those of the same runs, with which they share the random streams."""
        first, *_ = (each.outcome() for each in self.results.values())
        lines = []
        for i, (label, result) in enumerate(self.results.items()):
            found = result.outcome()
            less = found._replace(values=found.values - first.values, cut=found.cut + first.cut)
            more = "" if i == 0 or less.cut else f"{less.values.mean():+,.{less.digits}f}"
            alone = found.own_error is not None or np.size(found.values) < 2
            lines.append(
                {
                    "curve": label,
                    f"mean {found.name}": found.mean() + found.error(),
                    "minus the first": more + ("" if alone or not more else less.error()),
                    "loss of a user": str(result.loss),
                }
            )
        return lines

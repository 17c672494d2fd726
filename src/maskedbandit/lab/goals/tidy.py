"""The three forms of every result: a tidy table, a short table, and a figure."""

import csv
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np

from maskedbandit.extras import import_extra
from maskedbandit.lab.files import whole_file
from maskedbandit.lab.goals.cells import Cells, format_html

Block = dict[str, Any]  # columns by their names: an array, or what is the same in all rows


class Tidy(ABC):
    """A result with a row for each run, or for each run and checkpoint."""

    @property
    @abstractmethod
    def goal(self) -> str:
        """The name of the goal."""

    @abstractmethod
    def blocks(self) -> list[Block]:
        """The columns of the table, one block of rows below the other; a block may lack columns of another."""

    @abstractmethod
    def lines(self) -> list[Cells]:
        """The cells of a short table."""

    @abstractmethod
    def title(self) -> str:
        """A title in one line."""

    def _repr_html_(self) -> str:
        return format_html(self.lines(), self.title())

    def to_frame(self, *, final: bool = False) -> Any:
        """A tidy table as a polars DataFrame; this needs the extra `lab`. With `final` it has a row for each run alone.

        That is the row of its last checkpoint, if there are several.
        """
        pl = import_extra("polars")
        frames = [pl.DataFrame(block).with_columns(pl.col(pl.Null).cast(pl.Float64)) for block in self.chosen(final)]
        return pl.concat(frames, how="diagonal_relaxed")

    def to_pandas(self, *, final: bool = False) -> Any:
        """A tidy table as a pandas DataFrame, if pandas is installed; `final` is as for `to_frame`."""
        pandas = import_extra("pandas")
        return pandas.concat([pandas.DataFrame(block) for block in self.chosen(final)], ignore_index=True)

    def chosen(self, final: bool) -> list[Block]:
        """The blocks of a table: of all rows, or of those that are the last of a run."""
        return [keep_final(block) if final else block for block in self.blocks()]

    def to_csv(self, file: str | Path, *, final: bool = False) -> None:
        """A tidy table as a CSV file, which needs no other package; `final` is as for `to_frame`."""
        blocks = self.chosen(final)
        names = list(dict.fromkeys(name for block in blocks for name in block))
        with whole_file(Path(file)) as draft:
            rows = csv.writer(Lines(draft), lineterminator="\n")
            rows.writerow(names)
            for block in blocks:
                rows.writerows(zip(*(column(block, name) for name in names), strict=True))

    def plot(self, columns: Literal[1, 2] = 2, axes: Any = None, file: str | Path | None = None) -> Any:
        """Draw it; returns the axes, a matplotlib Axes. This needs the extra `lab`.

        The figure is as wide as one or two columns of a paper, unless `axes` of your own are given. `file`, such as
        "figure.pdf", is where it is written, with text that stays text.
        """
        import_extra("matplotlib")
        table = self.to_frame()
        from maskedbandit.lab.goals.drawing import draw_result

        return draw_result(self.goal, table, columns, axes, file)


class Lines:
    """A file of text over one of bytes."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, text: str) -> None:
        """One line."""
        self._file.write(text.encode())


def keep_final(block: Block) -> Block:
    """The rows of the last checkpoint; all rows, if there are no checkpoints.

    >>> keep_final({"policy": "UCB1", "run": np.array([0, 0, 1, 1]), "t": np.array([8, 9, 8, 9])})
    {'policy': 'UCB1', 'run': array([0, 1]), 't': array([9, 9])}
    """
    if "t" not in block:
        return block
    last = block["t"] == block["t"].max()
    return {name: each[last] if isinstance(each, np.ndarray) else each for name, each in block.items()}


def column(block: Block, name: str) -> Iterator[Any]:
    """The cells of a column of a block; empty ones where the block has no such column."""
    rows = max(np.size(each) for each in block.values())
    value = block.get(name)
    yield from value.tolist() if isinstance(value, np.ndarray) else [value] * rows

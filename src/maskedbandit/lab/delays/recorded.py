"""Delays that were measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from maskedbandit.errors import InvalidValue
from maskedbandit.lab.delays.delay import Delay, Delays, check_rounds


@dataclass(frozen=True)
class Recorded(Delay):
    """Delays that were measured, in rounds: one of them is drawn for each user, with replacement.

    >>> Recorded([0, 0, 7]).parameters().longest
    7
    """

    rounds: Sequence[int]
    example: ClassVar = {"rounds": [0, 0, 1, 4, 9]}

    def __post_init__(self) -> None:
        if isinstance(self.rounds, str) or not hasattr(self.rounds, "__len__") or len(self.rounds) == 0:
            raise InvalidValue("rounds", self.rounds, "a list of whole numbers of rounds")
        object.__setattr__(self, "rounds", tuple(check_rounds("rounds", each) for each in self.rounds))

    @classmethod
    def from_table(cls, rounds: Any = None, file: Any = None) -> Self:
        if (rounds is None) == (file is None):
            raise InvalidValue("recorded", {"rounds": rounds, "file": file}, "given either `rounds` or a `file`")
        return cls(rounds if file is None else read_rounds(file))

    def parameters(self) -> Delays:
        table = np.sort(np.array(self.rounds, np.int64))
        return Delays(table, 0.0, int(table[-1]))

    def __str__(self) -> str:
        return f"recorded, mean = {np.mean(self.rounds):g}"


def read_rounds(file: Any) -> list[int]:
    """The numbers of a file, one in each line. Errors do not show the contents, which may be private."""
    try:
        lines = Path(file).read_text(encoding="utf-8").split()
    except (OSError, TypeError, ValueError) as wrong:
        reason = getattr(wrong, "strerror", None) or "it is not text"
        raise InvalidValue("file", str(file), f"a text file that can be read ({reason})") from None
    try:
        return [int(line) for line in lines]
    except ValueError:
        raise InvalidValue("file", str(file), "a text file with a whole number of rounds in each line") from None

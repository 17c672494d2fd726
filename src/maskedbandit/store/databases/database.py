"""What a study needs of a database: transactions, rows, and one dialect of SQL that both databases read.

A statement marks its values with `?`.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from maskedbandit.errors import InvalidValue, StorageFailed
from maskedbandit.privacy.process import identify_process

ATTEMPTS = 20  # at a transaction that others are in the way of
Row = tuple[Any, ...]
T = TypeVar("T")


class Again(Exception):
    """Two transactions were in each other's way, and this one was undone. It has to be done again."""


def do_again(do: Callable[[], T]) -> T:
    """Do something again and again, until no other transaction is in its way."""
    for attempt in range(ATTEMPTS):
        try:
            return do()
        except Again as why:
            if attempt == ATTEMPTS - 1:
                raise StorageFailed(f"other transactions were in the way {ATTEMPTS} times: {why}") from why
    raise AssertionError


class Database(ABC):
    """One connection. It belongs to one thread at a time, and to the process that made it: not to a fork of it.

    **Guarantee**: when `transaction` ends without an error its changes are on disk; otherwise there are none of them.
    """

    random_key: str  # what gives 128 random bits in hexadecimal, in the database's own words

    def __init__(self) -> None:
        self._process = identify_process()

    @property
    def own(self) -> bool:
        """Whether this process made the connection. Its other end cannot tell the parent of a fork from its child."""
        return identify_process() == self._process

    def check_own(self) -> None:
        """Raise `InvalidValue` in a fork of the process that made the connection."""
        if identify_process() != self._process:
            raise InvalidValue("the process of this study", os.getpid(), "the one that opened it, not a fork of it")

    @abstractmethod
    def begin(self) -> None:
        """Begin a transaction that may write."""

    @abstractmethod
    def look(self) -> None:
        """Begin a transaction that sees everything as it is at its first question, whatever others write meanwhile."""

    @abstractmethod
    def commit(self) -> None:
        """Make the changes durable, or raise `StorageFailed`."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo the changes."""

    @abstractmethod
    def rows(self, statement: str, *values: Any) -> list[Row]:
        """What a statement gives."""

    @abstractmethod
    def change(self, statement: str, *values: Any) -> int:
        """How many rows a statement changes."""

    @abstractmethod
    def rows_in(self, statement: str, *values: Any, keys: Sequence[str]) -> list[Row]:
        """What a statement gives whose last condition is `IN keys`."""

    @abstractmethod
    def rows_by(self, table: str, columns: Sequence[str], names: Sequence[str], keys: Sequence[Row]) -> list[Row]:
        """These columns of the rows whose columns `names`, which are the key of the table, are one of `keys`.

        Each is looked up by the key, whatever else is in the table.
        """

    @abstractmethod
    def each(self, statement: str, values: Sequence[Sequence[Any]]) -> int:
        """Do a statement for each of these values: how many rows it changes."""

    @abstractmethod
    def insert(self, table: str, columns: str, values: Sequence[Sequence[Any]]) -> None:
        """Add new rows."""

    @abstractmethod
    def insert_missing(self, table: str, columns: str, values: Sequence[Sequence[Any]]) -> int:
        """Add those rows whose keys are not there yet: how many."""

    @abstractmethod
    def script(self, text: str) -> None:
        """Do all statements of a text, within a transaction."""

    @abstractmethod
    def take_time(self) -> None:
        """Within a transaction: it may be long until the next question, and is not taken for one that was cut off."""

    @abstractmethod
    def interrupt(self) -> None:
        """Have what another thread asks here fail, if it is not answered yet."""

    @abstractmethod
    def rewrite(self) -> None:
        """Write all that is stored of people anew, so that nothing of what was deleted is left but in the log."""

    @abstractmethod
    def empty_log(self) -> bool:
        """Empty the log of changes, as far as it is for the database to do: whether that could be done now."""

    @abstractmethod
    def count(self) -> None:
        """Count the rows of the tables, so that the database finds the shortest way to them."""

    @abstractmethod
    def alone(self) -> None:
        """Within a transaction: wait until no other transaction that called this is under way."""

    @abstractmethod
    def named(self) -> str:
        """The name and the version of the database."""

    @abstractmethod
    def tables(self) -> set[str]:
        """The names of the tables that there are."""

    @abstractmethod
    def close(self) -> None:
        """Give the connection back."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Statements that are done together, or not at all."""
        self.begin()
        try:
            yield
        except BaseException:
            self.rollback()
            raise
        self.commit()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Questions about one and the same state, while others write."""
        self.look()
        try:
            yield
        finally:
            self.rollback()

    def one(self, statement: str, *values: Any) -> Row | None:
        """The only row that a statement gives; None if there is none."""
        found = self.rows(statement, *values)
        return found[0] if found else None


def mark_values(row: Sequence[Any]) -> str:
    """The marks for the values of a row.

    >>> mark_values(["ann", 1])
    '(?, ?)'
    """
    return f"({', '.join('?' * len(row))})"

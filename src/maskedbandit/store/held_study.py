"""A study while this process alone holds it: what that of a leader and that of a helper have in common."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.database import Database
from maskedbandit.store.holding import Holding
from maskedbandit.store.lease import read_clock
from maskedbandit.store.requests import Done, Operation
from maskedbandit.study.protocol import Protocol

SessionKind = TypeVar("SessionKind", bound=Holding)


class HeldStudy(Generic[SessionKind]):
    """A study of a database. `apply` does several operations in one transaction."""

    operations: ClassVar[dict[str, Callable[..., Any]]]  # by verb: functions of a session, within a transaction
    session_class: ClassVar[Any]
    _session: SessionKind

    def __init__(
        self,
        database: Database,
        witness: Witness,
        name: str,
        clock: Callable[[], int] = read_clock,
        holder: str | None = None,
    ) -> None:
        self._session = self.session_class(database, witness, name, clock, holder)
        self.name, self.database = name, database

    @property
    def protocol(self) -> Protocol:
        """The protocol, with the arms that were added."""
        return self._session.protocol

    @property
    def time(self) -> int:
        """The latest time that the study has seen, in milliseconds; it never goes back."""
        return self._session.now

    def apply(self, operations: Sequence[Operation]) -> list[Done]:
        """Do these in one transaction: each a verb of `operations`, or a function of a session, with what it gets.

        Nothing is done if the store fails.
        """
        return self._session.apply(self._bind(operations))

    def close(self) -> None:
        """Give the study and the database back."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _bind(self, operations: Sequence[Operation]) -> list[Callable[[], Any]]:
        return [
            partial(self.operations[verb] if type(verb) is str else verb, self._session, *given)
            for verb, *given in operations
        ]

    def _do(self, *operation: Any) -> Any:
        return self.apply([operation])[0].value()

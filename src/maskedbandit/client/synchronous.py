"""The client for applications with threads."""

from collections.abc import Sequence
from typing import Self, final

from maskedbandit.client.answers import Assigned
from maskedbandit.client.study_client import LAST_TRY, StudyClient


@final
class Client(StudyClient):
    """One study of a service; see `StudyClient`. May be used by several threads."""

    def assign(self, unit: str, token: str | None = None) -> Assigned:
        """The arm for a person, whatever happens; raises only if the key, the study or the unit is wrong."""
        reply = self._engine.ask(self._study, unit, token).result()
        return self._engine.settle(self._study, unit, reply, self._fallback)

    def expose(self, ticket: str | None) -> None:
        """The person saw the arm. It is on disk when this returns; without a ticket there is nothing to say."""
        self._engine.expose(self._study, ticket)

    def report(self, ticket: str | None, value: float | Sequence[float], event: str = "", metric: str = "") -> None:
        """The outcome, or one of several with an `event` each. It is on disk when this returns.

        With local trust and a cap all of a person's outcomes are given at once, as a list.
        """
        self._engine.report(self._study, ticket, value, event, metric)

    def flush(self, timeout: float = 10.0) -> bool:
        """Try to send what waits; whether nothing waits any more."""
        return self._engine.flush(timeout)

    def close(self, timeout: float = LAST_TRY) -> None:
        """Try to send what waits, and stop. What still waits is sent by the next client of this folder."""
        self._engine.close(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""The client for applications of asyncio. It belongs to no event loop, and blocks none."""

import asyncio
from collections.abc import Sequence
from typing import Self, final

from maskedbandit.client.answers import Assigned
from maskedbandit.client.study_client import LAST_TRY, StudyClient


@final
class AsyncClient(StudyClient):
    """One study of a service; see `StudyClient`. May be used in any event loop, and in several."""

    async def assign(self, unit: str, token: str | None = None) -> Assigned:
        """The arm for a person, whatever happens; raises only if the key, the study or the unit is wrong."""
        reply = await asyncio.wrap_future(self._engine.ask(self._study, unit, token))
        return await asyncio.to_thread(self._engine.settle, self._study, unit, reply, self._fallback)

    async def expose(self, ticket: str | None) -> None:
        """The person saw the arm. It is on disk when this returns; without a ticket there is nothing to say."""
        await asyncio.to_thread(self._engine.expose, self._study, ticket)

    async def report(
        self, ticket: str | None, value: float | Sequence[float], event: str = "", metric: str = ""
    ) -> None:
        """The outcome, or one of several with an `event` each. It is on disk when this returns.

        With local trust and a cap all of a person's outcomes are given at once, as a list.
        """
        await asyncio.to_thread(self._engine.report, self._study, ticket, value, event, metric)

    async def flush(self, timeout: float = 10.0) -> bool:
        """Try to send what waits; whether nothing waits any more."""
        return await asyncio.to_thread(self._engine.flush, timeout)

    async def close(self, timeout: float = LAST_TRY) -> None:
        """Try to send what waits, and stop. What still waits is sent by the next client of this folder."""
        await asyncio.to_thread(self._engine.close, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

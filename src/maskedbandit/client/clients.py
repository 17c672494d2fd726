"""The clients: one study of a service, for applications with threads and for those of asyncio."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, final

from maskedbandit.client.answers import Assigned, Refusal
from maskedbandit.client.calls import Transport
from maskedbandit.client.engine import Engine
from maskedbandit.person_attributes import PersonAttributes

if TYPE_CHECKING:
    from maskedbandit.channels.channel import Channel

ASSIGN_DEADLINE = 0.2  # seconds that a person waits for an arm
LAST_TRY = 2.0  # seconds that an application which stops waits for its outcomes to be sent


class StudyClient(ABC):
    """One study of a service.

    * `fallback`: the arm for people whom neither the service nor this client knows while the service is away.
    * `deadline`: seconds that `assign` takes at most, with one retry.
    * `folder`: where outcomes wait until the service has them; processes of one application share it.
    * `channel`: in a study of local trust the channel to which people agreed. The noise is added here; if there is a
      guardrail, both outcomes share the epsilon of the channel.
    * `on_refused`: called from another thread with each exposure or report that the service will never take.
    * `transport`: how to reach the service if not directly, such as lambda: httpx.AsyncHTTPTransport(proxy=...).
    """

    def __init__(
        self,
        url: str,
        key: str,
        study: str,
        *,
        fallback: str,
        deadline: float = ASSIGN_DEADLINE,
        folder: str | Path | None = None,
        channel: Channel | None = None,
        on_refused: Callable[[Refusal], None] | None = None,
        transport: Transport | None = None,
    ) -> None:
        self._study, self._fallback = study, fallback
        self._engine = Engine(
            url,
            key,
            study,
            deadline=deadline,
            folder=folder,
            channels={study: channel} if channel else {},
            on_refused=on_refused,
            transport=transport,
        )

    @property
    def refused(self) -> Counter[str]:
        """How many exposures and reports the service refused for good, by the code."""
        return self._engine.refused

    @abstractmethod
    def assign(
        self, unit: str, token: str | None = None, attributes: PersonAttributes | None = None
    ) -> Assigned | Awaitable[Assigned]:
        """The arm for a person, whatever happens; raises only if the key, the study or the unit is wrong.

        The attributes are what the rules of the study on who is enrolled are about: texts, numbers, True and False.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._engine.url!r}, study={self._study!r})"


@final
class Client(StudyClient):
    """One study of a service; see `StudyClient`. May be used by several threads."""

    def assign(self, unit: str, token: str | None = None, attributes: PersonAttributes | None = None) -> Assigned:
        """The arm for a person, whatever happens; raises only if the key, the study or the unit is wrong."""
        reply = self._engine.ask(self._study, unit, token, attributes).result()
        return self._engine.settle(self._study, unit, reply, self._fallback)

    def expose(self, ticket: str | None) -> None:
        """The person saw the arm. It is on disk when this returns; without a ticket there is nothing to say."""
        self._engine.expose(self._study, ticket)

    def report(self, ticket: str | None, value: float | Sequence[float], event: str = "", metric: str = "") -> None:
        """The outcome, or one of several with an `event` each. It is on disk when this returns.

        With local trust and a cap all of a person's outcomes are given at once, as a list.
        """
        self._engine.report(self._study, ticket, value, event, metric)

    def leave(self, ticket: str | None) -> None:
        """The person leaves: what waits is not sent, and the service erases what it has.

        It is on disk when this returns. That people agree before they are assigned is for the application to see to.
        """
        self._engine.leave(self._study, ticket)

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


@final
class AsyncClient(StudyClient):
    """One study of a service; see `StudyClient`. May be used in any event loop, and in several, and blocks none."""

    async def assign(self, unit: str, token: str | None = None, attributes: PersonAttributes | None = None) -> Assigned:
        """The arm for a person, whatever happens; raises only if the key, the study or the unit is wrong."""
        reply = await asyncio.wrap_future(self._engine.ask(self._study, unit, token, attributes))
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

    async def leave(self, ticket: str | None) -> None:
        """The person leaves: what waits is not sent, and the service erases what it has.

        It is on disk when this returns. That people agree before they are assigned is for the application to see to.
        """
        await asyncio.to_thread(self._engine.leave, self._study, ticket)

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

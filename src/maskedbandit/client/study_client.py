"""What the clients for threads and for asyncio have in common: one study of a service."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from maskedbandit.client.answers import Assigned, Refusal
from maskedbandit.client.calls import Transport
from maskedbandit.client.engine import Engine

if TYPE_CHECKING:
    from maskedbandit.channels.channel import Channel

DEADLINE = 0.2  # seconds that a person waits for an arm
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
        deadline: float = DEADLINE,
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
    def assign(self, unit: str, token: str | None = None) -> Assigned | Awaitable[Assigned]:
        """The arm for a person, whatever happens; raises only if the key, the study or the unit is wrong."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._engine.url!r}, study={self._study!r})"

"""What a process sends to the one that holds a study."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from maskedbandit.errors import FencedOff
from maskedbandit.service.elsewhere import Elsewhere
from maskedbandit.service.messages import Assign


class Broken:
    """A client of HTTP that does not work any more."""

    async def request(self, *given: Any, **more: Any) -> Any:
        raise RuntimeError("the client was closed")


def test_nobody_waits_for_ever() -> None:
    async def ask() -> None:
        there = Elsewhere("small", "host 1 x", "http://127.0.0.1:1", Broken())
        for _ in range(2):
            answers = await asyncio.gather(
                *[there.ask("assign", Assign(f"u{i}"), "key") for i in range(3)], return_exceptions=True
            )
            assert all(isinstance(each, FencedOff) for each in answers)

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_the_document_is_written_once(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = service.ask("GET", "/openapi.json", key=None)
    monkeypatch.setattr("maskedbandit.service.api.operations.document", None)
    assert service.ask("GET", "/openapi.json", key=None) == first

"""Answers whose head is sent with the body: one call to the system and one packet, where the server has two of each."""

from __future__ import annotations

from asyncio import Transport, get_running_loop
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Joined:
    """A transport that keeps the first part of what is written until the second comes, or the loop has gone round."""

    def __init__(self, transport: Any) -> None:
        self._transport, self._later, self._kept = transport, get_running_loop().call_soon, b""
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send it, soon."""
        if self._kept or self.is_closing():  # what is kept then would never be sent
            kept, self._kept = self._kept, b""
            self._transport.write(kept + data)
        else:
            self._kept = data
            self._later(self.flush)

    def forget(self) -> None:
        """Send nothing more."""
        self._kept = b""

    def close(self) -> None:
        """Send what is kept, and end."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Send what is kept."""
        if self._kept:
            kept, self._kept = self._kept, b""
            self._transport.write(kept)


class Protocol(HttpToolsProtocol):
    """HTTP over such a transport."""

    def connection_made(self, transport: Any) -> None:
        """A client has come."""
        self.joined = Joined(transport)
        super().connection_made(cast(Transport, self.joined))

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone: what is kept for it is nobody's."""
        self.joined.forget()
        super().connection_lost(exc)

    def eof_received(self) -> None:
        """The client sends no more, after which the loop closes the transport by itself."""
        self.joined.flush()
        return super().eof_received()

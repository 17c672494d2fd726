"""The server process: it listens, and ends when it is told to, after all that was asked is answered."""

import gc
import logging
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

import uvicorn

from maskedbandit.errors import InvalidValue
from maskedbandit.service.app import AnyHost, make_application
from maskedbandit.service.logs import log_to_standard_error
from maskedbandit.service.request.connection import IDLE_TIME, Connection

log = logging.getLogger("maskedbandit")
GRACE_SECONDS = 20  # seconds for requests that are under way
MOST_CONNECTIONS = 10_000
RESERVE = 512  # file descriptors for databases, witnesses and other servers, so that these never lack one


class StudyServer(uvicorn.Server):
    """A server that tells the host when it is to end, so that streams of events end too."""

    def __init__(self, config: uvicorn.Config, host: AnyHost, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self._host, self._listening = host, listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        if self.started:
            self._listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End."""
        self._host.stopping.set()
        await super().shutdown(sockets)


def raise_connection_limit() -> int:
    """How many connections may be open at a time; the limit of the process is raised as far as it may be.

    >>> 0 < raise_connection_limit() <= MOST_CONNECTIONS
    True
    """
    if sys.platform == "win32":  # where sockets are no files
        return MOST_CONNECTIONS
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + RESERVE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return count_connections(wanted if soft == resource.RLIM_INFINITY else soft)


def count_connections(limit: int) -> int:
    """The connections that so many file descriptors allow: half of them at least.

    >>> count_connections(256), count_connections(4096), count_connections(10**6)
    (128, 3584, 10000)
    """
    return min(max(limit - RESERVE, limit // 2), MOST_CONNECTIONS)


def bind_socket(address: str, port: int) -> socket.socket:
    """A socket that listens; port 0 is any that is free."""
    found = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((address, port))
    except socket.gaierror as why:
        found.close()
        raise InvalidValue("--host", address, f"an address of this machine ({why.strerror})") from None
    except (OSError, OverflowError) as why:
        found.close()
        raise InvalidValue("--port", port, f"one that is free on {address} ({why})") from None
    return found


def serve_host(
    host: AnyHost,
    listener: socket.socket,
    listening: Callable[[], None],
    companions: Sequence[Callable[[Any], Awaitable[None]]] = (),
    proxies: Sequence[str] = (),
) -> None:
    """Serve until the process is told to end. What proxies at these addresses say is believed."""
    http: Any = partial(Connection, raise_connection_limit())
    config = uvicorn.Config(
        lambda: make_application(host, companions, proxies),
        factory=True,
        proxy_headers=False,  # the application reads them itself, and not of every request
        http=http,
        timeout_keep_alive=IDLE_TIME,
        ws="none",
        access_log=False,  # a line for each report would tell who reports
        log_config=None,
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    log_to_standard_error()
    gc.freeze()  # what is there now stays; and what requests leave behind is hardly ever a circle, so look for it less
    gc.set_threshold(20_000, 20, 20)
    for each in (signal.SIGTERM, signal.SIGINT):  # the server takes them while it runs, and gives them back at its end
        signal.signal(each, lambda *_: None)
    StudyServer(config, host, listening).run([listener])
    log.info("the server has ended")

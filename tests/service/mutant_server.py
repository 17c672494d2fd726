"""A server that is broken in one place, which the tests must catch.

It runs `python -m tests.service.mutant_server NAME serve ...`.
"""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import maskedbandit.service.held as held_module
import maskedbandit.service.host as host_module
import maskedbandit.service.server as server_module
from maskedbandit.cli import main
from maskedbandit.store.connection import connect
from maskedbandit.store.sqlite import Sqlite
from tests.store.crash_mutants import MUTANTS


def told_before_the_commit() -> None:
    """Whoever asks about a person is answered within the transaction."""
    real, commit = held_module.Held.do, Sqlite.commit

    def do(self: Any, operation: Callable[[], Any], ticket: str | None = None, unit: str | None = None) -> Any:
        if ticket is None and unit is None:
            return real(self, operation)
        loop = asyncio.get_running_loop()
        early = loop.create_future()

        def settle(result: Any, why: BaseException | None) -> None:
            if not early.done():
                early.set_result(result) if why is None else early.set_exception(why)

        def telling() -> Any:
            result = operation()
            loop.call_soon_threadsafe(settle, result, None)
            return result

        def done(future: Any) -> None:
            if future.exception() is not None:
                settle(None, future.exception())

        real(self, telling, ticket, unit).add_done_callback(done)
        return early

    def slow(self: Sqlite) -> None:
        time.sleep(0.2)  # most of the time, so that a kill comes meanwhile
        commit(self)

    held_module.Held.do = do
    Sqlite.commit = slow


def install(name: str, address: str) -> None:
    """Break this process."""
    if name == "told before the commit":
        told_before_the_commit()
        return
    if name in ("heads without end", "few descriptors, and no cap"):
        server_module.Connection = lambda most, **given: HttpToolsProtocol(**given)
    if name in ("few descriptors", "few descriptors, and no cap"):  # the first of which is no mutant
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if name not in MUTANTS:
        return
    mutant = MUTANTS[name]
    mutant.install()
    database = connect(address)
    with database.transaction():
        database.script(mutant.schema or "SELECT 1")
    database.close()
    real = host_module.connect
    host_module.connect = lambda *given, **more: mutant.database(real(*given, **more))


if __name__ == "__main__":
    install(sys.argv[1], sys.argv[sys.argv.index("--database") + 1])
    del sys.argv[1]
    sys.exit(main())

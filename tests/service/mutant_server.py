"""A server that is broken in one place, which the tests must catch; with the name `none` in no place.

It runs `python -m tests.service.mutant_server NAME serve ...`, and is hasty, so that tests need not wait for long.
"""

import asyncio
import resource
import sys
import time
from contextlib import suppress
from threading import get_ident
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

import maskedbandit.service.host.elsewhere as elsewhere_module
import maskedbandit.service.host.hosting as host_module
import maskedbandit.service.host.questions as questions_module
import maskedbandit.service.server as server_module
import maskedbandit.service.views.tally as tally_module
import maskedbandit.store.databases.postgresql as postgresql_module
import maskedbandit.store.lease as lease_module
import maskedbandit.store.release as release_module
from maskedbandit.cli import main
from maskedbandit.errors import StorageFailed
from maskedbandit.store.book.witness import Witness
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.databases.database import Database
from maskedbandit.store.databases.sqlite import Sqlite
from maskedbandit.store.writer import Writer
from tests.store.crash_mutants import MUTANTS, Mutant


def told_before_the_commit() -> None:
    """Whoever asks about a person is answered within the transaction."""
    real, commit, told = Writer.submit, Sqlite.commit, set[int]()  # threads that have told somebody since their commit

    def submit(self: Writer, verb: str, *given: Any) -> Any:
        if verb not in ("assign", "expose", "report", "upload", "take_bundle"):
            return real(self, verb, *given)
        loop = asyncio.get_running_loop()
        early = loop.create_future()

        def settle(result: Any, why: BaseException | None) -> None:
            if not early.done():
                early.set_result(result) if why is None else early.set_exception(why)

        def telling(session: Any) -> Any:
            result = self.study.operations[verb](session, *given)
            loop.call_soon_threadsafe(settle, result, None)
            told.add(get_ident())
            return result

        def done(future: Any) -> None:
            if future.exception() is not None:
                settle(None, future.exception())

        real(self, telling).add_done_callback(done)
        return early

    def slow(self: Sqlite) -> None:
        if get_ident() in told:
            told.discard(get_ident())
            time.sleep(0.2)  # most of the time, so that a kill comes meanwhile
        commit(self)

    Writer.submit = submit
    Sqlite.commit = slow


def write_down_who_sends() -> None:
    """A shuffler logs whose each bundle is."""
    real = Writer.submit

    def submit(self: Writer, verb: str, *given: Any) -> Any:
        if verb == "take_bundle":
            print("a bundle of", given[3].hex(), file=sys.stderr)
        return real(self, verb, *given)

    Writer.submit = submit


class Unfenced(Mutant):
    """Nobody looks whether another process has taken the study over, and no rule of the database forbids it.

    Nor is the witness asked in each round of the clock, as that finds it out too.
    """

    schema = "DROP INDEX IF EXISTS each_place_is_dealt_once"

    def install(self) -> None:
        lease_module.Lease.check = lambda self: None
        release_module.check_head = lambda *given: None
        Witness.check_others = lambda *given: given[-1] if isinstance(given[-1], dict) else {}


class Lazy(Mutant):
    """A commit is acknowledged before it is on disk."""

    def install(self) -> None:
        real = postgresql_module.Postgresql._connect

        def connect_lazily(self: Any) -> None:
            real(self)
            self.change("SET synchronous_commit = off")

        postgresql_module.Postgresql._connect = connect_lazily


class Credulous(Mutant):
    """A commit of which the server says nothing is acknowledged."""

    def database(self, real: Database) -> Database:
        def commit() -> None:
            with suppress(StorageFailed):
                real_commit()

        def connected() -> Any:
            found = real_connected()
            found.prepare_threshold = None  # so that a proxy can tell a commit by its text
            return found

        real_commit, real.commit = real.commit, commit
        real_connected, real._connected = real._connected, connected
        real._connect()
        return real


class Waiting(Mutant):
    """A statement that waits for a process that was stopped is waited for."""

    def install(self) -> None:
        postgresql_module.Postgresql._end_silent = lambda self: None


SERVED = {
    **MUTANTS,
    "writes when replaced": Unfenced(),
    "commits lazily": Lazy(),
    "takes silence for a commit": Credulous(),
    "waits for who was stopped": Waiting(),
}


def hasten() -> None:
    """It waits for a second where others wait for 8, and has a lease of 3 seconds in place of 15."""
    host_module.QUESTION_PATIENCE = questions_module.QUESTION_PATIENCE = 1
    elsewhere_module.RELAY_PATIENCE = 2
    lease_module.LEASE_LENGTH = postgresql_module.LEASE_LENGTH = 3000


def install(name: str, address: str) -> None:
    """Break this process."""
    if name == "told before the commit":
        told_before_the_commit()
        return
    if name == "writes down who sends":
        write_down_who_sends()
    if name in ("heads without end", "few descriptors, and no cap"):
        server_module.Connection = lambda most, **given: HttpToolsProtocol(**given)
    if name in ("few descriptors", "few descriptors, and no cap"):  # the first of which is no mutant
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if name == "counts often":  # no mutant
        tally_module.KEPT_EVERY = 5
    if name not in SERVED:
        return
    mutant = SERVED[name]
    mutant.install()
    database = open_database(address)
    with database.transaction():
        database.script(mutant.schema or "SELECT 1")
    database.close()
    real = host_module.open_database
    host_module.open_database = lambda *given, **more: mutant.database(real(*given, **more))


if __name__ == "__main__":
    hasten()
    install(sys.argv[1], sys.argv[sys.argv.index("--database") + 1])
    del sys.argv[1]
    sys.exit(main())

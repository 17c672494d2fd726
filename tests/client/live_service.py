"""The real service in a thread, on a real socket of this machine, over a database in a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from maskedbandit.service import keys
from maskedbandit.service.app import make_application
from maskedbandit.service.host.host import Host
from maskedbandit.service.server import StudyServer, bind_socket
from maskedbandit.store.databases.connection import open_database
from maskedbandit.store.studies import open_study, write_study
from maskedbandit.study.protocol import Protocol
from tests.service.live import LATE, own_port


class LiveService:
    """A database with a running study, and keys of applications, for this study and for all."""

    def __init__(self, folder: Path, protocol: Protocol) -> None:
        self.address, self.witness, self.study = f"sqlite:///{folder}/studies.db", folder / "witness", protocol.name
        self.port = own_port()
        write_study(protocol, self.address, self.witness)
        with open_study(self.address, folder=self.witness) as study:
            study.start()
        database = open_database(self.address)
        self.key, self.wide_key = (keys.write_key(database, keys.CLIENT, study, 0) for study in (protocol.name, None))
        database.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Iterator[LiveService]:
        """The server listens as long as this lasts."""
        host, listener, ready = Host(self.address, self.witness), bind_socket("127.0.0.1", self.port), threading.Event()
        config = uvicorn.Config(make_application(host), log_config=None, access_log=False, lifespan="on")
        server = StudyServer(config, host, ready.set)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            assert ready.wait(LATE)
            yield self
        finally:
            server.should_exit = True
            thread.join()

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """What the database has."""
        database = open_database(self.address)
        try:
            return database.rows(query, *values)
        finally:
            database.close()

    def reports(self) -> dict[tuple[str, str], float]:
        """All outcomes that the database has."""
        found = self.rows("SELECT ticket, event, value FROM reward WHERE study = ?", self.study)
        reports = {(ticket, event): value for ticket, event, value in found}
        assert len(reports) == len(found), "doubled"
        return reports

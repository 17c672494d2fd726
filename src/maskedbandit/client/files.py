"""The client's files: SQLite of the standard library, for this user alone, shared by processes of an application."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

from maskedbandit.errors import StorageFailed

PATIENCE = 10.0  # seconds that a process waits for another one's transaction


def usual_folder() -> Path:
    """Where the files are if nobody says otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "maskedbandit"


def of_service(url: str) -> str:
    """A part of a file's name: what waits for one service is never sent to another."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def prepared(path: Path) -> Path:
    """A file that this user alone may read; SQLite gives its journal the same mode.

    A file that is there is not opened: closing it would end all locks that this process has on it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            path.chmod(0o600)
    except OSError as why:
        raise StorageFailed(f"{path}: {why}") from None
    return path


_open: WeakSet[PrivateFile] = WeakSet()


class PrivateFile:
    """A database in a file that this user alone may read, and whose deleted rows are overwritten."""

    def __init__(self, path: Path, settings: str, tables: str) -> None:
        self._lock, self.path = threading.Lock(), path
        try:
            self._connection = sqlite3.connect(prepared(path), PATIENCE, isolation_level=None, check_same_thread=False)
            self._connection.executescript(f"PRAGMA secure_delete = ON; {settings} {tables}")
        except sqlite3.Error as why:
            raise StorageFailed(f"{path}: {why}") from None
        _open.add(self)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is done in it is on disk when it ends, or nothing is."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                finally:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
            except sqlite3.Error as why:  # its text has names of columns, and no values
                raise StorageFailed(f"{self.path}: {why}") from None

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self._lock:
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.Error as why:
                raise StorageFailed(f"{self.path}: {why}") from None

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._connection.close()


def _before_fork() -> None:
    """Let all transactions end: a copy of this process would have half of one, and undo it."""
    for file in list(_open):
        file._lock.acquire()


def _after_fork() -> None:
    for file in list(_open):
        file._lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_open.clear)


class Turn:
    """The right to send, which one process has at a time: the lock of a file, which ends with the process."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(prepared(path), timeout=0, isolation_level=None, check_same_thread=False)

    def take(self) -> bool:
        """Whether it is this process's turn now; if so, until `give`."""
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            return False
        return True

    def give(self) -> None:
        """Let others send."""
        self._connection.execute("ROLLBACK")

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()

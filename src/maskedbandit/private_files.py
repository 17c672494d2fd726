"""Files of an application or a device: SQLite of the standard library, for this user alone, shared by processes."""

import hashlib
import os
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakSet

from maskedbandit.errors import StorageFailed

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK_PATIENCE = 10.0  # seconds that a process waits for another one's transaction


def usual_folder() -> Path:
    """Where the files are if nobody says otherwise."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "maskedbandit"


def name_service_files(url: str) -> str:
    """A part of a file's name: what waits for one service is never sent to another."""
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def prepare_file(path: Path) -> Path:
    """A file that this user alone may read; SQLite gives its journal the same mode.

    A file that is there is not opened: closing it would end all locks that SQLite has on it in this process.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        check_private(path.resolve().parent)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        except FileExistsError:
            path.chmod(0o600)
    except OSError as why:
        raise StorageFailed(f"{path}: {why}") from None
    return path


def check_private(folder: Path) -> None:
    """Raise unless this user alone may look into a folder: sizes and times of its files say that somebody reported."""
    if sys.platform != "win32":  # there the folder of a user is the user's alone
        found = folder.stat()
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            owner = f"mode {found.st_mode & 0o777:03o} of the user with number {found.st_uid}"
            raise StorageFailed(f"{folder} has {owner}: it must have mode 700, of the user who runs this")


class PrivateFile:
    """A database in a file that this user alone may read, and whose deleted rows are overwritten."""

    def __init__(self, path: Path, settings: str, tables: str) -> None:
        self._lock, self.path = threading.Lock(), prepare_file(path)
        self._settings, self._connection = settings, self._connected(settings + tables)
        _files.add(self)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All that is done in it is on disk when it ends, or nothing is."""
        with self._used() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds."""
        with self._used() as connection:
            return connection.execute(query, values).fetchall()

    def close(self) -> None:
        """Give the file back."""
        _files.discard(self)
        with self._lock:
            self._connection.close()

    def before_fork(self) -> None:
        """Close the file when no transaction is under way: a copy of the process would undo half of one."""
        self._lock.acquire()
        self._connection.close()

    def after_fork(self) -> None:
        """Go on, in the process that was there before."""
        try:
            self._connection = self._connected(self._settings)
        finally:  # a file that cannot be opened any more is said to be closed when it is used
            self._lock.release()

    def _connected(self, script: str) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.path, LOCK_PATIENCE, isolation_level=None, check_same_thread=False)
            connection.executescript("PRAGMA secure_delete = ON;" + script)
        except sqlite3.Error as why:
            raise StorageFailed(f"{self.path}: {why}") from None
        return connection

    @contextmanager
    def _used(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                yield self._connection
            except sqlite3.Error as why:  # its text has names of columns, and no values
                raise StorageFailed(f"{self.path}: {why}") from None


class Turn:
    """The right to send, which one process has at a time: the lock of a file, which ends with the process."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(prepare_file(path), os.O_RDWR)
        _turns.add(self)

    def take(self) -> bool:
        """Whether it is this process's turn now; if so, until `give`."""
        try:
            if sys.platform == "win32":
                msvcrt.locking(self._file, msvcrt.LK_NBLCK, 1)
            else:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def give(self) -> None:
        """Let others send."""
        if sys.platform == "win32":
            msvcrt.locking(self._file, msvcrt.LK_UNLCK, 1)
        else:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Give the file back."""
        _turns.discard(self)
        os.close(self._file)


_files: WeakSet[PrivateFile] = WeakSet()
_turns: WeakSet[Turn] = WeakSet()
_waiting: list[PrivateFile] = []  # while the process is forked


def _before_fork() -> None:
    _waiting.extend(_files)
    for file in _waiting:
        file.before_fork()


def _after_fork() -> None:
    while _waiting:
        _waiting.pop().after_fork()


def _in_child() -> None:
    """The copy has none of the files, and must not keep the lock of the other process."""
    for turn in list(_turns):
        turn.close()
    _files.clear()
    _waiting.clear()


if sys.platform != "win32":
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)

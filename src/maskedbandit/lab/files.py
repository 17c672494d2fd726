"""Files of results: each is whole or not there, and processes that share a folder take turns."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

PAUSE = 0.2  # seconds until a process that waits for others looks again


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which gets its name once it is on disk; until then it is a draft that no other process writes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "result") as file:
    ...         _ = file.write(b"all of it")
    ...     [each.name for each in Path(folder).iterdir()]
    ['result']
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.draft")
    try:
        with draft.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException as wrong:
        with suppress(OSError):
            draft.unlink()
        if isinstance(wrong, OSError) and not wrong.filename:  # a write says nothing of its file
            wrong.filename = str(path)
        raise


class Locks:
    """Locks between processes, any number in one file. The system frees those of a process that ends, however it ends.

    They do not hold between threads of one process; on a system without `fcntl` (Windows) they do not hold at all, and
    a folder of results is for one process at a time.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder, Locks(Path(folder) / "lock") as locks, locks.held("part 1") as mine:
    ...     mine
    True
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, wrong: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    @contextmanager
    def held(self, name: str) -> Iterator[bool]:
        """Whether this process got the lock of this name, which it then has until the end of the block."""
        try:
            import fcntl
        except ImportError:
            yield True
            return
        # a lock is that of one byte, which need not be there; names meet with a chance of 2^-62
        byte = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") >> 2
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
        except (BlockingIOError, PermissionError):  # systems differ in how they say that another process has it
            yield False
            return
        try:
            yield True
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)

    def in_turn(self, tasks: Mapping[str, Callable[[], object]], waits: Callable[[str], object]) -> None:
        """Do every task under the lock of its name: first those that no other process has, the rest as they get free.

        `waits` is called once, with the name of a task, if there is nothing else to do.
        """
        left, quiet = dict(tasks), True
        while left:
            busy = {}
            for name, task in left.items():
                with self.held(name) as mine:
                    if mine:
                        task()
                    else:
                        busy[name] = task
            if len(busy) == len(left):
                if quiet:
                    waits(next(iter(busy)))
                quiet = False
                time.sleep(PAUSE)
            left = busy

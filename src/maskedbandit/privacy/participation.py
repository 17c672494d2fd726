"""Who took part in which cohort: kept by the server of everybody, and by each device of itself.

A user takes part in one cohort, or a release would cost the user more than was promised. An aborted cohort may be tried
again, with fresh noise and at its full price each time, up to `attempts` times in all. What is written down stays: a
device that loses power between writing and sending has taken part.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock

from maskedbandit.errors import AlreadySpent, InvalidValue


class Participation:
    """The cohort of every user and the attempt it was seen in; in memory, or in a file that outlives the process.

    **Guarantee**: `join` returns only after it is on disk, and never for a second cohort of a user, nor twice for one
    attempt, from however many threads it is called.

    >>> book = Participation()
    >>> book.join(7, b"monday")
    >>> book.join(7, b"tuesday")
    Traceback (most recent call last):
    maskedbandit.errors.AlreadySpent: user 7 took part in another cohort
    """

    def __init__(self, path: Path | None = None, attempts: int = 1) -> None:
        if type(attempts) is not int or attempts < 1:
            raise InvalidValue("attempts", attempts, "a whole number of at least 1")
        self.attempts = attempts
        self._path, self._seen, self._lock, self._size = path, dict[int, tuple[bytes, int]](), Lock(), 0
        if path is not None:
            self._read(path)

    def _read(self, path: Path) -> None:
        if not path.exists():
            path.touch()
            if os.name == "posix":  # elsewhere a folder cannot be opened, and needs no such care
                folder = os.open(path.parent, os.O_RDONLY)
                os.fsync(folder)  # or the file may be gone after a loss of power
                os.close(folder)
        content = path.read_bytes()
        self._size = len(content)
        for number, line in enumerate(content.decode(errors="replace").splitlines(keepends=True), 1):
            try:
                user, cohort, attempt = line.split(" ")
                if not attempt.endswith("\n"):  # 1 may be the beginning of 12
                    raise ValueError
                entry = bytes.fromhex(cohort), int(attempt)
                before = self._seen.get(int(user))
                if before is not None and (before[0] != entry[0] or before[1] >= entry[1]):
                    raise ValueError  # it goes back
                self._seen[int(user)] = entry
            except ValueError:
                allowed = "user, cohort and attempt: a whole line, and later than those above"
                raise InvalidValue(f"line {number} of {path}", line, allowed) from None

    def join(self, user: int, cohort: bytes, attempt: int = 1) -> None:
        """Write down that the user takes part, or raise `AlreadySpent`."""
        if type(user) is not int or type(attempt) is not int:
            raise InvalidValue("user and attempt", (user, attempt), "whole numbers")
        with self._lock:
            seen, last = self._seen.get(user, (cohort, 0))
            if seen != cohort:
                raise AlreadySpent(f"user {user} took part in another cohort")
            if not last < attempt <= self.attempts:
                raise AlreadySpent(f"user {user} took part in attempt {last} of {self.attempts} of this cohort")
            self._seen[user] = cohort, attempt  # first: a user whose line cannot be written is spent too
            if self._path is not None:
                self._append(self._path, f"{user} {cohort.hex()} {attempt}\n".encode())

    def _append(self, path: Path, line: bytes) -> None:
        """Append a line and wait for the disk; refuse if half a line is left, or another process has written."""
        with path.open("ab") as file:
            if file.tell() != self._size:
                raise InvalidValue(f"{path}, in bytes,", file.tell(), f"{self._size}, as this process left it")
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._size += len(line)

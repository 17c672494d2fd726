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
        self._path, self._seen, self._lock = path, dict[int, tuple[bytes, int]](), Lock()
        if path is not None and path.exists():
            for number, line in enumerate(path.read_text().splitlines(keepends=True), 1):
                try:
                    user, cohort, attempt = line.split(" ")
                    self._seen[int(user)] = bytes.fromhex(cohort), int(attempt)
                except ValueError:
                    raise InvalidValue(f"line {number} of {path}", line, "user, cohort and attempt") from None

    def join(self, user: int, cohort: bytes, attempt: int = 1) -> None:
        """Write down that the user takes part, or raise `AlreadySpent`."""
        with self._lock:
            seen, last = self._seen.get(user, (cohort, 0))
            if seen != cohort:
                raise AlreadySpent(f"user {user} took part in another cohort")
            if not last < attempt <= self.attempts:
                raise AlreadySpent(f"user {user} took part in attempt {last} of {self.attempts} of this cohort")
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(f"{user} {cohort.hex()} {attempt}\n")
                    file.flush()
                    os.fsync(file.fileno())
            self._seen[user] = cohort, attempt

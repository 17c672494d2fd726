"""Who took part in which cohort: the server records everybody, and each device records itself.

A user takes part in one cohort, as otherwise releases would cost the user more than was promised. An aborted cohort may
be tried again, with fresh noise and at its full loss each time, up to `attempts` times in all. A record is never taken
back: a device that loses power between writing and sending has taken part.
"""

import re
from pathlib import Path
from threading import Lock

from maskedbandit.errors import AlreadySpent, InvalidValue, PersonalValue
from maskedbandit.privacy.journal import Journal
from maskedbandit.privacy.user import User, checked_user

_LINE = re.compile(rb"([!-~]{1,128}) ((?:[0-9a-f]{2})*) ([1-9][0-9]{0,8})")


class Participation:
    """A record of the cohort and the last attempt of every user; in memory, or in a file that outlives the process.

    A file is locked until the record is closed or forgotten, so that no other record, here or in another process, can
    use it at the same time. A last line without its end belongs to a `join` that never returned, and is dropped.

    **Guarantee**: `join` never returns for a second cohort of a user, nor twice for one attempt, from however many
    threads it is called. With a file, it returns only after it is on disk, and this is so for all processes together.

    >>> record = Participation()
    >>> record.join("ann", b"monday")
    >>> record.join("ann", b"tuesday")
    Traceback (most recent call last):
    maskedbandit.errors.AlreadySpent: this user took part in another cohort
    """

    def __init__(self, path: Path | None = None, attempts: int = 1) -> None:
        if type(attempts) is not int or not 1 <= attempts < 10**9:
            raise InvalidValue("attempts", attempts, "a whole number from 1 to 999999999")
        self.attempts = attempts
        self._seen: dict[User, tuple[bytes, int]] = {}
        self._lock = Lock()
        self._journal = None if path is None else Journal(Path(path))
        for number, line in enumerate(self._journal.lines if self._journal else (), 1):
            if not self._read(line):
                self.close()
                allowed = "a user, a cohort and an attempt later than those of the same user above"
                raise PersonalValue(f"line {number} of {path}", allowed)
        if self._journal:
            self._journal.lines.clear()

    def _read(self, line: bytes) -> bool:
        """Take in a line of the file; False if `join` cannot have written it after the lines before."""
        match = _LINE.fullmatch(line)
        if match is None:
            return False
        user, cohort, attempt = match[1].decode(), bytes.fromhex(match[2].decode()), int(match[3])
        seen, last = self._seen.get(user, (cohort, 0))
        self._seen[user] = cohort, attempt
        return seen == cohort and last < attempt

    def join(self, user: User, cohort: bytes, attempt: int = 1) -> None:
        """Record that the user takes part, or raise `AlreadySpent`."""
        checked_user(user)
        if type(cohort) is not bytes:
            raise InvalidValue("cohort", type(cohort).__name__, "bytes")
        if type(attempt) is not int or attempt < 1:
            raise InvalidValue("attempt", attempt, "a whole number of at least 1")
        with self._lock:
            seen, last = self._seen.get(user, (cohort, 0))
            if seen != cohort:
                raise AlreadySpent("this user took part in another cohort")
            if last >= attempt:
                raise AlreadySpent(
                    f"this user took part in attempt {last} of this cohort, and asks for attempt {attempt}"
                )
            if attempt > self.attempts:
                raise AlreadySpent(
                    f"a cohort has at most {self.attempts} attempts, and this would be attempt {attempt}"
                )
            self._seen[user] = cohort, attempt  # first: a user whose line cannot be written is spent too
            if self._journal:
                self._journal.append(f"{user} {cohort.hex()} {attempt}".encode())

    def close(self) -> None:
        """Unlock the file; after that `join` raises, if this record is in a file."""
        with self._lock:
            if self._journal:
                self._journal.close()

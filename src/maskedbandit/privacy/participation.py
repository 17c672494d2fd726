"""Records of which user took part in which cohort: the server records everybody, and each device records itself.

A user takes part in one cohort, as otherwise releases would cost the user more than was promised. An aborted cohort may
be tried again, with fresh noise and at its full loss each time, up to `attempts` times in all. A record is never taken
back: a device that loses power between writing and sending has taken part.
"""

import os
import re
import weakref
from pathlib import Path
from threading import Lock

from maskedbandit.checks import User, check_user
from maskedbandit.errors import AlreadySpent, InvalidValue, PersonalValue
from maskedbandit.privacy.process import identify_process

_LINE = re.compile(rb"([!-~]{1,128}) ((?:[0-9a-f]{2})*) ([1-9][0-9]{0,8})")


class Journal:
    """A file that is locked until `close`, or until nothing refers to the journal any more.

    The lock is that of the file, not of its name, so no other path leads around it. A last line without its end is
    dropped when the file is opened: it is the beginning of an `append` that never returned.

    **Guarantee**: `append` returns only after the line is on disk, and no other journal of the file is open meanwhile.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder) / "journal")
    ...     journal.append(b"one")
    ...     journal.close()
    ...     print(Journal(Path(folder) / "journal").lines)
    [b'one']
    """

    def __init__(self, path: Path) -> None:
        try:
            import fcntl
        except ImportError:
            raise InvalidValue("path", str(path), "left out: this operating system cannot lock files") from None
        self._path = path.resolve()  # the folder that a relative path starts from may change
        self._process = identify_process()
        file = self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self.close = weakref.finalize(self, _release, file, self._process)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                allowed = "a file that nothing else has open: it is open in another process, or elsewhere in this one"
                raise InvalidValue("path", str(path), allowed) from None
            folder = os.open(self._path.parent, os.O_RDONLY)
            os.fsync(folder)  # else a new file may be gone after a loss of power
            os.close(folder)
            with open(file, "rb", closefd=False) as whole:
                content = whole.read()
            self._size = content.rfind(b"\n") + 1
            if self._size < len(content):
                os.ftruncate(file, self._size)
                os.fsync(file)
            self.lines = content[: self._size].split(b"\n")[:-1]  # those that were there when it was opened
        except BaseException:
            self.close()
            raise

    def append(self, line: bytes) -> None:
        """Add a line and wait for the disk; refuse if the file is not as this journal left it."""
        if not self.close.alive:
            raise InvalidValue("path", str(self._path), "open: this journal was closed")
        if identify_process() != self._process:  # the lock is shared with a forked child, what is in memory is not
            raise InvalidValue("path", str(self._path), "used by the process that opened it alone, not by a fork of it")
        if not self._untouched():
            allowed = "unchanged since it was opened here: it was changed or replaced, or a write failed. Open it again"
            raise InvalidValue("path", str(self._path), allowed)
        rest = line + b"\n"
        while rest:
            rest = rest[os.write(self._file, rest) :]
        os.fsync(self._file)
        self._size += len(line) + 1

    def _untouched(self) -> bool:
        held = os.fstat(self._file)
        try:
            named = os.stat(self._path)
        except FileNotFoundError:
            return False
        return held.st_size == self._size and (held.st_dev, held.st_ino) == (named.st_dev, named.st_ino)


def _release(file: int, owner: tuple[int, int]) -> None:
    """Close the file; its lock is given up by the process that opened it, or a forked child would hold it as well."""
    import fcntl

    if identify_process() == owner:
        fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


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
        check_user(user)
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

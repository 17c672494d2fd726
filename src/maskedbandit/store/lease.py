"""Who holds a study: a process writes its name and the end of its lease into the study's row, and raises the fence.

The fence is what protects: every transaction asks for the number that its process was given, so whoever was replaced
writes nothing more. The lease keeps two processes from replacing each other in turn.
"""

import os
import secrets
import socket
import time
from contextlib import suppress
from typing import NamedTuple

from maskedbandit.errors import FencedOff, StoreError, UnknownStudy
from maskedbandit.store.databases.database import Again, Database
from maskedbandit.store.study_rows import StudyRow, read_study

LEASE_LENGTH = 15_000  # milliseconds


def name_holder() -> str:
    """The name of a new holder in this process."""
    return f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(4)}"


def may_be_alive(holder: str) -> bool:
    """Whether the process of a holder may still run; False only if it was on this machine and is gone.

    >>> may_be_alive(name_holder()), may_be_alive(f"{socket.gethostname()} 4194305 x"), may_be_alive("elsewhere 1 x")
    (True, False, True)
    """
    host, _, rest = holder.partition(" ")
    if host != socket.gethostname():
        return bool(holder)
    try:
        os.kill(int(rest.partition(" ")[0]), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError):
        pass
    return True


def read_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def end_lease() -> int:
    """Until when a lease holds that is given now."""
    return read_clock() + LEASE_LENGTH


class Holder(NamedTuple):
    """Who holds a study."""

    fence: int
    holder: str
    lease: int  # until when nobody else may take it over


def read_holder(database: Database, study: str) -> Holder:
    """Who holds a study, or raise `UnknownStudy`."""
    row = database.one("SELECT fence, holder, lease FROM study WHERE study = ?", study)
    if row is None:
        raise UnknownStudy(f"there is no study {study!r}")
    return Holder(*row)


class Lease:
    """That of a study for one holder; all but `give_back` is within a transaction."""

    def __init__(self, database: Database, study: str, holder: str) -> None:
        self._database, self._study, self._holder = database, study, holder

    def take(self) -> StudyRow:
        """Take the study over: as it is now, or raise `FencedOff` if somebody holds it who may be alive."""
        before, now = read_holder(self._database, self._study), read_clock()
        if before.holder != self._holder and before.lease > now and may_be_alive(before.holder):
            raise FencedOff(
                f"another process holds {self._study} ({before.holder}): stop it, or wait until its lease ends "
                f"in {(before.lease - now) / 1000:.0f} seconds"
            )
        take = "UPDATE study SET fence = fence + 1, holder = ?, lease = ? WHERE study = ? AND fence = ?"
        if not self._database.change(take, self._holder, now + LEASE_LENGTH, self._study, before.fence):
            raise Again("another process has just taken it")
        self._fence = before.fence + 1
        return read_study(self._database, self._study)

    def check(self) -> None:
        """Raise `FencedOff`, and write nothing, if another process has taken the study over; none does meanwhile."""
        lock = "UPDATE study SET fence = fence WHERE study = ? AND fence = ?"
        if not self._database.change(lock, self._study, self._fence):
            raise FencedOff(f"another process has taken {self._study} over: nothing was done")

    def give_back(self) -> None:
        """Let others take the study; if that fails the lease ends by itself."""
        with suppress(StoreError, Again), self._database.transaction():
            self._database.change("UPDATE study SET lease = 0 WHERE study = ? AND fence = ?", self._study, self._fence)

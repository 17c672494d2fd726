"""Who holds a study: a process writes its name and the end of its lease into the study's row, and raises the fence.

The fence is what protects: every transaction asks for the number that its process was given, so whoever was replaced
writes nothing more. The lease keeps two processes from replacing each other in turn.
"""

import os
import secrets
import socket
import time

from maskedbandit.errors import UnknownStudy
from maskedbandit.store.databases.database import Database

LENGTH = 15_000  # milliseconds


def own_name() -> str:
    """The name of a new holder in this process."""
    return f"{socket.gethostname()} {os.getpid()} {secrets.token_hex(4)}"


def may_be_alive(holder: str) -> bool:
    """Whether the process of a holder may still run; False only if it was on this machine and is gone.

    >>> may_be_alive(own_name()), may_be_alive(f"{socket.gethostname()} 4194305 x"), may_be_alive("elsewhere 1 x")
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


def wall_clock() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def lease_of(database: Database, name: str) -> tuple[str, int]:
    """Who holds a study, and until when nobody else may take it over."""
    row = database.one("SELECT holder, lease FROM study WHERE study = ?", name)
    if row is None:
        raise UnknownStudy(f"there is no study {name!r}")
    return str(row[0]), int(row[1])


def holder_of(database: Database, name: str) -> str:
    """Who holds a study."""
    return lease_of(database, name)[0]

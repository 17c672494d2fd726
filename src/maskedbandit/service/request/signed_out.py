"""Sessions of the page that were ended before their time: whoever signs out is out, whoever has the cookie."""

from hashlib import sha256

from maskedbandit.service.keys import write
from maskedbandit.store.databases.database import Database


def end(database: Database, session: str, ends: int, now: int) -> None:
    """Write down that a session is over, and forget those that would be over anyway."""
    write(database, "DELETE FROM signed_out WHERE ends <= ?", now)
    write(
        database, "INSERT INTO signed_out (session, ends) VALUES (?, ?) ON CONFLICT DO NOTHING", hashed(session), ends
    )


def hashed(session: str) -> str:
    """What is stored of a session, which nobody can go on with."""
    return sha256(session.encode()).hexdigest()


class SignedOut:
    """Those of a database in memory: read again every second, so what another process ended ends here too.

    >>> from maskedbandit.store.databases.connection import connect
    >>> database, over = connect("sqlite:///:memory:"), SignedOut()
    >>> end(database, "ann's", ends=2000, now=1000)
    >>> over.read(database)
    >>> "ann's" in over, "bob's" in over
    (True, False)
    """

    def __init__(self) -> None:
        self._known = set[str]()

    def read(self, database: Database) -> None:
        """Read all of them; none is ever taken back."""
        self._known.update(str(session) for (session,) in database.rows("SELECT session FROM signed_out"))

    def __contains__(self, session: str) -> bool:
        return hashed(session) in self._known

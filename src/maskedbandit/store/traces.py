"""What erased data leaves in the files of a database, until they are scrubbed.

An erasure raises the number `traces` of its study, in its own transaction. Scrubbing writes all that is stored anew,
and then sets those numbers back that were not raised meanwhile; so whatever fails or ends is gone on with later.
"""

from functools import partial

from maskedbandit.store.databases.database import Database, do_again


def has_traces(database: Database) -> bool:
    """Whether erased data may still be in the files."""
    return bool(database.rows("SELECT study FROM study WHERE traces > 0 LIMIT 1"))


class Scrubber:
    """Scrubs the files of one database. It takes as long as writing all of it; studies in a SQLite file wait for it."""

    def __init__(self) -> None:
        self._rewritten: dict[str, int] = {}  # the numbers of studies when all was written anew

    def scrub(self, database: Database) -> bool:
        """Scrub, and return whether nothing is left. Whoever reads an older state may be in the way: then try again."""
        traces: dict[str, int] = dict(database.rows("SELECT study, traces FROM study WHERE traces > 0"))
        if traces and traces != self._rewritten:
            database.rewrite()
            self._rewritten = traces
        if traces and not database.empty_log():
            return False
        if traces:
            do_again(partial(clear_traces, database, traces))
        return True


def clear_traces(database: Database, traces: dict[str, int]) -> None:
    """Note that nothing is left of what was erased before these numbers were read."""
    with database.transaction():
        database.each("UPDATE study SET traces = 0 WHERE study = ? AND traces = ?", list(traces.items()))

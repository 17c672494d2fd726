"""A connection to PostgreSQL that gives up a server which says nothing for long.

A server that was cut off says neither that it did what it was told, nor that it did not. What is between may take every
byte all the while, so that to the network nothing is wrong: therefore the time is measured here, from the last byte
that came. A long answer that comes is not cut off.
"""

from time import monotonic
from typing import Any

from psycopg import Connection, OperationalError
from psycopg.abc import RV, PQGen
from psycopg.rows import TupleRow


class PatientConnection(Connection[TupleRow]):
    """A connection that is closed, with an error, when the server was silent for `patience` seconds."""

    patience: float

    def wait(self, gen: PQGen[RV], *given: Any, **more: Any) -> RV:
        """Do what the server is to do, however it is sent: as a statement, many at once, or a copy of rows."""
        return super().wait(self._while_it_speaks(gen), *given, **more)

    def _while_it_speaks(self, gen: PQGen[RV]) -> PQGen[RV]:
        end = monotonic() + self.patience
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    end = monotonic() + self.patience
                elif monotonic() > end:
                    self.pgconn.finish()  # nobody knows what it is about to say
                    raise OperationalError(f"the server said nothing for {self.patience:g} seconds")
                wanted = gen.send(ready)
        except StopIteration as done:
            found: RV = done.value
            return found

"""Logs as lines of JSON on standard error. They say what the server does, never what a person did: no line is written
for a request that was answered, and errors of requests are named without what was sent."""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime

FIELDS = ("study", "why", "route", "code")


class Lines(logging.Formatter):
    """A record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. Of an exception there are the class and the places in the code, as its text may be personal."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        said = {"time": time, "level": record.levelname.lower(), "logger": record.name, "what": record.getMessage()}
        said |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            said["error"] = record.exc_info[0].__name__
            places = traceback.extract_tb(record.exc_info[2])
            said["places"] = "; ".join(f"{place.filename}:{place.lineno} {place.name}" for place in places)
        return json.dumps(said)


def to_standard_error() -> None:
    """Write the logs of this process."""
    handler = logging.StreamHandler()
    handler.setFormatter(Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("maskedbandit").setLevel(logging.INFO)

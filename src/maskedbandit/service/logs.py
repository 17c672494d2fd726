"""Logs as lines of JSON on standard error. They say what the server does, never what a person did: no line is written
for a request that was answered, and errors of requests are named without what was sent."""

import json
import logging
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

LOG_FIELDS = ("study", "why", "route", "code")
QUIET_SECONDS = 60  # seconds in which the same line is written once
MOST_LINE_KINDS = 1000  # of lines, which are told apart


class JsonLines(logging.Formatter):
    """A record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. Of an exception there are the class and the places in the code, as its text may be personal."""
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        said = {"time": time, "level": record.levelname.lower(), "logger": record.name, "what": record.getMessage()}
        said |= {name: getattr(record, name) for name in (*LOG_FIELDS, "left_out") if hasattr(record, name)}
        if record.exc_info and record.exc_info[0] is not None:
            said["error"] = record.exc_info[0].__name__
            places = traceback.extract_tb(record.exc_info[2])
            said["places"] = "; ".join(f"{place.filename}:{place.lineno} {place.name}" for place in places)
        return json.dumps(said)


def is_of_reports(route: str) -> bool:
    """Whether what comes there, or how long it takes, may depend on outcomes, or on how many there are.

    Nothing is counted of it, and no failure of the store is logged.

    >>> [is_of_reports(f"/v1/studies/small/{verb}") for verb in ("report/batch", "upload", "leave", "total", "assign")]
    [True, True, True, True, False]
    """
    return any(word in route for word in ("report", "upload", "leave", "total", "bundle", "mix", "withdraw"))


class Once(logging.Filter):
    """Lets the first of all lines that say the same through, and the next one after a minute.

    Of failures of a route that one says how many were left out. Of reports it does not, as their number depends on
    outcomes; nor of what names no route, as that may be a report too.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said: dict[tuple[object, ...], tuple[float, int]] = {}  # when it was written, and how many came since

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write a record: it is the same as another of its logger with its text, fields and error."""
        error = record.exc_info[0] if record.exc_info else None
        fields = (getattr(record, name, None) for name in LOG_FIELDS)
        what: tuple[object, ...] = record.name, record.getMessage(), error, *fields
        if what not in self._said and len(self._said) >= MOST_LINE_KINDS:
            what = ("others",)
        now, (since, many) = self._clock(), self._said.get(what, (-QUIET_SECONDS, 0))
        if now < since + QUIET_SECONDS:
            self._said[what] = since, many + 1
            return False
        self._said[what] = now, 0
        route = getattr(record, "route", None)
        if many and route is not None and not is_of_reports(route) and len(what) > 1:  # the others may be reports
            record.left_out = many
        return True


def log_to_standard_error() -> None:
    """Write the logs of this process."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    handler.addFilter(Once())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("maskedbandit").setLevel(logging.INFO)

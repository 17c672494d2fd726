"""How much may be asked: bytes of a body, requests in a time, and streams at a time."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from maskedbandit.errors import TooMany

BODY, BATCH = 64 * 1024, 1024 * 1024  # bytes
KNOWN_CALLERS = 10_000  # callers of whom is remembered how much they asked


class Buckets:
    """A token bucket for each caller: so many requests a second, and so many at once.

    >>> buckets = Buckets(rate=1, burst=2, clock=lambda: 0.0)
    >>> buckets.take("ann"), buckets.take("ann")
    (None, None)
    >>> buckets.take("ann")
    Traceback (most recent call last):
    maskedbandit.errors.TooMany: more than 1 requests a second: try again later
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.burst, self._clock = rate, burst, clock
        self._left: dict[str, tuple[float, float]] = {}  # requests that are left, and when that was so

    def take(self, who: str, many: int = 1) -> None:
        """Count so many requests, or raise `TooMany`."""
        now = self._clock()
        known = self._left.get(who)
        left = self.burst if known is None else self._filled(known, now)
        if left < 1 or (known is None and len(self._left) >= KNOWN_CALLERS and not self._forgot(now)):
            raise TooMany(f"more than {self.rate:g} requests a second: try again later")
        self._left[who] = left - many, now

    def _filled(self, known: tuple[float, float], now: float) -> float:
        left, at = known
        return min(left + (now - at) * self.rate, self.burst)

    def _forgot(self, now: float) -> bool:
        """Forget the half of the callers who have most left, but none who is refused, and return whether anybody was.

        It helps nobody to have many names: callers who asked little are forgotten first. If all who are remembered are
        refused, a new caller is refused too.
        """
        left = {each: self._filled(known, now) for each, known in self._left.items()}
        for each in sorted(left, key=left.__getitem__, reverse=True)[: (len(left) + 1) // 2]:
            if left[each] >= 1:
                del self._left[each]
        return len(self._left) < len(left)


class OpenStreams:
    """Streams that are open: at most so many, and so many of each caller.

    >>> streams = OpenStreams(2, 1)
    >>> with streams.place("ann"):
    ...     streams.check("bob")
    ...     streams.check("ann")
    Traceback (most recent call last):
    maskedbandit.errors.TooMany: too many streams of events are open: ask for the ledger, or try again later
    """

    def __init__(self, most: int, each: int) -> None:
        self.most, self.each = most, each
        self._open = Counter[str]()

    def check(self, who: str) -> None:
        """Raise `TooMany` if there is no place for one more of this caller."""
        if self._open.total() >= self.most or self._open[who] >= self.each:
            raise TooMany("too many streams of events are open: ask for the ledger, or try again later")

    @contextmanager
    def place(self, who: str) -> Iterator[None]:
        """Hold a place until the end of a block, while a stream is open."""
        self.check(who)
        self._open[who] += 1
        try:
            yield
        finally:
            self._open[who] -= 1
            self._open += Counter()  # only those who have any

    @property
    def open(self) -> int:
        """How many there are."""
        return self._open.total()

"""How much may be asked: bytes of a body, and requests in a time."""

from __future__ import annotations

import time
from collections.abc import Callable

from maskedbandit.errors import TooMany

BODY, BATCH = 64 * 1024, 1024 * 1024  # bytes
KNOWN = (
    10_000  # callers of whom is remembered how much they asked; of those alone who asked just now, if there are more
)


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
        left = self.burst if known is None else min(known[0] + (now - known[1]) * self.rate, self.burst)
        if left < 1:
            raise TooMany(f"more than {self.rate:g} requests a second: try again later")
        if known is None and len(self._left) >= KNOWN:
            for each, (its, at) in list(self._left.items()):
                if its + (now - at) * self.rate >= self.burst:
                    del self._left[each]  # whoever comes anew has a full bucket too
            if len(self._left) >= KNOWN:
                self._left.clear()
        self._left[who] = left - many, now

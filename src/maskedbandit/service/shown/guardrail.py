"""What was released of the guardrail of each arm, with intervals that are valid at all times together."""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from maskedbandit.core import Release
from maskedbandit.law import Law
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.sequences import mean_interval


class Guarded(Struct, frozen=True):
    """The mean of the second outcome of an arm, in its units; it is between the ends in 95 of 100 studies, always."""

    n: int
    mean: float
    low: float
    high: float


def guarded(protocol: Protocol, ledger: Iterable[Any]) -> tuple[Guarded | None, ...]:
    """What these lines of a ledger say of each arm; None of one without a release."""
    if protocol.guardrail is None:
        return (None,) * protocol.k
    released: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for line in ledger:
        if line.kind == "released" and line.guardrail is not None:
            released[line.arm].append((line.n, line.guardrail))
    law = protocol.guardrail_channel.law()
    return tuple(
        of_arm(protocol.guardrail, law, tuple(released[arm])) if released[arm] else None for arm in range(protocol.k)
    )


@lru_cache(maxsize=4096)
def of_arm(guardrail: Guardrail, law: Law, released: tuple[tuple[int, float], ...]) -> Guarded:
    """What these sums say of one arm."""
    n, units = sum(size for size, _ in released), guardrail.outcome.in_units
    low, high = mean_interval(law, [Release(0, *each) for each in released])
    return Guarded(n, units(sum(total for _, total in released) / n), units(low), units(high))

"""What was released of the guardrail of each arm, with intervals that are valid at all times together."""

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from maskedbandit import core
from maskedbandit.law import Law
from maskedbandit.service.views.answers import GuardrailResult
from maskedbandit.store.book.entries import Release
from maskedbandit.study.guardrail import Guardrail
from maskedbandit.study.protocol import Protocol
from maskedbandit.theory.sequences import mean_interval


def estimate_guardrail(protocol: Protocol, releases: Iterable[Release]) -> tuple[GuardrailResult | None, ...]:
    """What these releases say of each arm; None of one without a release."""
    if protocol.guardrail is None:
        return (None,) * protocol.k
    released: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for each in releases:
        if each.guardrail is not None:
            released[each.arm].append((each.n, each.guardrail))
    law = protocol.guardrail_channel.law()
    return tuple(
        estimate_guarded_arm(protocol.guardrail, law, tuple(released[arm])) if released[arm] else None
        for arm in range(protocol.k)
    )


@lru_cache(maxsize=4096)
def estimate_guarded_arm(guardrail: Guardrail, law: Law, released: tuple[tuple[int, float], ...]) -> GuardrailResult:
    """What these sums say of one arm."""
    n, units = sum(size for size, _ in released), guardrail.outcome.in_units
    low, high = mean_interval(law, [core.Release(0, *each) for each in released])
    return GuardrailResult(n, units(sum(total for _, total in released) / n), units(low), units(high))

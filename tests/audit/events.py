"""What is seen of whole runs and of running sums, and what epsilon it shows."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from maskedbandit.channels.tree import Tree
from maskedbandit.reports.audit.bounds import at_least, largest_ratio
from maskedbandit.reports.audit.trees import Adversary, seen_twice


def beginnings(runs: Sequence[tuple[int, ...]]) -> Counter[Hashable]:
    """How often each beginning of a sequence of arms occurred: the events of an audit."""
    found: Counter[Hashable] = Counter({None: len(runs)})
    for served in runs:
        found.update(served[:t] for t in range(1, len(served) + 1))
    return found


def seen_epsilon(
    a: Counter[Hashable], b: Counter[Hashable], events: int, delta: float = 0.0, error: float = 1e-9
) -> float:
    """At least this epsilon separates the distributions that two samples of events come from, or a chance of `error`
    happened.

    Clopper-Pearson bounds, for each of `events` events that were fixed before the samples were seen, both ways. A
    sample counts every event that happened in each of its runs, under None the runs themselves.
    """
    best = 0.0
    for p, q in ((a, b), (b, a)):
        for event in p:
            if event is not None:
                counts = np.array([p[event]]), p[None], np.array([q[event]]), q[None]
                best = max(best, float(at_least(*counts, delta, error / (2 * events))[0]))
    return best


def worst_ratio(channel: Tree, adversary: Adversary, length: int, far: int, core: float = 0.0, **how: Any) -> float:
    """max |ln P(view) / P'(view)|."""
    p, q = seen_twice(channel, adversary, length, far, core, **how)
    assert p.size > 10
    return largest_ratio(p, q)

"""Counters: the running sum of a stream's cohorts, put together from few nodes of a tree, each with noise of its own,
or by a factorization.

`compute_change` is the next release of a stream. It works in whole steps: a node's noise is an integer, added to its
sum before anything else is computed, so that all floats below are made of noisy sums alone. `count_new_nodes` and
`node_width` say how many noises to put into `fresh` before, and how wide; the caller draws them, exactly or fast.
"""

from typing import NamedTuple

import numpy as np

from maskedbandit.core import kernel
from maskedbandit.law import HONAKER, HYBRID, KARY, ROOT, Law, hybrid_epoch, widest_scale
from maskedbandit.toeplitz import WHOLE_WEIGHT


class CounterStreams(NamedTuple):
    """The state of k streams; sums and noises are in steps."""

    released: np.ndarray  # [k] releases so far
    sums: np.ndarray  # [k, levels] plain sum of the finished node of each level; 0 where there is none
    estimates: np.ndarray  # [k, levels] the estimate of that sum, from noisy sums alone
    noise: np.ndarray  # [k, levels, (arity - 1) / 2] noise of the nodes that a k-ary estimate adds or subtracts
    fresh: np.ndarray  # noises drawn for the release under way, of no use after it
    weights: np.ndarray  # of a factorization, whose `sums` and `estimates` have a column for each release


@kernel
def leaf_of(law: Law, m: int) -> int:
    """The leaf of the m-th release in its tree; 0: a hybrid counter closes all that came before."""
    return m - 2 ** hybrid_epoch(m) if law.counter == HYBRID else m


@kernel
def count_new_nodes(law: Law, m: int) -> int:
    """Number of nodes that the m-th release is the first to need."""
    if law.counter == HONAKER:  # all that it completes
        count = 1
        while m % 2 == 0:
            count, m = count + 1, m // 2
        return count
    if law.counter == KARY:
        count, half = 0, law.arity // 2
        while (m + half) % law.arity == 0:  # the digit has become -half: a new node, except for its last children
            count, m = count + half, (m + half) // law.arity
        return count + ((m + half) % law.arity > half)
    return 1


@kernel
def node_width(law: Law, m: int) -> float:
    """Scale of the nodes that the m-th release is the first to need."""
    if law.counter >= ROOT:
        return law.scale * WHOLE_WEIGHT
    return law.scale if leaf_of(law, m) == 0 else widest_scale(law, m)


@kernel
def subtracting(s: CounterStreams, law: Law, stream: int, total: int) -> float:
    """The next release of a k-ary counter: of each level it keeps the noise of the |d| nodes in use."""
    half, m, level, release = law.arity // 2, s.released[stream], 0, total
    while (m + half) % law.arity == 0:  # from half nodes that are added to half nodes that are subtracted
        for i in range(half):
            z = s.fresh[level * half + i]
            release -= s.noise[stream, level, i] + z
            s.noise[stream, level, i] = z
        m, level = (m + half) // law.arity, level + 1
    digit = (m + half) % law.arity - half
    if digit > 0:  # one more node is added
        s.noise[stream, level, digit - 1] = s.fresh[level * half]
        release += s.fresh[level * half]
    else:  # one less is subtracted
        release += s.noise[stream, level, -digit]
    return float(release)


@kernel
def merging(s: CounterStreams, law: Law, stream: int, total: int) -> float:
    """The next release of the other counters: finished nodes become one that is twice as large."""
    leaf, level, levels, exact = leaf_of(law, s.released[stream]), 0, s.sums.shape[1], total
    estimate, past, size = float(exact + s.fresh[0]), 0.0, 1.0
    while level < levels and (leaf >> level) % 2 == 0:
        exact += s.sums[stream, level]
        past += s.estimates[stream, level]
        size *= 2.0
        if law.counter == HONAKER:  # its own sum and its halves', weighted by the inverses of their variances
            halves = s.estimates[stream, level] + estimate
            estimate = (size * float(exact + s.fresh[level + 1]) + (size - 1) * halves) / (2 * size - 1)
        s.sums[stream, level] = 0
        s.estimates[stream, level] = 0.0
        level += 1
    if law.counter != HONAKER:
        estimate = float(exact + s.fresh[0])
    if level < levels:  # else a hybrid tree is closed: its sum has become part of the past
        s.sums[stream, level] = exact
        s.estimates[stream, level] = estimate
    return estimate - past


@kernel
def weighing(s: CounterStreams, law: Law, stream: int, total: int) -> float:
    """The next release of a factorization: C x + z is an integer, of which all floats are made; C inverted gives x."""
    last = s.released[stream] - 1
    s.sums[stream, last] = total
    noisy = s.fresh[0]
    for i in range(last + 1):
        noisy += s.weights[i] * s.sums[stream, last - i]
    release = float(noisy)
    for i in range(1, last + 1):
        release -= s.weights[i] * s.estimates[stream, last - i]
    release /= s.weights[0]
    s.estimates[stream, last] = release
    return release


@kernel
def compute_change(s: CounterStreams, law: Law, stream: int, total: int) -> float:
    """The next release of a stream, in steps, given the fresh noises that it needs; all counters are here."""
    s.released[stream] += 1
    if law.counter == KARY:
        return subtracting(s, law, stream, total)
    if law.counter >= ROOT:
        return weighing(s, law, stream, total)
    return merging(s, law, stream, total)

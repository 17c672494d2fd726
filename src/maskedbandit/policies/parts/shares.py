"""Which share each arm has in the bets that it is better than another one, and which of its releases count for them.

With up to `FEW_ARMS` arms all have the same share, 1 / (K − 1), and all their releases count. With more, an arm gets
its share when it leads and has a good part of the users that a leader needs: the first one 0.7, and the r-th one 0.3 /
(r (r − 1)), which does not depend on K. What it had released before counts against it, but not in its favour.

**Guarantee**: shares in the bets against an arm add up to at most one, and each is fixed before what counts for it is
released. So the bets against an arm are a supermartingale together: docs/released_likelihood.md, Theorem 3.
"""

import math
from typing import Protocol

import numpy as np

from maskedbandit.core import Integers, kernel
from maskedbandit.policies.parts.known_releases import KnownState
from maskedbandit.theory.evidence import Bets
from maskedbandit.theory.likelihood import ArmReleases

FEW_ARMS = 5  # arms: up to so many, a share that is fixed late saves less than the releases before it are worth
SHARE = 0.7  # of the first arm that gets one late
GROWN = 0.2  # of the users for one of each rival that the best arm needs at the optimum, where all rivals are equal


class Shares(KnownState, Protocol):
    """The part of the state that shares are made of: the releases, and these."""

    @property
    def rank(self) -> np.ndarray: ...  # [k] 1, 2, ... in the order in which arms got a share; 0: none yet
    @property
    def before(self) -> np.ndarray: ...  # [k] releases that do not count in the arm's favour


def count_equal_shares(k: int) -> int:
    """By how many arms bets are shared alike from the beginning: their threshold is that much higher.

    >>> count_equal_shares(2), count_equal_shares(5), count_equal_shares(6)
    (1, 4, 1)
    """
    return max(k - 1, 1) if k <= FEW_ARMS else 1


def begin_ranks(k: int) -> Integers:
    """The ranks at the beginning: few arms all have their share then."""
    return np.arange(1, k + 1) if k <= FEW_ARMS else np.zeros(k, np.int64)


@kernel
def has_share(s: Shares, a: int) -> bool:
    """Whether the share of an arm is fixed: without one it is no answer."""
    return bool(s.rank[a] > 0)


@kernel
def in_favour(s: Shares, a: int) -> ArmReleases:
    """The releases of an arm that came after it got its share."""
    before = s.before[a]
    return ArmReleases(s.total[a][before:], s.users[a][before:], s.m[a] - before)


@kernel
def next_rank(s: Shares) -> int:
    """The rank of the next arm that gets a share. (A loop, as NumPy's ways compile for a while.)"""
    rank = 1
    for a in range(s.n.size):
        if has_share(s, a):
            rank += 1
    return rank


@kernel
def of_share(s: Shares, a: int, b: int) -> float:
    """One over the share of an arm in the bets against b; of an arm without one, over what it would get now."""
    if s.n.size <= FEW_ARMS:
        return s.n.size - 1.0
    rank = s.rank[a] if has_share(s, a) else next_rank(s)
    if 0 < s.rank[b] < rank:
        rank -= 1  # b has no share in the bets against itself
    return 1 / SHARE if rank == 1 else rank * (rank - 1.0) / (1 - SHARE)


@kernel
def shared_bets(s: Shares, a: int, b: int) -> Bets:
    """The bets that an arm is better than b."""
    return Bets(1.0, of_share(s, a, b), s.n.size > FEW_ARMS)


@kernel
def nats_of_share(s: Shares, a: int, b: int) -> float:
    """The further evidence that a share needs which is fixed late; the threshold includes that of equal shares."""
    return 0.0 if s.n.size <= FEW_ARMS else math.log(of_share(s, a, b))


@kernel
def give_share(s: Shares, a: int, beats_all: bool) -> None:
    """Fix the share of the leader, unless it has one, or few users yet and somebody left to beat."""
    others, users = s.n.size - 1.0, 0
    for b in range(s.n.size):
        users += s.n[b]
    grown = s.n[a] * others >= GROWN * math.sqrt(others) * (users - s.n[a])
    if not has_share(s, a) and (grown or beats_all):
        s.rank[a], s.before[a] = next_rank(s), s.m[a]

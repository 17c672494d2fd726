"""Random streams for the lab: counters keyed by (seed, study, run, purpose), so no number depends on who draws first.

Noise and policies draw from NumPy's Philox generator. Rewards of single users are needed once a round, so they come
from a hash of the user's number instead, cheap enough to vanish in the loop: SplitMix64 [SLF14], whose state is a
counter already, keyed before and between two rounds of its mixing function.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import kernel


class Rewards(NamedTuple):
    """The stream of rewards: a generator for sums over many users, and keys for single ones."""

    many: np.random.Generator
    keys: npt.NDArray[np.uint64]


@kernel
def mixed(z):  # type: ignore[no-untyped-def]  # a kernel's types are inferred when it is compiled
    """The mixing function of SplitMix64: a permutation of the 64-bit integers."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(rewards, t):  # type: ignore[no-untyped-def]  # a kernel's types are inferred when it is compiled
    """A uniform number in [0, 1) for user t."""
    z = mixed(np.uint64(t) * np.uint64(0x9E3779B97F4A7C15) + rewards.keys[0])
    return (mixed(z ^ rewards.keys[1]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


def streams(seed: int, study: str, run: int) -> tuple[Rewards, np.random.Generator, np.random.Generator]:
    """The streams of rewards, noise and policy of one run.

    >>> streams(1, "", 0)[1].random() == streams(1, "", 0)[1].random()
    True
    """
    key = np.frombuffer(hashlib.sha256(f"{seed}/{study}".encode()).digest()[:16], np.uint64)
    # the generator counts in the low words: run and purpose in the high ones keep streams 2^128 numbers apart
    rewards, noise, policy = (
        np.random.Generator(np.random.Philox(key=key, counter=[0, 0, run, purpose])) for purpose in range(3)
    )
    return Rewards(rewards, rewards.integers(0, 2**64, 2, np.uint64)), noise, policy

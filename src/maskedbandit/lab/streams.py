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

# the state of a Philox generator that has drawn nothing
FRESH = {
    "bit_generator": "Philox",
    "buffer": np.zeros(4, np.uint64),
    "buffer_pos": 4,
    "has_uint32": 0,
    "uinteger": 0,
}


class Rewards(NamedTuple):
    """The stream of rewards: a generator, and keys for the rewards of single users."""

    generator: np.random.Generator
    keys: npt.NDArray[np.uint64]


@kernel
def mixed(z: np.uint64) -> np.uint64:
    """The mixing function of SplitMix64: a permutation of the 64-bit integers."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def uniform(stream: Rewards, t: int) -> float:
    """A uniform number in [0, 1) for user t."""
    z = mixed(np.uint64(t) * np.uint64(0x9E3779B97F4A7C15) + stream.keys[0])
    return (mixed(z ^ stream.keys[1]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


class Streams:
    """The streams of all runs of a study: rewards, noise, policy and delays. One object serves one thread.

    >>> Streams(1, "").of(run=0)[0] == Streams(1, "").of(run=0)[0]
    array([ True,  True])
    """

    def __init__(self, seed: int, study: str) -> None:
        self.key = np.frombuffer(hashlib.sha256(f"{seed}/{study}".encode()).digest()[:16], np.uint64)
        self.generators = [np.random.Generator(np.random.Philox(key=self.key)) for _ in range(4)]

    def of(self, run: int) -> tuple[npt.NDArray[np.uint64], *tuple[np.random.Generator, ...]]:
        """Keys of the single rewards, and generators of rewards, noise, policy and delays, of one run.

        The generators of the run before are wound on to it, which is cheaper than making new ones.
        """
        for purpose, generator in enumerate(self.generators):
            # the generator counts in the low words: run and purpose in the high ones keep streams 2^128 numbers apart
            counter = np.array([0, 0, run, purpose], np.uint64)
            state = {"counter": counter, "key": self.key}
            generator.bit_generator.state = {**FRESH, "state": state}
        return self.generators[0].integers(0, 2**64, 2, np.uint64), *self.generators

"""Random streams for the lab: counters keyed by (seed, study, run, purpose), so no number depends on who draws first.

Noise and policies draw from NumPy's Philox generator. Rewards of single users are needed once a round, so they come
from a hash of the user's number instead, cheap enough to vanish in the loop: SplitMix64 [SLF14], whose state is a
counter already, keyed before and between two rounds of its mixing function.
"""

import ctypes
import hashlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from maskedbandit.core import kernel, large_kernel

# the state of a Philox generator that has drawn nothing; tuples, because NumPy reads them faster than arrays
FRESH_GENERATORS: dict[str, Any] = {
    "bit_generator": "Philox",
    "buffer": (0, 0, 0, 0),
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
def draw_uniform(stream: Rewards, t: int) -> float:
    """A uniform number in [0, 1) for user t."""
    z = mixed(np.uint64(t) * np.uint64(0x9E3779B97F4A7C15) + stream.keys[0])
    return (mixed(z ^ stream.keys[1]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@large_kernel
def draw_binomial(n: int, p: float, rng: np.random.Generator) -> int:
    """A binomial variable. (Its compilation takes a second, so that it is compiled once.)"""
    return rng.binomial(n, p)


class Generator(np.random.Generator):
    """NumPy's generator, which compiled code takes over at once (generator_type.py)."""

    def __init__(self, bits: np.random.Philox) -> None:
        super().__init__(bits)
        it = bits.ctypes
        functions = [
            ctypes.cast(each, ctypes.c_void_p).value for each in (it.next_double, it.next_uint64, it.next_uint32)
        ]
        self.addresses = np.array([it.state_address, it.state.value, *functions], np.uintp)
        self.addresses_at = self.addresses.ctypes.data

    @property
    def _numba_type_(self) -> Any:
        return compiled_type()


@cache
def compiled_type() -> Any:
    """The type of a `Generator` in Numba."""
    from maskedbandit.lab.generator_type import type_of  # what never compiles need not wait for Numba

    return type_of(Generator)


class Streams:
    """The streams of all runs of a study: rewards, noise, policy and delays. One object serves one thread.

    >>> Streams(1, "").of(run=0)[0] == Streams(1, "").of(run=0)[0]
    array([ True,  True])
    """

    def __init__(self, seed: int, study: str) -> None:
        key = np.frombuffer(hashlib.sha256(f"{seed}/{study}".encode()).digest()[:16], np.uint64)
        self.state = FRESH_GENERATORS | {"state": {"key": tuple(key.tolist())}}
        self.generators = [Generator(np.random.Philox(key=key)) for _ in range(4)]

    def of(self, run: int) -> tuple[npt.NDArray[np.uint64], *tuple[np.random.Generator, ...]]:
        """Keys of the single rewards, and generators of rewards, noise, policy and delays, of one run.

        The generators of the run before are wound on to it, which is cheaper than making new ones.
        """
        for purpose, generator in enumerate(self.generators):
            # the generator counts in the low words: run and purpose in the high ones keep streams 2^128 numbers apart
            self.state["state"]["counter"] = 0, 0, run, purpose
            generator.bit_generator.state = self.state
        keys: npt.NDArray[np.uint64] = self.generators[0].bit_generator.random_raw(2)
        return keys, *self.generators

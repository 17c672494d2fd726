"""The randomness of a policy's decisions: each has a stream of its own, keyed by the study's seed and its number.

A study that outlives its process stores the number of decisions so far and no generator. Decision number i draws the
same numbers whatever was asked before, so one that was lost in a crash is made again as it was.

Every call of `ask` is a decision and has a number of its own, also one that answers WAIT. A policy may draw before it
decides to wait; if the next call had the same number, it would see the same draws again, and a policy that waits by a
coin would wait for ever. So the driver asks until the answer is WAIT, and then not before it has delivered a release:
then the numbers follow from the releases, and from nothing else.
"""

from hashlib import sha256

import numpy as np

from maskedbandit.errors import InvalidValue


def check_seed(seed: bytes) -> None:
    """Raise unless it is the seed of a study, which is secret as long as the policy's draws are."""
    if type(seed) is not bytes or len(seed) < 16:
        raise InvalidValue("seed", "hidden", "at least 16 bytes")


def decision_generator(seed: bytes, number: int) -> np.random.Generator:
    """The generator for decision number `number`, counted from 0, of the study with this seed.

    It is Philox, keyed by a hash of the seed; the number is the high word of its counter, so that the streams of two
    decisions are 2^192 draws apart.

    >>> [int(decision_generator(bytes(16), number).integers(1000)) for number in (0, 1, 0)]
    [901, 226, 901]
    """
    check_seed(seed)
    if type(number) is not int or not 0 <= number < 2**64:
        raise InvalidValue("number", number, "a whole number from 0 to 2^64 - 1")
    key = np.frombuffer(sha256(b"maskedbandit decisions" + seed).digest()[:16], "<u8")
    return np.random.Generator(np.random.Philox(key=key, counter=np.array([0, 0, 0, number], np.uint64)))

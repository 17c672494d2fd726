"""A party in a round that outlives its process: what it is told, what it answers, and how it goes on.

A party keeps its value, with its noise, and the seed of all its secrets, before anything leaves it; and each message
with the answer to it. All its answers follow from these, so a process that was killed makes the same ones again.
"""

from collections.abc import Sequence
from hashlib import shake_256
from typing import NamedTuple

from maskedbandit.errors import Disagreement
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import SURVIVORS, Reader

MASKING = 2  # the phase in which a party sends its masked value, counted from 0
AGREEING = 3  # and that in which it agrees to the list of those whose values are added up


class RoundTerms(NamedTuple):
    """What a party is told of a round, and checks: of the cohort, and of all parties."""

    cohort: int
    attempt: int  # counted from 1
    n: int  # places of the cohort
    weights: tuple[int, ...]  # how many of them are of each site; none: each party is the device of one person
    ring: bytes  # the hash of the seed of the ring


class RoundDue(NamedTuple):
    """What is due from a party."""

    terms: RoundTerms
    phase: int
    message: bytes  # what it is to answer
    invited: tuple[str, ...] = ()  # in the first phase: a site's people by their tickets, or all devices by their keys


class RoundAnswer(NamedTuple):
    """What a party answers; with no message it leaves the attempt."""

    cohort: int
    attempt: int
    phase: int
    message: bytes
    why: str = ""  # the code of the error for which it leaves, which it tells nobody


class KeptStep(NamedTuple):
    """A message that was answered."""

    received: bytes
    sent: bytes


def name_round(kind: str, protocol: bytes, offer: bytes, cohort: int, attempt: int) -> bytes:
    """What an attempt is called in its plan: no message of it is worth anything in another one."""
    return f"maskedbandit {kind} 1 ".encode() + protocol + offer + cohort.to_bytes(8) + attempt.to_bytes(8)


def stretch_seed(seed: bytes, kind: str) -> Bits:
    """Bits that follow from a seed, each time other ones: a party that was killed has the same again.

    >>> bits = stretch_seed(bytes(32), "site")
    >>> bits.below(2**64) == bits.below(2**64), bits.below(9) == stretch_seed(bytes(32), "site").below(9)
    (False, False)
    """
    calls = 0

    def draw(n: int) -> bytes:
        nonlocal calls
        calls += 1
        return shake_256(f"maskedbandit {kind} round 1".encode() + seed + calls.to_bytes(8)).digest(n)

    return Bits(draw)


def answer_again(client: RoundClient, steps: Sequence[KeptStep], message: bytes) -> bytes:
    """The answer to a message, by a client that first does again all that it did before."""
    for received, sent in steps:
        if client.receive(received) != sent:
            raise Disagreement("what was sent before does not follow from what is stored")
    return client.receive(message)


def read_survivors(message: bytes, parties: Sequence[int]) -> list[int]:
    """The parties whose values are in the sum, of all in the round, by the message that says so."""
    flags = Reader(message, SURVIVORS, message[2 : 2 + KEY]).flags(len(parties))
    return [party for index, party in enumerate(parties) if flags >> index & 1]

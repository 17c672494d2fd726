"""What lies to devices are made of, and how each must end."""

import pytest

from maskedbandit.errors import ProtocolError
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import RoundClient, write_key_text, write_vote_text
from tests.secagg.adversary import Liar, planned, signer

PLAN = planned(6, corrupted=1)  # thresholds of 4 of 5, at least 5 values; user 5 works for the server
SPARSE = planned(9, k=6, t=4, least=6)
ALL = range(6)


def liar(phase, plan=PLAN, kind=RoundClient, **more) -> Liar:
    return Liar(plan, corrupted={max(plan.users)}, kind=kind, **more).until(phase)


def vote(self: Liar, user: int, survivors, session=None) -> bytes:
    """What a device that works for the server signs."""
    return signer(user).sign(write_vote_text(session or self.session(0), self.alive(survivors)))


def keys_of(self: Liar, user: int, seal: bytes, mask: bytes, by=None, plan=None) -> bytes:
    """Keys of a user, signed by whoever signs."""
    return seal + mask + signer(user if by is None else by).sign(write_key_text(plan or self.plan, user, seal + mask))


def flipped(message: bytes, at: int = 0, bit: int = 0) -> bytes:
    return message[:at] + bytes([message[at] ^ 1 << bit]) + message[at + 1 :]


def top_bit(key: bytes) -> bytes:
    """The same X25519 key: the top bit is ignored."""
    return flipped(key, 31, 7)


def inverse(key: bytes) -> bytes:
    """The key plus the point of order 2, whose u is 1 / u: it agrees with everybody on the same secrets."""
    return pow(int.from_bytes(key, "little"), -1, 2**255 - 19).to_bytes(32, "little")


def ends(it: Liar, user: int, message: bytes, error: type[ProtocolError], match: str) -> None:
    """The device refuses the message, by this name, and has forgotten its secrets; the invariant holds."""
    with pytest.raises(error, match=match) as refused:
        it.tell(user, message)
    assert type(refused.value) is error
    assert it.silent(user)
    assert it.kept()


def other_keys(it: Liar, user: int, keys: bytes) -> dict:
    """A roster with other keys of one user, in the tree and in what is told."""
    return {"keys": it.keys | {user: keys}}


FRESH = masks.seed_key_pair(bytes(16), b"", b"")[1]

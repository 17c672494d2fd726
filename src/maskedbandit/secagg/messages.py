"""The messages of a round, as bytes of fixed widths.

    up     ADVERT      two public keys, and in signed rounds a signature
    down   ROSTER      seed of the ring, root of the tree of keys, which neighbours came, their keys, proof
    up     PARCELS     commitment, key shares sealed for every neighbour that came
    down   POST        which neighbours sent key shares, and their sealed key shares for this device
    up     MASKED      the masked value
    down   SURVIVORS   whose masked values are in the sum: a bit for each user
    up     VOTE        a signature of the survivors                               in signed rounds
    down   VOTES       which neighbours signed, and their signatures              in signed rounds
    up     KEY_SHARES  one key share of every neighbour that sent some

Every message begins with the version, its kind, and the round (ADVERT, ROSTER) or session that it belongs to. Its
length follows from the plan and from earlier messages; a message of another length is refused.

A survivor's bit is set or not, so the server cannot ask for both seeds of a user in one message; a second message of
the same kind is refused.
"""

from collections.abc import Sequence

from maskedbandit.errors import Malformed, OutOfTurn
from maskedbandit.secagg.masks import KEY, SEAL_SIZE
from maskedbandit.secagg.plan import PLAN_VERSION
from maskedbandit.secagg.shamir import KEY_SHARE

ADVERT, ROSTER, PARCELS, POST, MASKED, SURVIVORS, VOTE, VOTES, KEY_SHARES = range(1, 10)
HEADINGS = "", "keys", "roster", "sealed key shares", "post", "masked value", "survivors", "vote", "votes", "key shares"
SIGNATURE = 64
PARCEL = 2 * KEY_SHARE + SEAL_SIZE


def pack_message(kind: int, session: bytes, *parts: bytes) -> bytes:
    """A message."""
    return b"".join((bytes((PLAN_VERSION, kind)), session, *parts))


class Reader:
    """A message of the kind that is due and of this session, read from the start."""

    def __init__(self, message: bytes, kind: int, session: bytes) -> None:
        if not isinstance(message, bytes) or len(message) < 2 + KEY or not 0 < message[1] < len(HEADINGS):
            raise Malformed("a message has no kind or no session")
        if message[0] != PLAN_VERSION:
            raise Malformed(f"a message is of version {message[0]}: it must be {PLAN_VERSION}")
        if message[1] != kind:
            raise OutOfTurn(f"a message of {HEADINGS[message[1]]} came where {HEADINGS[kind]} is due")
        if message[2 : 2 + KEY] != session:
            raise OutOfTurn(f"a message of {HEADINGS[kind]} belongs to another session")
        self.kind, self.message, self.at = kind, message, 2 + KEY

    def take(self, n: int) -> bytes:
        """The next n bytes."""
        self.at += n
        if self.at > len(self.message):
            raise Malformed(f"a message of {HEADINGS[self.kind]} is too short")
        return self.message[self.at - n : self.at]

    def number(self, width: int) -> int:
        """The next `width` bytes, as a number."""
        return int.from_bytes(self.take(width))

    def flags(self, n: int) -> int:
        """The next n bits; the first one is the lowest bit."""
        flags = int.from_bytes(self.take(-(-n // 8)), "little")
        if flags >> n:
            raise Malformed(f"a message of {HEADINGS[self.kind]} has bits for users that do not exist")
        return flags

    def end(self) -> None:
        """Raise unless the whole message was read."""
        if self.at < len(self.message):
            raise Malformed(f"a message of {HEADINGS[self.kind]} is too long")

    def pieces(self, width: int, n: int | None = None) -> list[bytes]:
        """The rest of the message, in pieces of one width: n of them, or as many as there are."""
        count, over = divmod(len(self.message) - self.at, width)
        if over or (n is not None and n != count):
            raise Malformed(f"a message of {HEADINGS[self.kind]} is too short or too long")
        return [self.take(width) for _ in range(count)]


def pack_flags(flags: int, n: int) -> bytes:
    """n bits as bytes."""
    return flags.to_bytes(-(-n // 8), "little")


def pack_present(pieces: Sequence[bytes | None]) -> bytes:
    """A bit for each piece that says whether it is there, and those that are."""
    flags = sum(1 << i for i, piece in enumerate(pieces) if piece is not None)
    return pack_flags(flags, len(pieces)) + b"".join(piece for piece in pieces if piece is not None)

"""A sum by two servers that do not collude: one receives x - r of each value x, the other a uniform r [CB17].

A device splits its value x modulo m into two value shares, a uniform r for the first server and x - r for the second,
and encrypts each with HPKE for its server. A server adds the value shares that it received, and noise of its own:

    device              -> server 0    sealed r               encrypted for one session, one server and one user
                        -> server 1    sealed x - r
    server 0           <-> server 1    PRESENT: the users whose value shares it has
    server i            -> collector   TOTAL: sum of its value shares over all users whom both have, + Z_i  (mod m)
    collector                          sum of x + Z_0 + Z_1  (mod m)

**Guarantee**: if one server is honest, all that the other server, the collector and all other users together see of a
user's x is a function of uniform numbers and of the sum of x + Z_i, where Z_i is a complete draw of noise that the
honest server makes once and reveals to nobody. So the user's loss is that of one draw, however many users are lost or
corrupted.

The encryption is a computational assumption. A server knows from the connection who a user is; a sealed message does
not say who made it. A device is in the sum only if both of its messages arrive. A wrong message is refused with a named
error and changes nothing, so no device can stop the others; any error between the servers ends the cohort. There is no
proof that x is in range: one device can move the sum by any amount modulo m.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from maskedbandit.errors import AlreadySpent, Disagreement, Forged, InvalidValue, Malformed, OutOfTurn, TooFew
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.masks import LARGEST_PACKED, agree_secret, measure_residue

PAIR_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
PAIR_VERSION = 1
VALUE_SHARE, PRESENT, TOTAL = 0x21, 0x22, 0x23
NUMBER_SIZE = 8  # bytes of a user, of a count, and of the residue of a single value
HASH_BYTES = 32  # bytes of a hash and of a key
SEALED = HASH_BYTES + NUMBER_SIZE + 16  # bytes of a sealed value share of a single value
PROBE = X25519PrivateKey.from_private_bytes(bytes(HASH_BYTES))  # to compare public keys; it keeps nothing secret


@dataclass(frozen=True)
class PairTerms:
    """What all parties of a cohort agree on before it begins, so that no server can change it.

    `cohort` names the study, the cohort and the noise, `least` is the least number of users in a sum that is revealed,
    `keys` are the public keys of both servers.
    """

    cohort: bytes
    modulus: int
    least: int
    keys: tuple[bytes, bytes]

    def __post_init__(self) -> None:
        if type(self.modulus) is not int or not 1 < self.modulus <= LARGEST_PACKED:
            allowed = f"a whole number above 1 and at most 2^{LARGEST_PACKED.bit_length() - 1}"
            raise InvalidValue("modulus", self.modulus, allowed)
        if type(self.least) is not int or not 1 <= self.least < 1 << 63:
            raise InvalidValue("least", self.least, "a whole number of at least 1")
        try:
            different = len({agree_secret(PROBE, key) for key in self.keys}) == 2 == len(self.keys)
        except Forged:
            different = False
        if not different:
            raise InvalidValue("keys", "hidden", "two different public keys of X25519")

    @cached_property
    def session(self) -> bytes:
        """The name of the cohort's session, which every message contains."""
        modulus = self.modulus.to_bytes(measure_residue(self.modulus + 1))
        numbers = len(self.cohort).to_bytes(NUMBER_SIZE) + modulus + self.least.to_bytes(NUMBER_SIZE)
        name = b"maskedbandit two servers" + bytes((PAIR_VERSION,))
        if len(modulus) > NUMBER_SIZE:
            name += b" of vectors" + len(modulus).to_bytes(NUMBER_SIZE)
        return sha256(name + numbers + self.cohort + b"".join(self.keys)).digest()

    @property
    def residue_size(self) -> int:
        """Bytes of a residue."""
        return measure_residue(self.modulus)

    def packed(self, kind: int, role: int, *parts: bytes) -> bytes:
        """A message to or from the server of this role."""
        return b"".join((bytes((PAIR_VERSION, kind, role)), self.session, *parts))

    def unpacked(self, message: bytes, kind: int, role: int) -> bytes:
        """The content of a message, if it is of the kind that is due."""
        if not isinstance(message, bytes) or len(message) < 3 + HASH_BYTES or message[0] != PAIR_VERSION:
            raise Malformed("these bytes are not a message of this version")
        if message[1:3] != bytes((kind, role)):
            raise OutOfTurn("the message is not of the kind, or not of the server, that is due")
        if message[3 : 3 + HASH_BYTES] != self.session:
            raise OutOfTurn("a message belongs to another cohort")
        return message[3 + HASH_BYTES :]

    def context(self, role: int, user: int) -> bytes:
        """What a sealed value share is bound to, besides the key of its server."""
        return b"maskedbandit value share" + self.session + bytes((role,)) + user.to_bytes(NUMBER_SIZE)


def server_keys(bits: Bits) -> tuple[X25519PrivateKey, bytes]:
    """A server's keys for one cohort; devices must have the public one from a party that they trust."""
    private = X25519PrivateKey.from_private_bytes(bits.below(1 << 8 * HASH_BYTES).to_bytes(HASH_BYTES))
    return private, private.public_key().public_bytes_raw()


def seal_value_share(terms: PairTerms, role: int, user: int, value_share: int) -> bytes:
    """The message with the value share of a user for the server of this role."""
    key, text = X25519PublicKey.from_public_bytes(terms.keys[role]), value_share.to_bytes(terms.residue_size)
    return terms.packed(VALUE_SHARE, role, PAIR_SUITE.encrypt(text, key, terms.context(role, user)))


def share_value(terms: PairTerms, user: int, value: int, bits: Bits) -> tuple[bytes, bytes]:
    """The two messages of a user's device, one for each server."""
    if type(value) is not int or not 0 <= value < terms.modulus:
        raise InvalidValue("value", "hidden", f"a whole number of at least 0, below the modulus {terms.modulus}")
    first = bits.below(terms.modulus)
    return seal_value_share(terms, 0, user, first), seal_value_share(terms, 1, user, (value - first) % terms.modulus)


class PairServer:
    """The server of one role, 0 or 1, in one cohort.

    `noise` draws the noise of one release. It is called once, before any value share comes, because the time that it
    takes depends on the noise. `spend` is called for each user whose value share comes: it records that the user took
    part, or raises.

    >>> bits, keys = Bits(), [server_keys(Bits()) for role in range(2)]
    >>> terms = PairTerms(b"example", 100, 2, (keys[0][1], keys[1][1]))
    >>> servers = [PairServer(terms, role, keys[role][0], noise=lambda: 1) for role in range(2)]
    >>> for user, value in enumerate([30, 40, 50]):
    ...     for server, message in zip(servers, share_value(terms, user, value, bits)):
    ...         server.receive(user, message)
    >>> present = [server.close() for server in servers]
    >>> collect_sum(terms, servers[0].publish(present[1]), servers[1].publish(present[0]))
    (22, 3)
    """

    def __init__(
        self,
        terms: PairTerms,
        role: int,
        private: X25519PrivateKey,
        noise: Callable[[], int],
        spend: Callable[[int], None] = lambda user: None,
    ) -> None:
        if role not in (0, 1):
            raise InvalidValue("role", role, "0 or 1")
        if private.public_key().public_bytes_raw() != terms.keys[role]:
            raise InvalidValue(
                "private", "hidden", f"the private key of server {role}, whose public key the terms name"
            )
        self.terms, self.role = terms, role
        self.survivors: tuple[int, ...] = ()  # the users in the total
        self._private, self._noise, self._spend = private, noise(), spend
        self._value_shares: dict[int, int] = {}
        self._phase = VALUE_SHARE

    def _due(self, phase: int) -> None:
        if self._phase != phase:
            raise OutOfTurn("this server is in another phase of the cohort, or has ended it")

    def _forget(self) -> None:
        self._phase = 0
        del self._private, self._noise, self._spend, self._value_shares

    def receive(self, user: int, message: bytes) -> None:
        """Take the value share of a user."""
        self._due(VALUE_SHARE)
        if type(user) is not int or not 0 <= user < 1 << 63:
            raise Malformed("a user is not a whole number of at least 0, below 2^63")
        if user in self._value_shares:
            raise AlreadySpent(f"user {user} sent a value share before")
        body = self.terms.unpacked(message, VALUE_SHARE, self.role)
        if len(body) != (due := SEALED - NUMBER_SIZE + self.terms.residue_size):
            raise Malformed(f"a sealed value share has {len(body)} bytes instead of {due}")
        try:
            value_share = int.from_bytes(PAIR_SUITE.decrypt(body, self._private, self.terms.context(self.role, user)))
        except (InvalidTag, ValueError):
            raise Forged(f"what user {user} sealed is not for this server and cohort, or was altered") from None
        if value_share >= self.terms.modulus:
            raise Malformed(f"user {user} sealed a value share that is not below the modulus")
        self._spend(user)
        self._value_shares[user] = value_share

    def close(self) -> bytes:
        """Take no more value shares; the message that tells the other server whose there are."""
        self._due(VALUE_SHARE)
        self._phase = PRESENT
        return self.terms.packed(
            PRESENT, self.role, *(user.to_bytes(NUMBER_SIZE) for user in sorted(self._value_shares))
        )

    def publish(self, present: bytes) -> bytes:
        """The noisy total over the users whom the other server has too. It is computed once, whatever happens."""
        self._due(PRESENT)
        value_shares, noise = self._value_shares, self._noise
        self._forget()
        listed = self.terms.unpacked(present, PRESENT, 1 - self.role)
        if len(listed) % NUMBER_SIZE:
            raise Malformed("a list of users ends in the middle of a user")
        users = [int.from_bytes(listed[i : i + NUMBER_SIZE]) for i in range(0, len(listed), NUMBER_SIZE)]
        if any(user >= after for user, after in pairwise(users)):
            raise Malformed("a list of users is not in order, or names a user twice")
        both = [user for user in users if user in value_shares]
        if len(both) < self.terms.least:
            raise TooFew(f"both servers have value shares of {len(both)} users: {self.terms.least} are needed")
        self.survivors = tuple(both)
        total = (sum(value_shares[user] for user in both) + noise) % self.terms.modulus
        names = sha256(b"".join(user.to_bytes(NUMBER_SIZE) for user in both)).digest()
        count, released = len(both).to_bytes(NUMBER_SIZE), total.to_bytes(self.terms.residue_size)
        return self.terms.packed(TOTAL, self.role, count, names, released)


def collect_sum(terms: PairTerms, first: bytes, second: bytes) -> tuple[int, int]:
    """The sum modulo m with the noise of both servers, and how many users are in it."""
    total, heads = 0, []
    for role, message in enumerate((first, second)):
        body = terms.unpacked(message, TOTAL, role)
        if len(body) != NUMBER_SIZE + HASH_BYTES + terms.residue_size:
            raise Malformed("a total is too short or too long")
        heads.append(body[: -terms.residue_size])
        part = int.from_bytes(body[-terms.residue_size :])
        if part >= terms.modulus:
            raise Malformed("a total is not below the modulus")
        total += part
    if heads[0] != heads[1]:
        raise Disagreement("the servers added value shares of different users")
    return total % terms.modulus, int.from_bytes(heads[0][:NUMBER_SIZE])

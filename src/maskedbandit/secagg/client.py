"""The client of a round: one device, as a machine that turns the server's messages into its own [BIK17, Fig. 4].

    it was told                      it sends
    nothing                          ADVERT: two fresh public keys, for seals and for masks
    ROSTER: keys of its neighbours   PARCELS: shares of two seeds, that of its own mask and that of its key for masks
    POST: shares of its neighbours   MASKED: its value + own mask + masks of pairs
    SURVIVORS: whose values count    VOTE: the same survivors, signed; where nobody votes, at once
    VOTES: signatures of neighbours  SHARES: for a survivor the share of its own mask, for one who was lost the other

**Guarantee**: if fewer than `threshold` of a user's neighbours are corrupted, and `2 threshold > neighbours +
corrupted` in rounds where the server may lie, then at most one of the two seeds of the user can ever be rebuilt: a
client gives one share of each neighbour, once, and a session has no second round. With one of them missing the masked
value is a uniform number to whoever has the rest.

Anything unexpected ends the round for this client: it raises a `ProtocolError` and forgets its secrets. A client
serves one round; a new attempt is a new client, with fresh keys, masks and noise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from hashlib import sha256
from traceback import clear_frames

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from maskedbandit.errors import Disagreement, Forged, InvalidValue, OutOfTurn, TooFew
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg import masks
from maskedbandit.secagg.graph import root_from
from maskedbandit.secagg.masks import KEY, SEED
from maskedbandit.secagg.messages import (
    ADVERT,
    MASKED,
    PARCEL,
    PARCELS,
    POST,
    ROSTER,
    SHARES,
    SIGNATURE,
    SURVIVORS,
    VALUE,
    VOTE,
    VOTES,
    Reader,
    packed,
)
from maskedbandit.secagg.plan import Plan
from maskedbandit.secagg.shamir import SHARE, split

NONE = b"\xff" * (2 * SHARE)  # no shares: numbers above all shares
Identities = Mapping[int, bytes]  # the public signing key of every enrolled user, from somebody who is not the server


def advertised(plan: Plan, user: int, keys: bytes) -> bytes:
    """What a user signs of its keys."""
    return b"maskedbandit keys" + plan.round + masks.name(user) + keys


def survived(session: bytes, survivors: bytes) -> bytes:
    """What a user signs of the survivors."""
    return b"maskedbandit survivors" + session + survivors


def verify(identities: Identities, user: int, signature: bytes, text: bytes) -> None:
    """Refuse what an enrolled user did not sign."""
    if user not in identities:
        raise Forged(f"user {user} is not enrolled")
    try:
        Ed25519PublicKey.from_public_bytes(identities[user]).verify(signature, text)
    except InvalidSignature:
        raise Forged(f"user {user} did not sign what came with this signature") from None


class Neighbour:
    """What a client knows of another one."""

    __slots__ = ("channel", "key", "present", "shares", "user")

    def __init__(self, user: int, key: bytes, channel: bytes) -> None:
        self.user, self.key, self.channel = user, key, channel  # `key` for masks is public, `channel` is secret
        self.present, self.shares = False, b""


class Client:
    """One device in one round. `value` is below the modulus, and has its noise already.

    Signed rounds need the device's signing key and the `identities` of all who may take part. `spend` is called before
    the masked value leaves: it writes down that the user took part, or raises if that was so before.
    """

    def __init__(
        self,
        plan: Plan,
        user: int,
        value: int,
        bits: Bits,
        signer: Ed25519PrivateKey | None = None,
        identities: Identities | None = None,
        spend: Callable[[int], None] = lambda user: None,
    ) -> None:
        if type(user) is not int or user not in plan.users:
            raise InvalidValue("user", user, "one of the users of the plan")
        if type(value) is not int or not 0 <= value < plan.modulus:
            raise InvalidValue("value", "hidden", f"a whole number of at least 0, below the modulus {plan.modulus}")
        if plan.signed and (signer is None or identities is None):
            raise InvalidValue("signer and identities", None, "given, as the round is signed")
        self.plan, self.user = plan, user
        self._value, self._bits, self._signer, self._identities = value, bits, signer, identities or {}
        self._spend = spend
        self._next: Callable[[bytes], bytes] = self._start

    def start(self) -> bytes:
        """The first message."""
        return self.receive(b"")

    def receive(self, message: bytes) -> bytes:
        """The answer to a message, which is empty when there is nothing more to say."""
        answer = self._next
        self._next = self._refuse
        try:
            return answer(message)  # which says what is due next
        except BaseException as wrong:
            self.leave()
            clear_frames(wrong.__traceback__)  # which hold secrets of neighbours too
            raise

    def leave(self) -> None:
        """Forget all secrets; whatever comes after is refused."""
        for secret in ("_value", "_bits", "_signer", "_seal", "_mask", "_seeds", "_around", "_survivors"):
            self.__dict__.pop(secret, None)
        self._next = self._refuse

    def _refuse(self, message: bytes) -> bytes:
        raise OutOfTurn(f"user {self.user} has left the round")

    def _start(self, message: bytes) -> bytes:
        if message:
            raise OutOfTurn(f"user {self.user} has not begun the round")
        self._seeds = masks.random_bytes(SEED, self._bits), masks.random_bytes(SEED, self._bits)
        self._seal, seal_key = masks.key_pair(masks.random_bytes(KEY, self._bits), self.plan.round, b"seal")
        self._mask, mask_key = masks.key_pair(self._seeds[1], self.plan.round, b"mask")
        self._keys = seal_key + mask_key
        if self.plan.signed:
            assert self._signer is not None
            self._keys += self._signer.sign(advertised(self.plan, self.user, self._keys))
        self._next = self._share
        return packed(ADVERT, self.plan.round, self._keys)

    def _share(self, message: bytes) -> bytes:
        """Check the keys of the neighbours; share both seeds among them."""
        plan, reader = self.plan, Reader(message, ROSTER, self.plan.round)
        seed, root = reader.take(KEY), reader.take(KEY)
        if sha256(seed).digest() != plan.ring:
            raise Disagreement("the seed of the ring is not the one that the plan commits to")
        around = plan.drawn(seed, root).around(self.user)
        came = reader.flags(len(around))
        here = [other for i, other in enumerate(around) if came >> i & 1]
        entries = {plan.index(other): masks.name(other) for other in around}
        keys = {other: reader.take(len(self._keys)) for other in here}
        for other in here:
            entries[plan.index(other)] += keys[other]
        entries[plan.index(self.user)] = masks.name(self.user) + self._keys
        if root_from(plan.n, entries, reader.pieces(KEY)) != root:
            raise Disagreement("the server changed keys, this device's own perhaps")
        if len(here) < plan.threshold:
            raise TooFew(f"{len(here)} neighbours came: {plan.threshold} are needed")
        public = [each for text in (self._keys, *keys.values()) for each in parted(text)[:2]]
        secrets = {each: masks.agreed(self._seal, each) for each in public}
        if len(set(secrets.values())) < len(public):
            raise Disagreement("two public keys are equal")
        self._session, self._neighbours = plan.session(root), around
        self._around: dict[int, Neighbour] = {}
        for other in here:
            seal_key, mask_key, signature = parted(keys[other])
            if plan.signed:
                verify(self._identities, other, signature, advertised(plan, other, seal_key + mask_key))
            channel = masks.derived(secrets[seal_key], self._session, masks.between(b"seal", self.user, other))
            self._around[other] = Neighbour(other, mask_key, channel)
        parcels, xs = [], [1 + i for i in range(len(around)) if came >> i & 1]
        shares = [split(int.from_bytes(each), plan.threshold, xs, self._bits) for each in self._seeds]
        for of_own, of_key, neighbour in zip(*shares, self._around.values(), strict=True):
            text = of_own.to_bytes(SHARE) + of_key.to_bytes(SHARE)
            parcels.append(masks.seal(neighbour.channel, self.user, neighbour.user, self._session, text))
        self._next = self._hide
        return packed(PARCELS, self._session, masks.commitment(self._seeds[0], self._session, self.user), *parcels)

    def _hide(self, message: bytes) -> bytes:
        """Open what the neighbours sealed, before anything is spent; mask the value with those who did."""
        reader, session, m = Reader(message, POST, self._session), self._session, self.plan.modulus
        flags = reader.flags(len(self._around))
        sealed = iter(reader.pieces(PARCEL, flags.bit_count()))
        if flags.bit_count() < self.plan.threshold:
            raise TooFew(f"{flags.bit_count()} neighbours shared their secrets: {self.plan.threshold} are needed")
        pairs, opened = [], 0
        for i, other in enumerate(self._around.values()):
            if flags >> i & 1:
                other.present = True
                try:
                    other.shares = masks.opened(other.channel, other.user, self.user, session, next(sealed))
                    opened += 1
                except Forged:
                    if self.plan.signed:  # the server may have done it
                        raise
                    other.shares = NONE  # a device did: if this one left, corrupted ones could choose whom to lose
                secret = masks.agreed(self._mask, other.key)
                pairs.append(masks.pair_mask(secret, session, self.user, other.user, m))
        if opened < self.plan.threshold:
            raise TooFew(f"{opened} neighbours sealed their shares well: {self.plan.threshold} are needed")
        own = masks.own_mask(self._seeds[0], session, self.user, m)
        self._spend(self.user)
        hidden = masks.masked(self._value, own, pairs, m)
        del self._value, self._mask, self._seeds  # the others have what is needed of them
        self._next = self._agree
        return packed(MASKED, session, hidden.to_bytes(VALUE))

    def _agree(self, message: bytes) -> bytes:
        """Check the survivors, as far as this device can; sign them."""
        reader = Reader(message, SURVIVORS, self._session)
        flags = reader.flags(self.plan.n)
        reader.end()
        if not flags >> self.plan.index(self.user) & 1:
            raise Disagreement("this device sent its value, and is said to be lost")
        if flags.bit_count() < self.plan.least:
            raise TooFew(f"{flags.bit_count()} values are in the sum: at least {self.plan.least} must be")
        near = sum(flags >> self.plan.index(user) & 1 for user in self._neighbours)
        if near < self.plan.threshold:
            raise TooFew(f"{near} neighbours are said to have survived: {self.plan.threshold} are needed")
        shared = {user for user, other in self._around.items() if other.present}
        if any(flags >> self.plan.index(user) & 1 and user not in shared for user in self._neighbours):
            raise Disagreement("a user is said to have survived who shared no secrets")
        self._survivors, self._next = message[2 + KEY :], self._reveal
        if not self.plan.signed:
            return self._shares(flags)
        assert self._signer is not None
        return packed(VOTE, self._session, self._signer.sign(survived(self._session, self._survivors)))

    def _reveal(self, message: bytes) -> bytes:
        """Check that enough neighbours were told of the same survivors."""
        reader = Reader(message, VOTES, self._session)
        flags = reader.flags(len(self._around))
        votes = iter(reader.pieces(SIGNATURE, flags.bit_count()))
        if flags.bit_count() < self.plan.threshold:
            raise TooFew(f"{flags.bit_count()} neighbours signed the survivors: {self.plan.threshold} must")
        for i, other in enumerate(self._around.values()):
            if flags >> i & 1:
                verify(self._identities, other.user, next(votes), survived(self._session, self._survivors))
        return self._shares(int.from_bytes(self._survivors, "little"))

    def _shares(self, survivors: int) -> bytes:
        """One share of each neighbour that sealed some: of the own mask of a survivor, else of the key for masks."""
        shares = []
        for user, other in self._around.items():
            if other.present:
                alive = survivors >> self.plan.index(user) & 1
                shares.append(other.shares[:SHARE] if alive else other.shares[SHARE:])
        sent = packed(SHARES, self._session, *shares)
        self.leave()
        return sent


def parted(keys: bytes) -> tuple[bytes, bytes, bytes]:
    """Key for seals, key for masks, signature."""
    return keys[:KEY], keys[KEY : 2 * KEY], keys[2 * KEY :]

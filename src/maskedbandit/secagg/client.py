"""The client of a round: one device, as a machine that turns the server's messages into its own [BIK17, Fig. 4].

    it was told                      it sends
    nothing                          ADVERT: two fresh public keys, for seals and for masks
    ROSTER: keys of its neighbours   PARCELS: shares of two seeds, that of its own mask and that of its key for masks
    POST: shares of its neighbours   MASKED: its value + own mask + masks of pairs
    SURVIVORS: whose values count    VOTE: the same survivors, signed; in an unsigned round at once
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

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from maskedbandit.errors import Disagreement, Forged, InvalidValue, Malformed, OutOfTurn, TooFew
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg import masks
from maskedbandit.secagg.graph import rank, root_from
from maskedbandit.secagg.masks import KEY, SEED
from maskedbandit.secagg.messages import (
    ADVERT,
    COUNT,
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

    __slots__ = ("channel", "key", "present", "sealed", "user")

    def __init__(self, user: int, key: bytes, channel: bytes) -> None:
        self.user, self.key, self.channel = user, key, channel  # `key` for masks is public, `channel` is secret
        self.present, self.sealed = False, b""


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
        if type(user) is not int or not 0 <= user < 1 << 64:
            raise InvalidValue("user", user, "a whole number of at least 0, below 2^64")
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
        except BaseException:
            self._forget()
            raise

    def _forget(self) -> None:
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
        seed, count, here = reader.take(KEY), reader.number(COUNT), reader.number(COUNT)
        if sha256(seed).digest() != plan.ring:
            raise Disagreement("the order of the users is not the one that the plan commits to")
        if count < plan.least:
            raise TooFew(f"{count} users are left, and at least {plan.least} values must be in the sum")
        if count > plan.n or here >= count:
            raise Disagreement(f"place {here} of {count} does not exist in a round of {plan.n}")
        around = plan.around(here, count)
        places = sorted([here, *around])
        width = len(masks.name(0)) + len(self._keys)
        entries = dict(zip(places, [reader.take(width) for _ in places], strict=True))
        root = root_from(count, entries, reader.pieces(KEY))
        if entries[here] != masks.name(self.user) + self._keys:
            raise Disagreement("the server changed this device's own keys")
        users = {place: int.from_bytes(entry[:8]) for place, entry in entries.items()}
        ranks = {place: rank(seed, user) for place, user in users.items()}
        if any(ranks[place] >= ranks[place + 1] for place in places if place + 1 in ranks):
            raise Disagreement("the users are not in the order that the plan commits to")
        keys = [entry[8 + i * KEY : 8 + (i + 1) * KEY] for entry in entries.values() for i in range(2)]
        if len(set(keys)) < len(keys):
            raise Disagreement("two public keys are equal")
        self._session, self._count, self._here = plan.session(root, count), count, here
        self._around: dict[int, Neighbour] = {}
        for place in around:
            user, (seal_key, mask_key, signature) = users[place], parted(entries[place][8:])
            if plan.signed:
                verify(self._identities, user, signature, advertised(plan, user, seal_key + mask_key))
            secret = masks.agreed(self._seal, seal_key)
            channel = masks.derived(secret, self._session, masks.between(b"seal", self.user, user))
            self._around[place] = Neighbour(user, mask_key, channel)
        parcels, xs = [], range(1, len(around) + 1)
        shares = [split(int.from_bytes(each), plan.threshold, xs, self._bits) for each in self._seeds]
        for of_own, of_key, other in zip(*shares, self._around.values(), strict=True):
            text = of_own.to_bytes(SHARE) + of_key.to_bytes(SHARE)
            parcels.append(masks.seal(other.channel, self.user, other.user, self._session, text))
        self._next = self._hide
        return packed(PARCELS, self._session, masks.commitment(self._seeds[0], self._session, self.user), *parcels)

    def _hide(self, message: bytes) -> bytes:
        """Keep what the neighbours sealed; mask the value with those who did."""
        reader, session, m = Reader(message, POST, self._session), self._session, self.plan.modulus
        flags = reader.flags(len(self._around))
        sealed = iter(reader.pieces(PARCEL, flags.bit_count()))
        if flags.bit_count() < self.plan.threshold:
            raise TooFew(f"{flags.bit_count()} neighbours shared their secrets: {self.plan.threshold} are needed")
        pairs = []
        for i, other in enumerate(self._around.values()):
            if flags >> i & 1:
                other.present, other.sealed = True, next(sealed)
                secret = masks.agreed(self._mask, other.key)
                pairs.append(masks.pair_mask(secret, session, self.user, other.user, m))
        own = masks.own_mask(self._seeds[0], session, self.user, m)
        self._spend(self.user)
        hidden = masks.masked(self._value, own, pairs, m)
        del self._value, self._mask, self._seeds  # the others have what is needed of them
        self._next = self._agree
        return packed(MASKED, session, hidden.to_bytes(VALUE))

    def _agree(self, message: bytes) -> bytes:
        """Check the survivors, as far as this device can; sign them."""
        reader = Reader(message, SURVIVORS, self._session)
        flags = reader.flags(self._count)
        reader.end()
        if not flags >> self._here & 1:
            raise Disagreement("this device sent its value, and is said to be lost")
        if flags.bit_count() < self.plan.least:
            raise TooFew(f"{flags.bit_count()} values are in the sum: at least {self.plan.least} must be")
        if any(flags >> place & 1 and not other.present for place, other in self._around.items()):
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
        for place, other in self._around.items():
            if other.present:
                text = masks.opened(other.channel, other.user, self.user, self._session, other.sealed)
                if len(text) != 2 * SHARE:
                    raise Malformed(f"user {other.user} sealed something else than two shares")
                shares.append(text[:SHARE] if survivors >> place & 1 else text[SHARE:])
        sent = packed(SHARES, self._session, *shares)
        self._forget()
        return sent


def parted(keys: bytes) -> tuple[bytes, bytes, bytes]:
    """Key for seals, key for masks, signature."""
    return keys[:KEY], keys[KEY : 2 * KEY], keys[2 * KEY :]

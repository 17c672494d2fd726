"""The client of a round: one device, as a state machine that answers the server's messages [BIK17, Fig. 4].

    it receives                          it sends
    nothing                              ADVERT: two fresh public keys, one to seal key shares, one for pair masks
    ROSTER: its neighbours' keys         PARCELS: key shares of two seeds, that of its own mask and of its mask key
    POST: its neighbours' key shares     MASKED: its value + its own mask + its pair masks
    SURVIVORS: whose values are summed   VOTE: a signature of that list, in signed rounds alone
    VOTES: its neighbours' signatures    KEY_SHARES: of each survivor's own mask, of each lost neighbour's mask key

**Guarantee**: in a signed round whose threshold is one of `parameters.py` for at most a corrupted ones among the
neighbours of each honest user, whatever the server sends to whom: all that the server and corrupted users learn of the
values of honest users is the sum over all honest users of one list of survivors, a list of at least `least` users.
Proof: [BIK17] on the complete graph, docs/secure_sums.md on a sparse one. In an unsigned round this holds if the server
follows the protocol, threshold > a, and the honest survivors are connected. Without one of its two seeds, the masked
value of a user is uniform; of a neighbour's two seeds a client reveals a key share of one, once.

Anything unexpected ends the round for this client: it raises a `ProtocolError` and forgets its secrets. A client
serves one round; a new attempt needs a new client, with fresh keys, masks and noise.
"""

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
    KEY_SHARES,
    MASKED,
    PARCEL,
    PARCELS,
    POST,
    ROSTER,
    SIGNATURE,
    SURVIVORS,
    VOTE,
    VOTES,
    Reader,
    pack_message,
)
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.shamir import KEY_SHARE, split_secret

INVALID = b"\xff" * (2 * KEY_SHARE)  # two numbers above all key shares
Identities = Mapping[int, bytes]  # the public signing key of every enrolled user, from a party that is not the server


def write_key_text(plan: RoundPlan, user: int, keys: bytes) -> bytes:
    """The text that a user signs to vouch for its public keys."""
    return b"maskedbandit keys" + plan.round + masks.user_bytes(user) + keys


def write_vote_text(session: bytes, survivors: bytes) -> bytes:
    """The text that a user signs to vote for a list of survivors."""
    return b"maskedbandit survivors" + session + survivors


def verify_signature(identities: Identities, user: int, signature: bytes, text: bytes) -> None:
    """Raise unless this enrolled user signed this text."""
    if user not in identities:
        raise Forged(f"user {user} is not enrolled")
    try:
        Ed25519PublicKey.from_public_bytes(identities[user]).verify(signature, text)
    except InvalidSignature:
        raise Forged(f"user {user} did not sign this message") from None


class Neighbour:
    """What a client knows about a neighbour: `mask_key` is public, `channel` is the secret key of what they seal.

    `present` says that the neighbour sent its key shares; `key_shares` are those for this client, of both seeds.
    """

    __slots__ = ("channel", "key_shares", "mask_key", "present", "user")

    def __init__(self, user: int, mask_key: bytes, channel: bytes) -> None:
        self.user, self.mask_key, self.channel = user, mask_key, channel
        self.present, self.key_shares = False, b""


class RoundClient:
    """One device in one round. `value` is below the modulus and already includes the device's noise.

    Signed rounds need the device's signing key and the `identities` of all who may take part. `spend` is called before
    the masked value leaves the device: it records that the user took part, or raises if the user did so before.
    """

    def __init__(
        self,
        plan: RoundPlan,
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
        """The answer to a message from the server."""
        answer = self._next
        self._next = self._refuse
        try:
            return answer(message)  # it sets what is due next
        except BaseException as wrong:
            self.leave()
            clear_frames(wrong.__traceback__)  # its frames hold secrets, also of neighbours
            raise

    def leave(self) -> None:
        """Forget all secrets; refuse every later message."""
        for secret in ("_value", "_bits", "_signer", "_seal", "_mask", "_seeds", "_around", "_survivors"):
            self.__dict__.pop(secret, None)
        self._next = self._refuse

    def _refuse(self, message: bytes) -> bytes:
        raise OutOfTurn(f"user {self.user} has left the round")

    def _start(self, message: bytes) -> bytes:
        if message:
            raise OutOfTurn(f"a message for user {self.user} came before its keys were sent")
        self._seeds = masks.random_bytes(SEED, self._bits), masks.random_bytes(SEED, self._bits)
        self._seal, seal_key = masks.seed_key_pair(masks.random_bytes(KEY, self._bits), self.plan.round, b"seal")
        self._mask, mask_key = masks.seed_key_pair(self._seeds[1], self.plan.round, b"mask")
        self._keys = seal_key + mask_key
        if self.plan.signed:
            assert self._signer is not None
            self._keys += self._signer.sign(write_key_text(self.plan, self.user, self._keys))
        self._next = self._share
        return pack_message(ADVERT, self.plan.round, self._keys)

    def _share(self, message: bytes) -> bytes:
        """Check the keys of the neighbours, and share both seeds among them."""
        plan, reader = self.plan, Reader(message, ROSTER, self.plan.round)
        seed, root = reader.take(KEY), reader.take(KEY)
        if sha256(seed).digest() != plan.ring:
            raise Disagreement("the seed of the ring is not the one that the plan commits to")
        around = plan.drawn(seed, root).around(self.user)
        came = reader.flags(len(around))
        here = [other for i, other in enumerate(around) if came >> i & 1]
        entries = {plan.index(other): masks.user_bytes(other) for other in around}
        keys = {other: reader.take(len(self._keys)) for other in here}
        for other in here:
            entries[plan.index(other)] += keys[other]
        entries[plan.index(self.user)] = masks.user_bytes(self.user) + self._keys
        if root_from(plan.n, entries, reader.pieces(KEY)) != root:
            raise Disagreement("the keys do not fit their root: the server changed some, or this device's own")
        if len(here) < plan.threshold:
            raise TooFew(f"{len(here)} neighbours came: {plan.threshold} are needed")
        public = [each for text in (self._keys, *keys.values()) for each in parted(text)[:2]]
        secrets = {each: masks.agree_secret(self._seal, each) for each in public}
        if len(set(secrets.values())) < len(public):
            raise Disagreement("two public keys are equal")
        self._session, self._neighbours = plan.session(root), around
        self._around: dict[int, Neighbour] = {}
        for other in here:
            seal_key, mask_key, signature = parted(keys[other])
            if plan.signed:
                verify_signature(self._identities, other, signature, write_key_text(plan, other, seal_key + mask_key))
            channel = masks.derive_key(secrets[seal_key], self._session, masks.pair_purpose(b"seal", self.user, other))
            self._around[other] = Neighbour(other, mask_key, channel)
        parcels, xs = [], [1 + i for i in range(len(around)) if came >> i & 1]
        key_shares = [split_secret(int.from_bytes(each), plan.threshold, xs, self._bits) for each in self._seeds]
        for of_own, of_key, neighbour in zip(*key_shares, self._around.values(), strict=True):
            text = of_own.to_bytes(KEY_SHARE) + of_key.to_bytes(KEY_SHARE)
            parcels.append(masks.seal_text(neighbour.channel, self.user, neighbour.user, self._session, text))
        self._next = self._hide
        return pack_message(
            PARCELS, self._session, masks.commit_seed(self._seeds[0], self._session, self.user), *parcels
        )

    def _hide(self, message: bytes) -> bytes:
        """Open the neighbours' key shares, before anything is spent; then mask the value."""
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
                    other.key_shares = masks.open_text(other.channel, other.user, self.user, session, next(sealed))
                    opened += 1
                except Forged:
                    if self.plan.signed:  # the server may have altered it
                        raise
                    # The neighbour sent nonsense. If this device left, corrupted ones could choose who drops out.
                    other.key_shares = INVALID
                secret = masks.agree_secret(self._mask, other.mask_key)
                pairs.append(masks.pair_mask(secret, session, self.user, other.user, m))
        if opened < self.plan.threshold:
            raise TooFew(f"{opened} neighbours sealed their key shares well: {self.plan.threshold} are needed")
        own = masks.own_mask(self._seeds[0], session, self.user, m)
        self._spend(self.user)
        hidden = masks.mask_value(self._value, own, pairs, m)
        del self._value, self._mask, self._seeds  # the neighbours have what is still needed of them
        self._next = self._agree
        return pack_message(MASKED, session, hidden.to_bytes(masks.measure_residue(m)))

    def _agree(self, message: bytes) -> bytes:
        """Check the list of survivors, as far as this device can, and sign it."""
        reader = Reader(message, SURVIVORS, self._session)
        flags = reader.flags(self.plan.n)
        reader.end()
        if not flags >> self.plan.index(self.user) & 1:
            raise Disagreement("this device sent its value and is said to be lost")
        if flags.bit_count() < self.plan.least:
            raise TooFew(f"{flags.bit_count()} values are in the sum: at least {self.plan.least} must be")
        here = [user for i, user in enumerate(self.plan.users) if flags >> i & 1]
        if (people := self.plan.count_people(here)) < self.plan.people:
            raise TooFew(f"{people} honest people may be all in the sum: at least {self.plan.people} must be")
        near = sum(flags >> self.plan.index(user) & 1 for user in self._neighbours)
        if near < self.plan.threshold:
            raise TooFew(f"{near} neighbours are said to have survived: {self.plan.threshold} are needed")
        shared = {user for user, other in self._around.items() if other.present}
        if any(flags >> self.plan.index(user) & 1 and user not in shared for user in self._neighbours):
            raise Disagreement("a neighbour is said to have survived that sent no key shares")
        self._survivors, self._next = message[2 + KEY :], self._reveal
        if not self.plan.signed:
            return self._key_shares(flags)
        assert self._signer is not None
        return pack_message(VOTE, self._session, self._signer.sign(write_vote_text(self._session, self._survivors)))

    def _reveal(self, message: bytes) -> bytes:
        """Check that enough neighbours signed the same list of survivors."""
        reader = Reader(message, VOTES, self._session)
        flags = reader.flags(len(self._around))
        votes = iter(reader.pieces(SIGNATURE, flags.bit_count()))
        if flags.bit_count() < self.plan.threshold:
            raise TooFew(f"{flags.bit_count()} neighbours signed the survivors: {self.plan.threshold} must")
        for i, other in enumerate(self._around.values()):
            if flags >> i & 1:
                verify_signature(
                    self._identities, other.user, next(votes), write_vote_text(self._session, self._survivors)
                )
        return self._key_shares(int.from_bytes(self._survivors, "little"))

    def _key_shares(self, survivors: int) -> bytes:
        """A key share of each neighbour that is present: of its own mask if it survived, else of its mask key."""
        key_shares = []
        for user, other in self._around.items():
            if other.present:
                alive = survivors >> self.plan.index(user) & 1
                key_shares.append(other.key_shares[:KEY_SHARE] if alive else other.key_shares[KEY_SHARE:])
        sent = pack_message(KEY_SHARES, self._session, *key_shares)
        self.leave()
        return sent


def parted(keys: bytes) -> tuple[bytes, bytes, bytes]:
    """Seal key, mask key and signature."""
    return keys[:KEY], keys[KEY : 2 * KEY], keys[2 * KEY :]

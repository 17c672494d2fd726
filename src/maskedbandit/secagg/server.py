"""The server of a round: it forwards messages, and learns the sum of the survivors' values [BIK17, Fig. 4].

With x the values, y the masked values, b the own masks and p the pair masks, all modulo m,

    sum of x over survivors = sum of y - sum of b over survivors - sum of p over pairs of a survivor and a lost user.

The users answer in phases: keys, sealed key shares, masked values, votes in signed rounds, key shares. `close` ends a
phase; a user who has not answered by then is lost. The server rebuilds the own masks of survivors and the mask keys of
lost users from their neighbours' key shares (key_shares.py), and checks both against what the users published.

It does not trust clients: it refuses a wrong message with a named error and treats the sender as lost, and the round
goes on with the others.
"""

from collections.abc import Callable, Collection
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.errors import Disagreement, InvalidValue, Malformed, OutOfTurn, ProtocolError, TooFew
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import Identities, verify_signature, write_key_text, write_vote_text
from maskedbandit.secagg.graph import MerkleTree
from maskedbandit.secagg.key_shares import KeyShares
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
    pack_flags,
    pack_message,
    pack_present,
)
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.shamir import KEY_SHARE


class Step(NamedTuple):
    """One phase: what is due from the users, what they are sent before, and what is done with their answers."""

    due: str
    tell: Callable[[int], bytes]
    take: Callable[[int, bytes], None]
    end: Callable[[], Collection[int]]  # returns the users whose answers are due next


class RoundServer:
    """The server in one round. `seed` determines the order of the ring; the plan commits to it.

    `spend` is called for each user whose masked value comes: it records that the user took part, or raises.

    >>> from maskedbandit.secagg.client import RoundClient
    >>> from maskedbandit.privacy.sampling import Bits
    >>> seed, bits = bytes(32), Bits()
    >>> plan = RoundPlan(b"example", (0, 1, 2, 3), 3, 2, 3, 100, False, sha256(seed).digest())
    >>> clients = {user: RoundClient(plan, user, value, bits) for user, value in enumerate([30, 40, 50, 60])}
    >>> server = RoundServer(plan, seed)
    >>> sent = {user: client.start() for user, client in clients.items()}
    >>> while server.phase:
    ...     for user, message in sent.items():
    ...         server.receive(user, message)
    ...     server.close()
    ...     sent = {user: clients[user].receive(server.message_for(user)) for user in server.waiting}
    >>> server.total, sorted(server.survivors)
    (80, [0, 1, 2, 3])
    """

    def __init__(
        self,
        plan: RoundPlan,
        seed: bytes,
        identities: Identities | None = None,
        spend: Callable[[int], None] = lambda user: None,
    ) -> None:
        if sha256(seed).digest() != plan.ring or len(seed) != KEY:
            raise InvalidValue("seed", "hidden", f"the {KEY} bytes that the plan commits to")
        if plan.signed and identities is None:
            raise InvalidValue("identities", None, "given, as the round is signed")
        self.plan, self.seed = plan, seed
        self.waiting = set(plan.users)  # the users whose message is due
        self.survivors: frozenset[int] = frozenset()
        self.total: int | None = None
        self._identities, self._spend = identities or {}, spend
        self._probe, _ = masks.seed_key_pair(
            bytes(SEED), plan.round, b"probe"
        )  # to compare public keys; it is not secret
        self._known: set[bytes] = set()  # what the public keys that came agree on with the probe
        self._keys: dict[int, bytes] = {}
        self._commitments: dict[int, bytes] = {}
        self._parcels: dict[int, dict[int, bytes]] = {}  # by sender, by receiver
        self._masked: dict[int, int] = {}
        self._votes: dict[int, bytes] = {}
        self._key_shares = KeyShares(plan.threshold)
        self._session = plan.round
        self._steps = [
            Step("keys", lambda user: b"", self._take_keys, self._end_keys),
            Step("sealed key shares", self._roster, self._take_parcels, self._end_parcels),
            Step("masked values", self._post, self._take_masked, self._end_masked),
            Step("votes", lambda user: self._announced, self._take_vote, self._end_votes),
            Step("key shares", self._ballots, self._take_key_shares, self._end_key_shares),
        ]
        if not plan.signed:
            self._steps[3:] = [
                Step("key shares", lambda user: self._announced, self._take_key_shares, self._end_key_shares)
            ]

    @property
    def phase(self) -> str:
        """The name of what is due from the users; empty when the round is over."""
        return self._steps[0].due if self._steps else ""

    def receive(self, user: int, message: bytes) -> None:
        """Take the answer of a user in this phase."""
        if user not in self.waiting:
            raise OutOfTurn(f"nothing is due from user {user}")
        self._steps[0].take(user, message)
        self.waiting.remove(user)

    def close(self) -> None:
        """End the phase; users who have not answered are lost. If too few are left, the round is over."""
        if not self._steps:
            raise OutOfTurn("the round is over")
        try:
            self.waiting = set(self._steps[0].end())
        except ProtocolError:
            self.waiting, self._steps, self.survivors = set(), [], frozenset()
            self._forget()
            raise
        self._steps.pop(0)

    def message_for(self, user: int) -> bytes:
        """The message to the user in this phase."""
        if user not in self.waiting:
            raise OutOfTurn(f"there is no message for user {user}")
        return self._steps[0].tell(user)

    def _enough(self, users: Collection[int], least: int) -> Collection[int]:
        """These users, if they are enough to continue."""
        if len(users) < least:
            raise TooFew(f"{len(users)} users are left after the phase of {self.phase}: {least} are needed")
        return users

    # --- keys

    def _take_keys(self, user: int, message: bytes) -> None:
        reader = Reader(message, ADVERT, self.plan.round)
        keys, signature = reader.take(2 * KEY), reader.take(SIGNATURE if self.plan.signed else 0)
        reader.end()
        if self.plan.signed:
            verify_signature(self._identities, user, signature, write_key_text(self.plan, user, keys))
        pair = {
            masks.agree_secret(self._probe, key) for key in (keys[:KEY], keys[KEY:])
        }  # raises if a key is not valid
        if len(pair) < 2 or self._known & pair:
            raise Disagreement(f"user {user} sent a public key that came before")
        self._known |= pair
        self._keys[user] = keys + signature

    def _end_keys(self) -> Collection[int]:
        self._enough(self._keys, self.plan.least)
        self._tree = MerkleTree([masks.user_bytes(user) + self._keys.get(user, b"") for user in self.plan.users])
        self._session = self.plan.session(self._tree.root)
        self.ring = self.plan.drawn(self.seed, self._tree.root)
        return self._keys

    def _roster(self, user: int) -> bytes:
        around = self.ring.around(user)
        proof = self._tree.proof([self.plan.index(other) for other in (user, *around)])
        keys = pack_present([self._keys.get(other) for other in around])
        return pack_message(ROSTER, self.plan.round, self.seed, self._tree.root, keys, *proof)

    def _around(self, user: int) -> list[int]:
        """The neighbours of a user that sent their keys."""
        return [other for other in self.ring.around(user) if other in self._keys]

    # --- sealed key shares

    def _take_parcels(self, user: int, message: bytes) -> None:
        reader, around = Reader(message, PARCELS, self._session), self._around(user)
        commitment = reader.take(KEY)
        self._parcels[user] = dict(zip(around, reader.pieces(PARCEL, len(around)), strict=True))
        self._commitments[user] = commitment

    def _end_parcels(self) -> Collection[int]:
        return self._enough(self._parcels, self.plan.least)

    def _post(self, user: int) -> bytes:
        nothing: dict[int, bytes] = {}
        pieces = [self._parcels.get(other, nothing).get(user) for other in self._around(user)]
        return pack_message(POST, self._session, pack_present(pieces))

    # --- masked values

    def _take_masked(self, user: int, message: bytes) -> None:
        reader = Reader(message, MASKED, self._session)
        value = reader.number(masks.measure_residue(self.plan.modulus))
        reader.end()
        if value >= self.plan.modulus:
            raise Malformed(f"user {user} sent a masked value that is not below the modulus")
        self._spend(user)
        self._masked[user] = value

    def _end_masked(self) -> Collection[int]:
        self._enough(self._masked, self.plan.least)
        if (people := self.plan.count_people(self._masked)) < self.plan.people:
            raise TooFew(f"{people} honest people may be all in the sum: at least {self.plan.people} must be")
        self.survivors = frozenset(self._masked)
        flags = sum(1 << self.plan.index(user) for user in self.survivors)
        self._announced = pack_message(SURVIVORS, self._session, pack_flags(flags, self.plan.n))
        return self.survivors

    # --- votes

    def _take_vote(self, user: int, message: bytes) -> None:
        reader = Reader(message, VOTE, self._session)
        vote = reader.take(SIGNATURE)
        reader.end()
        verify_signature(self._identities, user, vote, write_vote_text(self._session, self._announced[2 + KEY :]))
        self._votes[user] = vote

    def _end_votes(self) -> Collection[int]:
        return self._enough(self._votes, self.plan.threshold)

    def _ballots(self, user: int) -> bytes:
        """As many votes as a client needs; it would have to verify further ones in vain."""
        votes, left = list[bytes | None](), self.plan.threshold
        for other in self._around(user):
            vote = self._votes.get(other) if left else None
            left -= vote is not None
            votes.append(vote)
        return pack_message(VOTES, self._session, pack_present(votes))

    # --- key shares

    def _take_key_shares(self, user: int, message: bytes) -> None:
        reader = Reader(message, KEY_SHARES, self._session)
        around = [other for other in self._around(user) if other in self._parcels]
        for other, key_share in zip(around, reader.pieces(KEY_SHARE, len(around)), strict=True):
            self._key_shares.add(other, user, key_share)

    def _end_key_shares(self) -> Collection[int]:
        """Rebuild the masks that hide the sum, and subtract them."""
        m, session = self.plan.modulus, self._session
        total = sum(self._masked.values())
        for user in self.survivors:
            publish = partial(masks.commit_seed, session=session, user=user)
            total -= masks.own_mask(self._rebuilt(user, publish, self._commitments[user]), session, user, m)
        public = {user: keys[KEY : 2 * KEY] for user, keys in self._keys.items()}
        for user in self._parcels.keys() - self.survivors:
            others = [other for other in self._around(user) if other in self.survivors]
            if others:
                private, _ = mask_keys(
                    self.plan, self._rebuilt(user, lambda seed: mask_keys(self.plan, seed)[1], public[user])
                )
                for other in others:
                    secret = masks.agree_secret(private, public[other])
                    total -= masks.pair_mask(secret, session, other, user, m)
        self.total = total % m
        self._forget()
        return ()

    def _rebuilt(self, user: int, publish: Callable[[bytes], bytes], published: bytes) -> bytes:
        """The seed of a user: the one that gives what the user published."""
        return self._key_shares.rebuilt(user, lambda sender: 1 + self.ring.number(sender, of=user), publish, published)

    def _forget(self) -> None:
        for kept in (self._parcels, self._masked, self._votes, self._key_shares, self._commitments):
            kept.clear()


def mask_keys(plan: RoundPlan, seed: bytes) -> tuple[X25519PrivateKey, bytes]:
    """The mask keys that a seed gives."""
    return masks.seed_key_pair(seed, plan.round, b"mask")

"""A server that the test controls, and a record of everything that devices ever reveal to it.

`Liar` follows the protocol until it is told otherwise: every message to a device is built from parts that a test may
replace. It keeps each byte that devices send. `halves(user)` says which of the two secrets of a user can be rebuilt
from key shares that were sent and those that colluding devices hold: the promise is at most one, and `kept()` checks it
for all.
"""

from __future__ import annotations

from hashlib import sha256
from random import Random
from unittest import mock

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from maskedbandit.errors import OutOfTurn
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg import client, masks
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.graph import MerkleTree
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import (
    PARCEL,
    POST,
    ROSTER,
    SIGNATURE,
    SURVIVORS,
    VOTES,
    pack_flags,
    pack_message,
    pack_present,
)
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.shamir import KEY_SHARE, combine_shares, lagrange_weights, split_secret

HEAD = 2 + KEY  # version, kind, session
OWN, FOR_MASKS = 0, 1  # the two secrets of a user, and the order in which a parcel holds key shares of them
SEED_OF_RING = bytes(range(32))
LOW_ORDER = (bytes(32), (1).to_bytes(32, "little"))
KEPT = {"plan", "user", "_identities", "_spend", "_next", "_keys", "_session", "_neighbours"}  # nothing secret


def seeded(seed: int) -> Bits:
    return Bits(Random(seed).randbytes)


def signer(user: int) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(sha256(b"signer %d" % user).digest())


def identities_of(users) -> dict[int, bytes]:
    return {user: signer(user).public_key().public_bytes_raw() for user in users}


def planned(n=6, k=None, t=None, least=None, m=1000, signed=True, corrupted=0, cohort=b"cohort") -> RoundPlan:
    """A plan; by default the threshold is the least one at which a lying server learns nothing."""
    k = n - 1 if k is None else k
    t = max(2, (k + corrupted) // 2 + 1) if t is None else t
    least = t + 1 if least is None else least
    return RoundPlan(cohort, tuple(range(n)), k, t, least, m, signed, sha256(SEED_OF_RING).digest())


class Liar:
    """`corrupted` users work for the server: their key shares are its own."""

    def __init__(self, plan: RoundPlan, values=None, corrupted=(), kind=RoundClient, seed=1, spend=None) -> None:
        self.plan, self.corrupted = plan, set(corrupted)
        self.values = {user: 10 + i for i, user in enumerate(plan.users)} if values is None else dict(values)
        self.spent: list[int] = []
        bits, who, spend = seeded(seed), identities_of(self.values), spend or self.spent.append
        self.clients = {u: kind(plan, u, v, bits, signer(u), who, spend) for u, v in self.values.items()}
        self.sent: dict[int, list[bytes]] = {user: [] for user in self.clients}
        self.seeds: dict[int, tuple[bytes, bytes]] = {}
        self.dealt: dict[bytes, tuple[int, int, int]] = {}  # a key share: whose, of which secret, for whom
        self.keys: dict[int, bytes] = {}
        self.parcels: dict[int, dict[int, bytes]] = {}  # by sender and receiver
        self.masked: dict[int, int] = {}
        self.signed: dict[tuple[int, bytes], bytes] = {}  # votes, by user and survivors
        self.received: dict[int, list[bytes]] = {user: [] for user in self.clients}

    # --- what a device is told, and what it answers

    def tell(self, user: int, message: bytes) -> bytes:
        """Deliver a message, and write down the answer."""
        if message:
            self.received[user].append(message)
        answer = self.clients[user].receive(message)
        self.sent[user].append(answer)
        return answer

    def open(self) -> None:
        """All devices send their keys."""
        for user, each in self.clients.items():
            self.keys[user] = self.tell(user, b"")[HEAD:]
            self.seeds[user] = each._seeds
        self.ring = self.plan.drawn(SEED_OF_RING, self.tree(self.keys).root)

    def tree(self, keys) -> MerkleTree:
        """The tree of these keys, by user."""
        return MerkleTree([masks.user_bytes(user) + keys.get(user, b"") for user in self.plan.users])

    def roster(self, user, keys=None, seen=None, seed=SEED_OF_RING, root=None, proof=None) -> bytes:
        """ROSTER; `keys` are in the tree, and what is `seen` of them is told."""
        tree = self.tree(self.keys if keys is None else keys)
        root = tree.root if root is None else root
        around = self.plan.drawn(SEED_OF_RING, root).around(user)
        proof = tree.proof([self.plan.index(other) for other in (user, *around)]) if proof is None else proof
        seen = (self.keys if keys is None else keys) if seen is None else seen
        return pack_message(
            ROSTER, self.plan.round, seed, root, pack_present([seen.get(other) for other in around]), *proof
        )

    def share(self, users=None, **changed) -> None:
        """These devices share their secrets."""
        for user in self.clients if users is None else users:
            self.share_of(user, self.roster(user, **changed))

    def share_of(self, user: int, roster: bytes) -> bytes:
        dealt = []

        def watched(secret, threshold, xs, bits):
            key_shares = split_secret(secret, threshold, xs, bits)
            dealt.append((self.seeds[user].index(secret.to_bytes(masks.SEED)), key_shares))
            return key_shares

        with mock.patch.object(client, "split_secret", watched):
            answer = self.tell(user, roster)
        around = [other.user for other in self.clients[user]._around.values()]
        for which, key_shares in dealt:
            for other, key_share in zip(around, key_shares, strict=True):
                self.dealt[key_share.to_bytes(KEY_SHARE)] = user, which, other
        pieces = answer[HEAD + KEY :]
        self.parcels[user] = {other: pieces[i * PARCEL : (i + 1) * PARCEL] for i, other in enumerate(around)}
        return answer

    def around(self, user: int) -> list[int]:
        """Neighbours of a device that came, in the order in which it knows them."""
        return [other for other in self.ring.around(user) if other in self.keys]

    def x(self, holder: int, of: int) -> int:
        """The point at which a neighbour holds a key share of a user's secrets."""
        return 1 + self.ring.number(holder, of=of)

    def session(self, user: int) -> bytes:
        return self.clients[user]._session

    def post(self, user, parcels=None, absent=()) -> bytes:
        """POST; `parcels` by their senders."""
        if parcels is None:
            parcels = {other: self.parcels[other].get(user) for other in self.parcels}
        pieces = [None if other in absent else parcels.get(other) for other in self.around(user)]
        return pack_message(POST, self.session(user), pack_present(pieces))

    def hide(self, users=None, **changed) -> None:
        """These devices send their masked values."""
        for user in self.parcels if users is None else users:
            self.masked[user] = int.from_bytes(self.tell(user, self.post(user, **changed))[HEAD:])

    def alive(self, survivors) -> bytes:
        """The survivors, as bits."""
        return pack_flags(sum(1 << self.plan.index(user) for user in survivors), self.plan.n)

    def survivors(self, user, survivors) -> bytes:
        return pack_message(SURVIVORS, self.session(user), self.alive(survivors))

    def agree(self, survivors, users=None) -> None:
        """These devices sign the survivors, or in unsigned rounds send their key shares."""
        for user in sorted(survivors) if users is None else users:
            answer = self.tell(user, self.survivors(user, survivors))
            if self.plan.signed:
                self.signed[user, self.alive(survivors)] = answer[HEAD:]

    def ballots(self, user, survivors, voters=None) -> bytes:
        """VOTES: all signatures of these survivors that there are, or those of some voters."""
        votes = [
            self.signed.get((other, self.alive(survivors))) if voters is None or other in voters else None
            for other in self.around(user)
        ]
        return pack_message(VOTES, self.session(user), pack_present(votes))

    def reveal(self, survivors, users=None) -> None:
        """These devices send key shares; in unsigned rounds they have."""
        if self.plan.signed:
            for user in sorted(survivors) if users is None else users:
                self.tell(user, self.ballots(user, survivors))

    def until(self, phase: int, survivors=None) -> Liar:
        """Play honestly: 1 keys, 2 sealed key shares, 3 masked values, 4 survivors, 5 key shares."""
        steps = [
            self.open,
            self.share,
            self.hide,
            lambda: self.agree(self.masked if survivors is None else survivors),
            lambda: self.reveal(self.masked if survivors is None else survivors),
        ]
        for step in steps[:phase]:
            step()
        return self

    # --- what the server and its colluding devices know

    def key_shares_of(self, user: int, which: int) -> dict[int, int]:
        """Shares of a secret, by who holds them, which were sent in the clear or belong to a colluding device."""
        everything = [answer for answers in self.sent.values() for answer in answers]
        return {
            holder: int.from_bytes(key_share)
            for key_share, (whose, kind, holder) in self.dealt.items()
            if (whose, kind) == (user, which)
            and (holder in self.corrupted or any(key_share in answer for answer in everything))
        }

    def halves(self, user: int) -> list[int]:
        """Which secrets of a user can be rebuilt; rebuilt, to be sure, from the key shares."""
        found = []
        for which in (OWN, FOR_MASKS):
            known = self.key_shares_of(user, which)
            if len(known) >= self.plan.threshold:
                xs = [self.x(holder, user) for holder in known]
                assert combine_shares(list(known.values()), lagrange_weights(xs)) == int.from_bytes(
                    self.seeds[user][which]
                )
                found.append(which)
        return found

    def kept(self) -> bool:
        """Nobody who is honest has lost both secrets, or shown one, or its value, in the clear."""
        for user in self.clients.keys() - self.corrupted:
            assert len(self.halves(user)) < 2, f"both secrets of user {user} are known"
            shown = b"".join(self.sent[user])
            assert not any(seed in shown for seed in self.seeds.get(user, ()))
        return True

    def unmasked(self, user: int) -> int:
        """The value of a user, from its masked value and both secrets, which were put together from key shares."""
        known = [self.key_shares_of(user, which) for which in (OWN, FOR_MASKS)]
        own, for_masks = (
            combine_shares(list(each.values()), lagrange_weights([self.x(holder, user) for holder in each])).to_bytes(
                masks.SEED
            )
            for each in known
        )
        m, session = self.plan.modulus, self.sent[user][1][2:HEAD]
        private, _ = masks.seed_key_pair(for_masks, self.plan.round, b"mask")
        hidden = masks.own_mask(own, session, user, m)
        for other in self.around(user):
            secret = masks.agree_secret(private, self.keys[other][KEY : 2 * KEY])
            hidden += masks.pair_mask(secret, session, user, other, m)
        return (self.masked[user] - hidden) % m

    def silent(self, user: int) -> bool:
        """A device that has left: it holds nothing secret, and answers nothing."""
        each = self.clients[user]
        assert set(vars(each)) <= KEPT, set(vars(each)) - KEPT
        for message in (b"", b"x", *self.received[user][-1:]):
            with pytest.raises(OutOfTurn, match="left the round"):
                each.receive(message)
        return True


def parts(keys: bytes) -> tuple[bytes, bytes, bytes]:
    """Key for seals, key for masks, signature (empty in unsigned rounds)."""
    assert len(keys) in (2 * KEY, 2 * KEY + SIGNATURE)
    return keys[:KEY], keys[KEY : 2 * KEY], keys[2 * KEY :]

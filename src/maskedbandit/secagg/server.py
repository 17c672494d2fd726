"""The server of a round: it passes messages on, and learns the sum of the values of those who stay [BIK17, Fig. 4].

With y the masked values, b the own masks and p the masks of pairs, all modulo m,

    sum of x over survivors = sum of y - sum of b over survivors - sum of p over (survivor, lost one) pairs.

The users answer in phases: keys, sealed shares, masked values, votes in some rounds, shares. `close` ends a phase:
whoever has not answered by then is lost. The server rebuilds the own masks of survivors and the keys of the lost from
the shares of their neighbours (shares.py), and checks both against what the users published.

It runs without trust in clients: a message that is wrong is refused with a named error, its sender is as good as lost,
and what others sent stays. It never holds a secret of a device that is not meant for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from maskedbandit.errors import Disagreement, InvalidValue, Malformed, OutOfTurn, ProtocolError, TooFew
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import Identities, advertised, survived, verify
from maskedbandit.secagg.graph import Tree
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
    chosen,
    flagged,
    packed,
)
from maskedbandit.secagg.plan import Plan
from maskedbandit.secagg.shamir import SHARE
from maskedbandit.secagg.shares import Shares


class Step(NamedTuple):
    """One phase: what is due from the users, what they are told, and what becomes of their answers."""

    due: str
    tell: Callable[[int], bytes]
    take: Callable[[int, bytes], None]
    end: Callable[[], Collection[int]]  # whose answers are due next


class Server:
    """The server in one round. `seed` puts the users in order; the plan commits to it.

    `spend` is called for each user whose masked value comes: it writes down that the user took part, or raises.

    >>> from maskedbandit.secagg.client import Client
    >>> from maskedbandit.privacy.sampling import Bits
    >>> seed, bits = bytes(32), Bits()
    >>> plan = Plan(b"example", (0, 1, 2, 3), 3, 2, 3, 100, False, sha256(seed).digest())
    >>> clients = {user: Client(plan, user, value, bits) for user, value in enumerate([30, 40, 50, 60])}
    >>> server = Server(plan, seed)
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
        plan: Plan,
        seed: bytes,
        identities: Identities | None = None,
        spend: Callable[[int], None] = lambda user: None,
    ) -> None:
        if sha256(seed).digest() != plan.ring or len(seed) != KEY:
            raise InvalidValue("seed", "hidden", f"the {KEY} bytes that the plan commits to")
        if plan.signed and identities is None:
            raise InvalidValue("identities", None, "given, as the round is signed")
        self.plan, self.seed = plan, seed
        self.waiting = set(plan.users)  # users whose message is due
        self.survivors: frozenset[int] = frozenset()
        self.total: int | None = None
        self._identities, self._spend = identities or {}, spend
        self._probe, _ = masks.key_pair(bytes(SEED), plan.round, b"probe")  # it keeps nothing secret
        self._known: set[bytes] = set()  # what the public keys that came agree on with it
        self._keys: dict[int, bytes] = {}
        self._commitments: dict[int, bytes] = {}
        self._parcels: dict[int, dict[int, bytes]] = {}  # by sender, by receiver
        self._masked: dict[int, int] = {}
        self._votes: dict[int, bytes] = {}
        self._shares = Shares(plan.threshold)
        self._session = plan.round
        self._steps = [
            Step("keys", lambda user: b"", self._take_keys, self._end_keys),
            Step("sealed shares", self._roster, self._take_parcels, self._end_parcels),
            Step("masked values", self._post, self._take_masked, self._end_masked),
            Step("votes", lambda user: self._told, self._take_vote, self._end_votes),
            Step("shares", self._ballots, self._take_shares, self._end_shares),
        ]
        if not plan.signed:
            self._steps[3:] = [Step("shares", lambda user: self._told, self._take_shares, self._end_shares)]

    @property
    def phase(self) -> str:
        """What is due from the users; empty when the round is over."""
        return self._steps[0].due if self._steps else ""

    def receive(self, user: int, message: bytes) -> None:
        """Take what a user answers in this phase."""
        if user not in self.waiting:
            raise OutOfTurn(f"nothing is due from user {user}")
        self._steps[0].take(user, message)
        self.waiting.remove(user)

    def close(self) -> None:
        """End the phase; whoever has not answered is lost. The round is over if too few are left."""
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
        """What the user is told in this phase."""
        if user not in self.waiting:
            raise OutOfTurn(f"there is nothing to tell user {user}")
        return self._steps[0].tell(user)

    def _enough(self, users: Collection[int], least: int) -> Collection[int]:
        """These users, if they are enough to go on with."""
        if len(users) < least:
            raise TooFew(f"{len(users)} users are left after the phase of {self.phase}: {least} are needed")
        return users

    # --- keys

    def _take_keys(self, user: int, message: bytes) -> None:
        reader = Reader(message, ADVERT, self.plan.round)
        keys, signature = reader.take(2 * KEY), reader.take(SIGNATURE if self.plan.signed else 0)
        reader.end()
        if self.plan.signed:
            verify(self._identities, user, signature, advertised(self.plan, user, keys))
        pair = {masks.agreed(self._probe, key) for key in (keys[:KEY], keys[KEY:])}  # raises what all neighbours would
        if len(pair) < 2 or self._known & pair:
            raise Disagreement(f"user {user} sent a public key that came before")
        self._known |= pair
        self._keys[user] = keys + signature

    def _end_keys(self) -> Collection[int]:
        self._enough(self._keys, self.plan.least)
        self._tree = Tree([masks.name(user) + self._keys.get(user, b"") for user in self.plan.users])
        self._session = self.plan.session(self._tree.root)
        self.ring = self.plan.drawn(self.seed, self._tree.root)
        return self._keys

    def _roster(self, user: int) -> bytes:
        around = self.ring.around(user)
        proof = self._tree.proof([self.plan.index(other) for other in (user, *around)])
        keys = chosen([self._keys.get(other) for other in around])
        return packed(ROSTER, self.plan.round, self.seed, self._tree.root, keys, *proof)

    def _around(self, user: int) -> list[int]:
        """The neighbours of a user that came."""
        return [other for other in self.ring.around(user) if other in self._keys]

    # --- sealed shares

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
        return packed(POST, self._session, chosen(pieces))

    # --- masked values

    def _take_masked(self, user: int, message: bytes) -> None:
        reader = Reader(message, MASKED, self._session)
        value = reader.number(VALUE)
        reader.end()
        if value >= self.plan.modulus:
            raise Malformed(f"user {user} sent a value that is no residue")
        self._spend(user)
        self._masked[user] = value

    def _end_masked(self) -> Collection[int]:
        self._enough(self._masked, self.plan.least)
        self.survivors = frozenset(self._masked)
        flags = sum(1 << self.plan.index(user) for user in self.survivors)
        self._told = packed(SURVIVORS, self._session, flagged(flags, self.plan.n))
        return self.survivors

    # --- votes

    def _take_vote(self, user: int, message: bytes) -> None:
        reader = Reader(message, VOTE, self._session)
        vote = reader.take(SIGNATURE)
        reader.end()
        verify(self._identities, user, vote, survived(self._session, self._told[2 + KEY :]))
        self._votes[user] = vote

    def _end_votes(self) -> Collection[int]:
        return self._enough(self._votes, self.plan.threshold)

    def _ballots(self, user: int) -> bytes:
        """As many votes as a client asks for; more would only have to be verified."""
        votes, left = list[bytes | None](), self.plan.threshold
        for other in self._around(user):
            vote = self._votes.get(other) if left else None
            left -= vote is not None
            votes.append(vote)
        return packed(VOTES, self._session, chosen(votes))

    # --- shares

    def _take_shares(self, user: int, message: bytes) -> None:
        reader = Reader(message, SHARES, self._session)
        around = [other for other in self._around(user) if other in self._parcels]
        for other, share in zip(around, reader.pieces(SHARE, len(around)), strict=True):
            self._shares.add(other, user, share)

    def _end_shares(self) -> Collection[int]:
        """Rebuild what hides the sum, and take it away."""
        m, session = self.plan.modulus, self._session
        total = sum(self._masked.values())
        for user in self.survivors:
            publish = partial(masks.commitment, session=session, user=user)
            total -= masks.own_mask(self._rebuilt(user, publish, self._commitments[user]), session, user, m)
        public = {user: keys[KEY : 2 * KEY] for user, keys in self._keys.items()}
        for user in self._parcels.keys() - self.survivors:
            others = [other for other in self._around(user) if other in self.survivors]
            if others:
                private, _ = mask_keys(
                    self.plan, self._rebuilt(user, lambda seed: mask_keys(self.plan, seed)[1], public[user])
                )
                for other in others:
                    secret = masks.agreed(private, public[other])
                    total -= masks.pair_mask(secret, session, other, user, m)
        self.total = total % m
        self._forget()
        return ()

    def _rebuilt(self, user: int, publish: Callable[[bytes], bytes], published: bytes) -> bytes:
        """The seed of a user: the one behind the shares that gives what the user published."""
        return self._shares.rebuilt(user, lambda sender: 1 + self.ring.number(sender, of=user), publish, published)

    def _forget(self) -> None:
        for kept in (self._parcels, self._masked, self._votes, self._shares, self._commitments):
            kept.clear()


def mask_keys(plan: Plan, seed: bytes) -> tuple[X25519PrivateKey, bytes]:
    """The key pair for masks that a seed gives."""
    return masks.key_pair(seed, plan.round, b"mask")

"""A server that lies: each lie ends in its named error, the device has then forgotten what it knew, and of no honest
user do the server and colluding devices ever know both secrets.

Everything is deterministic, with seeded bits. Lies that differ from device to device are in test_stories.py.
"""

from dataclasses import replace
from hashlib import sha256

import pytest

from maskedbandit.errors import Disagreement, Forged, Malformed, OutOfTurn, TooFew
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import PARCEL, SIGNATURE, SURVIVORS, VOTES, pack_message
from maskedbandit.secagg.plan import RoundPlan
from tests.for_each import for_each
from tests.secagg.adversary import HEAD, LOW_ORDER, SEED_OF_RING, Liar, identities_of, parts, planned, seeded, signer
from tests.secagg.lies import ALL, FRESH, PLAN, SPARSE, ends, flipped, inverse, keys_of, liar, other_keys, top_bit, vote

ROSTERS = {
    "own keys, replaced by the server's": (
        lambda it: other_keys(it, 0, keys_of(it, 0, FRESH, FRESH)),
        Disagreement,
        "the keys do not fit their root",
    ),
    "own key for masks, one bit": (
        lambda it: other_keys(it, 0, flipped(it.keys[0], KEY)),
        Disagreement,
        "the keys do not fit their root",
    ),
    "own keys, left out": (
        lambda it: {"keys": {user: keys for user, keys in it.keys.items() if user}},
        Disagreement,
        "the keys do not fit their root",
    ),
    "keys of a neighbour, replaced by the server's": (
        lambda it: other_keys(it, 1, keys_of(it, 1, FRESH, it.keys[1][KEY : 2 * KEY], by=99)),
        Forged,
        "user 1 did not sign",
    ),
    "keys of a neighbour, signed by another who is enrolled": (
        lambda it: other_keys(it, 1, keys_of(it, 1, FRESH, it.keys[1][KEY : 2 * KEY], by=5)),
        Forged,
        "user 1 did not sign",
    ),
    "keys of a neighbour, one bit": (lambda it: other_keys(it, 1, flipped(it.keys[1])), Forged, "user 1 did not sign"),
    "signature of a neighbour, one bit": (
        lambda it: other_keys(it, 1, flipped(it.keys[1], 2 * KEY)),
        Forged,
        "user 1 did not sign",
    ),
    "no signature": (lambda it: other_keys(it, 1, it.keys[1][: 2 * KEY] + bytes(SIGNATURE)), Forged, "did not sign"),
    "shorter keys": (lambda it: other_keys(it, 1, it.keys[1][: 2 * KEY]), Malformed, "too short"),
    "two keys of a neighbour, swapped": (
        lambda it: other_keys(it, 1, b"".join(parts(it.keys[1])[i] for i in (1, 0, 2))),
        Forged,
        "user 1 did not sign",
    ),
    "two neighbours, swapped": (lambda it: {"keys": it.keys | {1: it.keys[2], 2: it.keys[1]}}, Forged, "did not sign"),
    "keys of another round": (
        lambda it: other_keys(it, 1, keys_of(it, 1, FRESH, FRESH[::-1], plan=replace(it.plan, cohort=b"other"))),
        Forged,
        "user 1 did not sign",
    ),
    "a low-order point": (
        lambda it: other_keys(it, 5, keys_of(it, 5, LOW_ORDER[0], FRESH)),
        Forged,
        "another user's public key is not a valid X25519 key",
    ),
    "another low-order point": (
        lambda it: other_keys(it, 5, keys_of(it, 5, LOW_ORDER[1], FRESH)),
        Forged,
        "another user's public key is not a valid X25519 key",
    ),
    "a low-order point for masks": (
        lambda it: other_keys(it, 5, keys_of(it, 5, FRESH, LOW_ORDER[0])),
        Forged,
        "another user's public key is not a valid X25519 key",
    ),
    "one key for both purposes": (
        lambda it: other_keys(it, 5, keys_of(it, 5, FRESH, FRESH)),
        Disagreement,
        "two public keys are equal",
    ),
    "the key of another neighbour": (
        lambda it: other_keys(it, 5, keys_of(it, 5, it.keys[4][:KEY], FRESH)),
        Disagreement,
        "two public keys are equal",
    ),
    "the device's own key as that of another": (
        lambda it: other_keys(it, 5, keys_of(it, 5, FRESH, it.keys[0][KEY : 2 * KEY])),
        Disagreement,
        "two public keys are equal",
    ),
    "the device's own key in other words": (
        lambda it: other_keys(it, 5, keys_of(it, 5, FRESH, top_bit(it.keys[0][KEY : 2 * KEY]))),
        Disagreement,
        "two public keys are equal",
    ),
    "one key for both purposes, with the top bit set in one": (
        lambda it: other_keys(it, 5, keys_of(it, 5, FRESH, top_bit(FRESH))),
        Disagreement,
        "two public keys are equal",
    ),
    "one key for both purposes, but for a point of low order": (
        lambda it: other_keys(it, 5, keys_of(it, 5, FRESH, inverse(FRESH))),
        Disagreement,
        "two public keys are equal",
    ),
    "another seed of the ring": (lambda it: {"seed": bytes(32)}, Disagreement, "seed of the ring"),
    "another root": (lambda it: {"root": sha256(b"x").digest()}, Disagreement, "the keys do not fit their root"),
    "keys that are not in the tree": (
        lambda it: {"seen": it.keys | {1: it.keys[2]}},
        Disagreement,
        "the keys do not fit their root",
    ),
    "a neighbour who came, left out": (
        lambda it: {"seen": {user: keys for user, keys in it.keys.items() if user != 1}},
        Disagreement,
        "the keys do not fit their root",
    ),
    "a neighbour who did not come": (
        lambda it: {"keys": {user: keys for user, keys in it.keys.items() if user != 1}, "seen": it.keys},
        Disagreement,
        "the keys do not fit their root",
    ),
    "too few neighbours": (
        lambda it: {"keys": {user: keys for user, keys in it.keys.items() if user not in (1, 2)}},
        TooFew,
        "3 neighbours came: 4 are needed",
    ),
    "a proof that is too long": (lambda it: {"proof": [bytes(KEY)]}, Malformed, "too many hashes"),
    "half a hash": (lambda it: {"proof": [bytes(KEY // 2)]}, Malformed, "too short or too long"),
}


@for_each("lie", ROSTERS)
def test_lies_about_keys(lie):
    changed, error, match = ROSTERS[lie]
    it = liar(1)
    ends(it, 0, it.roster(0, **changed(it)), error, match)


def test_a_sparse_ring_with_other_neighbours_is_refused():
    it = liar(1, SPARSE)
    around = it.around(0)
    assert len(around) == 6
    strangers = sorted(it.keys.keys() - {0, *around})
    other = dict(zip(around, [it.keys[user] for user in (*strangers, *around)], strict=False))
    ends(it, 0, it.roster(0, seen=other), Disagreement, "the keys do not fit their root")
    it = liar(1, SPARSE)
    proof = it.tree(it.keys).proof([SPARSE.index(user) for user in (0, *around)])
    assert proof
    ends(it, 0, it.roster(0, proof=proof[:-1]), Malformed, "too few hashes")
    it = liar(1, SPARSE)
    ends(it, 0, it.roster(0, proof=[*proof[:-1], bytes(KEY)]), Disagreement, "the keys do not fit their root")


def test_the_ring_is_another_one_for_other_keys():
    """Neighbours follow from the keys of all, so a server cannot just choose them."""
    rings = {tuple(Liar(SPARSE, seed=seed).until(1).around(0)) for seed in range(30)}
    assert len(rings) > 15  # of C(8, 6) = 28 sets


def test_who_draws_the_ring_often_enough_chooses_the_neighbours():
    """What is not promised. A device sees few of the keys in the tree, so a server that lies can try other ones.

    Here the four neighbours of user 0 are colluding in one of C(19, 4) = 3876 rings, and hold both secrets. What the
    calculator leaves to a chance is therefore a matter of computing power: `SecAgg` asks it for a chance of 2^-80 if
    the server may lie.
    """
    colluding, plan = {4, 9, 11, 17}, planned(20, k=4, t=3, least=10)
    it = Liar(plan, corrupted=colluding).until(1)
    tries = 0
    while not set(it.ring.around(0)) <= colluding:
        tries += 1
        assert tries < 21 * 3876  # which e^-21 = 8e-10 of all attempts exceed
        it.keys[19] = tries.to_bytes(2 * KEY + SIGNATURE)  # a leaf that user 0 does not see
        it.ring = plan.drawn(SEED_OF_RING, it.tree(it.keys).root)
    assert tries > 0
    it.share([0])
    with pytest.raises(AssertionError, match="both secrets of user 0"):
        it.kept()


def other_plans():
    """Plans that differ in one thing each, with what differs."""
    changes = {
        "cohort": b"another",
        "users": (*range(5), 9),
        "neighbours": 4,
        "threshold": 3,
        "least": 6,
        "modulus": 1001,
        "signed": False,
        "ring": sha256(b"other").digest(),
        "weights": (1, 1, 1, 1, 1, 2),
        "people": 3,
        "colluding": 1,
    }
    assert changes.keys() == vars(PLAN).keys() & RoundPlan.__dataclass_fields__.keys()
    return {name: replace(PLAN, **{name: value}) for name, value in changes.items()}


@for_each("plan", other_plans().values(), ids=other_plans())
def test_messages_of_another_plan(plan):
    """Whoever computes another plan than the server cannot take part, whatever differs."""
    it, other = liar(1), liar(0, plan=PLAN)
    message = bytearray(it.roster(0))
    message[2:HEAD] = plan.round
    assert plan.round != PLAN.round
    ends(it, 0, bytes(message), OutOfTurn, "belongs to another session")
    client = RoundClient(plan, 0, 1, seeded(1), signer(0), identities_of(plan.users))
    client.start()
    other.open()
    with pytest.raises(OutOfTurn, match="belongs to another session"):
        client.receive(other.roster(0))


class TestParcels:
    """Altered key shares are found before the value leaves the device, masked or not, and before it counts as spent."""

    def after(self, it: Liar, user: int, parcels) -> None:
        ends(it, user, it.post(user, parcels=parcels), Forged, "was altered or is of another session")
        assert len(it.sent[user]) == 2
        assert it.spent == []

    def parcels(self, it, user=0):
        return {sender: it.parcels[sender][user] for sender in it.parcels if sender != user}

    @for_each("at", [0, 20, PARCEL - 1])
    def test_tampered(self, at):
        it = liar(2)
        self.after(it, 0, self.parcels(it) | {1: flipped(it.parcels[1][0], at)})

    def test_swapped_between_senders(self):
        it = liar(2)
        self.after(it, 0, self.parcels(it) | {1: it.parcels[2][0], 2: it.parcels[1][0]})

    def test_swapped_between_receivers(self):
        it = liar(2)
        self.after(it, 0, self.parcels(it) | {1: it.parcels[1][2]})

    def test_sent_back_to_its_sender(self):
        it = liar(2)
        self.after(it, 0, self.parcels(it) | {1: it.parcels[0][1]})

    def test_of_another_session(self):
        it, other = liar(2), liar(2, seed=2)
        self.after(it, 0, self.parcels(it) | {1: other.parcels[1][0]})

    def test_of_a_session_with_the_same_keys(self):
        """Even there: the session is in the key, and in what is authenticated."""
        it, other = liar(2), liar(1)
        other.keys[5] = keys_of(other, 5, FRESH, masks.seed_key_pair(b"another", b"", b"")[1])
        other.ring = PLAN.drawn(SEED_OF_RING, other.tree(other.keys).root)
        other.share_of(1, other.roster(1))
        assert other.keys[0] == it.keys[0]
        self.after(it, 0, self.parcels(it) | {1: other.parcels[1][0]})

    def test_too_few(self):
        it = liar(2)
        ends(it, 0, it.post(0, absent=(1, 2)), TooFew, "3 neighbours shared their secrets: 4 are needed")

    @for_each(
        "change",
        [lambda m: m + b"x", lambda m: m[:-1], lambda m: m[:HEAD], lambda m: m[:HEAD] + b"\xff" + m[HEAD + 1 :]],
    )
    def test_of_a_wrong_length(self, change):
        it = liar(2)
        ends(it, 0, change(it.post(0)), Malformed, "post")


class TestSurvivors:
    def test_both_roles_cannot_be_said(self):
        """One message holds one bit for each user, and its length is fixed: alive and dead lists cannot overlap."""
        it = liar(3)
        message = it.survivors(0, ALL)
        assert len(message) == HEAD + 1
        ends(it, 0, message + message[HEAD:], Malformed, "too long")

    def test_not_this_device(self):
        it = liar(3)
        ends(it, 0, it.survivors(0, range(1, 6)), Disagreement, "is said to be lost")

    def test_fewer_than_the_plan_demands(self):
        it = liar(3)
        ends(it, 0, it.survivors(0, range(4)), TooFew, "4 values are in the sum: at least 5 must be")

    def test_one_who_shared_no_secrets(self):
        it = liar(2)
        it.hide([0], absent=(3,))
        ends(it, 0, it.survivors(0, ALL), Disagreement, "survived that sent no key shares")

    def test_one_who_never_came(self):
        it = liar(1)
        keys = {user: each for user, each in it.keys.items() if user != 3}
        it.ring = PLAN.drawn(SEED_OF_RING, it.tree(keys).root)
        it.keys = keys
        for user in keys:
            it.share_of(user, it.roster(user))
        it.hide()
        ends(it, 0, it.survivors(0, ALL), Disagreement, "survived that sent no key shares")

    def test_users_who_do_not_exist(self):
        it = liar(3)
        ends(it, 0, pack_message(SURVIVORS, it.session(0), b"\x7f"), Malformed, "users that do not exist")

    def test_twice(self):
        it = liar(4)
        ends(it, 0, it.survivors(0, range(5)), OutOfTurn, "survivors came where votes is due")


class TestVotes:
    def test_one_signature_too_few(self):
        it = liar(4)
        ends(it, 0, it.ballots(0, ALL, voters=(1, 2, 3)), TooFew, "3 neighbours signed the survivors: 4 must")

    def test_of_other_survivors(self):
        it = liar(4)
        it.signed[5, it.alive(ALL)] = vote(it, 5, range(5))
        ends(it, 0, it.ballots(0, ALL), Forged, "user 5 did not sign")

    def test_of_another_session(self):
        it = liar(4)
        it.signed[5, it.alive(ALL)] = vote(it, 5, ALL, session=bytes(KEY))
        ends(it, 0, it.ballots(0, ALL), Forged, "user 5 did not sign")

    def test_one_voter_who_counts_twice(self):
        it = liar(4)
        for stand_in in (1, 2):
            it.signed[stand_in, it.alive(ALL)] = it.signed[5, it.alive(ALL)]
        ends(it, 0, it.ballots(0, ALL), Forged, "did not sign")

    def test_keys_signed_as_survivors(self):
        it = liar(4)
        it.signed[5, it.alive(ALL)] = it.keys[5][2 * KEY :]
        ends(it, 0, it.ballots(0, ALL), Forged, "user 5 did not sign")

    def test_garbage(self):
        it = liar(4)
        ends(it, 0, pack_message(VOTES, it.session(0), b"\x1f", bytes(5 * SIGNATURE)), Forged, "did not sign")
        it = liar(4)
        ends(
            it, 1, pack_message(VOTES, it.session(1), b"\x1f", bytes(4 * SIGNATURE)), Malformed, "too short or too long"
        )
        it = liar(4)
        ends(it, 2, pack_message(VOTES, it.session(2), b"\x3f", bytes(6 * SIGNATURE)), Malformed, "do not exist")

    def test_twice(self):
        it = liar(5)
        with pytest.raises(OutOfTurn, match="left the round"):
            it.tell(0, it.received[0][-1])
        assert it.silent(0)

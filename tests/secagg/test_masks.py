"""What masks hide: by counting all of them for a tiny modulus, and by what HKDF gives for a large one.

Seeds are fixed; under new ones each random assertion rejects correct masks with probability ALPHA = 1e-9 at most.
"""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from maskedbandit.errors import Forged
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import write_key_text, write_vote_text
from tests.for_each import for_each
from tests.secagg.adversary import planned
from tests.statistics import same_distribution

SESSION = bytes(32)


def views(values, m, survivors, late=(), own=True, pairs=True, sign=-1, own_of_late=False):
    """How often the server sees what, over all choices of ideal masks, and what it takes the sum for.

    It sees the masked value of each survivor and of those who are `late`, the own masks of survivors and the masks of
    the pairs of a survivor and a lost one, or of two lost ones, whose keys are rebuilt. `sign` is what the second of a
    pair makes of its mask; `own_of_late` is a server that asks for the own masks of the lost as well.
    """
    users, seen = range(len(values)), Counter()
    both = list(combinations(users, 2)) if pairs else []
    lost = [user for user in users if user not in survivors]
    for drawn in product(range(m), repeat=len(both) + (len(values) if own else 0)):
        pair = dict(zip(both, drawn, strict=False))
        owns = drawn[len(both) :] if own else (0,) * len(values)
        sent = {}
        for u in users:
            of_pairs = [mask if u == a else sign * mask for (a, b), mask in pair.items() if u in (a, b)]
            sent[u] = masks.mask_value(values[u], owns[u], of_pairs, m)
        shown = tuple(owns[u] for u in users if u in survivors or (own_of_late and u in late))
        rebuilt = tuple(mask for (a, b), mask in pair.items() if a in lost or b in lost)
        total = sum(sent[u] - owns[u] for u in survivors)
        for (a, b), mask in pair.items():
            if a in survivors and b in lost:
                total -= mask
            if b in survivors and a in lost:
                total -= sign * mask
        view = tuple(sent[u] for u in (*sorted(survivors), *late)), shown, rebuilt
        seen[view, total % m] += 1
    return seen


def hides(m, survivors, n, **changes):
    """The sum is right, and the distribution of what is seen is the same for all inputs with this sum."""
    by_sum = {}
    for values in product(range(m), repeat=n):
        seen = views(values, m, survivors, **changes)
        total = sum(values[u] for u in survivors) % m
        assert {found for _, found in seen} == {total}, "another sum"
        assert by_sum.setdefault(total, seen) == seen, "the view depends on the inputs"


CASES = [(3, {0, 1, 2}, 3), (2, {0, 1, 2}, 3), (3, {0, 2}, 3), (3, {1, 2}, 3), (2, {0, 1, 2, 3}, 4), (2, {0, 1, 3}, 4)]


class TestView:
    """With ideal masks, everything that the server sees is a function of the sum and of chance."""

    @pytest.mark.sparing(1)
    @pytest.mark.parametrize(("m", "survivors", "n"), CASES)
    def test_nothing_but_the_sum_of_the_survivors(self, m, survivors, n):
        hides(m, survivors, n)

    @pytest.mark.slow
    @pytest.mark.parametrize(("m", "survivors", "n"), [case for case in CASES if len(case[1]) < case[2]])
    def test_nor_if_the_lost_are_late(self, m, survivors, n):
        hides(m, survivors, n, late=sorted(set(range(n)) - survivors))

    def test_masks_of_pairs_are_needed(self):
        with pytest.raises(AssertionError, match="depends on the inputs"):
            hides(3, {0, 1, 2}, 3, pairs=False)

    def test_own_masks_are_needed_when_values_are_late(self):
        hides(3, {0, 2}, 3, own=False)
        with pytest.raises(AssertionError, match="depends on the inputs"):
            hides(3, {0, 2}, 3, own=False, late=(1,))

    def test_own_masks_of_the_lost_must_stay(self):
        with pytest.raises(AssertionError, match="depends on the inputs"):
            hides(3, {0, 2}, 3, late=(1,), own_of_late=True)

    def test_signs_must_differ(self):
        with pytest.raises(AssertionError, match="another sum"):
            hides(3, {0, 1, 2}, 3, sign=1)


def pair(seed: int, m: int, session=SESSION) -> int:
    return masks.pair_mask(seed.to_bytes(32), session, 1, 2, m)


def own(seed: int, m: int, session=SESSION) -> int:
    return masks.own_mask(seed.to_bytes(16), session, 1, m)


def flat(m):
    return lambda z: np.where((z >= 0) & (z < m), 1 / m, 0.0)


class TestMasks:
    @pytest.mark.slow
    @for_each("m", [2, 16, 10, 1000, 1024])
    @pytest.mark.parametrize("mask", [pair, own])
    def test_are_uniform(self, mask, m):
        same_distribution([mask(seed, m) for seed in range(15_000)], flat(m))

    @pytest.mark.slow
    @for_each("mask", [pair, own])
    def test_are_uniform_over_sessions(self, mask):
        same_distribution([mask(1, 10, session.to_bytes(32)) for session in range(15_000)], flat(10))

    def test_without_the_last_residue_are_caught(self):
        """Uniform on 0, ..., m - 2, as a mask of `randint(0, m - 1)` with the end left out."""
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution([pair(seed, 15) for seed in range(15_000)], flat(16))

    def test_of_one_byte_are_caught(self):
        """A byte modulo 100: the first 56 residues come three times as often as they should, against two."""
        with pytest.raises(AssertionError, match="another distribution"):
            same_distribution([pair(seed, 256) % 100 for seed in range(15_000)], flat(100))

    @pytest.mark.slow
    @pytest.mark.parametrize("mask", [pair, own])
    def test_of_64_bits_do_not_collide(self, mask):
        """2^17 seeds: two masks are equal with probability 5e-10."""
        assert distinct(mask)

    @pytest.mark.slow
    def test_of_seeds_folded_to_28_bits_are_caught(self):
        """As a generator whose seed has 32 bits, of which 4 are never set: 32 collisions are expected."""
        assert not distinct(lambda seed, m: own(pair(seed, 2**28), m))

    def test_are_equal_for_both_of_a_pair_with_opposite_signs(self):
        secret = bytes(range(32))
        for a, b in [(1, 2), (0, 2**64 - 1), (5, 4)]:
            one, other = (masks.pair_mask(secret, SESSION, *both, 1000) for both in ((a, b), (b, a)))
            assert one == -other != 0

    def test_differ_by_user_session_and_purpose(self):
        secret, m = bytes(range(32)), 2**64
        found = [masks.pair_mask(secret, session, 1, b, m) for session in (bytes(32), b"\x01" * 32) for b in (2, 3)]
        found += [masks.own_mask(secret[:16], session, a, m) for session in (bytes(32), b"\x01" * 32) for a in (1, 2)]
        found += [masks.own_mask(secret, bytes(32), 1, m)]
        assert len(set(found)) == len(found)

    def test_keys_of_a_session_differ_by_purpose_and_round(self):
        publics = {
            masks.seed_key_pair(bytes(16), session, what)[1] for session in (b"a", b"b") for what in (b"seal", b"mask")
        }
        assert len(publics) == 4


def distinct(mask) -> bool:
    return len({mask(seed, 2**64) for seed in range(2**17)}) == 2**17


class TestSeals:
    """Keys differ by pair and session already; the envelope says so again."""

    @for_each(
        ("sender", "receiver", "session"), [(2, 1, SESSION), (1, 3, SESSION), (3, 2, SESSION), (1, 2, b"\x01" * 32)]
    )
    def test_open_for_their_sender_receiver_and_session_alone(self, sender, receiver, session):
        sealed = masks.seal_text(bytes(32), 1, 2, SESSION, b"text")
        assert masks.open_text(bytes(32), 1, 2, SESSION, sealed) == b"text"
        with pytest.raises(Forged, match=f"what user {sender} sealed for user {receiver}"):
            masks.open_text(bytes(32), sender, receiver, session, sealed)

    @for_each(("user", "other"), [(1, 2), (0, 2**64 - 1), (256, 1)])
    def test_of_both_directions_have_no_nonce_in_common(self, user, other):
        """A pair has one key for both: with one nonce, what one sends would give away what the other sends."""
        there, back = masks.envelope(user, other, SESSION), masks.envelope(other, user, SESSION)
        assert there[0] != back[0]
        assert there[1] != back[1]
        assert len(there[0]) == 12
        texts = [masks.seal_text(bytes(32), *pair, SESSION, bytes(34)) for pair in ((user, other), (other, user))]
        assert texts[0][:34] != texts[1][:34]  # the key stream; what follows authenticates more

    def test_name_their_session_sender_and_receiver(self):
        sessions = SESSION, b"\x01" * 32
        found = [masks.envelope(a, b, session)[1] for session in sessions for a in (1, 2) for b in (1, 2)]
        assert len(set(found)) == len(found)


class TestLabels:
    """What one secret gives for one purpose says nothing of what it gives for another."""

    def test_purposes_of_a_pair_differ(self):
        secret = bytes(range(32))
        seal = masks.derive_key(secret, SESSION, masks.pair_purpose(b"seal", 1, 2))
        assert masks.pair_mask(secret, SESSION, 1, 2, 2**256) != int.from_bytes(seal)
        assert masks.pair_mask(secret, SESSION, 1, 2, 2**256) < 2**256

    def test_a_commitment_is_to_one_seed_of_one_user_in_one_session(self):
        seeds, sessions = (bytes(16), b"\x01" * 16), (SESSION, b"\x01" * 32)
        found = [masks.commit_seed(seed, session, user) for seed in seeds for session in sessions for user in (1, 2)]
        assert len(set(found)) == len(found)

    def test_keys_are_signed_for_one_user_in_one_round(self):
        """Or two devices that are enrolled with one signing key could pass for each other."""
        plans = planned(5), planned(5, cohort=b"other")
        found = [write_key_text(plan, user, keys) for plan in plans for user in (1, 2) for keys in (b"a", b"b")]
        assert len(set(found)) == len(found)

    def test_survivors_are_signed_in_one_session(self):
        found = [write_vote_text(session, users) for session in (SESSION, b"\x01" * 32) for users in (b"a", b"b")]
        assert len(set(found)) == len(found)
        assert not set(found) & {write_key_text(planned(5), 1, users) for users in (b"a", b"b")}

    def test_a_session_is_of_one_plan_and_one_tree_of_keys(self):
        plans = planned(5), planned(5, cohort=b"other"), planned(5, m=999)
        found = [plan.session(root) for plan in plans for root in (bytes(32), b"\x01" * 32)]
        assert len({*found, *(plan.round for plan in plans)}) == len(found) + len(plans)

"""The ring, its neighbourhoods, and the tree that commits to its users: small cases by a second definition."""

from hashlib import sha256
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskedbandit.errors import InvalidValue, Malformed
from maskedbandit.secagg import graph
from maskedbandit.secagg.graph import HASH_SIZE, MerkleTree, order, rank_user, ring_window, root_from
from tests.for_each import for_each
from tests.statistics import same_distribution

# --- the ring -----------------------------------------------------------------------------------------------


def test_the_ring_is_in_the_order_of_ranks_whatever_the_order_of_users():
    users = [0, 1, 2**64 - 1, 7, 256, 2**32]
    ring = order(b"seed", users)
    assert sorted(ring) == sorted(users)
    assert all(rank_user(b"seed", a) < rank_user(b"seed", b) for a, b in pairwise(ring))
    assert order(b"seed", reversed(users)) == ring != order(b"another", users)
    assert order(b"seed", []) == []


@for_each("users", [[1, 1], [-1], [2**64]])
def test_users_are_different_numbers(users):
    with pytest.raises(InvalidValue, match="users"):
        order(b"seed", users)


RANKS = {users: rank for rank, users in enumerate(permutations(range(4)))}


def orders(ring):
    return [RANKS[tuple(ring(seed.to_bytes(4), range(4)))] for seed in range(48_000)]


def coarse(seed, users):
    """A ring by ranks of two bits, in which the earlier user wins a tie."""
    return sorted(users, key=lambda user: rank_user(seed, user)[0] >> 6)


@pytest.mark.slow
def test_all_orders_are_as_likely():
    def pmf(z):
        return np.where((z >= 0) & (z < 24), 1 / 24, 0)

    same_distribution(orders(order), pmf)
    with pytest.raises(AssertionError, match="another distribution"):
        same_distribution(orders(coarse), pmf)


@for_each(("n", "k"), [(n, k) for n in range(2, 14) for k in (*range(2, n - 1, 2), n - 1, n + 3)])
def test_neighbourhoods_are_mutual_regular_and_in_one_piece(n, k):
    near = [ring_window(i, n, k) for i in range(n)]
    reached = {0}
    for _ in range(n):
        reached |= {j for i in reached for j in near[i]}
    assert reached == set(range(n))
    for i in range(n):
        assert near[i] == sorted(set(near[i]))
        assert len(near[i]) == min(k, n - 1)
        assert all(i in near[j] for j in near[i])
        assert near[i] == [j for j in range(n) if j != i and (k >= n - 1 or min((i - j) % n, (j - i) % n) <= k // 2)]


@for_each(("position", "n", "k"), [(0, 9, 3), (0, 9, 7), (0, 9, 0), (0, 9, -2), (9, 9, 4), (-1, 9, 4)])
def test_no_neighbourhood(position, n, k):
    with pytest.raises(InvalidValue):
        ring_window(position, n, k)


# --- the tree -----------------------------------------------------------------------------------------------


def leaves_of(n):
    return [bytes([i]) * (i % 3) + b"%d" % i for i in range(n)]


def split_at(n):
    """The largest power of two below n."""
    return 1 << (n - 1).bit_length() - 1


def top(leaves):
    """The tree from its root down: another way to the same hashes."""
    if len(leaves) == 1:
        return graph._leaf(leaves[0])
    half = split_at(len(leaves))
    return graph._node(top(leaves[:half]), top(leaves[half:]))


def missing(low, high, known):
    """How many maximal subtrees have no known leaf."""
    if not any(low <= i < high for i in known):
        return 1
    if high - low == 1:
        return 0
    half = low + split_at(high - low)
    return missing(low, half, known) + missing(half, high, known)


@for_each("n", range(1, 10))
def test_any_part_of_the_leaves_leads_to_the_root(n):
    leaves = leaves_of(n)
    tree = MerkleTree(leaves)
    assert tree.root == graph._root(n, top(leaves))
    for size in range(1, n + 1):
        for known in combinations(range(n), size):
            proof = tree.proof(known)
            assert tree.proof(known[::-1]) == proof
            assert len(proof) == missing(0, n, known)
            assert root_from(n, {i: leaves[i] for i in known}, proof) == tree.root
    assert tree.proof(range(n)) == []


def outcome(n, leaves, proof):
    try:
        return root_from(n, leaves, proof)
    except Malformed:
        return None


@pytest.mark.slow
@given(st.integers(1, 40), st.data())
def test_any_change_leads_elsewhere(n, data):
    leaves = leaves_of(n)
    tree = MerkleTree(leaves)
    known = {i: leaves[i] for i in data.draw(st.sets(st.integers(0, n - 1), min_size=1))}
    proof = tree.proof(list(known))
    i = data.draw(st.sampled_from(sorted(known)))
    others = data.draw(st.sampled_from([m for m in range(1, 50) if m != n]))
    assert root_from(n, known, proof) == tree.root
    assert outcome(others, known, proof) != tree.root
    assert outcome(n, known | {i: known[i] + b"\0"}, proof) != tree.root
    assert outcome(n, known, [*proof, bytes(HASH_SIZE)]) is None
    elsewhere = data.draw(st.integers(0, n + 2))
    if elsewhere not in known:
        assert outcome(n, {elsewhere if j == i else j: leaf for j, leaf in known.items()}, proof) != tree.root
    if proof:
        at = data.draw(st.integers(0, len(proof) - 1))
        assert outcome(n, known, proof[:at] + proof[at + 1 :]) is None
        altered = bytes([proof[at][0] ^ 1]) + proof[at][1:]
        assert outcome(n, known, [*proof[:at], altered, *proof[at + 1 :]]) != tree.root
        assert outcome(n, known, [*proof[:at], proof[at][1:], *proof[at + 1 :]]) is None
    if len(known) > 1:
        j = data.draw(st.sampled_from([other for other in known if other != i]))
        assert outcome(n, known | {i: known[j], j: known[i]}, proof) != tree.root


def test_a_pair_of_hashes_is_no_leaf_and_n_is_in_the_root(monkeypatch):
    leaves = leaves_of(4)

    def pairs():
        hashes = [graph._leaf(leaf) for leaf in leaves]
        return [hashes[0] + hashes[1], hashes[2] + hashes[3]]

    assert MerkleTree(pairs()).root != MerkleTree(leaves).root
    monkeypatch.setattr(graph, "_LEAF", b"")
    monkeypatch.setattr(graph, "_NODE", b"")
    assert MerkleTree(pairs()).root != MerkleTree(leaves).root  # n alone tells them apart
    monkeypatch.setattr(graph, "_root", lambda n, top: top)
    assert MerkleTree(pairs()).root == MerkleTree(leaves).root  # without either, four leaves pass for two


def test_leaves_may_be_anything_and_their_borders_count():
    assert MerkleTree([b"ab", b"c"]).root != MerkleTree([b"a", b"bc"]).root
    assert MerkleTree([b""]).root != MerkleTree([b"", b""]).root
    assert MerkleTree([b"x"]).root == graph._root(1, sha256(b"maskedbandit secagg leaf x").digest())


@for_each("n", [-1, 0, 2**32 + 1, 2**200])
def test_no_such_number_of_leaves(n):
    with pytest.raises(Malformed, match="leaves"):
        root_from(n, {0: b"x"}, [])
    with pytest.raises(InvalidValue):
        MerkleTree([])


@for_each("known", [{}, {-1: b"x"}, {5: b"x"}, {0: b"x", 2**40: b"y"}])
def test_positions_outside_the_tree(known):
    with pytest.raises(Malformed, match="positions"):
        root_from(5, known, [bytes(HASH_SIZE)] * 3)
    with pytest.raises(InvalidValue, match="positions"):
        MerkleTree(leaves_of(5)).proof(list(known))


def test_the_largest_tree_takes_32_steps():
    last = 2**32 - 1
    assert len(root_from(2**32, {last: b"x"}, [bytes(HASH_SIZE)] * 32)) == HASH_SIZE
    assert len(root_from(2**31 + 1, {2**31: b"x"}, [bytes(HASH_SIZE)])) == HASH_SIZE  # the last leaf moves up 31 levels
    with pytest.raises(Malformed, match="few"):
        root_from(2**32, {last: b"x"}, [bytes(HASH_SIZE)] * 31)
    with pytest.raises(Malformed, match="many"):
        root_from(2**32, {last: b"x"}, [bytes(HASH_SIZE)] * 33)


@for_each("length", [0, 31, 33])
def test_hashes_in_a_proof_have_one_length(length):
    with pytest.raises(Malformed, match="length"):
        root_from(2, {0: b"x"}, [bytes(length)])

"""Which users are neighbours in a round, and a commitment to all users of which each can check a part.

Users are on a ring in the order of SHA-256(seed | user): a random order that everybody can compute. The neighbours of a
user are the k nearest users on the ring, k/2 on each side [BBG20], or all others.

Each user is a leaf of a Merkle tree: pairs of hashes of a level are hashed into the next level, and a last one without
a partner moves up unchanged. The root binds the number of leaves, each leaf and its position. From some of the leaves
and a proof, the hashes of all subtrees without any of them, everybody can recompute the root.

**Guarantee**: two lists of leaves with the same root, or a leaf and a proof that lead to the root of a list with
another leaf at its position, give a collision of SHA-256.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from maskedbandit.errors import InvalidValue, Malformed

HASH_SIZE = 32  # bytes of a hash
MOST_USERS = 2**64  # users are numbers below
LEAVES = 2**32  # at most, in one tree
_RANK, _LEAF, _NODE, _ROOT = (b"maskedbandit secagg " + part for part in (b"rank ", b"leaf ", b"node ", b"root "))


def rank_user(seed: bytes, user: int) -> bytes:
    """What users are sorted by: the one with the lower rank is earlier on the ring.

    >>> rank_user(b"seed", 7).hex()[:16]
    '01aabe21c6bbb1ab'
    """
    return sha256(_RANK + seed + user.to_bytes(8, "big")).digest()


def order(seed: bytes, users: Iterable[int]) -> list[int]:
    """The users in the order of the ring.

    >>> order(b"seed", range(8))
    [7, 0, 4, 6, 2, 3, 1, 5]
    """
    users = list(users)
    if users and (min(users) < 0 or max(users) >= MOST_USERS or len(set(users)) < len(users)):
        raise InvalidValue("users", "hidden", "different whole numbers from 0 to 2^64 - 1")
    return sorted(users, key=lambda user: rank_user(seed, user))


def ring_window(position: int, n: int, k: int) -> list[int]:
    """The positions of the k neighbours of a position on a ring of n; all other positions if k is n - 1 or more.

    >>> ring_window(0, n=8, k=4), ring_window(0, n=4, k=3)
    ([1, 2, 6, 7], [1, 2, 3])
    """
    if not 0 <= position < n:
        raise InvalidValue("position", position, f"from 0 to {n - 1}")
    if k >= n - 1:
        return [other for other in range(n) if other != position]
    if k < 2 or k % 2:
        raise InvalidValue("k", k, f"an even number of at least 2, or at least {n - 1}")
    return sorted((position + step) % n for step in range(-k // 2, k // 2 + 1) if step)


class Ring:
    """All users in their order on the ring, and the k neighbours of each.

    >>> ring = Ring(b"seed", range(8), k=4)
    >>> ring.around(4), ring.number(6, of=4)
    ([7, 0, 6, 2], 2)
    """

    def __init__(self, seed: bytes, users: Iterable[int], k: int) -> None:
        self.order, self._k = order(seed, users), k
        self._position = {user: position for position, user in enumerate(self.order)}
        self._windows: dict[int, list[int]] = {}

    def _window(self, position: int) -> list[int]:
        found = self._windows.get(position)
        if found is None:
            found = self._windows[position] = ring_window(position, len(self.order), self._k)
        return found

    def around(self, user: int) -> list[int]:
        """The neighbours of a user, in the order of their positions."""
        return [self.order[position] for position in self._window(self._position[user])]

    def number(self, user: int, of: int) -> int:
        """The index of a user among the neighbours of another one, counted from 0."""
        return bisect_left(self._window(self._position[of]), self._position[user])


class MerkleTree:
    """The Merkle tree of a list of leaves.

    >>> tree = MerkleTree([b"a", b"b", b"c"])
    >>> root_from(3, {1: b"b"}, tree.proof([1])) == tree.root
    True
    """

    def __init__(self, leaves: Sequence[bytes]) -> None:
        if not 1 <= len(leaves) <= LEAVES:
            raise InvalidValue("leaves", f"{len(leaves)} leaves", "1 to 2^32 leaves")
        level = [_leaf(leaf) for leaf in leaves]
        self._levels = [level]
        while len(level) > 1:
            pairs = zip(level[::2], level[1::2], strict=False)
            level = [_node(left, right) for left, right in pairs] + level[len(level) // 2 * 2 :]
            self._levels.append(level)
        self.root = _root(len(leaves), level[0])

    def proof(self, positions: Sequence[int]) -> list[bytes]:
        """The hashes needed to compute the root from the leaves at these positions.

        They come level by level from the leaves up, in the order of positions.
        """
        _check(len(self._levels[0]), positions, InvalidValue("positions", positions, "some positions of leaves"))
        known, missing = sorted(set(positions)), []
        for level in self._levels[:-1]:
            here = set(known)
            missing += [level[i ^ 1] for i in known if i ^ 1 not in here and i ^ 1 < len(level)]
            known = sorted({i >> 1 for i in known})
        return missing


def root_from(n: int, leaves: Mapping[int, bytes], proof: Sequence[bytes]) -> bytes:
    """The root of n leaves, from some of them by position and the proof for these positions.

    Raises `Malformed` if the proof is for other positions or another n. It takes at most 32 steps per leaf.
    """
    if not 1 <= n <= LEAVES:
        raise Malformed(f"a tree of {n} leaves")
    _check(n, leaves, Malformed("positions that are not in the tree, or none"))
    if any(len(each) != HASH_SIZE for each in proof):
        raise Malformed("a hash in a proof has another length")
    positions = sorted(leaves)
    level = [(i, _leaf(leaves[i])) for i in positions]
    hashes = iter(proof)
    size = n
    while size > 1:
        level = _up(level, size, hashes)
        size = (size + 1) // 2
    if next(hashes, None) is not None:
        raise Malformed("a proof has too many hashes")
    return _root(n, level[0][1])


def _up(level: list[tuple[int, bytes]], size: int, hashes: Iterator[bytes]) -> list[tuple[int, bytes]]:
    """The known hashes of the next level, from the known ones of a level of this size."""
    above = []
    at = 0
    while at < len(level):
        i, known = level[at]
        at += 1
        if i ^ 1 >= size:  # the last of its level, without a partner
            above.append((i >> 1, known))
            continue
        if at < len(level) and level[at][0] == i ^ 1:
            other = level[at][1]
            at += 1
        else:
            other = next(hashes, b"")
            if not other:
                raise Malformed("a proof has too few hashes")
        above.append((i >> 1, _node(other, known) if i & 1 else _node(known, other)))
    return above


def _check(n: int, positions: Iterable[int], error: Exception) -> None:
    positions = list(positions)
    if not positions or min(positions) < 0 or max(positions) >= n:
        raise error


def _leaf(leaf: bytes) -> bytes:
    return sha256(_LEAF + leaf).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return sha256(_NODE + left + right).digest()


def _root(n: int, top: bytes) -> bytes:
    return sha256(_ROOT + n.to_bytes(8, "big") + top).digest()

"""Who is whose neighbour in a round, and a commitment to all users that each can check in part.

Users stand on a ring in the order of SHA-256(seed | user): a random order that everybody can compute. Neighbours are
the k users nearest on the ring, k/2 on each side [BBG20], or all others.

Each user is a leaf of a Merkle tree: the pairs of a level are hashed into the next level, and a last one without a
partner moves up as it is. The root binds the number of leaves, each leaf and its position. Whoever knows some leaves
recomputes the root from them and from the hashes of the parts of the tree without any of them.

**Guarantee**: two lists of leaves with one root, or a leaf and a proof that lead to the root of a list with another
leaf in its place, give a collision of SHA-256.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

from maskedbandit.errors import InvalidValue, Malformed

HASH = 32  # bytes of a hash
USERS = 2**64  # users are numbers below
LEAVES = 2**32  # at most, in one tree
_RANK, _LEAF, _NODE, _ROOT = (b"maskedbandit secagg " + part for part in (b"rank ", b"leaf ", b"node ", b"root "))


def rank(seed: bytes, user: int) -> bytes:
    """Where a user stands: the lower rank is earlier on the ring.

    >>> rank(b"seed", 7).hex()[:16]
    '01aabe21c6bbb1ab'
    """
    return sha256(_RANK + seed + user.to_bytes(8, "big")).digest()


def order(seed: bytes, users: Iterable[int]) -> list[int]:
    """The ring: users by their rank.

    >>> order(b"seed", range(8))
    [7, 0, 4, 6, 2, 3, 1, 5]
    """
    users = list(users)
    if users and (min(users) < 0 or max(users) >= USERS or len(set(users)) < len(users)):
        raise InvalidValue("users", users, "different whole numbers from 0 to 2^64 - 1")
    return sorted(users, key=lambda user: rank(seed, user))


def window(position: int, n: int, k: int) -> list[int]:
    """Positions of the k neighbours of a position on a ring of n; all others if k is n - 1 or more.

    >>> window(0, n=8, k=4), window(0, n=4, k=3)
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
    """All users in their order, and the k neighbours of each.

    >>> ring = Ring(b"seed", range(8), k=4)
    >>> ring.around(4), ring.number(6, of=4)
    ([7, 0, 6, 2], 2)
    """

    def __init__(self, seed: bytes, users: Iterable[int], k: int) -> None:
        self.order, self._k = order(seed, users), k
        self._place = {user: place for place, user in enumerate(self.order)}
        self._windows: dict[int, list[int]] = {}

    def _window(self, place: int) -> list[int]:
        found = self._windows.get(place)
        if found is None:
            found = self._windows[place] = window(place, len(self.order), self._k)
        return found

    def around(self, user: int) -> list[int]:
        """The neighbours of a user, from the first place of the ring on."""
        return [self.order[place] for place in self._window(self._place[user])]

    def number(self, user: int, of: int) -> int:
        """Which neighbour a user is of another one, counted from 0."""
        return bisect_left(self._window(self._place[of]), self._place[user])


class Tree:
    """The Merkle tree of some leaves, in their order.

    >>> tree = Tree([b"a", b"b", b"c"])
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
        """The hashes that are missing to get from the leaves at these positions to the root.

        Level after level from the leaves up, in the order of positions.
        """
        _check(len(self._levels[0]), positions, InvalidValue("positions", positions, "some positions of leaves"))
        known, missing = sorted(set(positions)), []
        for level in self._levels[:-1]:
            here = set(known)
            missing += [level[i ^ 1] for i in known if i ^ 1 not in here and i ^ 1 < len(level)]
            known = sorted({i >> 1 for i in known})
        return missing


def root_from(n: int, leaves: Mapping[int, bytes], proof: Sequence[bytes]) -> bytes:
    """The root of n leaves of which some are known, by their positions, with the proof for these positions.

    Raises `Malformed` if the proof is for other positions or another n. It takes at most 32 steps for each leaf.
    """
    if not 1 <= n <= LEAVES:
        raise Malformed(f"a tree of {n} leaves")
    _check(n, leaves, Malformed("positions that are not in the tree, or none"))
    if any(len(each) != HASH for each in proof):
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
    """The known hashes of the next level, of those of a level of this size."""
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

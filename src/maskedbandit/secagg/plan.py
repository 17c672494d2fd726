"""What all parties of a round agree on before it begins.

Every party computes the plan itself, from the settings that it agreed to, and takes no part of it from the server: a
client does not check the thresholds of its own plan, and with low ones a server that lies can open single values. The
plan's hash names the round, so a party with another plan cannot take part. Once the keys are known, the hash of the
plan and of all keys names the session; every seal, mask and vote includes it, so a message of one session is worthless
in another.

The ring on which users find their neighbours holds all who are invited; a user who does not come counts as lost. The
order follows from a seed that the plan commits to before there are keys, and from the keys, so nobody knows it in
advance. A device sees the keys of its neighbours alone, so a server that lies about other keys can draw the ring again,
as often as it can hash n names; the number of neighbours is chosen so that this is hopeless.
"""

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

from maskedbandit.errors import InvalidValue
from maskedbandit.secagg.graph import LEAVES, MOST_USERS, Ring
from maskedbandit.secagg.masks import LARGEST_PACKED, VALUE_SIZE

PLAN_VERSION = 1


@dataclass(frozen=True)
class RoundPlan:
    """The parameters of one round.

    `cohort` names the study, the cohort, the attempt and the noise that the devices add; `users` are all who are
    invited, in order. Each shares its two seeds with `neighbours` others, any `threshold` of whom can rebuild them; the
    sum is opened only if `least` values are in it. In `signed` rounds devices sign their keys and the list of survivors
    that they received, and no device reveals key shares before `threshold` neighbours have signed the same list. `ring`
    is the hash of the seed of the ring.

    >>> users = tuple(range(64))
    >>> RoundPlan(b"arm 3, cohort 1", users, 63, 40, 52, 2**10, True, sha256(b"seed").digest()).round.hex()[:8]
    'cb445c01'
    """

    cohort: bytes
    users: tuple[int, ...] = field(repr=False)
    neighbours: int
    threshold: int
    least: int
    modulus: int
    signed: bool
    ring: bytes
    weights: tuple[int, ...] = field(default=(), repr=False)  # none: each user is one person
    people: int = 0
    colluding: int = 0

    def __post_init__(self) -> None:
        if not 3 <= self.n < LEAVES:
            raise InvalidValue("the number of users", self.n, "at least 3, and below 2^32")
        rising = all(user < after for user, after in pairwise(self.users))
        if not rising or self.users[0] < 0 or self.users[-1] >= MOST_USERS:
            raise InvalidValue("users", "hidden", "different whole numbers from 0 to 2^64 - 1, in order")
        if self.neighbours != self.n - 1 and (self.neighbours % 2 or not 2 <= self.neighbours < self.n):
            raise InvalidValue("neighbours", self.neighbours, f"{self.n - 1}, or an even number below that")
        if not 2 <= self.threshold <= self.neighbours:
            raise InvalidValue("threshold", self.threshold, f"a whole number from 2 to {self.neighbours}")
        if not self.threshold < self.least <= self.n:  # a survivor's seed is rebuilt by other survivors
            raise InvalidValue("least", self.least, f"a whole number from {self.threshold + 1} to {self.n}")
        if not 2 <= self.modulus <= LARGEST_PACKED:
            allowed = f"a whole number from 2 to 2^{LARGEST_PACKED.bit_length() - 1}"
            raise InvalidValue("modulus", self.modulus, allowed)
        if self.weights and (len(self.weights) != self.n or min(self.weights) < 0):
            raise InvalidValue("weights", self.weights, f"{self.n} whole numbers of at least 0")
        if not 0 <= self.colluding < self.n:
            raise InvalidValue("colluding", self.colluding, f"a whole number from 0 to {self.n - 1}")
        if self.people > self.count_people(self.users):
            most = self.count_people(self.users)
            raise InvalidValue("people", self.people, f"at most {most}: so many are left when all users answer")

    @property
    def n(self) -> int:
        """How many users are invited."""
        return len(self.users)

    @cached_property
    def round(self) -> bytes:
        """The name of the round: a hash of the plan."""
        single = self.modulus <= 1 << 8 * VALUE_SIZE
        modulus = self.modulus if single else 0
        numbers = PLAN_VERSION, self.n, self.neighbours, self.threshold, self.least, modulus, int(self.signed)
        text = b"".join(number.to_bytes(9) for number in (*numbers, *self.users))
        if any(more := (self.people, self.colluding, *self.weights)):
            text = b" of weights" + text + b"".join(number.to_bytes(9) for number in more)
        if not single:
            text = b" of vectors" + sha256(b"%x" % self.modulus).digest() + text
        return sha256(b"maskedbandit round" + text + self.ring + self.cohort).digest()

    def count_people(self, users: Collection[int]) -> int:
        """The fewest honest people whose values are in a sum of these users: if the heaviest of these collude.

        >>> plan = RoundPlan(b"four sites", (0, 1, 2, 3), 3, 3, 4, 2**10, True, bytes(32), (5, 20, 40, 35), 55, 1)
        >>> plan.count_people((0, 1, 2, 3)), plan.count_people((0, 1, 2))
        (60, 25)
        """
        weights = sorted(self.weights[self.index(user)] if self.weights else 1 for user in users)
        return sum(weights[: len(weights) - self.colluding])

    def session(self, root: bytes) -> bytes:
        """The name of the session: a hash of the plan and of all keys, of which `root` is the commitment."""
        return sha256(b"maskedbandit session" + self.round + root).digest()

    @cached_property
    def _rings(self) -> dict[bytes, Ring]:
        return {}

    def drawn(self, seed: bytes, root: bytes) -> Ring:
        """The ring; parties in the same process compute it once."""
        key = sha256(b"maskedbandit ring" + seed + root).digest()
        found = self._rings.get(key)
        if found is None:
            found = Ring(key, self.users, self.neighbours)
            self._rings.clear()
            self._rings[key] = found
        return found

    def index(self, user: int) -> int:
        """The position of a user in `users`, counted from 0."""
        return bisect_left(self.users, user)

"""Prio3: two value shares of a number, and a proof in shares that the number is in range [BCPS26, Sec. 7].

A device adds to its value shares a proof that their sum is 0 or 1 (Prio3Count), or that it is from 0 to `largest`
(Prio3Sum). Each server computes a few numbers from its share alone; the sums of both servers' numbers show whether the
proof holds, and nothing else of the value:

    device    bits b of the value, by weights that add up to `largest`; a random b_0
              w   the polynomial with w(alpha^k) = b_k, alpha a root of unity of order p
              f = w^2 - w, in shares, by its values at all roots of unity of order 2 p but the last
    server    v = sum_k r_k f(alpha^k),  w(t),  f(t)      of its shares; r and t from a key that only servers have
    both      accept if v = 0 and w(t)^2 - w(t) = f(t)

(Prio3Count has one bit m, two polynomials through it in place of w, and f(alpha) - m in place of v.)

**Guarantee**: a device whose value is not in range is accepted with probability at most 2 p / 2^64 or so, as f - w^2 +
w has fewer than 2 p roots; and one server, whatever it does, sees of an honest device's value what is a function of
uniform numbers alone, apart from the sum in which the value is [BCPS26, Sec. 9; DPRS23]. This is computational: the
helper's share is the output of TurboSHAKE128. Neither side takes the same time for every value: whoever measures the
processor of a server to the nanosecond may learn of the shares that it has anyhow.

Numbers are those of the field of p = 2^64 - 2^32 + 1. The wire version is that of draft 18, for two servers. There is
no transform: f has one value less than there are roots, the missing one is a fixed sum of the others, and its value
anywhere follows from those at the roots by halving their number.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import add, mul

from maskedbandit.errors import Forged, InvalidValue, Malformed

FIELD = 2**64 - 2**32 + 1
GENERATOR = pow(7, 2**32 - 1, FIELD)  # of the roots of unity of order 2^32
WIRE = 18  # the draft whose messages these are
SEED = 32  # bytes of a seed and of the key of both servers
NONCE = 16
LEADER, HELPER = 0, 1
MEASUREMENT, PROOF, PROVING, QUERY = 1, 2, 4, 5  # what randomness is for
ONE_PROOF = b"\x01"


def expand(seed: bytes, label: bytes, binder: bytes, count: int) -> list[int]:
    """So many uniform numbers of the field from a seed."""
    from Cryptodome.Hash import TurboSHAKE128  # which loads a compiler's parser: few studies have two operators

    parts = len(label).to_bytes(2, "little"), label, bytes((len(seed),)), seed, binder
    stream = TurboSHAKE128.new(domain=1, data=b"".join(parts))
    found: list[int] = []
    while len(found) < count:  # one number in 2^32 is not in the field, and left out
        more = count - len(found)
        found += [number for number in struct.unpack(f"<{more}Q", stream.read(8 * more)) if number < FIELD]
    return found


def pack(numbers: Sequence[int]) -> bytes:
    """Numbers of the field as bytes."""
    return struct.pack(f"<{len(numbers)}Q", *numbers)


def unpack(data: bytes, count: int) -> tuple[int, ...]:
    """So many numbers of the field, or raise `Malformed`."""
    if len(data) != 8 * count:
        raise Malformed(f"a share of {count} numbers has {len(data)} bytes instead of {8 * count}")
    numbers = struct.unpack(f"<{count}Q", data)
    if max(numbers) >= FIELD:
        raise Malformed("a number of a share is not in the field")
    return numbers


@lru_cache
def roots(count: int) -> tuple[int, ...]:
    """All roots of unity of an order that is a power of two."""
    root = pow(GENERATOR, 2**32 // count, FIELD)
    return tuple(pow(root, i, FIELD) for i in range(count))


@lru_cache
def halfway(count: int) -> tuple[tuple[int, ...], ...]:
    """What turns the values of a polynomial at the roots of an order into those at the roots between them."""
    double = roots(2 * count)
    scale = -2 * pow(count, -1, FIELD)
    return tuple(
        tuple(scale * root * pow(double[2 * j + 1] - root, -1, FIELD) % FIELD for root in roots(count))
        for j in range(count)
    )


@lru_cache
def inverse_roots(count: int) -> tuple[int, ...]:
    """One over each root of unity of an order."""
    return tuple(pow(root, -1, FIELD) for root in roots(count))


def evaluate(values: Sequence[int], t: int) -> int:
    """The value at t of the polynomial that has these values at the roots of unity of their number's order.

    The values at w and -w give that at w^2 of a polynomial of half the degree, which has at t^2, but for a factor of 2,
    what this one has at t: and so on, until one value is left.
    """
    count = middle = len(values)
    while middle := middle // 2:
        pairs = zip(values, values[middle:], inverse_roots(2 * middle), strict=False)
        values = [(a + b + t * root * (a - b)) % FIELD for a, b, root in pairs]
        t = t * t % FIELD
    if t == 1:
        raise Malformed("the numbers of the servers fall on a root of unity: such a report is left out")
    return -((FIELD - 1) // count) * values[0] % FIELD  # over the count


def times(weights: Sequence[int], values: Sequence[int]) -> int:
    """The sum of products, in the field."""
    return sum(map(mul, weights, values)) % FIELD


@dataclass(frozen=True)
class Range:
    """Whole numbers from 0 to `largest`, in shares for two servers with a proof.

    `context` names the application and the cohort: shares of another context are not accepted.

    >>> bits = Range(1, b"an example")
    >>> leader, helper = bits.shard(1, rand=bytes(range(64)))
    >>> mine, his = (bits.query(role, bytes(32), bytes(16), share) for role, share in enumerate((leader, helper)))
    >>> bits.check(mine[1], his[1])
    >>> (mine[0] + his[0]) % FIELD
    1
    """

    largest: int
    context: bytes

    def __post_init__(self) -> None:
        if type(self.largest) is not int or not 1 <= self.largest < 2**32:
            raise InvalidValue("largest", self.largest, "a whole number from 1 to 2^32 - 1")
        if not isinstance(self.context, bytes) or len(self.context) > 2**16 - 9:
            raise InvalidValue("context", "hidden", "at most 65,527 bytes")

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """What each bit of a value is worth; together they are worth `largest`."""
        count = self.largest.bit_length() - 1
        return (*(1 << i for i in range(count)), self.largest - (1 << count) + 1)

    @cached_property
    def wires(self) -> int:
        """Polynomials through the bits: two for a single bit, whose product is taken."""
        return 2 if self.largest == 1 else 1

    @cached_property
    def points(self) -> int:
        """The order of the roots of unity at which the polynomials have the bits."""
        return 1 << len(self.weights).bit_length()

    @cached_property
    def proof(self) -> int:
        """Numbers in a proof."""
        return self.wires + 2 * self.points - 1

    @property
    def size(self) -> int:
        """Bytes of the leader's share."""
        return 8 * (len(self.weights) + self.proof)

    def label(self, usage: int) -> bytes:
        """What randomness is bound to: the version, the algorithm, what it is for, and the context."""
        algorithm = 1 if self.largest == 1 else 2
        return bytes((WIRE, 0)) + algorithm.to_bytes(4) + usage.to_bytes(2) + self.context

    def encode(self, value: int) -> list[int]:
        """The bits of a value."""
        if type(value) is not int or not 0 <= value <= self.largest:
            raise InvalidValue("value", "hidden", f"a whole number from 0 to {self.largest}")
        last = int(value >= 1 << len(self.weights) - 1)
        rest = value - last * self.weights[-1]
        return [*(rest >> i & 1 for i in range(len(self.weights) - 1)), last]

    def expand_helper(self, seed: bytes) -> tuple[list[int], list[int]]:
        """The helper's shares of the bits and of the proof."""
        if len(seed) != SEED:
            raise Malformed(f"the helper's share has {len(seed)} bytes instead of {SEED}")
        binder = bytes((HELPER,))
        bits = expand(seed, self.label(MEASUREMENT), binder, len(self.weights))
        return bits, expand(seed, self.label(PROOF), ONE_PROOF + binder, self.proof)

    def prove(self, bits: Sequence[int], seeds: Sequence[int]) -> list[int]:
        """The proof that each of the bits is 0 or 1, all of it."""
        padding = [0] * (self.points - 1 - len(bits))
        near = [[seed, *bits, *padding] for seed in seeds]
        far = [[times(row, wire) for row in halfway(self.points)] for wire in near]
        values = []
        for wire in (near, far):
            first, second = wire[0], wire[-1]
            values.append([(a * b - (a if self.wires == 1 else 0)) % FIELD for a, b in zip(first, second, strict=True)])
        return [*seeds, *(each for pair in zip(*values, strict=True) for each in pair)][: self.proof]

    def shard(self, value: int, rand: bytes) -> tuple[bytes, bytes]:
        """The shares of the leader and of the helper; `rand` has 64 random bytes that are used once."""
        if len(rand) != 2 * SEED:
            raise InvalidValue("rand", "hidden", f"{2 * SEED} random bytes")
        bits, helper = self.encode(value), rand[:SEED]
        seeds = expand(rand[SEED:], self.label(PROVING), ONE_PROOF, self.wires)
        other = self.expand_helper(helper)
        mine = [*bits, *self.prove(bits, seeds)]
        return pack([(a - b) % FIELD for a, b in zip(mine, [*other[0], *other[1]], strict=True)]), helper

    def query(self, role: int, key: bytes, nonce: bytes, share: bytes) -> tuple[int, bytes]:
        """A server's share of the value, and what it tells the other one; `key` is a secret of both servers."""
        if role == LEADER:
            numbers = unpack(share, len(self.weights) + self.proof)
            bits: Sequence[int] = numbers[: len(self.weights)]
            proof: Sequence[int] = numbers[len(self.weights) :]
        else:
            bits, proof = self.expand_helper(share)
        seeds, values = proof[: self.wires], proof[self.wires :]
        outputs = values[2 : 2 * len(bits) + 1 : 2]
        one = self.wires == 2
        *r, t = expand(key, self.label(QUERY), ONE_PROOF + nonce, 1 if one else len(bits) + 1)
        v = (outputs[0] - bits[0]) % FIELD if one else times(r, outputs)
        padding, double = [0] * (self.points - 1 - len(bits)), roots(2 * self.points)
        wires = [evaluate([seed, *bits, *padding], t) for seed in seeds]
        last = -double[1] * times(double, values) % FIELD  # the value at the root that is left out
        return times(self.weights, bits), pack([v, *wires, evaluate([*values, last], t)])

    def check(self, leader: bytes, helper: bytes) -> None:
        """Raise `Forged` unless what both servers told each other shows that the value is in range."""
        count = self.wires + 2
        v, *wires, output = map(add, unpack(leader, count), unpack(helper, count))
        expected = wires[0] * wires[-1] - (wires[0] if self.wires == 1 else 0)
        if v % FIELD or (expected - output) % FIELD:
            raise Forged("a proof does not hold: the value is not in range, or a share was altered")

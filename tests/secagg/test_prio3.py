"""Prio3: the published vectors, proofs that hold exactly for values in range, and shares that show nothing."""

import json
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from Cryptodome.Hash import TurboSHAKE128
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import Forged, InvalidValue, Malformed
from maskedbandit.secagg import prio3
from maskedbandit.secagg.prio3 import FIELD, HELPER, LEADER, NONCE, SEED, Range, evaluate, halfway, pack, roots, unpack

VECTORS = {path.stem: json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "vdaf").glob("*.json"))}
KEY = bytes(range(SEED))
LARGEST = st.sampled_from([1, 2, 3, 4, 7, 8, 255, 256, 1000, 2**20, 2**32 - 1])


def draw(random, count=2 * SEED):
    return random.randbytes(count)


def accept(values, shares, nonce, key=KEY):
    """The sum of both servers' shares of the value, or an error."""
    (mine, first), (his, second) = (values.query(role, key, nonce, share) for role, share in enumerate(shares))
    values.check(first, second)
    return (mine + his) % FIELD


class TestVectors:
    def test_all_are_here(self):
        assert len(VECTORS) == 8
        assert sum("bad" in name for name in VECTORS) == 4

    @pytest.mark.parametrize("name", VECTORS)
    def test_every_byte_is_that_of_the_draft(self, name):
        vector, h = VECTORS[name], bytes.fromhex
        values, totals = Range(vector.get("max_measurement", 1), h(vector["ctx"])), [0, 0]
        for report in vector["reports"]:
            shares = [h(share) for share in report["input_shares"]]
            told = [
                values.query(role, h(vector["verify_key"]), h(report["nonce"]), share)
                for role, share in enumerate(shares)
            ]
            assert [verifier.hex() for _, verifier in told] == report["verifier_shares"][0]
            if "bad" in name:
                with pytest.raises(Forged):
                    values.check(told[0][1], told[1][1])
                continue
            assert list(values.shard(report["measurement"], h(report["rand"]))) == shares
            values.check(told[0][1], told[1][1])
            assert [pack([out]).hex() for out, _ in told] == [share[0] for share in report["out_shares"]] or [
                pack([out]).hex() for out, _ in told
            ] == report["out_shares"]
            totals = [(total + out) % FIELD for total, (out, _) in zip(totals, told, strict=True)]
        if "bad" not in name:
            assert [pack([total]).hex() for total in totals] == vector["agg_shares"]
            assert sum(totals) % FIELD == vector["agg_result"]


class TestInRange:
    @given(LARGEST, st.data())
    def test_every_value_is_accepted_and_added(self, largest, data):
        value, random = data.draw(st.integers(0, largest)), Random(data.draw(st.integers(0, 2**32)))
        values = Range(largest, b"context")
        assert sum(weight * bit for weight, bit in zip(values.weights, values.encode(value), strict=True)) == value
        shares = values.shard(value, draw(random))
        assert len(shares[LEADER]) == values.size
        assert accept(values, shares, draw(random, NONCE)) == value

    @pytest.mark.parametrize("value", [-1, 256, 1.0, True, None])
    def test_other_values_are_not_shared(self, value):
        with pytest.raises(InvalidValue, match="from 0 to 255"):
            Range(255, b"").shard(value, bytes(64))

    def test_sizes_are_those_of_the_draft(self):
        assert (Range(1, b"").size, Range(255, b"").size) == (48, 320)

    @pytest.mark.parametrize("largest", [0, -1, 2**32, 1.0, True])
    def test_other_ranges_are_refused(self, largest):
        with pytest.raises(InvalidValue, match="largest"):
            Range(largest, b"")

    def test_random_bytes_are_of_the_right_number(self):
        with pytest.raises(InvalidValue, match="64 random bytes"):
            Range(1, b"").shard(0, bytes(63))


def forged(values, bits, random):
    """Shares of bits that need not be bits, with the best proof that a device can make for them by the rules."""
    seeds = [random.randrange(FIELD) for _ in range(values.wires)]
    helper = draw(random, SEED)
    other = chain(*values.expand_helper(helper))
    mine = [*bits, *values.prove(bits, seeds)]
    return pack([(a - b) % FIELD for a, b in zip(mine, other, strict=True)]), helper


def refused(values, shares, nonce, **how):
    try:
        accept(values, shares, nonce, **how)
    except (Forged, Malformed):
        return True
    return False


class TestOutOfRange:
    """Whatever passes by chance does so with a probability below 2^-55 here: the false alarms of this class."""

    @given(LARGEST, st.data())
    def test_a_number_that_is_no_bit_is_refused(self, largest, data):
        values, random = Range(largest, b""), Random(data.draw(st.integers(0, 2**32)))
        bits = values.encode(random.randint(0, largest))
        bits[random.randrange(len(bits))] = data.draw(st.integers(2, FIELD - 1))
        assert refused(values, forged(values, bits, random), draw(random, NONCE))

    @given(LARGEST, st.data())
    def test_any_number_that_was_changed_is_refused(self, largest, data):
        values, random = Range(largest, b""), Random(data.draw(st.integers(0, 2**32)))
        leader, helper = values.shard(random.randint(0, largest), draw(random))
        numbers = list(unpack(leader, len(leader) // 8))
        at = data.draw(st.integers(0, len(numbers) - 1))
        numbers[at] = (numbers[at] + data.draw(st.integers(1, FIELD - 1))) % FIELD
        assert refused(values, (pack(numbers), helper), draw(random, NONCE))

    @pytest.mark.slow
    @given(LARGEST, st.integers(0, 2**32))
    def test_shares_of_another_context_key_or_nonce_do_not_fit(self, largest, seed):
        random = Random(seed)
        values, nonce = Range(largest, b"one"), draw(random, NONCE)
        shares = values.shard(largest, draw(random))
        assert refused(Range(largest, b"two"), shares, nonce)
        assert refused(values, (shares[0], draw(random, SEED)), nonce)
        (_, first), (_, second) = values.query(0, KEY, nonce, shares[0]), values.query(1, bytes(32), nonce, shares[1])
        with pytest.raises(Forged):
            values.check(first, second)
        _, second = values.query(1, KEY, draw(random, NONCE), shares[1])
        with pytest.raises(Forged):
            values.check(first, second)

    @pytest.mark.parametrize("twin", ["no output", "no polynomial"])
    def test_a_server_that_checks_half_is_found(self, twin):
        """What each part of the check is for: without it a lie passes."""

        class Half(Range):
            def check(self, leader, helper):
                v, *wires, output = (
                    (a + b) % FIELD for a, b in zip(*(unpack(s, 3) for s in (leader, helper)), strict=True)
                )
                if (v and twin != "no output") or (
                    (wires[0] ** 2 - wires[0] - output) % FIELD and twin != "no polynomial"
                ):
                    raise Forged("")

        random, values = Random(1), Half(255, b"")
        bits = [2, *values.encode(0)[1:]]
        honest = forged(values, bits, random)
        leader, helper = honest
        numbers = list(unpack(leader, len(leader) // 8))
        first = len(bits) + values.wires + 2  # the proof's value for the first bit: 2^2 - 2
        numbers[first] = (numbers[first] - 2) % FIELD
        lie = honest if twin == "no output" else (pack(numbers), helper)
        assert accept(values, lie, bytes(NONCE)) == 2
        assert refused(Range(255, b""), lie, bytes(NONCE))


class TestBytes:
    @pytest.mark.parametrize("size", [0, 47, 49, 56])
    def test_a_share_of_another_length_is_malformed(self, size):
        with pytest.raises(Malformed, match="instead of 48"):
            Range(1, b"").query(LEADER, KEY, bytes(NONCE), bytes(size))
        with pytest.raises(Malformed, match="instead of 32"):
            Range(1, b"").query(HELPER, KEY, bytes(NONCE), bytes(size))

    @pytest.mark.parametrize("number", [FIELD, 2**64 - 1])
    def test_a_number_that_is_not_in_the_field_is_malformed(self, number):
        with pytest.raises(Malformed, match="not in the field"):
            Range(1, b"").query(LEADER, KEY, bytes(NONCE), pack([number, 0, 0, 0, 0, 0]))
        with pytest.raises(Malformed, match="not in the field"):
            Range(1, b"").check(pack([0, 0, 0, 0]), pack([0, 0, 0, number]))

    @pytest.mark.slow
    @settings(max_examples=300)
    @given(st.binary(max_size=64), st.binary(max_size=64))
    def test_whatever_comes_is_refused_by_name(self, leader, helper):
        with pytest.raises((Forged, Malformed)):
            accept(Range(1, b""), (leader, helper), bytes(NONCE))

    def test_numbers_beyond_the_field_are_left_out(self, monkeypatch):
        class Stream:
            def __init__(self, **of):
                self.left = pack([FIELD, 5, 2**64 - 1, 6, 7])

            def update(self, data): ...

            def read(self, count):
                found, self.left = self.left[:count], self.left[count:]
                return found

        monkeypatch.setattr(TurboSHAKE128, "new", Stream)
        assert prio3.expand(b"", b"", b"", 3) == [5, 6, 7]

    def test_a_root_of_unity_shows_nothing(self):
        with pytest.raises(Malformed, match="root of unity"):
            evaluate(range(8), roots(8)[3])


def value_at(points, values, t):
    """The polynomial through these points, at t: by Lagrange's formula."""
    total = 0
    for i, (x, y) in enumerate(zip(points, values, strict=True)):
        for j, other in enumerate(points):
            if i != j:
                y = y * (t - other) * pow(x - other, -1, FIELD) % FIELD
        total += y
    return total % FIELD


class TestPolynomials:
    @pytest.mark.parametrize("count", [2, 4, 8, 16])
    def test_values_are_those_of_lagrange(self, count):
        random = Random(count)
        values, t = [random.randrange(FIELD) for _ in range(count)], random.randrange(FIELD)
        assert evaluate(values, t) == value_at(roots(count), values, t)
        between = [prio3.times(row, values) for row in halfway(count)]
        assert between == [value_at(roots(count), values, root) for root in roots(2 * count)[1::2]]

    @pytest.mark.parametrize("count", [1, 2, 16, 64])
    def test_so_they_are_at_the_edges(self, count):
        for t in (0, 2, FIELD - 2, roots(2 * count)[1], roots(4 * count)[1]):
            for values in ([0] * count, [FIELD - 1] * count, [1] + [0] * (count - 1), list(range(count))):
                assert evaluate(values, t) == value_at(roots(count), values, t)
        for t in {1, roots(count)[-1], roots(count)[count // 2]}:
            with pytest.raises(Malformed, match="root of unity"):
                evaluate([1] * count, t)

    def test_roots_are_roots(self):
        assert len(set(roots(64))) == 64
        assert {pow(root, 64, FIELD) for root in roots(64)} == {1}


class TestNothingIsShown:
    """What a server sees, its share and what the other one tells it, comes of every value with the same probability."""

    @given(LARGEST, st.integers(0, 2**32))
    def test_the_helper_sees_the_same_for_every_value(self, largest, seed):
        random = Random(seed)
        values, helper, nonce = Range(largest, b""), draw(random, SEED), draw(random, NONCE)
        t = prio3.expand(KEY, values.label(prio3.QUERY), prio3.ONE_PROOF + nonce, 64)[
            0 if values.wires == 2 else len(values.weights)
        ]
        near = [evaluate([int(i == j) for j in range(values.points)], t) for i in range(values.points)]
        other = [*chain(*values.expand_helper(helper))]
        first, second = values.encode(0), values.encode(random.randint(0, largest))
        seeds = [random.randrange(FIELD) for _ in range(values.wires)]
        apart = prio3.times(near[1:], first) - prio3.times(near[1:], second)
        moved = [(each + apart * pow(near[0], -1, FIELD)) % FIELD for each in seeds]
        told = []
        for bits, chosen in ((first, seeds), (second, moved)):
            share = pack([(a - b) % FIELD for a, b in zip([*bits, *values.prove(bits, chosen)], other, strict=True)])
            told.append(values.query(LEADER, KEY, nonce, share)[1])
        assert told[0] == told[1]

    @given(LARGEST, st.integers(0, 2**32))
    def test_the_leader_sees_the_same_for_every_value(self, largest, seed):
        """Its share is what is to be shared less uniform numbers: any share comes of any value, once."""
        random = Random(seed)
        values = Range(largest, b"")
        share = [random.randrange(FIELD) for _ in range(values.size // 8)]
        for value in {0, largest, random.randint(0, largest)}:
            bits = values.encode(value)
            whole = [*bits, *values.prove(bits, [random.randrange(FIELD) for _ in range(values.wires)])]
            others = [(a - b) % FIELD for a, b in zip(whole, share, strict=True)]
            with pytest.MonkeyPatch.context() as patch:
                cut = others[: len(bits)], others[len(bits) :]
                patch.setattr(Range, "expand_helper", lambda self, seed, cut=cut: cut)
                assert accept(values, (pack(share), bytes(SEED)), draw(random, NONCE)) == value

"""Two servers: right sums whoever is lost, and a named error for everything else."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import AlreadySpent, Disagreement, Forged, InvalidValue, Malformed, OutOfTurn, TooFew
from maskedbandit.errors import ProtocolError as Stopped
from maskedbandit.privacy.sampling import Bits
from maskedbandit.secagg.server_pair import (
    HASH_BYTES,
    NUMBER_SIZE,
    PAIR_VERSION,
    PRESENT,
    SEALED,
    TOTAL,
    VALUE_SHARE,
    PairServer,
    PairTerms,
    collect_sum,
    seal_value_share,
    server_keys,
    share_value,
)
from tests.for_each import for_each
from tests.secagg.lies import inverse, top_bit

BITS = Bits()
PAIRS = [server_keys(BITS) for _ in range(3)]
PRIVATE, KEYS = [private for private, _ in PAIRS], (PAIRS[0][1], PAIRS[1][1])
TERMS = PairTerms(b"cohort", 1000, 2, KEYS)
HEAD = 3 + HASH_BYTES  # bytes before what a message says


def servers(terms=TERMS, noise=(7, 11), **how):
    return [PairServer(terms, role, PRIVATE[role], lambda role=role: noise[role], **how) for role in range(2)]


def filled(values=(30, 40, 50), terms=TERMS, **how):
    """Two servers that have the value shares of users 0, 1, 2, ..."""
    pair = servers(terms, **how)
    for user, value in enumerate(values):
        for server, message in zip(pair, share_value(terms, user, value, BITS), strict=True):
            server.receive(user, message)
    return pair


def ended(pair):
    """What both servers publish."""
    present = [server.close() for server in pair]
    return pair[0].publish(present[1]), pair[1].publish(present[0])


def flipped(message, position):
    return message[:position] + bytes((message[position] ^ 1,)) + message[position + 1 :]


class TestSum:
    @settings(max_examples=40, deadline=None)
    @given(
        st.lists(st.tuples(st.integers(0, 10**9), st.sampled_from(["both", "first", "second", "none"])), max_size=6),
        st.integers(2, 2**62),
        st.integers(-(10**12), 10**12),
        st.integers(1, 3),
        st.data(),
    )
    def test_is_that_of_the_users_whom_both_have(self, users, m, noise, least, data):
        terms = PairTerms(b"any", m, least, KEYS)
        pair = servers(terms, (noise, 3))
        numbers = data.draw(st.lists(st.integers(0, 2**63 - 1), min_size=len(users), max_size=len(users), unique=True))
        right = {}
        for number, (value, reached) in zip(numbers, users, strict=True):
            for position, (server, message) in enumerate(
                zip(pair, share_value(terms, number, value % m, BITS), strict=True)
            ):
                if reached in ("both", ("first", "second")[position]):
                    server.receive(number, message)
            if reached == "both":
                right[number] = value
        if len(right) < least:
            present = [server.close() for server in pair]
            for server, received in zip(pair, present[::-1], strict=True):
                with pytest.raises(TooFew, match=f"of {len(right)} users: {least} are"):
                    server.publish(received)
            return
        assert collect_sum(terms, *ended(pair)) == ((sum(right.values()) + noise + 3) % m, len(right))
        assert [server.survivors for server in pair] == [tuple(sorted(right))] * 2

    def test_noise_is_drawn_once_by_each_and_before_any_value_share(self):
        drawn = []
        pair = [PairServer(TERMS, role, PRIVATE[role], lambda role=role: drawn.append(role) or 5) for role in range(2)]
        assert drawn == [0, 1]
        for user in range(2):
            for server, message in zip(pair, share_value(TERMS, user, 0, BITS), strict=True):
                server.receive(user, message)
        assert collect_sum(TERMS, *ended(pair)) == (10, 2)
        assert drawn == [0, 1]

    def test_sizes_of_messages_tell_nothing_of_values(self):
        sizes = {len(message) for value in (0, 1, 500, 999) for message in share_value(TERMS, value, value, BITS)}
        assert sizes == {HEAD + SEALED}
        totals = [ended(filled(values, noise=noise)) for values, noise in (((0, 0), (0, 0)), ((999, 998), (10**9, -1)))]
        assert len({len(total) for pair in totals for total in pair}) == 1


class TestDevices:
    """What a device sends is for one server, one user and one cohort, once."""

    def test_a_second_value_share_is_refused_and_changes_nothing(self):
        pair = filled()
        before = dict(pair[0]._value_shares)
        for message in (*share_value(TERMS, 1, 999, BITS), b""):
            with pytest.raises(AlreadySpent, match="user 1"):
                pair[0].receive(1, message)
        assert pair[0]._value_shares == before
        assert collect_sum(TERMS, *ended(pair)) == (138, 3)

    @for_each(
        "other",
        [
            PairTerms(b"cohort 2", 1000, 2, KEYS),
            PairTerms(b"cohort", 1001, 2, KEYS),
            PairTerms(b"cohort", 1000, 3, KEYS),
            PairTerms(b"cohort", 1000, 2, (KEYS[0], PAIRS[2][1])),
        ],
        ids=["name", "modulus", "least", "key"],
    )
    def test_a_value_share_of_other_terms_is_refused(self, other):
        pair, (message, _) = servers(), share_value(other, 5, 1, BITS)
        with pytest.raises(OutOfTurn, match="another cohort"):
            pair[0].receive(5, message)
        with pytest.raises(Forged):  # though it says that it is of this one
            pair[0].receive(5, message[:3] + TERMS.session + message[HEAD:])

    def test_a_value_share_for_the_other_server_is_refused(self):
        pair, (to_first, to_second) = servers(), share_value(TERMS, 5, 1, BITS)
        with pytest.raises(OutOfTurn, match="not of the server"):
            pair[0].receive(5, to_second)
        with pytest.raises(Forged):
            pair[0].receive(5, to_first[:HEAD] + to_second[HEAD:])

    def test_a_value_share_of_another_user_is_refused(self):
        """Nobody can send again what somebody else sent, in its own name."""
        pair, (message, _) = servers(), share_value(TERMS, 5, 1, BITS)
        with pytest.raises(Forged, match="user 6"):
            pair[0].receive(6, message)
        pair[0].receive(5, message)

    def test_every_byte_counts(self):
        pair, (message, _) = servers(), share_value(TERMS, 5, 1, BITS)
        for position in range(len(message)):
            with pytest.raises((Forged, OutOfTurn, Malformed)):
                pair[0].receive(5, flipped(message, position))
        pair[0].receive(5, message)

    @for_each("cut", [0, 1, 2, HEAD - 1, HEAD, HEAD + SEALED - 1])
    def test_lengths_are_due(self, cut):
        pair, (message, _) = servers(), share_value(TERMS, 5, 1, BITS)
        for wrong in (message[:cut], message + b"x", None, "text", bytearray(message)):
            with pytest.raises(Malformed):
                pair[0].receive(5, wrong)

    @for_each("value_share", [1000, 2**63, 2**64 - 1])
    def test_what_is_no_residue_is_refused(self, value_share):
        pair = servers()
        with pytest.raises(Malformed, match="not below the modulus"):
            pair[0].receive(5, seal_value_share(TERMS, 0, 5, value_share))
        pair[0].receive(5, seal_value_share(TERMS, 0, 5, 999))

    @for_each("value", [-1, 1000, 2.0, True, None])
    def test_only_residues_are_shared_and_errors_do_not_show_them(self, value):
        with pytest.raises(InvalidValue, match="value is 'hidden'"):
            share_value(TERMS, 1, value, BITS)

    def test_whoever_may_not_take_part_is_refused_before_the_value_share_is_kept(self):
        spent = {5}

        def spend(user):
            if user in spent:
                raise AlreadySpent(f"user {user} took part in another cohort")
            spent.add(user)

        first = PairServer(TERMS, 0, PRIVATE[0], lambda: 0, spend)
        with pytest.raises(AlreadySpent, match="another cohort"):
            first.receive(5, share_value(TERMS, 5, 1, BITS)[0])
        with pytest.raises(Forged):
            first.receive(6, flipped(share_value(TERMS, 6, 1, BITS)[0], HEAD))
        assert spent == {5}
        first.receive(6, share_value(TERMS, 6, 1, BITS)[0])
        assert spent == {5, 6}
        assert set(first._value_shares) == {6}

    @for_each("user", [-1, 2**63, 2**64, 5.0, "5", True, None])
    def test_a_user_is_a_number(self, user):
        pair, (message, _) = servers(), share_value(TERMS, 5, 1, BITS)
        with pytest.raises(Malformed, match="a user is"):
            pair[0].receive(user, message)
        pair[0].receive(2**63 - 1, share_value(TERMS, 2**63 - 1, 1, BITS)[0])
        pair[0].receive(0, share_value(TERMS, 0, 1, BITS)[0])

    def test_every_server_and_user_has_seals_of_its_own(self):
        contexts = {TERMS.context(role, user) for role in range(2) for user in (0, 1, 256, 2**63 - 1)}
        assert len(contexts) == 8

    def test_a_value_share_that_comes_late_is_refused(self):
        pair, (message, _) = filled(), share_value(TERMS, 5, 1, BITS)
        pair[0].close()
        with pytest.raises(OutOfTurn):
            pair[0].receive(5, message)


class TestServers:
    """Between the servers anything wrong ends the cohort: nothing is published, nothing is left."""

    def ends(self, server, message, error):
        with pytest.raises(error):
            server.publish(message)
        for again in (message, server.terms.packed(PRESENT, 1 - server.role, *map(number, range(3)))):
            with pytest.raises(OutOfTurn):
                server.publish(again)
        assert not hasattr(server, "_value_shares")

    def test_nothing_is_published_twice(self):
        pair = filled()
        present = [server.close() for server in pair]
        pair[0].publish(present[1])
        for received in present:
            with pytest.raises(OutOfTurn):
                pair[0].publish(received)
        with pytest.raises(OutOfTurn):
            pair[0].close()

    def test_nothing_is_published_before_the_end(self):
        pair = filled()
        received = pair[1].close()
        with pytest.raises(OutOfTurn):
            pair[0].publish(received)
        pair[0].close()
        pair[0].publish(received)

    @for_each(
        ("users", "error"),
        [([0], TooFew), ([], TooFew), ([0, 7, 8], TooFew), ([1, 0], Malformed), ([0, 0, 1], Malformed)],
    )
    def test_a_list_of_too_few_or_in_disorder_ends_it(self, users, error):
        first, _ = filled()
        first.close()
        self.ends(first, TERMS.packed(PRESENT, 1, *map(number, users)), error)

    def test_a_list_of_another_kind_ends_it(self):
        other = PairTerms(b"cohort 2", 1000, 2, KEYS)
        good = TERMS.packed(PRESENT, 1, *map(number, range(3)))
        for wrong, error in (
            (good[:-1], Malformed),
            (b"", Malformed),
            (TERMS.packed(PRESENT, 0, *map(number, range(3))), OutOfTurn),  # its own one comes back
            (TERMS.packed(VALUE_SHARE, 1, *map(number, range(3))), OutOfTurn),
            (other.packed(PRESENT, 1, *map(number, range(3))), OutOfTurn),
            (bytes((PAIR_VERSION + 1,)) + good[1:], Malformed),
        ):
            first, _ = filled()
            first.close()
            self.ends(first, wrong, error)

    def test_a_server_that_lies_to_choose_the_set_gets_whole_noise_and_no_second_total(self):
        first, second = filled((1, 2, 3, 4))
        second.close()
        first.close()
        message = first.publish(TERMS.packed(PRESENT, 1, number(0), number(3)))
        assert first.survivors == (0, 3)
        assert int.from_bytes(message[HEAD : HEAD + NUMBER_SIZE]) == 2

    def test_nothing_of_a_cohort_is_shown_or_left(self):
        terms, noise = PairTerms(b"cohort", 2**62, 2, KEYS), (123456789123456789, 2)
        first, second = filled(
            (10**18, 2 * 10**18, 3 * 10**18), terms, noise=noise
        )  # no value share is likely to be short
        assert not any(secret in repr(first) for secret in (str(noise[0]), *map(str, first._value_shares.values())))
        first.publish((first.close(), second.close())[1])
        assert set(vars(first)) == {"terms", "role", "survivors", "_phase"}

    def test_keys_and_roles_fit(self):
        for role, private in ((0, PRIVATE[1]), (1, PRIVATE[0]), (2, PRIVATE[0]), (-1, PRIVATE[1])):
            with pytest.raises(InvalidValue, match=r"role|private is 'hidden'"):
                PairServer(TERMS, role, private, lambda: 0)

    @for_each(
        "wrong",
        [
            {"modulus": 1},
            {"modulus": 2**65088 + 1},
            {"modulus": 8.0},
            {"least": 0},
            {"least": True},
            {"keys": (KEYS[0], KEYS[0])},
            {"keys": (KEYS[0], top_bit(KEYS[0]))},
            {"keys": (KEYS[0], inverse(KEYS[0]))},
            {"keys": (KEYS[0], bytes(32))},
            {"keys": (KEYS[0], b"short")},
            {"keys": (*KEYS, PAIRS[2][1])},
        ],
    )
    def test_terms_are_checked(self, wrong):
        with pytest.raises(InvalidValue, match=next(iter(wrong))):
            PairTerms(**{"cohort": b"", "modulus": 8, "least": 1, "keys": KEYS} | wrong)


def number(user):
    return user.to_bytes(NUMBER_SIZE)


class TestCollector:
    def test_totals_of_different_users_are_refused(self):
        first, second = filled((1, 2, 3, 4)), filled((1, 2, 3, 4))
        for pair in (first, second):
            for server in pair:
                server.close()
        received = TERMS.packed(PRESENT, 1, *map(number, (0, 1, 2)))
        one = first[0].publish(received)
        for users in ((0, 1), (0, 1, 3)):
            pair = filled((1, 2, 3, 4))
            pair[1].close()
            other = pair[1].publish(TERMS.packed(PRESENT, 0, *map(number, users)))
            with pytest.raises(Disagreement):
                collect_sum(TERMS, one, other)
        other = second[1].publish(TERMS.packed(PRESENT, 0, *map(number, (0, 1, 2))))
        assert collect_sum(TERMS, one, other)[1] == 3

    def test_messages_of_another_kind_are_refused(self):
        first, second = ended(filled())
        other = ended(filled(terms=PairTerms(b"cohort 2", 1000, 2, KEYS)))
        for pair, error in (
            ((second, first), OutOfTurn),
            ((first, first), OutOfTurn),
            ((first, other[1]), OutOfTurn),
            ((first, second[:-1]), Malformed),
            ((first, second + b"x"), Malformed),
            ((first, second[:-NUMBER_SIZE] + (1000).to_bytes(NUMBER_SIZE)), Malformed),
            ((first, TERMS.packed(PRESENT, 1, second[HEAD:])), OutOfTurn),
            ((first, flipped(second, HEAD + NUMBER_SIZE)), Disagreement),
        ):
            with pytest.raises(error):
                collect_sum(TERMS, *pair)
        assert collect_sum(TERMS, first, second) == (138, 3)


def test_no_bytes_crash_a_party():
    """Random bytes, cut messages and altered ones: each is refused with a named error, or is the right message."""
    random = Random(3)
    first, second = filled((1, 2, 3))
    received, total = second.close(), ended(filled())
    value_share = share_value(TERMS, 9, 5, BITS)[0]
    for _ in range(400):
        kind = random.choice((value_share, received, total[0]))
        cut = kind[: random.randrange(len(kind))] + random.randbytes(random.randrange(3))
        noise = bytes((PAIR_VERSION, random.choice((VALUE_SHARE, PRESENT, TOTAL)), random.randrange(2))) + TERMS.session
        for wrong in (
            cut,
            random.randbytes(random.randrange(200)),
            noise + random.randbytes(random.choice((24, 48, 56))),
        ):
            with pytest.raises(Stopped):
                first.receive(9, wrong)
            with pytest.raises(Stopped):
                collect_sum(TERMS, wrong, total[1])
            listener = PairServer(TERMS, 0, PRIVATE[0], lambda: 0)
            listener.close()
            with pytest.raises(Stopped):
                listener.publish(wrong)
    first.receive(9, value_share)

"""Every parser against what is no message: a named error, no other exception, no hang, and nothing is spoiled.

What cannot be noticed is stated: the value of a masked value (any residue is one), the survivors of an unsigned round
(whose server is trusted), and whatever a later phase notices, when it opens, rebuilds or compares.
"""

from contextlib import suppress
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit.errors import Disagreement, Malformed, OutOfTurn, ProtocolError, TooFew
from maskedbandit.secagg.messages import (
    ADVERT,
    HEADINGS,
    MASKED,
    SURVIVORS,
    Reader,
    pack_flags,
    pack_message,
    pack_present,
)
from tests.for_each import for_each
from tests.secagg.adversary import HEAD, Liar, planned
from tests.secagg.rounds import Round

N = 5
VALUES = [10, 20, 30, 40, 50]


def plan_of(signed):
    return planned(N, t=3, least=4, signed=signed)


def next_message(phase: int, signed: bool) -> tuple[Liar, bytes]:
    """Devices in a phase, and what device 0 is to be told next."""
    it = Liar(plan_of(signed)).until(phase)
    message = [
        lambda: b"",
        lambda: it.roster(0),
        lambda: it.post(0),
        lambda: it.survivors(0, range(N)),
        lambda: it.ballots(0, range(N)),
    ][phase]()
    return it, message


STATES = [(phase, signed) for signed in (True, False) for phase in range(5 if signed else 4)]
each_state = pytest.mark.parametrize(("phase", "signed"), STATES)


def refused(it: Liar, message) -> None:
    with pytest.raises(ProtocolError):
        it.clients[0].receive(message)
    assert it.silent(0)


class TestClient:
    @pytest.mark.sparing(2)
    @each_state
    def test_random_bytes(self, phase, signed):
        @given(st.binary(max_size=400).filter(bool))
        @settings(max_examples=12, deadline=None)
        def holds(message):
            refused(next_message(phase, signed)[0], message)

        holds()

    @pytest.mark.sparing(1)
    @each_state
    def test_any_contents_of_every_kind(self, phase, signed):
        """Headers are right, so the parser of the phase reads on."""

        @given(st.integers(0, 11), st.binary(max_size=700), st.booleans())
        @settings(max_examples=15, deadline=None)
        def holds(kind, contents, of_session):
            it = Liar(plan_of(signed)).until(phase)
            session = it.plan.round if phase < 2 or not of_session else it.session(0)
            message = pack_message(kind, session, contents)
            if (phase, kind, len(contents)) != (3, SURVIVORS, 1):
                refused(it, message)

        holds()

    @pytest.mark.sparing(1)
    @each_state
    def test_cut_short_and_too_long(self, phase, signed):
        _, message = next_message(phase, signed)
        lengths = {0, 1, 2, HEAD - 1, HEAD, HEAD + 1, len(message) - 1, *range(3, len(message), 37)} - {len(message)}
        for length in sorted(each for each in lengths if 0 <= each < len(message)):
            refused(next_message(phase, signed)[0], message[:length])
        for more in (b"\0", b"\xff" * 32, bytes(5000), message):
            if more:
                refused(next_message(phase, signed)[0], message + more)

    @pytest.mark.sparing(3)
    @each_state
    @for_each("wrong", [None, 7, "text", [b"x"], bytearray(100), memoryview(bytes(100))])
    def test_no_bytes_at_all(self, phase, signed, wrong):
        if phase or wrong:
            refused(next_message(phase, signed)[0], wrong)

    @pytest.mark.slow
    @pytest.mark.parametrize("signed", [True, False])
    @pytest.mark.parametrize("phase", [1, 2, 3, 4])
    def test_one_flipped_bit_anywhere(self, phase, signed):
        """Noticed at once or later: the sum is right, of those who are left, or there is none.

        Not so for the survivors of an unsigned round: there every list that the plan allows is one. And what others
        sealed is no reason to leave there: a key share is missing then, and the sum is that of all.
        """
        if phase == 4 and not signed:
            return
        length, ends = len(Round(plan_of(signed), VALUES).run().received[phase][0]), 0
        for at in range(0, length, 7 if length > 100 else 1):

            def alter(number, user, message, at=at):
                hit = number == phase and user == 0
                return message[:at] + bytes([message[at] ^ 1 << at % 8]) + message[at + 1 :] if hit else message

            made = Round(plan_of(signed), VALUES, alter=alter)
            if phase == 3 and not signed and at >= HEAD:
                continue
            made.run()
            sealed = phase == 2 and not signed and at > HEAD
            assert made.gone.keys() | made.refused.keys() == (set() if sealed else {0})
            assert made.total == sum(VALUES[user] for user in made.server.survivors)
            ends += 1
        assert ends > 20

    def test_survivors_of_an_unsigned_round_are_trusted(self):
        """The exception above: another list gives other key shares, of which one is too few to matter here."""

        def alter(number, user, message):
            return message[:-1] + bytes([message[-1] ^ 2]) if number == 3 and user == 0 else message

        made = Round(plan_of(False), VALUES, alter=alter)
        with suppress(Disagreement):  # too few right key shares are left, here
            assert made.run().total == sum(VALUES)
        assert not made.gone


def junk(random: Random, made: Round):
    """Things that are no message of this phase: noise, and all kinds with the right headers and a wrong length."""
    yield b""
    yield random.randbytes(random.randrange(1, 300))
    for kind in range(12):
        for session in (made.plan.round, made.server._session):
            contents = random.randbytes(random.randrange(300))
            if len(contents) not in (8, 64, 128, made_length(made)):
                yield pack_message(kind, session, contents)


def made_length(made: Round) -> int:
    return max((len(each) - HEAD for each in made.sent[-1].values()), default=0) if made.sent else 0


class TestServer:
    @for_each("signed", [True, False])
    @for_each("seed", range(5))
    def test_junk_spoils_nothing(self, signed, seed):
        """Before each message of a device the server gets junk in its name; the sum is right all the same."""
        random = Random(seed)
        made = Round(plan_of(signed), VALUES)

        def change(phase, user, message):
            for thing in [*junk(random, made), message[:-1], message + b"\0", message[:HEAD], None, 5]:
                if thing != message and thing is not None and (thing == 5 or thing[HEAD:] or thing[1:2] != b"\x09"):
                    with pytest.raises(ProtocolError):
                        made.server.receive(user, thing)
            return message

        made.change = change
        assert made.run().total == sum(VALUES)
        assert len(made.server.survivors) == N

    @pytest.mark.slow
    @pytest.mark.parametrize("signed", [True, False])
    def test_one_flipped_bit_anywhere(self, signed):
        """Of any message of device 0: the right sum of those who are left, or none; a value is just another value."""
        sizes = [len(phase[0]) for phase in Round(plan_of(signed), VALUES).run().sent]
        outcomes = set()
        for phase, size in enumerate(sizes):
            for at in range(0, size, 7 if size > 100 else 1):
                if phase == 2 and at >= HEAD:
                    continue  # the masked value, see below

                def change(number, user, message, at=at, phase=phase):
                    hit = number == phase and user == 0
                    return message[:at] + bytes([message[at] ^ 1 << at % 8]) + message[at + 1 :] if hit else message

                made = Round(plan_of(signed), VALUES, change=change)
                try:
                    made.run()
                except ProtocolError as why:
                    outcomes.add(type(why))
                    assert made.total is None
                else:
                    outcomes.add(len(made.server.survivors))
                    assert made.total == sum(VALUES[user] for user in made.server.survivors)
        assert {4, 5} <= outcomes

    @pytest.mark.slow
    def test_a_flipped_bit_of_a_masked_value_is_another_value(self):
        """What no sum can notice: it shifts by what was flipped, or the server sees that it is no residue."""
        for bit in range(64):

            def change(number, user, message, bit=bit):
                flip = int.from_bytes(message[HEAD:]) ^ 1 << bit
                return message[:HEAD] + flip.to_bytes(8) if number == 2 and user == 0 else message

            made = Round(plan_of(False), VALUES, change=change).run()
            if 0 in made.server.survivors:
                assert (made.total - sum(VALUES)) % 1000 in {1 << bit, 1000 - (1 << bit)}
                assert bit < 10
            else:
                assert type(made.refused[0]) is Malformed
                assert made.total == sum(VALUES[1:])

    def test_every_message_twice(self):
        made = Round(plan_of(True), VALUES)

        def change(phase, user, message):
            made.server.receive(user, message)
            return message

        made.change = change
        made.run()
        assert made.refused.keys() == set(range(N))
        assert all(type(why) is OutOfTurn for why in made.refused.values())
        assert made.total == sum(VALUES)

    def test_messages_of_others(self):
        """Sealed key shares, votes and keys of another device are refused in one's own name in a signed round."""
        first = Round(plan_of(True), VALUES)
        first.phase()
        copied = first.sent[0][1]
        made = Round(plan_of(True), VALUES, change=lambda phase, user, m: copied if (phase, user) == (0, 0) else m)
        assert made.run().total == sum(VALUES[1:])
        assert "user 0 did not sign" in str(made.refused[0])


class TestReader:
    def test_pieces_and_numbers(self):
        reader = Reader(pack_message(MASKED, bytes(32), b"\x01\x02", b"\x05", b"abcd"), MASKED, bytes(32))
        assert (reader.number(2), reader.flags(3), reader.pieces(2)) == (258, 5, [b"ab", b"cd"])

    @for_each("n", [0, 1, 7, 8, 9, 64, 65])
    def test_flags(self, n):
        for flags in {0, (1 << n) - 1, (1 << n) // 2}:
            reader = Reader(pack_message(POST_ := 4, bytes(32), pack_flags(flags, n)), POST_, bytes(32))
            assert reader.flags(n) == flags
            reader.end()
        if n % 8:
            reader = Reader(pack_message(4, bytes(32), (1 << n).to_bytes(-(-n // 8), "little")), 4, bytes(32))
            with pytest.raises(Malformed, match="do not exist"):
                reader.flags(n)

    def test_chosen(self):
        assert pack_present([None, b"x", None, b"y"]) == b"\x0axy"
        assert pack_present([]) == b""

    @for_each("kind", range(1, len(HEADINGS)))
    def test_kinds(self, kind):
        message = pack_message(kind, bytes(32))
        Reader(message, kind, bytes(32)).end()
        for other in range(1, len(HEADINGS)):
            if other != kind:
                with pytest.raises(
                    OutOfTurn, match=f"a message of {HEADINGS[kind]} came where {HEADINGS[other]} is due"
                ):
                    Reader(message, other, bytes(32))

    def test_versions(self):
        with pytest.raises(Malformed, match="version 9"):
            Reader(b"\x09" + pack_message(ADVERT, bytes(32))[1:], ADVERT, bytes(32))


def test_too_many_refusals_end_the_round():
    """The control of the flips above: they are felt, as the fifth of these devices is lost at once."""
    made = Round(plan_of(True), VALUES, {1: 0}, change=lambda phase, user, m: m[:-1] if user == 0 else m)
    with pytest.raises(TooFew, match="3 users are left after the phase of keys: 4 are needed"):
        made.run()
    assert (list(made.refused), type(made.refused[0]), made.gone) == ([0], Malformed, {})
    assert Round(plan_of(True), VALUES, {1: 0}).run().total == sum(VALUES) - VALUES[1]

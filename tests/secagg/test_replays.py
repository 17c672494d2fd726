"""Messages that come again, or at another time: in their session and in another, each is refused by name.

Everything is deterministic, with seeded bits.
"""

from dataclasses import replace

import pytest

from maskedbandit.errors import Disagreement, Malformed, OutOfTurn
from maskedbandit.secagg.messages import HEADINGS
from tests.for_each import for_each
from tests.secagg.lies import PLAN, ends, liar


class TestReplays:
    """Every message again, at every later time, of the same session and of another."""

    @pytest.mark.slow
    @for_each("phase", range(1, 6))
    @for_each("signed", [True, False])
    def test_within_a_session(self, phase, signed):
        plan = replace(PLAN, signed=signed)
        received = liar(phase, plan).received[0]
        assert len(received) == min(phase, 5 if signed else 4) - 1
        for old in received:
            it = liar(phase, plan)
            over = phase == 5 or (phase == 4 and not signed)
            ends(it, 0, old, OutOfTurn, "left the round" if over else "is due")

    @pytest.mark.slow
    @for_each("phase", range(1, 5))
    @pytest.mark.parametrize("other", [{"seed": 2}, {"plan": replace(PLAN, cohort=b"other")}])
    def test_across_sessions(self, phase, other):
        received = liar(5, **other).received[0]
        for number, old in enumerate(received):
            it = liar(phase)
            if number == phase - 1 == 0 and "seed" in other:  # the same round, but with other keys of this device
                ends(it, 0, old, Disagreement, "the keys do not fit their root")
            else:
                ends(it, 0, old, OutOfTurn, "another session" if number == phase - 1 else "is due")

    @pytest.mark.sparing(1)
    @pytest.mark.parametrize("phase", range(5))
    def test_what_devices_say_is_nothing_to_tell_them(self, phase):
        for user in (0, 1):
            for said in liar(5).sent[user]:
                it = liar(phase)
                error = "came before its keys were sent" if phase == 0 else "is due|left the round|belongs to another"
                ends(it, 0, said, OutOfTurn, error)

    def test_a_round_does_not_begin_twice(self):
        it = liar(1)
        ends(it, 0, b"", Malformed, "no kind or no session")


class TestHarness:
    """The record itself: it sees what is revealed, and what is not."""

    def test_sees_every_key_share_of_an_honest_round(self):
        it = liar(5)
        assert all(it.halves(user) == [0] for user in range(5))
        assert len(it.key_shares_of(0, 0)) == 5
        assert set(it.key_shares_of(0, 1)) == {5}  # what the colluding device holds

    def test_tells_and_hears_every_kind_of_message(self):
        """So whatever is said in a round is altered, replayed and answered in these tests."""
        it = liar(5)
        said = {HEADINGS[message[1]] for messages in (it.received[0], it.sent[0]) for message in messages}
        assert said == set(HEADINGS[1:])

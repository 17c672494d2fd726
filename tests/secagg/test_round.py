"""Whole rounds: the sum of exactly the survivors' values, or an end; whoever leaves, whenever.

`succeeds` in rounds.py says from the pattern of losses alone what must come of a round. Nothing here is random but keys
and masks, whose choice changes no outcome (a ring with another order: seeds are fixed).
"""

from hashlib import sha256
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskedbandit import secagg
from maskedbandit.errors import Disagreement, InvalidValue, OutOfTurn, TooFew
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY, SEED
from maskedbandit.secagg.messages import KEY_SHARES
from maskedbandit.secagg.plan import RoundPlan
from maskedbandit.secagg.server import RoundServer
from maskedbandit.secagg.shamir import combine_shares, lagrange_weights
from tests.floatfree import offences
from tests.for_each import for_each
from tests.secagg.adversary import HEAD, OWN, SEED_OF_RING, Liar, planned, seeded
from tests.secagg.rounds import Round, succeeds


def holds(made: Round) -> bool:
    """The round ends as its losses say: with the right sum, or with `TooFew` and without one. True if with a sum."""
    try:
        made.run()
    except TooFew:
        assert made.total is None
        ring = getattr(made.server, "ring", None)
        assert ring is None or succeeds(made.plan, made.leaves, ring) is None
        return False
    assert made.server.survivors == succeeds(made.plan, made.leaves, made.server.ring)
    assert made.total == sum(made.values[user] for user in made.server.survivors) % made.plan.modulus
    return True


@st.composite
def rounds(draw, most=8):
    """Plans of every kind, sparse and complete, with values and losses."""
    n = draw(st.integers(3, most))
    k = draw(st.sampled_from([n - 1, *range(2, n - 1, 2)]))
    t = min(draw(st.integers(2, k)), draw(st.integers(2, k)))  # mostly low, so that many rounds end well
    least = min(draw(st.integers(t + 1, n)), draw(st.integers(t + 1, n)))
    m = draw(st.one_of(st.integers(2, 40), st.integers(2, 2**62), st.sampled_from([2, 2**31, 2**62, 2**64])))
    users = draw(st.lists(st.integers(0, 2**64 - 1), min_size=n, max_size=n, unique=True))
    ring = sha256(SEED_OF_RING).digest()
    plan = RoundPlan(draw(st.binary(max_size=9)), tuple(sorted(users)), k, t, least, m, draw(st.booleans()), ring)
    values = draw(st.lists(st.integers(0, m - 1) | st.just(m - 1), min_size=n, max_size=n))
    lost = draw(st.lists(st.sampled_from(users), max_size=n // 2))
    leaves = {user: draw(st.sampled_from([0, 1, 2, 3, 4])) for user in lost}
    return Round(plan, values, leaves, seed=draw(st.integers(0, 2**32)))


class TestSum:
    @pytest.mark.slow
    @given(rounds())
    @settings(max_examples=50, deadline=None)
    def test_of_the_survivors_whoever_leaves_whenever(self, made):
        holds(made)

    @pytest.mark.slow
    @pytest.mark.parametrize("signed", [False, True])
    def test_every_pattern_of_losses_of_three_users(self, signed):
        """All that can happen: a secret of each has two holders, both of whom must answer until the end."""
        phases = range(6 if signed else 5)
        ended = [
            holds(Round(planned(3, t=2, least=3, signed=signed, m=10), [3, 4, 9], dict(enumerate(leaves))))
            for leaves in product(phases, repeat=3)
        ]
        assert sum(ended) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("signed", [False, True])
    @pytest.mark.parametrize(("k", "t", "least"), [(3, 2, 3), (3, 2, 4), (2, 2, 3), (3, 3, 4)])
    def test_every_pattern_of_losses_of_four_users(self, signed, k, t, least):
        plan = planned(4, k=k, t=t, least=least, signed=signed, m=10)
        for leaves in product(range(6 if signed else 5), repeat=4):
            holds(Round(plan, [3, 4, 9, 9], dict(enumerate(leaves))))

    @for_each("signed", [False, True])
    def test_some_patterns_of_both_kinds_end_well_and_badly(self, signed):
        """So that the tests above are about something."""
        plan = planned(6, t=3, least=4, signed=signed)
        for leaves, well in (({}, True), ({0: 0, 1: 1}, True), ({0: 2, 5: 3}, True), ({0: 0, 1: 1, 2: 2}, False)):
            assert holds(Round(plan, range(6), leaves)) is well

    @for_each("m", [2, 3, 10**18 + 9, 2**62, 2**62 - 1, 2**64])
    def test_for_any_modulus(self, m):
        assert holds(Round(planned(4, m=m), [m - 1, m - 1, 0, m // 2]))
        assert holds(Round(planned(4, m=m, signed=False), [m - 1] * 4))

    def test_users_of_any_number(self):
        users = (0, 2**63, 2**64 - 1, 7)
        plan = RoundPlan(b"", tuple(sorted(users)), 3, 3, 4, 97, True, sha256(SEED_OF_RING).digest())
        assert holds(Round(plan, [1, 2, 3, 96]))


class SignsAreOff(RoundClient):
    """A mutant whose masks of pairs all have one sign."""

    def _hide(self, message):
        pair_mask = masks.pair_mask
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masks, "pair_mask", lambda secret, session, a, b, m: abs(pair_mask(secret, session, a, b, m)))
            return super()._hide(message)


class Asks(RoundServer):
    """A mutant that takes what it has of the own masks of the lost for keys of masks, and the reverse."""

    def _end_masked(self):
        alive = super()._end_masked()
        flags = int.from_bytes(self._announced[HEAD:], "little") ^ 1 << self.plan.index(min(alive))
        self._announced = self._announced[:HEAD] + flags.to_bytes(len(self._announced) - HEAD, "little")
        return alive


def test_masks_of_a_wrong_sign_are_caught():
    with pytest.raises(AssertionError):
        holds(Round(planned(4), [1, 2, 3, 4], kind=SignsAreOff))


def test_a_server_that_asks_a_survivor_as_lost_is_caught():
    made = Round(planned(5, signed=False, t=2, least=3), range(5), kind=RoundClient, server=Asks)
    with pytest.raises(Disagreement, match="do not give what the user published"):
        made.run()
    assert "is said to be lost" in str(made.gone[0])


class TestLosses:
    @for_each("signed", [False, True])
    def test_too_few_for_the_plan_end_it_before_a_key_share_is_sent(self, signed):
        made = Round(planned(6, t=4, least=5, signed=signed), range(6), {0: 2, 1: 2})
        with pytest.raises(TooFew, match="4 users are left after the phase of masked values: 5 are needed"):
            made.run()
        assert made.total is None
        assert not made.server.phase
        assert all(message[1] != KEY_SHARES for phase in made.sent for message in phase.values())

    def test_a_late_masked_value_is_refused_and_stays_hidden(self):
        """A user said to be lost answers after all: nobody ever asks for its own mask, so its value stays masked."""
        plan = planned(6, t=3, least=4, signed=True)
        liar = Liar(plan).until(2)
        liar.hide(range(1, 6))
        liar.agree(range(1, 6))
        liar.reveal(range(1, 6))
        liar.hide([0])  # late
        assert liar.halves(0) == [masks_of_pairs := 1]
        assert masks_of_pairs != OWN
        assert len(liar.key_shares_of(0, OWN)) == 0
        assert liar.kept()
        with pytest.raises(Disagreement, match="is said to be lost"):
            liar.tell(0, liar.survivors(0, range(1, 6)))
        assert liar.silent(0)

    def test_the_server_refuses_a_late_message(self):
        made = Round(planned(5, t=3, least=4), range(5), {0: 2})
        for _ in range(2):
            made.phase()
        late = made.server.message_for(0)
        made.phase()
        with pytest.raises(OutOfTurn, match="nothing is due from user 0"):
            made.server.receive(0, made.clients[0].receive(late))
        with pytest.raises(OutOfTurn, match="no message for user 0"):
            made.server.message_for(0)
        assert made.run().total == 1 + 2 + 3 + 4
        assert 0 not in made.server.survivors

    def test_a_round_that_is_over_stays_over(self):
        made = Round(planned(4), range(4)).run()
        with pytest.raises(OutOfTurn, match="over"):
            made.server.close()
        for user, client in made.clients.items():
            with pytest.raises(OutOfTurn):
                made.server.receive(user, b"")
            with pytest.raises(OutOfTurn, match="left the round"):
                client.receive(made.received[-1][user])


class NoOwnMask(RoundClient):
    """A mutant that has no mask of its own: the classic reason for two masks."""

    def _hide(self, message):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masks, "own_mask", lambda *rest: 0)
            return super()._hide(message)


class TestTwoMasks:
    """Why there are two: with masks of pairs alone, a late value falls to a server that took its sender for lost."""

    def late(self, kind):
        liar = Liar(planned(5, t=3, least=4, signed=False, m=10**6), values={u: 1000 + u for u in range(5)}, kind=kind)
        liar.until(2)
        liar.hide(range(1, 5))
        liar.agree(range(1, 5))
        assert liar.halves(0) == [1]
        liar.hide([0])
        key_shares = liar.key_shares_of(0, 1)
        seed = combine_shares(
            list(key_shares.values()), lagrange_weights([liar.x(holder, 0) for holder in key_shares])
        ).to_bytes(SEED)
        private, _ = masks.seed_key_pair(seed, liar.plan.round, b"mask")
        hidden, session = liar.masked[0], liar.sent[0][1][2:HEAD]
        for other in liar.around(0):
            secret = masks.agree_secret(private, liar.keys[other][KEY : 2 * KEY])
            hidden -= masks.pair_mask(secret, session, 0, other, 10**6)
        return hidden % 10**6

    def test_without_an_own_mask_a_late_value_is_exposed(self):
        assert self.late(NoOwnMask) == 1000

    def test_with_one_it_is_not(self):
        assert self.late(RoundClient) != 1000  # one of a million masks would make it so; the seed is fixed


class TestParameters:
    def test_what_a_client_and_a_server_refuse(self):
        plan = planned(4)
        with pytest.raises(InvalidValue, match="user is 9"):
            RoundClient(plan, 9, 1, seeded(1))
        for value in (-1, 1000, 1.0, True, None):
            with pytest.raises(InvalidValue, match="value is 'hidden'"):
                RoundClient(plan, 0, value, seeded(1))
        with pytest.raises(InvalidValue, match="signer and identities"):
            RoundClient(plan, 0, 1, seeded(1))
        with pytest.raises(InvalidValue, match="seed is 'hidden'"):
            RoundServer(plan, bytes(32), {})
        with pytest.raises(InvalidValue, match="identities"):
            RoundServer(plan, SEED_OF_RING)


SOURCES = sorted(Path(secagg.__file__).parent.glob("*.py"))


@for_each("path", SOURCES, ids=lambda path: path.name)
def test_nothing_is_computed_with_floats_or_seeded_generators(path):
    assert offences(path.read_text()) == []


def test_the_sources_are_found():
    assert {"client.py", "server.py", "masks.py", "graph.py", "shamir.py"} <= {path.name for path in SOURCES}
    assert offences("import random\nx = 1 / 2") != []

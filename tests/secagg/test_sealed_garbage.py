"""Devices that seal garbage for others: who must end the round, who must not, and what leaving would have given away.

In a signed round the server may have altered what came, so its receiver leaves. In an unsigned one only a device can
have done it, and a receiver that left would let corrupted devices choose whom to lose: on a sparse ring that is enough
to cut it. Everything is deterministic, with seeded bits.
"""

import pytest

from maskedbandit.errors import Disagreement, Forged, TooFew
from maskedbandit.secagg import masks
from maskedbandit.secagg.client import RoundClient
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import MASKED, PARCEL, PARCELS
from maskedbandit.secagg.server import RoundServer
from tests.for_each import for_each
from tests.secagg.adversary import HEAD, planned
from tests.secagg.rounds import Round


def garbled(made: Round, bad, victims):
    """Bad devices flip a bit of what they seal for the victims."""

    def change(phase, user, message):
        if message[1] != PARCELS or user not in bad:
            return message
        changed = bytearray(message)
        for i, other in enumerate(made.server._around(user)):
            if other in victims:
                changed[HEAD + KEY + i * PARCEL] ^= 1
        return bytes(changed)

    made.change = change
    return made


def test_in_a_signed_round_receivers_leave_before_a_value_does():
    made = garbled(Round(planned(5, t=3, least=4), range(5)), {0}, {1, 2, 3, 4})
    spent = []
    for client in made.clients.values():
        client._spend = spent.append
    with pytest.raises(TooFew, match="1 users are left after the phase of masked values"):
        made.run()
    assert made.gone.keys() == {1, 2, 3, 4}
    assert all(type(why) is Forged for why in made.gone.values())
    assert spent == [0]


@pytest.mark.slow
@for_each("lost", [{}, {0: 2}])
@for_each("signed", [True, False])
def test_one_device_can_lose_all_its_neighbours_or_end_a_round_and_opens_nothing(signed, lost):
    """As secure_sums.md says, on a sparse ring: it seals garbage for all of them, and then stays or falls silent."""
    made = Round(planned(24, k=8, t=3, least=10, signed=signed), range(24), lost)
    made.phase()
    around = set(made.server.ring.around(0))
    with pytest.raises(TooFew, match="key shares of a seed of user"):
        garbled(made, {0}, around).run()
    assert {user for user, why in made.gone.items() if type(why) is Forged} == (around if signed else set())
    assert made.total is None


class TestUnsigned:
    PLAN = planned(6, t=3, least=4, signed=False)

    @for_each("lost", [{}, {0: 2}, {0: 3}])
    @for_each("victims", [{1}, {1, 2}])
    def test_a_key_share_is_missing_and_nobody_leaves(self, victims, lost):
        """Three of the five key shares of each secret of user 0 are left, whichever is asked for."""
        made = garbled(Round(self.PLAN, range(1, 7), lost), {0}, victims).run()
        assert made.gone == made.refused == {}
        assert made.total == (20 if lost == {0: 2} else 21)

    def test_too_few_key_shares_of_who_sealed_garbage_end_the_round(self):
        """Any device can do that; it learns nothing, as no secret of others was asked for twice."""
        made = garbled(Round(self.PLAN, range(1, 7)), {0}, {1, 2, 3})
        with pytest.raises(TooFew, match="2 key shares of a seed of user 0 came back: 3 are needed"):
            made.run()
        assert made.gone == {}
        assert made.total is None

    def test_a_receiver_that_opens_too_few_leaves_before_its_value_does(self):
        """Its own secrets have too few holders then who answered it."""
        made = garbled(Round(self.PLAN, range(1, 7)), {0, 1, 2}, {5}).run()
        assert type(made.gone[5]) is TooFew
        assert "2 neighbours sealed their key shares well: 3 are needed" in str(made.gone[5])
        assert made.gone.keys() == {5}
        assert made.total == 15
        assert all(message[1] != MASKED for phase in made.sent for user, message in phase.items() if user == 5)

    def test_a_receiver_that_opens_just_enough_stays(self):
        assert garbled(Round(self.PLAN, range(1, 7)), {0, 1}, {5}).run().total == 21


class Leaves(RoundClient):
    """A mutant that leaves if something does not open, as in signed rounds."""

    def _hide(self, message):
        def opened(*args):
            try:
                return unchanged(*args)
            except Forged as why:
                raise Disagreement(str(why)) from None

        unchanged = masks.open_text
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(masks, "open_text", opened)
            return super()._hide(message)


class Remembers(RoundServer):
    """A server that looks at what it has, after the end."""

    def _forget(self):
        pass


class TestCuts:
    """Four corrupted devices of 24 on a ring with eight neighbours, who stand at the ends of two gaps of four."""

    PLAN = planned(24, k=8, t=3, least=10, signed=False, m=2**40)

    def attacked(self, kind):
        made = Round(self.PLAN, [1000 + user for user in range(24)], kind=kind, server=Remembers)
        made.phase()
        ring = made.server.ring.order
        arc, gaps = ring[:6], ring[6:10] + ring[20:]
        bad = {ring[6], ring[9], ring[20], ring[23]}
        made.leaves |= dict.fromkeys(bad, 2)  # once they have sent garbage, they fall silent
        garbled(made, bad, set(gaps) - bad).run()
        assert made.total == sum(made.values[user] for user in made.server.survivors)
        return made, arc, set(gaps) - bad

    def total_of(self, made, users):
        """The sum of some survivors, if no mask is left in it: from all that the server can rebuild."""
        server, plan = made.server, made.plan
        total, session = 0, server._session
        for user in users:
            own = server._rebuilt(user, lambda s, u=user: masks.commit_seed(s, session, u), server._commitments[user])
            total += server._masked[user] - masks.own_mask(own, session, user, plan.modulus)
        public = {user: keys[KEY : 2 * KEY] for user, keys in server._keys.items()}
        for lost in server._parcels.keys() - server.survivors:
            seed = server._rebuilt(lost, lambda s: masks.seed_key_pair(s, plan.round, b"mask")[1], public[lost])
            private, _ = masks.seed_key_pair(seed, plan.round, b"mask")
            for user in set(server._around(lost)) & set(users):
                secret = masks.agree_secret(private, public[user])
                total -= masks.pair_mask(secret, session, user, lost, plan.modulus)
        return total % plan.modulus

    def test_nobody_is_lost_by_what_others_seal(self):
        made, arc, victims = self.attacked(RoundClient)
        assert made.gone == {}
        assert made.server.survivors >= victims
        assert self.total_of(made, made.server.survivors) == made.total
        assert self.total_of(made, arc) != sum(made.values[user] for user in arc)  # masks of the victims are in it

    def test_if_receivers_leave_an_arc_is_cut_off_and_its_sum_comes_out(self):
        """The control: six values, where the plan demands ten."""
        made, arc, victims = self.attacked(Leaves)
        assert made.gone.keys() == victims
        assert self.total_of(made, arc) == sum(made.values[user] for user in arc)
        assert len(arc) < self.PLAN.least <= len(made.server.survivors)

"""Devices that send what they should not: the right sum, or an end; never a wrong sum.

Seeds are fixed. Keys, masks and wrong key shares are random, and change no outcome but with the probabilities told.
"""

from itertools import product

import pytest

from maskedbandit.errors import Disagreement, Forged, TooFew
from maskedbandit.secagg import key_shares, masks
from maskedbandit.secagg.client import write_key_text
from maskedbandit.secagg.key_shares import corrected
from maskedbandit.secagg.masks import KEY, SEED
from maskedbandit.secagg.messages import KEY_SHARES
from maskedbandit.secagg.server import RoundServer
from maskedbandit.secagg.shamir import KEY_SHARE, combine_shares, lagrange_weights
from tests.for_each import for_each
from tests.secagg.adversary import HEAD, LOW_ORDER, OWN, Liar, planned, seeded, signer
from tests.secagg.lies import inverse, top_bit
from tests.secagg.rounds import Round


class TestWrongShares:
    """Devices that send key shares which were never dealt: the right sum, or an end; never a wrong sum."""

    def spoiled(self, plan, who, wrong, leaves=None, seed=1):
        def change(phase, user, message):
            return message[:HEAD] + wrong(message[HEAD:], user) if message[1] == KEY_SHARES and user in who else message

        return Round(plan, [5] * plan.n, leaves, change=change, seed=seed)

    @pytest.mark.slow
    @for_each("signed", [False, True])
    @for_each(("liars", "leaves"), [(1, {}), (2, {}), (3, {}), (1, {9: 2}), (2, {9: 2})])
    def test_right_sum_while_enough_key_shares_are_right(self, signed, liars, leaves):
        """Of 9 key shares 3 may be wrong, of 8 key shares 2."""
        plan = planned(10, t=3, least=5, signed=signed)
        noise = seeded(9)

        def wrong(key_shares, user):  # below the prime, or they would be no key shares
            return b"".join(
                bytes(1) + masks.random_bytes(KEY_SHARE - 1, noise) for _ in range(len(key_shares) // KEY_SHARE)
            )

        made = self.spoiled(plan, range(liars), wrong, leaves, seed=liars)
        assert made.run().total == 5 * (10 - len(leaves))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "wrong",
        [
            lambda key_shares, user: bytes(len(key_shares)),
            lambda key_shares, user: b"\xff" * len(key_shares),  # above the prime: no key shares
            lambda key_shares, user: key_shares[KEY_SHARE:] + key_shares[:KEY_SHARE],
            lambda key_shares, user: key_shares[:-1] + bytes([key_shares[-1] ^ 1]),
        ],
        ids=["zeros", "too large", "rotated", "one bit"],
    )
    @for_each("liars", range(9))
    def test_never_a_wrong_sum(self, wrong, liars):
        made = self.spoiled(planned(8, t=5, least=6), range(liars), wrong)
        try:
            made.run()
        except (TooFew, Disagreement):
            assert made.total is None
            assert liars > 1  # of 7 key shares
        else:
            assert made.total == 40

    def test_a_server_that_does_not_check_is_caught(self, monkeypatch):
        """The control: without the commitments a wrong key share gives a wrong sum."""
        monkeypatch.setattr(RoundServer, "_rebuilt", lambda self, user, publish, published: combined(self, user))
        made = self.spoiled(planned(8, t=5, least=6), range(1), lambda key_shares, user: bytes(len(key_shares)))
        assert made.run().total != 40

    @pytest.mark.parametrize("liars", [(), (0,), (0, 1)])
    def test_key_shares_of_who_was_wrong_before_are_tried_last(self, liars, monkeypatch):
        """To correct takes long: it is done at most once for each liar, not for each secret."""
        calls = []
        monkeypatch.setattr(key_shares, "corrected", lambda *args: calls.append(args) or corrected(*args))
        plan = planned(10, t=5, least=6)
        made = self.spoiled(plan, liars, lambda key_shares, user: bytes(len(key_shares)), {3: 2})
        assert made.run().total == 45
        assert len(calls) <= len(liars)
        assert made.server._key_shares.doubted == set(liars)


def combined(server, user):
    senders, ys = zip(*list(server._key_shares.given[user].items())[: server.plan.threshold], strict=True)
    xs = [1 + server.ring.number(sender, of=user) for sender in senders]
    return (combine_shares(ys, lagrange_weights(xs)) % (1 << 8 * SEED)).to_bytes(SEED)


class TestShares:
    """At the level of the protocol: what any t neighbours hold gives a secret, what t - 1 hold gives nothing."""

    @pytest.mark.slow
    def test_any_t_neighbours_rebuild_a_secret_and_fewer_do_not(self):
        plan = planned(6, t=4, least=5)
        for colluding in product([False, True], repeat=5):
            corrupted = {user for user, flag in enumerate(colluding, 1) if flag}
            liar = Liar(plan, corrupted=corrupted).until(2)
            assert liar.halves(0) == ([0, 1] if len(corrupted) >= 4 else [])

    def test_t_minus_1_key_shares_fit_every_secret(self):
        """For each secret there is a last key share that gives it, so those that are known say nothing."""
        liar = Liar(planned(6, t=4, least=5), corrupted={1, 2, 3}).until(2)
        known = liar.key_shares_of(0, OWN)
        assert len(known) == 3
        xs = [liar.x(holder, 0) for holder in known] + [liar.x(4, 0)]
        *first, last = lagrange_weights(xs)
        for secret in (0, 1, 2**128 - 1, int.from_bytes(liar.seeds[0][0])):
            fitting = (secret - combine_shares(list(known.values()), first)) * pow(last, -1, 2**130 - 5) % (2**130 - 5)
            assert combine_shares([*known.values(), fitting], [*first, last]) == secret


KEYS = {
    "of low order": lambda others, own: LOW_ORDER[0] + own[KEY : 2 * KEY],
    "of low order, for masks": lambda others, own: own[:KEY] + LOW_ORDER[1],
    "one twice": lambda others, own: own[:KEY] * 2,
    "one twice, with the top bit set": lambda others, own: own[:KEY] + top_bit(own[:KEY]),
    "one of another, with the top bit set": lambda others, own: top_bit(others[2][:KEY]) + own[KEY : 2 * KEY],
    "one of another, but for a point of low order": lambda others, own: own[:KEY] + inverse(others[2][:KEY]),
    "one of another": lambda others, own: others[2][:KEY] + own[KEY : 2 * KEY],
    "one of another, for masks": lambda others, own: own[:KEY] + others[2][:KEY],
    "both of another": lambda others, own: others[3],
}


class TestBadDevices:
    """Devices that send what is no good to the others: the server leaves them out, and the round goes on."""

    def ended(self, signed, changed):
        """A round in which user 0 sends other keys, signed as they should be; `changed` makes them of all that came."""
        plan, heard = planned(6, t=3, least=4, signed=signed), {}

        def change(phase, user, message):
            if (phase, user) == (0, 5):  # it speaks last
                keys = changed([each[HEAD : HEAD + 2 * KEY] for each in heard.values()], message[HEAD:])
                name = signer(5).sign(write_key_text(plan, 5, keys)) if signed else b""
                return message[:HEAD] + keys + name
            heard[user] = message
            return message

        made = Round(plan, range(6), change=change).run()
        assert made.gone == {}
        return made

    @for_each("signed", [True, False])
    @for_each("changed", KEYS.values(), ids=KEYS)
    def test_keys_that_others_would_refuse(self, signed, changed):
        made = self.ended(signed, changed)
        assert made.refused.keys() == {5}
        assert type(made.refused[5]) in (Forged, Disagreement)
        assert made.total == 0 + 1 + 2 + 3 + 4

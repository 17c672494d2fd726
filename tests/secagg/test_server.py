"""What the server refuses, of whom, and in which phase: nobody else pays, and no round goes on with too few.

Seeds are fixed. Keys, masks and key shares are random, and change no outcome.
"""

from dataclasses import replace
from hashlib import sha256

import pytest

from maskedbandit.errors import Disagreement, Forged, InvalidValue, Malformed, TooFew
from maskedbandit.secagg import client
from maskedbandit.secagg.client import RoundClient, write_vote_text
from maskedbandit.secagg.masks import KEY
from maskedbandit.secagg.messages import KEY_SHARES
from maskedbandit.secagg.server import RoundServer
from maskedbandit.secagg.shamir import KEY_SHARE, PRIME
from tests.for_each import for_each
from tests.secagg.adversary import HEAD, SEED_OF_RING, identities_of, planned, signer
from tests.secagg.rounds import Round

VALUES = [1, 10, 100, 200, 300, 301]
PLAN = planned(6, t=3, least=4)  # signed, of six; sums are modulo 1000


def sends(number, who, what):
    """A change of what one user sends in one phase, counted from 0."""
    return lambda phase, user, message: what(message) if (phase, user) == (number, who) else message


def total_without(*users) -> int:
    return sum(value for user, value in enumerate(VALUES) if user not in users)


BALLOTS = {
    "of nobody": lambda made: bytes(64),
    "of another": lambda made: made.sent[3][0][HEAD:],
    "of other survivors": lambda made: voted(made, survivors=b"\x1f"),
    "of another session": lambda made: voted(made, session=bytes(KEY)),
}


def voted(made, session=None, survivors=b"\x3f"):
    return signer(5).sign(write_vote_text(session or made.server._session, survivors))


@for_each("vote", BALLOTS.values(), ids=BALLOTS)
def test_a_bad_vote_costs_its_device_alone(vote):
    """Passed on, it would end the round for whoever is shown it. User 5 speaks last; its value is in the sum."""
    made = Round(PLAN, VALUES)
    made.change = sends(3, 5, lambda message: message[:HEAD] + vote(made))
    made.run()
    assert (made.gone, list(made.refused), type(made.refused[5])) == ({}, [5], Forged)
    assert made.total == total_without()
    assert made.server.waiting == set()
    assert 5 not in made.received[4]  # it is as good as lost


def test_a_right_vote_is_taken():
    """The control: `voted` makes the vote of the device itself."""
    made = Round(PLAN, VALUES)
    made.change = sends(3, 5, lambda message: message[:HEAD] + voted(made))
    assert not made.run().refused
    assert made.received[4].keys() == set(range(6))


def test_nobody_is_told_more_votes_than_it_asks_for():
    for message in Round(PLAN, VALUES).run().received[4].values():
        assert message[HEAD].bit_count() == PLAN.threshold == 3
        assert len(message) == HEAD + 1 + 3 * 64


class TestTooFew:
    """A round ends in the phase in which too few are left, and does not spend the next one."""

    @for_each(
        ("lost", "least", "phase", "after"),
        [(0, 4, 1, "keys: 4"), (1, 4, 2, "sealed key shares: 4"), (2, 4, 3, "masked values: 4"), (3, 3, 4, "votes: 3")],
    )
    def test_at_once(self, lost, least, phase, after):
        made = Round(PLAN, VALUES, dict.fromkeys(range(6 - least + 1), lost))
        with pytest.raises(TooFew, match=f"{least - 1} users are left after the phase of {after} are needed"):
            made.run()
        assert len(made.sent) == phase
        assert (made.server.phase, made.server.waiting, made.total) == ("", set(), None)

    @for_each("lost", range(5))
    def test_with_four_it_goes_on(self, lost):
        """The control: all that is asked for, and of votes and key shares those of three others."""
        made = Round(PLAN, VALUES, {0: lost, 1: lost})
        assert made.run().total == (total_without(0, 1) if lost < 3 else total_without())


@for_each("signed", [False, True])
@for_each("over", [0, 1, 2**63 - 1000])
def test_a_value_that_is_no_residue_is_refused(signed, over):
    plan = replace(PLAN, signed=signed)
    made = Round(plan, VALUES, change=sends(2, 4, lambda m: m[:HEAD] + (plan.modulus + over).to_bytes(8))).run()
    assert (list(made.refused), type(made.refused[4])) == ([4], Malformed)
    assert made.total == total_without(4)


def test_the_largest_residue_is_taken():
    made = Round(PLAN, VALUES, change=sends(2, 4, lambda m: m[:HEAD] + (PLAN.modulus - 1).to_bytes(8))).run()
    assert not made.refused


def raised(message):
    """The same key shares, each larger by the prime."""
    key_shares = [int.from_bytes(message[at : at + KEY_SHARE]) + PRIME for at in range(HEAD, len(message), KEY_SHARE)]
    return message[:HEAD] + b"".join(key_share.to_bytes(KEY_SHARE) for key_share in key_shares)


class TestShares:
    def test_above_the_prime_are_none(self):
        """Or a key share could be written in many ways."""
        made = Round(PLAN, VALUES, change=lambda phase, user, m: raised(m) if m[1] == KEY_SHARES else m)
        with pytest.raises(TooFew, match=r"0 key shares of a seed of user \d came back: 3 are needed"):
            made.run()

    def test_of_one_device_are_not_missed(self):
        made = Round(PLAN, VALUES, change=lambda phase, user, m: raised(m) if m[1] == KEY_SHARES and user == 1 else m)
        assert made.run().total == total_without()

    def test_of_a_lost_user_without_surviving_neighbours_are_not_needed(self):
        """On a sparse ring all four neighbours of one user leave before they share; it leaves a phase later."""
        plan = planned(11, k=4, t=2, least=4, signed=False)
        made = Round(plan, range(11))
        made.phase()
        ring = made.server.ring
        alone = ring.order[3]
        made.leaves |= dict.fromkeys(ring.around(alone), 1) | {alone: 2}
        made.run()
        assert made.sent[1].keys() & {alone, *ring.around(alone)} == {alone}
        assert made.total == sum(made.server.survivors) == 55 - alone - sum(ring.around(alone))


class Shares(RoundClient):
    """A device that shares 2^128 instead of one of its seeds, or both: the least that is no seed of 16 bytes."""

    which: tuple[int, ...] = ()

    def _share(self, message):
        if self.user != 2:
            return super()._share(message)
        wrong = [int.from_bytes(self._seeds[i]) for i in self.which]
        with pytest.MonkeyPatch.context() as patch:
            split = client.split_secret
            patch.setattr(
                client, "split_secret", lambda secret, *rest: split(1 << 128 if secret in wrong else secret, *rest)
            )
            return super()._share(message)


@for_each("which", [(0,), (1,), (0, 1)])
@for_each("lost", [False, True])
@for_each("signed", [False, True])
def test_a_secret_that_is_no_seed_never_breaks_the_server(which, lost, signed):
    """The right sum if nobody asks for that secret, or a named end."""
    kind = type("Kind", (Shares,), {"which": which})
    made = Round(replace(PLAN, signed=signed), VALUES, {2: 2} if lost else {}, kind=kind)
    if int(lost) in which:
        with pytest.raises(Disagreement, match="user 2's seed do not give what the user published"):
            made.run()
        assert made.total is None
    else:
        assert made.run().total == total_without(*[2] * lost)


@for_each("seed", [b"", b"short", bytes(31), bytes(33)])
def test_a_seed_of_another_length_is_refused(seed):
    plan = replace(PLAN, ring=sha256(seed).digest())
    with pytest.raises(InvalidValue, match="seed is 'hidden': it must be the 32 bytes"):
        RoundServer(plan, seed, identities_of(plan.users))
    RoundServer(PLAN, SEED_OF_RING, identities_of(plan.users))


class TestForgetting:
    """A server keeps who was in the sum, and public keys: nothing that would say more together with later losses."""

    def kept(self, made):
        return {name for name, held in vars(made.server).items() if isinstance(held, dict) and held}

    @for_each("signed", [False, True])
    def test_after_a_sum(self, signed):
        made = Round(replace(PLAN, signed=signed), VALUES, {0: 2}).run()
        assert made.server.survivors == {1, 2, 3, 4, 5}
        assert self.kept(made) == {"_identities", "_keys"}

    @for_each("signed", [False, True])
    @for_each("lost", range(5))
    def test_after_a_failure(self, signed, lost):
        made = Round(replace(PLAN, signed=signed), VALUES, dict.fromkeys(range(4), lost))
        if lost == 4 and not signed:  # there are four phases
            made.run()
            return
        with pytest.raises(TooFew):
            made.run()
        assert made.server.survivors == frozenset()
        assert self.kept(made) <= {"_identities", "_keys"}

    def test_before_the_end_it_has_them(self):
        """The control."""
        made = Round(PLAN, VALUES)
        for _ in range(4):
            made.phase()
        assert self.kept(made) > {"_commitments", "_parcels", "_masked", "_votes"}

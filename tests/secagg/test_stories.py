"""A server that tells each device another story of who survived: of nobody do both secrets come out.

Mutants that skip one check, and plans whose threshold is too low, show that the same lies work where the check is
missing: the value of a user then comes out.
"""

from itertools import combinations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from maskedbandit.errors import Disagreement, Forged, ProtocolError, TooFew
from maskedbandit.secagg.client import RoundClient
from tests.for_each import for_each
from tests.secagg.adversary import SEED_OF_RING, Liar, planned
from tests.secagg.lies import ALL, FRESH, PLAN, ends, keys_of, liar, other_keys, vote


def two_stories(it: Liar, victim: int, first, second, everyone) -> None:
    """Half of the others hear that the victim survived, half that it is lost; colluding devices sign both."""
    alive, dead = set(everyone), set(everyone) - {victim}
    received = dict.fromkeys({victim, *first}, alive) | dict.fromkeys(second, dead)
    answer(it, received)


def answer(it: Liar, received) -> None:
    """Tell each device its survivors; then, in signed rounds, all votes for these that can be had."""
    for user, survivors in received.items():
        try:
            it.agree(survivors, [user])
        except ProtocolError:
            assert it.silent(user)
    for user in it.corrupted:
        for survivors in received.values():
            it.signed[user, it.alive(survivors)] = vote(it, user, survivors)
    if it.plan.signed:
        for user, survivors in received.items():
            try:
                it.tell(user, it.ballots(user, survivors))
            except ProtocolError:
                assert it.silent(user)


def halves_of(n, corrupted, t, kind=RoundClient, signed=True):
    """For every split of the honest others of user 0: which secrets of it come out."""
    plan = planned(n, t=t, signed=signed)
    return {tuple(halves_at(size, plan, corrupted, kind)) for size in range(n - corrupted)}


def halves_at(size, plan, corrupted=0, kind=RoundClient):
    """Which secrets of user 0 come out if this many others hear that it survived; who they are makes no difference."""
    n = plan.n
    others = set(range(1, n - corrupted))
    first = set(range(1, 1 + size))
    it = Liar(plan, corrupted=range(n - corrupted, n), kind=kind).until(3)
    two_stories(it, 0, first, others - first, range(n))
    for user in it.clients.keys() - it.corrupted - {0}:
        assert len(it.halves(user)) < 2
    if it.halves(0) == [0, 1]:
        assert it.unmasked(0) == it.values[0]
    return it.halves(0)


class SkipsVotes(RoundClient):
    """A mutant that does not verify whether its neighbours were told the same."""

    def _reveal(self, message):
        return self._key_shares(int.from_bytes(self._survivors, "little"))


class AnswersTwice(RoundClient):
    """A mutant that stays in the phase of survivors."""

    def _agree(self, message):
        kept = dict(vars(self))
        sent = super()._agree(message)
        vars(self).update(kept, _next=self._agree)
        return sent


class NoEcho(RoundClient):
    """A mutant that takes whatever keys the tree holds for its own."""

    def _share(self, message):
        self._keys = NoEcho.shown
        return super()._share(message)

    shown = b""


class TestTwoStories:
    @pytest.mark.slow
    @for_each(("n", "corrupted"), [(4, 0), (5, 0), (6, 1), (7, 2), (8, 3)])
    def test_give_one_secret_at_most(self, n, corrupted):
        t = (n - 1 + corrupted) // 2 + 1  # the least with 2 t > k + c
        assert (0, 1) not in halves_of(n, corrupted, t)

    @pytest.mark.slow
    @for_each(("n", "corrupted"), [(6, 0), (6, 1), (7, 2), (8, 3)])
    def test_give_both_if_the_threshold_is_lower(self, n, corrupted):
        """The control: two groups of t neighbours then exist, with corrupted ones in both. The value comes out.

        In the complete graph 2 t = k + c is just enough: nobody counts its own vote.
        """
        t = (n - 1 + corrupted - 1) // 2
        assert (0, 1) in halves_of(n, corrupted, t)

    @pytest.mark.slow
    @for_each(("n", "corrupted", "t"), [(6, 1, 2), (6, 0, 2), (8, 2, 3)])
    def test_give_both_at_the_threshold_for_honest_servers(self, n, corrupted, t):
        """What signatures and higher thresholds are for: such a plan trusts the server to tell one story."""
        assert t > corrupted
        assert (0, 1) in halves_of(n, corrupted, t, signed=False)

    def test_give_both_if_votes_are_not_verified(self):
        assert (0, 1) not in halves_of(6, 1, 4)
        assert (0, 1) in halves_of(6, 1, 3, kind=SkipsVotes)
        it = liar(4, kind=SkipsVotes)
        with pytest.raises(BaseException, match="DID NOT RAISE"):
            ends(it, 0, it.ballots(0, ALL, voters=(1, 2, 3)), TooFew, "signed the survivors")

    def test_a_device_that_answers_twice_is_caught(self):
        plan = planned(5, t=3, least=4, signed=False)
        it = Liar(plan, kind=AnswersTwice).until(3)
        it.agree(range(5))
        it.agree({1, 2, 3, 4})
        with pytest.raises(AssertionError, match="both secrets of user 0"):
            it.kept()
        assert it.unmasked(0) == it.values[0]

    def test_a_device_that_does_not_check_its_own_keys_is_caught(self):
        it = liar(1, kind=NoEcho)
        NoEcho.shown = keys_of(it, 0, FRESH, FRESH[::-1])
        changed, error, match = other_keys(it, 0, NoEcho.shown), Disagreement, "own perhaps"
        with pytest.raises(BaseException, match="DID NOT RAISE"):
            ends(it, 0, it.roster(0, **changed), error, match)

    def test_two_rosters_make_two_sessions(self):
        """Half of the devices hear that one user never came: what the others seal means nothing to them."""
        it = liar(1)
        left_out = {user: keys for user, keys in it.keys.items() if user != 4}
        for user in (0, 1):
            it.share_of(user, it.roster(user, keys=left_out))
        for user in (2, 3, 5):
            it.share_of(user, it.roster(user))
        assert it.session(0) == it.session(1) != it.session(2)
        it.keys, it.ring = left_out, PLAN.drawn(SEED_OF_RING, it.tree(left_out).root)  # as users 0 and 1 know them
        ends(it, 0, it.post(0), Forged, "is of another session")

    def test_splits(self):
        """`halves_of` goes through all numbers of users in each half: as the devices are alike, through all splits."""
        plan = planned(6, t=3, signed=False)
        found = set()
        for first in combinations(range(1, 6), 2):
            it = Liar(plan).until(3)
            two_stories(it, 0, first, set(range(1, 6)) - set(first), ALL)
            found.add(tuple(it.halves(0)))
        assert found == {tuple(halves_at(2, plan))}


@st.composite
def stories(draw, sparse: bool, low: bool):
    """A server that tells each device something: who sealed key shares, who survived, in any way and order."""
    n = draw(st.integers(4, 7))
    k = draw(st.sampled_from(list(range(2, n - 1, 2)) or [n - 1])) if sparse else n - 1
    c = draw(st.integers(0, min(k - 1, 2 if n > 5 else 1)))
    t = max(2, (k + c) // 2 + 1 - low)
    assert t <= k
    assert low or 2 * t > k + c
    plan = planned(n, k=k, t=t, corrupted=c, m=2**20, signed=True)
    few = st.sets(st.integers(0, n - 1), max_size=1)
    absent = dict.fromkeys(range(n), frozenset()) | draw(st.dictionaries(st.integers(0, n - 1), few, max_size=1))
    lost = [draw(few), draw(few)]  # two stories, each for whom it is told
    second = draw(st.sets(st.integers(0, n - 1)))
    received = {user: set(range(n)) - lost[user in second] for user in range(n)}
    late = draw(st.lists(st.sampled_from(range(n)), max_size=1))
    return plan, set(range(n - c, n)), absent, received, late


def play(story) -> Liar:
    """Devices answer or leave; whatever they say, the server goes on."""
    plan, corrupted, absent, received, late = story
    it = Liar(plan, corrupted=corrupted).until(2)
    for user in it.clients.keys() - set(late):
        hide(it, user, absent[user])
    answer(it, {user: survivors | {user} for user, survivors in received.items() if user in it.masked})
    for user in late:
        hide(it, user, absent[user])
    return it


def hide(it, user, absent):
    try:
        it.hide([user], absent=absent - {user})
    except ProtocolError:
        assert it.silent(user)


class TestAnyStory:
    @pytest.mark.slow
    @pytest.mark.parametrize("sparse", [False, True])
    def test_of_no_user_are_both_secrets_known(self, sparse):
        @given(stories(sparse, low=False))
        @settings(max_examples=30, deadline=None)
        def holds(story):
            play(story).kept()

        holds()

    @pytest.mark.slow
    def test_a_lower_threshold_is_found_out(self):
        @given(stories(sparse=False, low=True))
        @settings(max_examples=2000, deadline=None, phases=[Phase.generate])
        def holds(story):
            play(story).kept()

        with pytest.raises(AssertionError, match="both secrets"):
            holds()
